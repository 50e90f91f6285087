"""The step ``quality``: every rule at its bound, what may be set, and what it tells."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.errors import ConfigError, InputError
from quati_pool.files.yaml_file import YamlFile
from quati_pool.preparation.base import ComponentEnvironment
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.quality_rules.presets import PRESETS, RULES
from quati_pool.preparation.quality_rules.stop_words import StopWords, fault_of, languages, list_of
from quati_pool.preparation.steps import quality
from quati_pool.preparation.steps.quality import Quality, QualityParameters
from quati_pool.registry import PREPARATIONS

OFF = dict.fromkeys(rule.key for rule in RULES)
REASONS = {rule.key: rule.reason for rule in RULES}


def batch(texts: list[str], spoken: list[str] | None = None) -> Batch:
    zeros = np.zeros(len(texts), dtype=np.int64)
    ids = [f"d{row}" for row in range(len(texts))]
    return Batch(ids, [""] * len(texts), spoken or [""] * len(texts), texts, zeros, zeros, zeros, zeros)


def step(environment: ComponentEnvironment | None = None, **parameters) -> Quality:
    made = Quality(QualityParameters.model_validate(parameters), environment)
    made.check()
    return made


def dropped(made: Quality, texts: list[str], spoken: list[str] | None = None) -> list[str | None]:
    return [None if code == 0 else made.reasons[code - 1] for code in made.apply(batch(texts, spoken)).codes]


def lines(*groups: tuple[int, str], between: str = "\n") -> str:
    """Lines, ``count`` of each; where that is several they differ by a number, unless the line ends in "="."""
    made = []
    for count, line in groups:
        made += [line.removesuffix("=") + ("" if line.endswith("=") else str(n)) for n in range(count)]
    return between.join(made)


def filled(start: str, characters: int) -> str:
    """The text followed by one long word, of so many characters altogether."""
    return f"{start} {'x' * (characters - len(start) - 1)}"


# Of each rule a text at the bound of MassiveWeb (for our own, that of quati-1M), which stays, and one just beyond.
AT_BOUND = {
    "min_words": (50, "ab " * 50, "ab " * 49),
    "max_words": (100_000, "a " * 100_000, "a " * 100_001),
    # 2 + 4 and 2 + 3 characters in two words.
    "min_word_length": (3, "aa bbbb", "aa bbb"),
    "max_word_length": (10, "a" * 9 + " " + "b" * 11, "a" * 9 + " " + "b" * 12),
    # One and two signs in ten words.
    "max_hash_signs": (0.1, "um #dois" + " x" * 8, "um ##dois" + " x" * 8),
    # Five full stops in a row hold one ellipsis, six two.
    "max_ellipses": (0.1, "um..... dois .. ." + " x" * 6, "um...... dois" + " x" * 8),
    # Nine and ten of ten lines; blank ones do not count.
    "max_bullet_lines": (0.9, lines((9, "  - item "), (1, "fim")) + "\n\n \n", lines((10, "• item ")) + "\n\n \n"),
    "max_ellipsis_lines": (
        0.3,
        lines((3, "fim...="), (6, "item "), (1, ". ..=")),
        lines((3, "fim... ="), (1, "fim…="), (6, "item ")) + "\n\n",
    ),
    # Four and three of five words.
    "min_alphabetic_words": (0.8, "a1 b (c) é 12", "a1 b (c) 99 12"),
    "min_stop_words": (2, "Lá, DE novo; (e) pronto", "de de De DE pronto"),
    # Three and four of ten lines equal one before them.
    "max_duplicate_lines": (0.3, lines((4, "igual ="), (6, "linha ")), lines((5, " igual="), (5, "linha "))),
    "max_duplicate_paragraphs": (
        0.3,
        lines((4, "um\ndois="), (6, "linha "), between="\n\n"),
        lines((5, "um\ndois="), (5, "linha "), between="\n \n"),
    ),
    # The second "aaaa" is 4 of 20 characters, and of 19.
    "max_duplicate_line_characters": (0.2, "aaaa\naaaa\nbbbbbbbbbb", "aaaa\naaaa\nbbbbbbbbb"),
    "max_duplicate_paragraph_characters": (0.2, "aaaa\n\naaaa\n\nbbbbbbbb", "aaaa\n\naaaa\n\nbbbbbbb"),
    # Both occurrences count: 2 × 5 of 50 characters, and of 49; 2 × 9 of 100; 2 × 8 of 100.
    "max_top_2gram": (0.2, filled("ab cd ab cd", 50), filled("ab cd ab cd", 49)),
    "max_top_3gram": (0.18, filled("aa bbb cc aa bbb cc", 100), filled("aa bbb cc aa bbb cc", 99)),
    "max_top_4gram": (0.16, filled("aa b c d aa b c d", 100), filled("aa b c d aa b c d", 99)),
    # The second occurrence alone counts: 15 of 100 characters; 14; 13; 24, 22 and 20 of 200.
    "max_duplicate_5grams": (0.15, filled("aaa bb cc dd ee " * 2 + "y", 100), filled("aaa bb cc dd ee " * 2 + "y", 99)),
    "max_duplicate_6grams": (0.14, filled("aa bb cc d e f " * 2 + "y", 100), filled("aa bb cc d e f " * 2 + "y", 99)),
    "max_duplicate_7grams": (0.13, filled("a b c d e f g " * 2 + "y", 100), filled("a b c d e f g " * 2 + "y", 99)),
    "max_duplicate_8grams": (
        0.12,
        filled("aaaaaaaaaa b c d e f g h " * 2 + "y", 200),
        filled("aaaaaaaaaa b c d e f g h " * 2 + "y", 199),
    ),
    "max_duplicate_9grams": (
        0.11,
        filled("aaaaaa b c d e f g h i " * 2 + "y", 200),
        filled("aaaaaa b c d e f g h i " * 2 + "y", 199),
    ),
    "max_duplicate_10grams": (
        0.1,
        filled("aa b c d e f g h i j " * 2 + "y", 200),
        filled("aa b c d e f g h i j " * 2 + "y", 199),
    ),
    # Two lines of 8 words, and of 8 and 7.
    "min_line_words": (8, "a b c d e f g h\n\na b c d e f g h", "a b c d e f g h\na b c d e f g"),
    # 17 and 16 letters of 20 characters.
    "min_letters": (0.85, "abcdefgh ijklmnopq 123", "abcdefgh ijklmnop 1234"),
}


@pytest.mark.parametrize("key", AT_BOUND)
def test_a_text_at_the_bound_stays_and_one_beyond_is_dropped(key):
    bound, at, beyond = AT_BOUND[key]
    made = step(**{**OFF, key: bound, "language": "pt"})
    assert made.reasons == [REASONS[key]]
    assert dropped(made, [at, beyond, at]) == [None, REASONS[key], None]


@pytest.mark.parametrize("key", AT_BOUND)
def test_a_rule_that_is_off_drops_nothing(key):
    made = step(**{**OFF, "language": "pt"})
    assert made.reasons == []
    assert dropped(made, [AT_BOUND[key][2], ""]) == [None, None]


def test_the_default_bounds_are_those_of_massive_web():
    # Rae et al. 2021, appendix A.1.1 and table A1.
    of_ngrams = {f"max_top_{n}gram": bound for n, bound in ((2, 0.20), (3, 0.18), (4, 0.16))}
    repeated = {5: 0.15, 6: 0.14, 7: 0.13, 8: 0.12, 9: 0.11, 10: 0.10}
    of_ngrams |= {f"max_duplicate_{n}grams": bound for n, bound in repeated.items()}
    paper = {
        "min_words": 50,
        "max_words": 100_000,
        "min_word_length": 3,
        "max_word_length": 10,
        "max_hash_signs": 0.1,
        "max_ellipses": 0.1,
        "max_bullet_lines": 0.9,
        "max_ellipsis_lines": 0.3,
        "min_alphabetic_words": 0.8,
        "min_stop_words": 2,
        "max_duplicate_lines": 0.30,
        "max_duplicate_paragraphs": 0.30,
        "max_duplicate_line_characters": 0.20,
        "max_duplicate_paragraph_characters": 0.20,
        **of_ngrams,
        "min_line_words": None,
        "min_letters": None,
    }
    assert PRESETS["massiveweb"] == paper
    assert {key: getattr(QualityParameters(), key) for key in paper} == paper
    # What the listing shows as defaults.
    assert {key: QualityParameters.model_fields[key].default for key in paper} == paper
    assert [rule.key for rule in RULES] == list(paper)


def test_quati_1m_is_stricter_than_massive_web_in_every_rule():
    for rule in RULES:
        usual, strict = PRESETS["massiveweb"][rule.key], PRESETS["quati-1M"][rule.key]
        assert strict is not None
        assert usual is None or (strict > usual if rule.least else strict < usual), rule.key


def test_a_value_that_is_set_wins_over_the_preset_and_null_switches_off(tmp_path):
    path = tmp_path / "prepare.yaml"
    path.write_text("preset: quati-1M\nlanguage: pt\nmin_words: 7\nmax_hash_signs: null\n")
    reader = YamlFile(path)
    made = Quality(reader.model((), QualityParameters, reader.data))
    made.check()
    assert made.parameters.min_words == 7
    assert made.parameters.max_words == 400
    assert "hash signs" not in made.reasons
    assert len(made.reasons) == len(RULES) - 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("preset: gopher", "preset: expected 'massiveweb' or 'quati-1M', not 'gopher'"),
        ("min_word: 3", "min_word: unknown key"),
        ("max_bullet_lines: 90", "max_bullet_lines: expected at most 1, not 90"),
        ("min_words: -1", "min_words: expected at least 0, not -1"),
        ("min_words: many", "min_words: expected a whole number, not 'many'"),
    ],
    ids=["preset", "key", "share", "negative", "text"],
)
def test_what_cannot_be_set_is_named_with_its_line(tmp_path, line, message):
    path = tmp_path / "prepare.yaml"
    path.write_text(f"language: pt\n{line}\n")
    reader = YamlFile(path)
    with pytest.raises(InputError) as raised:
        reader.model((), QualityParameters, reader.data)
    assert str(raised.value).startswith(f"{path}:2: {message}")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_words": 10, "max_words": 9}, "min_words 10 is more than max_words 9"),
        ({"min_word_length": 6, "max_word_length": 5.5}, "min_word_length 6"),
        ({"stop_words": ["de"], "stop_words_file": "x.txt"}, "keep one"),
        ({"stop_words": ["de"]}, "holds fewer different words than min_stop_words, 2"),
        ({"stop_words": ["de", "De"]}, "holds fewer different words"),
        ({"stop_words": ["de", "d'água"]}, '"d\'água" holds characters other than letters'),
        ({"stop_words": ["de", "x" * 65]}, "has more than 64 characters"),
        ({"language": " "}, "the language is empty"),
    ],
    ids=["words", "length", "both", "few", "same", "apostrophe", "long", "language"],
)
def test_parameters_that_cannot_be_carried_out_are_refused(parameters, message):
    with pytest.raises(ConfigError) as raised:
        step(**parameters)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_stop_words_may_come_from_a_file_beside_prepare_yaml(tmp_path):
    (tmp_path / "words.txt").write_text("# Kiswahili\nna\n\nya\nwa\n", encoding="utf-8")
    parameters = {**OFF, "min_stop_words": 2, "stop_words_file": "words.txt", "language": "sw"}
    made = step(ComponentEnvironment(tmp_path), **parameters)
    assert made.notes() == []
    assert dropped(made, ["watu wa pwani ya kusini", "watu na watu"]) == [None, "few stop words"]
    before = made.key()
    (tmp_path / "words.txt").write_text("na\nya\n", encoding="utf-8")
    assert step(ComponentEnvironment(tmp_path), **parameters).key() != before


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "there is no such file"), (b"caf\xe9\nde\n", "is not UTF-8")],
    ids=["absent", "latin"],
)
def test_a_file_of_stop_words_that_cannot_be_read_is_named(tmp_path, content, message):
    if content:
        (tmp_path / "words.txt").write_bytes(content)
    with pytest.raises(InputError, match=message) as raised:
        step(ComponentEnvironment(tmp_path), stop_words_file="words.txt")
    assert str(tmp_path / "words.txt") in str(raised.value)


def test_without_a_list_of_the_language_the_rule_is_off_and_the_notes_say_so():
    made = step(language="sw")
    assert "few stop words" not in made.reasons
    (note,) = made.notes()
    assert "'sw'" in note
    assert "stop_words_file" in note
    assert step(language="pt-BR").notes() == []
    assert "few stop words" in step(language="pt_BR").reasons
    assert step(language="sw", min_stop_words=None).notes() == []
    assert "white space" in step(language="ja", stop_words=["の", "に"]).notes()[0]


def test_without_a_language_each_row_is_judged_by_its_own():
    made = step(**{**OFF, "min_stop_words": 2})
    (note,) = made.notes()
    assert "each row's language" in note
    portuguese, english = "a casa de pedra e o rio", "the house of stone and that"
    texts = [portuguese, english, portuguese, english, "kitu kingine", "x y", ""]
    spoken = ["pt", "pt", "en", "EN-us", "sw", "", "pt"]
    few = "few stop words"
    assert dropped(made, texts, spoken) == [None, few, few, None, None, None, few]


def test_stop_words_are_found_in_capitals_decomposed_and_beside_punctuation():
    made = step(**{**OFF, "min_stop_words": 1, "stop_words": ["não", "é", "τους"]})
    held = ["NÃO", "na\u0303o,", "«É»", "(e\u0301)", "ΤΟΥΣ", "l'é"]
    not_held = ["nãos", "na\u0303", "éé", "nao", "", "é\u0301"]
    assert dropped(made, held + not_held) == [None] * len(held) + ["few stop words"] * len(not_held)


def test_every_language_has_a_list_of_words_that_texts_can_hold():
    assert {"pt", "en", "es", "fr", "de", "it", "nl", "ca", "gl", "pl", "ru", "sv"} <= set(languages())
    assert set(list_of("en") or ()) == {"the", "be", "to", "of", "and", "that", "have", "with"}
    for code in languages():
        words = list_of(code)
        assert words is not None
        assert len(StopWords(words)) == len(words) >= 8, code
        assert [fault_of(word) for word in words] == [None] * len(words), code
        assert all(word == word.lower() for word in words), code


TOLD = {
    "min_words": "49 words; at least 50",
    "max_words": "100001 words; at most 100000",
    "min_word_length": "2.50 characters per word; at least 3",
    "max_word_length": "10.50 characters per word; at most 10",
    "max_hash_signs": "0.20 hash signs per word; at most 0.1",
    "max_ellipses": "0.20 ellipses per word; at most 0.1",
    "max_bullet_lines": "100.0 % of lines start with a bullet; at most 90 %",
    "max_ellipsis_lines": "40.0 % of lines end in an ellipsis; at most 30 %",
    "min_alphabetic_words": "60.0 % of words hold a letter; at least 80 %",
    "min_stop_words": "1 different stop word; at least 2",
    "max_duplicate_lines": "40.0 % of lines are duplicates; at most 30 %",
    "max_duplicate_line_characters": "21.1 % of characters in duplicate lines; at most 20 %",
    "max_top_2gram": "20.4 % of characters in the most frequent 2-gram; at most 20 %",
    "max_duplicate_9grams": "11.1 % of characters in duplicate 9-grams; at most 11 %",
    "min_line_words": "7.50 words per line; at least 8",
}


@pytest.mark.parametrize("key", TOLD)
def test_the_detail_tells_the_measure_and_the_bound(key):
    bound, at, beyond = AT_BOUND[key]
    verdicts = step(**{**OFF, key: bound, "language": "pt"}).apply(batch([at, beyond]))
    assert verdicts.detail(0) == ""
    assert verdicts.detail(1) == TOLD[key]


def test_the_detail_never_rounds_a_measure_to_its_bound():
    # 1,001 of 5,000 words hold no letter: 79.98 %.
    text = "ab " * 3999 + "12 " * 1001
    verdicts = step(**{**OFF, "min_alphabetic_words": 0.8}).apply(batch([text]))
    assert verdicts.detail(0) == "79.98 % of words hold a letter; at least 80 %"


def test_a_text_is_dropped_for_the_first_rule_it_breaks():
    texts = ["", "# " * 60, "12345 " * 60, "pedra " * 60, "de pedra com flores " * 20]
    reasons = ["too few words", "short words", "few alphabetic words", "few stop words", "top 2-gram"]
    assert dropped(step(language="pt"), texts) == reasons
    order = step(language="pt").reasons
    assert sorted(reasons, key=order.index) == reasons


def test_what_cannot_be_measured_breaks_no_rule():
    made = step(**{**PRESETS["quati-1M"], "min_words": None, "min_stop_words": None})
    assert dropped(made, ["", " \n\n ", "\u3000"]) == [None] * 3


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.text(st.sampled_from("ab é.#-\n…1"), max_size=80)
        | st.sampled_from([case[2] for case in AT_BOUND.values() if len(case[2]) < 999]),
        max_size=8,
    ),
    st.lists(st.integers(0, 8), max_size=3),
    st.integers(1, 300),
)
def test_verdicts_do_not_depend_on_where_batches_end(texts, ends, group):
    made = step(language="pt", min_words=3, min_stop_words=None, min_word_length=None)
    whole = made.apply(batch(texts))
    cuts = [0, *sorted(min(end, len(texts)) for end in ends), len(texts)]
    codes, details = [], []
    made = pickle.loads(pickle.dumps(made))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quality, "_GROUP", group)
        for first, last in pairwise(cuts):
            part = made.apply(batch(texts[first:last]))
            codes += part.codes.tolist()
            details += [part.detail(row) for row in range(last - first)]
    assert codes == whole.codes.tolist()
    assert details == [whole.detail(row) for row in range(len(texts))]


def test_a_very_long_text_is_judged_between_others(monkeypatch):
    monkeypatch.setattr(quality, "_HUGE", 1000)
    good = " ".join(f"de pedra{n} e rio{n * 7}" for n in range(40))
    texts = [good, "ab " * 100_001, "x" * 500_000, good]
    made = step(language="pt")
    verdicts = made.apply(batch(texts))
    reasons = [made.reasons[code - 1] if code else None for code in verdicts.codes]
    assert reasons == [None, "too many words", "too few words", None]
    assert verdicts.detail(1) == "100001 words; at most 100000"
    assert verdicts.detail(2) == "1 word; at least 50"


def test_the_registry_knows_the_step_and_all_it_may_set_is_described():
    assert PREPARATIONS.get("quality") is Quality
    assert all(field.description for field in QualityParameters.model_fields.values())
    assert len({rule.reason for rule in RULES}) == len(RULES)
