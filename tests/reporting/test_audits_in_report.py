"""The report's audits of judges, and the line about a judge that was never audited."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.evaluate import Settings
from quati_pool.commands.report import State, opened
from quati_pool.project.events import Listener
from quati_pool.reporting.answers import audit as answers
from quati_pool.reporting.answers.findings import checked, fooled
from quati_pool.reporting.formats.document import Link, Paragraph, plain
from quati_pool.reporting.page import report
from quati_pool.reporting.sections import audits
from tests.audited_workspace import AUDITED, asked, audited_demo, hostile_workspace
from tests.estimated_workspace import JUDGE
from tests.reporting.explorer.parts import collection

pytestmark = pytest.mark.slow

FEW = Settings(draws=20)


class Lines(Listener):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, line: str) -> None:
        self.said.append(line)


def read(config: Path, settings: Settings = FEW, names: Sequence[str] = (), listener: Listener | None = None) -> State:
    with opened(config, settings, names=names, listener=listener) as state:
        return state


@pytest.fixture(scope="module")
def made(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pool.yaml of an audited demo with its report; not to be changed."""
    config = audited_demo(finished_demo, tmp_path_factory.mktemp("audited") / "demo")
    report(config, Listener(), FEW)
    return config


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made.parent, tmp_path / "demo", symlinks=True)) / "pool.yaml"


def texts(config: Path) -> tuple[str, str]:
    """The HTML without entities, and the Markdown without backslashes."""
    reports = config.parent / "reports"
    markup, text = ((reports / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    return html.unescape(markup), text.replace("\\", "")


def test_both_files_have_the_card_and_the_worst_examples(made: Path) -> None:
    (found,) = read(made).audits
    answer = answers.answer([found])
    assert answer.table is not None
    example = next(one.cases[one.findings.worst[0]] for one in found.probes if one.findings and one.findings.worst)
    for text in texts(made):
        for sentence in answer.sentences:
            assert sentence in re.sub(r"</?(a|bdi)\b[^>]*>", "", text)
        assert answer.table.title in text
        assert example.original.query in text
        assert example.changed.text.splitlines()[-1] in text
    _, text = texts(made)
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings.index("Audits of judges") == headings.index("Trust in the pool and in the qrels") + 1
    card, _, rest = text.partition("## Methods")
    assert example.changed.text.splitlines()[-1] not in card
    assert f"<summary>Audit of {AUDITED}</summary>" in rest
    titles = re.findall(r"^### (.*)$", text, re.MULTILINE)
    assert len(set(titles)) == len(titles)


def test_where_nothing_was_audited_nothing_is_said(finished_demo: Path, tmp_path: Path) -> None:
    config = Path(shutil.copytree(finished_demo, tmp_path / "demo", symlinks=True)) / "pool.yaml"
    state = read(config)
    assert (state.audits, state.unaudited) == ([], [])
    assert "audits" not in state.key
    assert audits.body(state) == audits.appendix(state) == list(fooled(state)) == []
    assert not any("fools" in name for name in checked(state))
    report(config, Listener(), FEW)
    assert not any("udit" in text for text in texts(config))
    assert "audits" not in collection(config.parent / "reports" / "explore")


def test_a_language_model_that_was_not_audited_is_named_with_the_command(finished_estimates: Path) -> None:
    state = read(finished_estimates / "pool.yaml")
    assert state.unaudited == [JUDGE]
    [line] = audits.body(state)
    assert isinstance(line, Paragraph)
    said = f"{JUDGE} was not audited, so what fools it is not known; run: quati-pool audit {JUDGE}"
    assert plain(line.text) == said


def test_the_main_labelers_audit_is_among_what_to_distrust(made: Path) -> None:
    assert list(fooled(read(made))) == []
    state = read(made, Settings(draws=20, labeler=AUDITED))
    [words] = fooled(state)
    assert re.match(rf"{AUDITED} fails its audit \(.*keyword stuffing.*\): \d", plain(words))
    assert isinstance(words[0], Link)
    assert words[0].href == "#audits"
    assert "what fools the judge" in checked(state)


def test_the_key_names_the_cases_and_the_bounds(copied: Path) -> None:
    before = read(copied).key
    assert [*before["audits"]] == [AUDITED]
    assert read(copied).key == before
    text = copied.read_text(encoding="utf-8")
    copied.write_text(
        text.replace('audit: {"pairs": 20}', "audit: {pairs: 20, probes: {stuffing: {bound: 0.5}}}"), encoding="utf-8"
    )
    assert read(copied).key["audits"] != before["audits"]
    assert read(copied).key["state"] == before["state"]


def test_other_labelers_have_no_audit_of_it(made: Path) -> None:
    assert read(made, names=["sample-gold"]).audits == []
    assert [one.judge for one in read(made, names=[AUDITED]).audits] == [AUDITED]


def test_an_audit_that_cannot_be_read_is_left_out(copied: Path) -> None:
    text = copied.read_text(encoding="utf-8")
    changed = "audit: {pairs: 20, probes: {language: {translations: none.jsonl}}}"
    copied.write_text(text.replace('audit: {"pairs": 20}', changed), encoding="utf-8")
    listener = Lines()
    assert read(copied, listener=listener).audits == []
    assert any(line.startswith(f"the audit of {AUDITED} is left out: ") for line in listener.said)


def test_withheld_texts_are_in_no_example(copied: Path) -> None:
    text = copied.read_text(encoding="utf-8")
    copied.write_text(text.replace("release:\n", "release:\n  texts: false\n"), encoding="utf-8")
    report(copied, Listener(), FEW)
    (found,) = read(copied).audits
    example = next(one.cases[one.findings.worst[0]] for one in found.probes if one.findings and one.findings.worst)
    for text in texts(copied):
        assert example.original.text not in text
        assert "Examples are left out, since this collection withholds its texts." in text
    data: Any = collection(copied.parent / "reports" / "explore")
    worst = [example for audit in data["audits"] if audit for example in audit["worst"]]
    assert worst
    assert not any("original" in example or "changed" in example for example in worst)


def test_hostile_passages_are_shown_and_do_nothing(tmp_path: Path) -> None:
    config = hostile_workspace(tmp_path / "hostile")
    assert any(one.findings and one.findings.worst for one in asked(config).probes)
    report(config, Listener(), FEW)
    reports = config.parent / "reports"
    markup, text = ((reports / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    assert "&lt;img src=x onerror=alert(1)&gt;" in markup
    assert markup.count("<script") == 2
    assert not re.search(r"<[^>]*(onerror|onload|onfocus|onmouseover)=", markup)
    assert "https://outside.example" not in re.sub(r">[^<]*<", "><", markup)
    without_examples = re.sub(r"`[^`]*`", "", text)
    for markup_of_passages in ("<script", "<img", "<iframe", "<svg", "<base", "![image]("):
        assert markup_of_passages not in without_examples
