import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.preparation.deduplication.components import Components, component_edges

ROWS = 30
LINKS = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, ROWS - 1)), max_size=40)


def by_spreading(links: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Each row's lowest reachable one, handed along the links until nothing changes."""
    lowest = list(range(ROWS))
    while True:
        before = list(lowest)
        for one, other in links:
            lowest[one] = lowest[other] = min(lowest[one], lowest[other])
        if lowest == before:
            return [(first, row) for row, first in enumerate(lowest) if first != row]


def as_pairs(links: list[tuple[int, int]]) -> np.ndarray:
    return np.array(links, dtype=np.int64).reshape(-1, 2)


@given(st.lists(LINKS, max_size=4))
def test_components_do_not_depend_on_how_the_links_come(files: list[list[tuple[int, int]]]) -> None:
    links = [link for file in files for link in file]
    one_way, other_way = Components(ROWS), Components(ROWS)
    for file in files:
        one_way.join(as_pairs(file))
        other_way.join(component_edges(as_pairs(file[::-1]))[:, ::-1])
    expected = by_spreading(links)
    assert list(map(tuple, one_way.component_edges().tolist())) == expected
    assert list(map(tuple, other_way.component_edges().tolist())) == expected
    assert list(map(tuple, component_edges(as_pairs(links)).tolist())) == expected
