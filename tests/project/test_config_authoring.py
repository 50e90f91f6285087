"""What ``authoring:`` in pool.yaml may say, and what a user reads where it says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.annotation.authoring.pira import Pira, PiraParameters
from quati_pool.annotation.authoring.romqa import Romqa, RomqaParameters
from quati_pool.errors import InputError
from quati_pool.project.config import PoolConfig, load_config

FULL = """\
name: sea
authoring:
  design: pira
  languages: [pt, en]
  sources:
    path: [texts.csv, "more/*.jsonl"]
    id: id
    text: {en: abstract, pt: abstract_pt}
    keep: [corpus, eid]
  lease: 45
  split: {by: texts, shares: [60, 20, 20]}
  subject: "the ocean"
  subject_when: {corpus: "1"}
  per_text: 3
  writers: 2
  edited: 0.5
  assessors: 2
"""
SMALL = "name: sea\nauthoring:\n  design: pira\n  languages: [pt]\n  sources: {path: t.csv}\n"


def load(folder: Path, text: str, *, writing: bool = True) -> PoolConfig:
    path = folder / "pool.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, writing=writing)


def fault(folder: Path, text: str, *, writing: bool = True) -> str:
    with pytest.raises(InputError) as caught:
        load(folder, text, writing=writing)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{folder}/pool.yaml:")


def test_a_section_that_says_everything(tmp_path: Path) -> None:
    authoring = load(tmp_path, FULL).authoring
    assert authoring is not None
    assert authoring.parameters == PiraParameters(
        subject="the ocean", subject_when={"corpus": "1"}, per_text=3, writers=2, edited=0.5, assessors=2
    )
    assert (authoring.design, authoring.languages, authoring.lease) == ("pira", ["pt", "en"], 45)
    assert (authoring.sources.id, authoring.sources.keep) == ("id", ["corpus", "eid"])
    assert (authoring.split.by, authoring.split.shares) == ("texts", [60, 20, 20])
    # In the order of the languages, whatever that of the columns.
    assert list(authoring.text_columns.items()) == [("pt", "abstract_pt"), ("en", "abstract")]
    made = authoring.make_design(7)
    assert isinstance(made, Pira)
    assert (made.languages, made.seed, made.parameters.assessors) == (("pt", "en"), 7, 2)


def test_the_smallest_section_and_its_defaults(tmp_path: Path) -> None:
    config = load(tmp_path, SMALL)
    authoring = config.authoring
    assert authoring is not None
    assert (config.systems, config.corpora) == ({}, {})
    assert authoring.parameters == PiraParameters()
    assert (authoring.sources.id, authoring.text_columns, authoring.sources.keep) == ("doc_id", {"pt": "text"}, [])
    assert (authoring.lease, authoring.split.by, authoring.split.shares) == (60, "sets", [80, 10, 10])


ROMQA = "name: logic\nauthoring:\n  design: romqa\n  languages: [en]\n  sources: {path: authoring/clusters}\n"
LETTERS = "expected a language's two letters, such as pt (ISO 639-1; quote the Norwegian 'no')"
SHARES = "expected percent for train, validation and test that sum to 100, with some for train, such as [80, 10, 10]"
FAULTS = {
    "  desing: pira": "2: authoring: the key 'design' is missing; there are: pira, romqa",
    "  design: pirra": "3: authoring.design: there is no authoring design 'pirra'; did you mean 'pira'?",
    "  design: mine.py:Rounds": (
        "3: authoring.design: {folder}/mine.py: there is no such file; check the path, or put it back"
    ),
    "  languages: [pt, pt]": "4: authoring.languages.1: 'pt' is named twice; name each language once",
    "  languages: [por]": f"4: authoring.languages.0: {LETTERS}, not 'por'",
    "  languages: [no]": f"4: authoring.languages.0: {LETTERS}, not False",
    "  languages: []": "4: authoring.languages: expected 1 to 4 languages, such as [pt, en], not []",
    "  languages: [pt, en, es, fr, de]": (
        "4: authoring.languages: expected 1 to 4 languages, such as [pt, en], not ['pt', 'en', 'es', 'fr', 'de']"
    ),
    "  languages: pt": "4: authoring.languages: expected 1 to 4 languages, such as [pt, en], not 'pt'",
    "    pth: t.csv": "6: authoring.sources.pth: unknown key; did you mean 'path'?",
    "    text: {es: texto}": "8: authoring.sources.text.es: is not among languages:; there are: en, pt",
    "    text: {}": "5: authoring.sources: text: expected the column of each language, such as {{pt: text}}",
    "    text: {en: abstract, pt: abstract}": (
        "5: authoring.sources: the column 'abstract' is named twice; name each column once"
    ),
    "    keep: [eid]": (
        "13: authoring.subject_when.corpus: reads the column 'corpus', which sources.keep lacks; add it there"
    ),
    "  lease: 0": "10: authoring.lease: expected at least 1, not 0",
    "  split: {by: text}": "11: authoring.split.by: expected 'sets' or 'texts', not 'text'",
    "  split: {shares: [80, 10]}": f"11: authoring.split: shares: {SHARES}, not [80, 10]",
    "  split: {shares: [0, 50, 50]}": f"11: authoring.split: shares: {SHARES}, not [0, 50, 50]",
    "  per_text: 0": "14: authoring.per_text: expected at least 1, not 0",
    "  edited: 1.5": "16: authoring.edited: expected at most 1, not 1.5",
    "  edited: half": "16: authoring.edited: expected a number, not 'half'",
    "  assessors: 1.0": "17: authoring.assessors: expected a whole number, not 1.0",
}


@pytest.mark.parametrize(("line", "says"), FAULTS.items())
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    key = line.partition(":")[0]
    old = {"    pth": "    path", "  desing": "  design"}.get(key, key)
    lines = [line if one.startswith(f"{old}:") else one for one in FULL.splitlines()]
    assert line in lines
    assert fault(tmp_path, "\n".join(lines)) == says.format(folder=tmp_path)


def test_parts_that_are_missing_or_have_no_effect(tmp_path: Path) -> None:
    without = "".join(f"{line}\n" for line in SMALL.splitlines() if "sources" not in line)
    assert fault(tmp_path, without) == "2: authoring: the key 'sources' is missing; add it"
    assert fault(tmp_path, "name: sea\nauthoring: pira\n").startswith(
        "2: authoring: expected settings such as {design:"
    )
    when = SMALL + "  subject_when: {corpus: '1'}\n"
    assert "subject_when: has no effect without subject; add it, or drop subject_when" in fault(tmp_path, when)


def test_other_commands_say_that_there_are_no_systems_yet(tmp_path: Path) -> None:
    assert fault(tmp_path, SMALL, writing=False) == (
        "1: there are no systems yet, and the questions are still being written (authoring:); go on with: quati-pool "
        "annotate, or name systems: once they are released"
    )
    # Without authoring:, nothing is as before.
    assert (
        fault(tmp_path, "name: sea\n") == "1: systems: expected at least one system, such as  bm25s: {retriever: bm25s}"
    )
    assert fault(tmp_path, SMALL + "systems: {}\n", writing=False).startswith(
        "6: systems: expected at least one system"
    )
    both = "name: sea\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\nsystems: {a: {retriever: bm25s}}\n"
    config = load(tmp_path, both + SMALL.partition("\n")[2], writing=False)
    assert config.authoring is not None
    assert list(config.systems) == ["a"]


def test_a_design_in_a_file_of_the_user(tmp_path: Path) -> None:
    tiny = Path("tests/annotation/authoring/tiny_design.py").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(tiny, encoding="utf-8")
    settings = SMALL.replace("pira", "mine.py:Tiny") + "  words: A title\n"
    authoring = load(tmp_path, settings).authoring
    assert authoring is not None
    assert authoring.make_design(0).id == "authoring/tiny"
    assert authoring.parameters.words == "A title"
    assert fault(tmp_path, settings.replace("words", "wrods")).startswith(
        "6: authoring.wrods: unknown key; did you mean 'words'?"
    )
    assert fault(tmp_path, settings.replace("Tiny", "Tyni")) == (
        "3: authoring.design: mine.py has no class 'Tyni'; there are: Tiny"
    )
    (tmp_path / "mine.py").write_text(tiny.replace('    id = "authoring/tiny"\n', ""), encoding="utf-8")
    assert fault(tmp_path, settings) == (
        "3: authoring.design: mine.py:Tiny has no id, under which its items are stored; give the class one, such as  "
        'id = "authoring/mine"'
    )
    (tmp_path / "mine.py").write_text("class Tiny:\n    pass\n", encoding="utf-8")
    assert fault(tmp_path, settings) == (
        "3: authoring.design: mine.py:Tiny is not an authoring design; derive it from "
        "quati_pool.annotation.authoring.base.Design"
    )


def test_questions_from_clusters(tmp_path: Path) -> None:
    authoring = load(tmp_path, ROMQA).authoring
    assert authoring is not None
    assert authoring.parameters == RomqaParameters()
    assert (authoring.parameters.verifiers, authoring.parameters.raters, authoring.parameters.least_questions) == (
        2,
        3,
        3,
    )
    assert (authoring.source_paths, authoring.split.by, authoring.split.shares) == (
        ["authoring/clusters"],
        "clusters",
        [80, 10, 10],
    )
    assert isinstance(authoring.make_design(3), Romqa)
    more = ROMQA.replace("authoring/clusters", "[a, b]") + (
        "  verifiers: 3\n  raters: 2\n  least_questions: 1\n  compare: {path: other.tsv, name: RoMQA}\n"
        "  split: {by: clusters, shares: [100, 0, 0]}\n"
    )
    authoring = load(tmp_path, more).authoring
    assert authoring is not None
    assert authoring.source_paths == ["a", "b"]
    assert authoring.parameters.compare.name == "RoMQA"
    assert (authoring.split.by, authoring.split.shares) == ("clusters", [100, 0, 0])


OF_CLUSTERS = {
    "  languages: [en, pt]": "4: authoring.languages: expected one language, such as [en], not ['en', 'pt']",
    "  sources: {path: c, keep: [a]}": (
        "5: authoring.sources.keep: is about texts, and questions of romqa are written from clusters; drop it"
    ),
    "  sources: {path: c, id: a}": (
        "5: authoring.sources.id: is about texts, and questions of romqa are written from clusters; drop it"
    ),
    "  sources: {}": (
        "5: authoring.sources: the key 'path' is missing; name the folder that quati-pool questions constraints wrote"
    ),
    "  sources: {pth: c}": (
        "5: authoring.sources: the key 'path' is missing; name the folder that quati-pool questions constraints wrote"
    ),
    "  sources: c": "5: authoring.sources: expected keys and their values, {key: value}, not 'c'",
    "  split: {by: sets}": "6: authoring.split.by: expected 'clusters', not 'sets'",
    "  split: {by: [a]}": "6: authoring.split.by: expected text, not ['a']",
    "  split: clusters": "6: authoring.split: expected keys and their values, {key: value}, not 'clusters'",
    "  verifiers: 0": "6: authoring.verifiers: expected at least 1, not 0",
    "  raters: 2": (
        "2: authoring: raters: has no effect without questions to compare with; add  compare: {path: other.tsv, name: "
        "RoMQA}, or drop raters"
    ),
    "  compare: other.tsv": "6: authoring.compare: expected keys and their values, {key: value}, not 'other.tsv'",
    "  compare: {path: o.tsv}": "6: authoring.compare: the key 'name' is missing; add it",
    **{
        f"  compare: {{path: o.tsv, name: {name}}}": (
            "6: authoring.compare: name: expected words on one line, such as  name: RoMQA"
        )
        for name in ("'-'", '"A\\nB"')
    },
}


@pytest.mark.parametrize(("line", "says"), OF_CLUSTERS.items())
def test_what_is_wrong_with_questions_from_clusters(tmp_path: Path, line: str, says: str) -> None:
    key = line.partition(":")[0]
    lines = [line if one.startswith(f"{key}:") else one for one in ROMQA.splitlines()]
    assert fault(tmp_path, "\n".join(lines if line in lines else [*lines, line])) == says


JUDGES = "judges:\n  gpt: {model: gpt-4o-2024-11-20, prompt: quati-pt}\n  words: {judge: lexical}\n"
TRANSLATORS = {
    ("[pt, en]", "  translator: gtp\n", JUDGES): "there is no judge 'gtp'; did you mean 'gpt'?",
    ("[pt, en]", "  translator: gtp\n", ""): (
        "there is no judge 'gtp'; add one under judges:, with judge: llm, model:, base_url: and prompt:"
    ),
    ("[pt, en]", "  translator: words\n", JUDGES): (
        "words is not a language model and translates nothing; there are: gpt"
    ),
    ("[pt]", "  translator: gpt\n", JUDGES): (
        "has nothing to translate: every question is in one language; add another, or drop it"
    ),
}


@pytest.mark.parametrize("case", TRANSLATORS)
def test_a_translator_is_a_language_model_with_two_languages(tmp_path: Path, case: tuple[str, str, str]) -> None:
    languages, line, judges = case
    text = SMALL.replace("[pt]", languages) + line + judges
    assert fault(tmp_path, text) == f"6: authoring.translator: {TRANSLATORS[case]}"


def test_a_translator_and_its_budget_are_read(tmp_path: Path) -> None:
    pair = SMALL.replace("[pt]", "[pt, en]")
    found = load(tmp_path, f"{pair}  translator: gpt\n  translator_budget: 2.5\n{JUDGES}").authoring
    assert found is not None
    assert (found.translator, found.translator_budget) == ("gpt", 2.5)
    none = load(tmp_path, pair).authoring
    assert none is not None
    assert (none.translator, none.translator_budget) == (None, None)
    alone = fault(tmp_path, f"{pair}  translator_budget: 2.5\n")
    assert "translator_budget: has no effect without translator; name one, or drop translator_budget" in alone
    free = fault(tmp_path, f"{pair}  translator: gpt\n  translator_budget: 0\n{JUDGES}")
    assert "translator_budget" in free
    romqa = ROMQA + "  translator: gpt\n" + JUDGES
    assert "the rounds of romqa have no form to translate in; drop it" in fault(tmp_path, romqa)
