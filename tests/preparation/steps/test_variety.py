import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from quati_pool.preparation.steps.variety import Variety, evidence
from tests.preparation.filter_steps import quati_passages, reasons, reasons_in_pieces, rows
from tests.preparation.portuguese_sentences import BRAZIL, EITHER, PORTUGAL

GOES = "other variety"


def step(**parameters: object) -> Variety:
    return Variety(Variety.Parameters.model_validate({"keep": "br", **parameters}))


@pytest.mark.parametrize(
    ("text", "br", "pt"),
    [
        ("O ônibus e o trem.", ("ônibus", "trem"), ()),
        ("O AUTOCARRO e o Comboio.", (), ("autocarro", "comboio")),
        ("económico, económica, económicos", (), ("económica",)),  # forms of one word count once
        ("ônibus ônibus ônibus", ("ônibus",), ()),
        (unicodedata.normalize("NFD", "ônibus, género"), ("ônibus",), ("género",)),
        ("micro-ônibus", ("micro-ônibus",), ()),
        ("semiônibus comboiozinho", (), ()),  # whole words only
        ("Tomamos o pequeno-\nalmoço", (), ()),
        ("o café da\nmanhã", ("café da manhã",), ()),  # phrases go over line ends
        ("O facto de chover", (), ("o facto",)),
        ("De facto, ipso facto.", (), ()),  # said in Brazil too
        ("Um fato de banho", (), ("fato de banho",)),
        ("o fato de banho e o fato de que falei", ("fato de que",), ("fato de banho",)),
        ("Ela está fazendo, nós estamos correndo", ("está fazendo",), ()),
        ("Ela está a fazê-lo. Está a fazer-se tarde.", (), ("está a fazer-se",)),
        ("Está quando? Está lindo. Está a par. Está a norte.", (), ()),
        ("Falta de ar: está a ser vista", (), ("está a ser",)),
        ("O celular dele; a terapia celular", ("o celular",), ()),  # cells have the adjective everywhere
        ("", (), ()),
        ("\0\ud800😀", (), ()),
        ("The trem is a bus", ("trem",), ()),
    ],
)
def test_evidence_is_found_by_whole_words_and_phrases(text: str, br: tuple[str, ...], pt: tuple[str, ...]) -> None:
    assert evidence(text) == (br, pt)


@pytest.mark.parametrize(
    ("text", "keep", "at_least", "expected"),
    [
        ("autocarro", "br", 2, ""),
        ("autocarro", "br", 1, GOES),
        ("autocarro comboio", "br", 2, GOES),
        ("autocarro comboio", "pt", 2, ""),
        ("autocarro comboio ônibus", "br", 2, GOES),  # 2 against 1
        ("autocarro comboio ônibus trem", "br", 2, ""),  # 2 against 2: nothing is outweighed
        ("autocarro autocarros autocarro", "br", 2, ""),
        ("ônibus metrô", "pt", 2, GOES),
        ("nada que se note", "br", 1, ""),
    ],
)
def test_a_text_goes_where_the_other_variety_outweighs(text: str, keep: str, at_least: int, expected: str) -> None:
    assert reasons(step(keep=keep, at_least=at_least), rows([text])) == [expected]


def test_texts_in_other_languages_are_let_be() -> None:
    batch = rows(["autocarro comboio"] * 5, languages=["", "pt", "pt-BR", "es", "por"])
    assert reasons(step(), batch) == [GOES, GOES, GOES, "", GOES]


def test_the_detail_names_the_words() -> None:
    verdicts = step().apply(rows(["O autocarro, o comboio e o ônibus", "camião chávena golo equipa ecrã boleia"]))
    assert verdicts.detail(0) == (
        "2 words of the other variety (autocarro, comboio) against 1 (ônibus); fewer than 2 are allowed"
    )
    assert "camião, chávena, golo, equipa, ecrã, …" in verdicts.detail(1)


def test_rows_with_enough_evidence_carry_their_variety() -> None:
    batch = rows(
        ["ônibus trem", "ônibus", "autocarro comboio", "ônibus trem", "ônibus trem autocarro comboio"],
        languages=["pt", "pt", "pt", "es", ""],
    )
    brazil, portugal = step(), step(keep="pt")
    brazil.apply(batch)
    assert brazil.enriched(batch).language == ["pt-BR", "pt", "pt", "es", ""]
    assert brazil.enriched(batch.take(np.array([0]))).language == ["pt-BR"]
    assert portugal.enriched(batch).language == ["pt", "pt", "pt-PT", "es", ""]


@pytest.mark.parametrize(
    ("at_least", "in_brazil", "in_portugal"),
    # Of 40 sentences each, how many show at least one or two words of their side. Whoever wrote the sentences wrote
    # the list too, so that web pages will show less a word, but are longer.
    [(1, 37, 32), (2, 18, 12)],
)
def test_sentences_of_one_variety_are_never_taken_for_the_other(
    at_least: int, in_brazil: int, in_portugal: int
) -> None:
    assert (len(BRAZIL), len(PORTUGAL), len(EITHER)) == (40, 40, 10)
    for keep, ours, theirs, found in (("br", BRAZIL, PORTUGAL, in_portugal), ("pt", PORTUGAL, BRAZIL, in_brazil)):
        hint = step(keep=keep, at_least=at_least)
        # Precision is 1; recall is 37, 32, 18 and 12 in 40.
        assert set(reasons(hint, rows([*ours, *EITHER]))) == {""}
        assert reasons(hint, rows(theirs)).count(GOES) == found


def test_passages_of_some_sentences_are_told_apart() -> None:
    for keep, ours, theirs in (("br", BRAZIL, PORTUGAL), ("pt", PORTUGAL, BRAZIL)):
        passages = [" ".join(theirs[start : start + 8]) for start in range(0, 40, 8)]
        assert reasons(step(keep=keep), rows(passages)) == [GOES] * 5
        passages = [" ".join(ours[start : start + 8]) for start in range(0, 40, 8)]
        assert reasons(step(keep=keep), rows(passages)) == [""] * 5


def test_large_texts_are_judged_too() -> None:
    assert reasons(step(), rows(["x " * 100_000 + "autocarro comboio", "-" * 1_000_000, "a-" * 100_000])) == [
        GOES,
        "",
        "",
    ]


def test_the_list_says_nothing_twice_and_for_both_sides() -> None:
    from quati_pool.preparation.steps.variety import _LIST

    lines = [line for line in _LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    forms = [form.strip() for line in lines for side in line.split("|") for form in side.split(",") if form.strip()]
    assert all(line.count("|") == 1 for line in lines)
    assert len(forms) == len(set(forms)) > 600
    assert all(form == unicodedata.normalize("NFC", form).lower() for form in forms)
    for form in forms:
        # Each is found where it stands, so it is spelt as texts are cut into words.
        assert sum(map(len, evidence(f"x {form} y"))) >= 1, form


@pytest.mark.parametrize("parameters", [{"keep": "ao"}, {"at_least": 0}, {"at_most": 1}])
def test_parameters_that_mean_nothing_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        step(**parameters)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([*BRAZIL, *PORTUGAL, "autocarro comboio"]) | st.text(max_size=30), max_size=8),
    st.integers(1, 4),
)
def test_verdicts_do_not_depend_on_batches(texts: list[str], size: int) -> None:
    batch = rows(texts)
    assert reasons_in_pieces(step(), batch, size) == reasons(step(), batch)


def test_of_the_papers_passages_those_in_european_spelling_go() -> None:
    # Each of the 8 was read: they are from Portugal (parks, the euro, wine rules of the EU).
    passages = quati_passages()
    hint = step()
    verdicts = hint.apply(rows(passages))
    dropped = [verdicts.detail(row) for row in np.flatnonzero(verdicts.codes).tolist()]
    assert (len(passages), len(dropped)) == (237, 8)
    european = ("protecção", "económic", "actividade", "polónia", "prémio", "contacto", "objectivo")
    assert all(any(word in detail for word in european) for detail in dropped)
    assert reasons(step(keep="pt"), rows(passages)).count(GOES) == 37
