"""Every number and name in the opening's sentences is that of the JSON of ``agree``, ``evaluate`` and ``build``.

The expected numbers and names of each kind of sentence are chosen from the JSON anew, and compared in their order.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from random_runs import ranked

from quati_pool.commands.evaluate import Settings
from quati_pool.commands.report import State
from quati_pool.reporting.answers.report import opening
from quati_pool.reporting.formats.document import Details, Listing, OpeningPart, Paragraph, Standings, plain
from tests.reporting.answers.expected_sentences import LABELERS, MEASURE, SYSTEMS, Expected, named, tokens
from tests.reporting.answers.made_states import Made, state

pytestmark = pytest.mark.slow


def collection(seed: int) -> State:
    """A random collection; every labeler grades a pair of each query."""
    chance = random.Random(seed)
    queries = [f"q{chr(97 + n)}" for n in range(chance.choice([1, 4, 8]))]
    docs = [f"d{n}" for n in range(chance.choice([8, 14]))]
    runs = []
    for run_tag in SYSTEMS[: chance.choice([1, 2, 3, 5])]:
        answered = queries if chance.random() < 0.8 else queries[:-1] or queries
        found = [(query, doc) for query in answered for doc in chance.sample(docs, chance.choice([4, 6]))]
        runs.append(ranked(run_tag, {pair: chance.random() for pair in found}))
    if seed % 13 == 1:
        runs = [replace(runs[0], run_tag=run.run_tag) for run in runs]
    truth = {(query, doc): chance.choice([0, 0, 1, 2, 3]) for query in queries for doc in docs}
    labelers = {}
    for name in LABELERS[: chance.choice([1, 2, 3, 5])]:
        noise, kept = chance.choice([0.0, 0.3, 0.8]), chance.choice([0.4, 1.0])
        grades = {
            pair: chance.choice([0, 1, 2, 3]) if chance.random() < noise else grade
            for pair, grade in truth.items()
            if pair[1] == docs[0] or chance.random() < kept
        }
        grader = chance.choice(["people", "people", "llm", "file", "program"])
        lacking = chance.choice([{}, {"never asked": 7}, {"unparsed": 3, "failed": 2}])
        labelers[name] = Made(grades, grader, lacking)
    settings = Settings([MEASURE, "P@5"], draws=chance.choice([0, 30]))
    depths = {run.run_tag: chance.choice([3, 3, 5]) for run in runs} | ({"bravo": 0} if seed % 3 == 0 else {})
    depths = {run.run_tag: depths[run.run_tag] for run in runs}
    return state(runs, labelers, depths=depths, settings=settings, without_text=chance.choice([0, 4]))


def sentences(part: OpeningPart) -> list[str]:
    found: list[str] = []
    for block in part.blocks:
        if isinstance(block, Details):
            found += [one for inner in block.blocks if isinstance(inner, Listing) for one in map(plain, inner.items)]
        elif isinstance(block, Listing):
            found += map(plain, block.items)
        elif isinstance(block, Paragraph):
            found.append(plain(block.text))
    return found


KINDS = {
    "is not significantly better than": Expected.lead,
    "systems have the same mean": lambda found: [str(len(found.runs))],
    "is ahead of": Expected.another_best,
    "order the systems differently": Expected.other_order,
    "agree little": Expected.low_kappa,
    "is hardly known": Expected.unsure_kappa,
    "on average, on": Expected.lenient,
    "documents are unjudged": Expected.unjudged,
    "no grade by": Expected.ungraded,
    "gave no grade": Expected.failed,
    "may rank too low": Expected.fall,
    "families of systems": Expected.incomplete,
    "come from one system only": Expected.alone,
    "deeper than the pool": Expected.deep,
    "no text and cannot be judged": lambda found: [str(found.built["pool"]["without_text"])],
    "could equally be the main labeler": Expected.candidates,
}
"""Findings by words that only they have."""
NO_NUMBERS = ("did not feed the pool", "No person has graded", "nothing confirms", "Judged queries are missing")


def checked(found: Expected, part: OpeningPart, made: State) -> Iterator[tuple[list[str], list[str], str]]:
    """The tokens of each sentence, those that are expected, and the sentence."""
    said = sentences(part)
    if part.title == "Systems":
        yield tokens(said[0]), found.leader(), said[0]
        if len(said) > 1:
            yield tokens(said[1]), found.order(), said[1]
    elif part.title == "Agreement" and made.agreement:
        yield tokens(" ".join(said)), found.agreement(), said[0]
    elif part.title == "The pool":
        assert made.ledger is not None
        yield tokens(" ".join(said)), [*found.pool(), *found.graded(list(made.ledger.coverages))], said[0]
    elif part.title == "What to distrust":
        for sentence in said:
            yield from _finding(found, sentence)


def _finding(found: Expected, sentence: str) -> Iterator[tuple[list[str], list[str], str]]:
    if any(words in sentence for words in NO_NUMBERS):
        assert not re.search(r"\d", sentence), sentence
    elif "no relevant document under" in sentence:
        # The queries' names are in evaluate's JSON only by query.
        yield tokens(sentence)[:3], found.irrelevant(), sentence
    elif "per query, fewer than" in sentence:
        cut = [[*named(one["run_tags"]), str(one["documents_per_query"])] for one in found.first["truncated"]]
        yield tokens(sentence), next((one for one in cut if one[-1] in sentence), []), sentence
    elif not sentence.startswith("Nothing that was checked"):
        (expected,) = [expected for words, expected in KINDS.items() if words in sentence]
        yield tokens(sentence), expected(found), sentence


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_every_number_and_name_is_that_of_the_json(first: int) -> None:
    for seed in range(first, first + 10):
        made = collection(seed)
        found = Expected(made)
        for part in opening(made, "systems", "agreement").parts:
            for given, expected, sentence in checked(found, part, made):
                assert given == expected, f"collection {seed}: {sentence}"


def test_the_random_collections_have_findings_of_every_kind() -> None:
    said = [
        sentence
        for seed in range(60)
        for part in opening(collection(seed), "s", "a").parts
        for sentence in sentences(part)
    ]
    absent = [words for words in [*KINDS, *NO_NUMBERS] if not any(words in sentence for sentence in said)]
    assert absent == []


def test_the_leaderboard_is_that_of_the_json() -> None:
    for seed in range(12):
        made = collection(seed)
        blocks = opening(made, "systems", "agreement").parts[0].blocks
        (board,) = [block for block in blocks if isinstance(block, Standings)]
        expected = []
        for run in Expected(made).runs:
            mean = run["measures"][MEASURE]
            ends = None if mean["low"] is None else (mean["low"], mean["high"])
            expected.append((run["rank"], run["run_tag"], mean["mean"], ends, run["group"]))
        rows = [(row.rank, row.system.text, row.mean, row.interval, row.letters.split()) for row in board.rows]
        assert rows == expected
