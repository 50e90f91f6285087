"""``report``: one page and one Markdown file, both of one state, complete, and harmless whatever they show."""

from __future__ import annotations

import json
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.agree import agree
from quati_pool.commands.evaluate import Settings, evaluate
from quati_pool.commands.report import State, opened
from quati_pool.errors import InputError
from quati_pool.judging.llm_parameters import LlmParameters
from quati_pool.project.events import Listener
from quati_pool.reporting.json_data import agree as agree_data
from quati_pool.reporting.json_data import evaluate as evaluate_data
from quati_pool.reporting.page import report
from quati_pool.reporting.sections.methods import _compact
from quati_pool.store.database import Store
from tests.commands import judged

pytestmark = pytest.mark.slow

FEW = Settings(draws=50)


def read(config_path: Path, settings: Settings) -> State:
    """The results at this moment, whose single labels cannot be read any more."""
    with opened(config_path, settings) as state:
        return state


@pytest.fixture(scope="module")
def made(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo workspace with its report."""
    folder = Path(shutil.copytree(finished_demo, tmp_path_factory.mktemp("report") / "demo"))
    report(folder / "pool.yaml", Listener(), FEW)
    return folder


def test_the_page_and_the_markdown_hold_the_same_tables(made: Path) -> None:
    html = (made / "reports" / "report.html").read_text(encoding="utf-8")
    markdown = (made / "reports" / "report.md").read_text(encoding="utf-8")
    titles = re.findall(r"<figcaption>([^<]+)</figcaption>\n<p", html)
    assert len(titles) > 20
    assert len(set(titles)) == len(titles)
    plain = markdown.replace("\\", "")
    for title in titles:
        shown = title.replace("&#39;", "'").replace("&amp;", "&")
        assert f"### {shown}\n" in plain, title


def test_every_figure_of_the_markdown_lies_beside_it(made: Path) -> None:
    markdown = (made / "reports" / "report.md").read_text(encoding="utf-8")
    figures = re.findall(r"!\[[^]]*\]\(<?([^)>]+)>?\)", markdown)
    assert len(figures) == 5
    for figure in figures:
        assert (made / "reports" / figure).stat().st_size > 1000


def test_the_numbers_are_those_of_agree_and_evaluate(made: Path) -> None:
    markdown = (made / "reports" / "report.md").read_text(encoding="utf-8")
    agreed = agree_data.as_data(agree(made / "pool.yaml", draws=50))
    evaluated = evaluate_data.as_data(evaluate(made / "pool.yaml", settings=FEW))
    assert f"{agreed['pairs'][0]['kappa']:.4f}" in markdown
    assert f"{agreed['overall']['alpha_ordinal']:.4f}" in markdown
    for condition in evaluated["qrels"]:
        for run in condition["runs"]:
            mean = run["measures"]["nDCG@10"]["mean"]
            assert re.search(rf"\| {re.escape(run['run_tag'])} \|.*{mean:.4f}", markdown)


def test_the_methods_name_every_setting_that_counts(made: Path) -> None:
    markdown = (made / "reports" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    methods = markdown[markdown.index("## Methods") :]
    for said in ("50 resamples", "seed 0", "paired t test", "nDCG@10", "R(rel=2)@100", "first 10 documents", "k: 60"):
        assert said in methods
    for run_tag in ("bm25s", "bm25s-words", "lsa", "bm25s-lsa", "rrf", "combmnz"):
        assert f"| {run_tag} |" in methods


def test_the_report_says_what_its_means_go_over_and_what_the_runs_are_like(made: Path, tmp_path: Path) -> None:
    common = Settings(draws=10, queries="common")
    report(made / "pool.yaml", Listener(), common, output=tmp_path / "common")
    markdown = (tmp_path / "common" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    evaluated = evaluate_data.as_data(evaluate(made / "pool.yaml", settings=common))
    for condition in evaluated["qrels"]:
        heading = f"over the {condition['queries']} queries that all runs return"
        assert f"Leaderboard under {condition['name']}, {condition['pairs']:,} graded pairs, {heading}" in markdown
        assert f"### The runs under {condition['name']}" in markdown
        for run in condition["runs"]:
            ties = f"{100 * run['tied_share']:.1f} %"
            assert f"| {run['run_tag']} | {run['queries_returned']} | {run['rows']:,} |" in markdown
            assert re.search(rf"\| {re.escape(run['run_tag'])} \|.*\| {ties} \| 0 \| 0 \|", markdown)
    assert "over the judged queries that all runs return; nDCG takes linear gains" in markdown
    by_default = (made / "reports" / "report.md").read_text(encoding="utf-8")
    assert "over all judged queries, a query that a run lacks counting 0" in by_default


def test_a_second_report_of_the_same_state_is_the_same_bytes(made: Path, tmp_path: Path) -> None:
    report(made / "pool.yaml", Listener(), FEW, output=tmp_path / "again")
    for name in ("report.html", "report.md"):
        assert (tmp_path / "again" / name).read_bytes() == (made / "reports" / name).read_bytes()


def test_hostile_texts_are_shown_and_do_nothing(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> | $x$ ![x](http://evil.example/x.png)"
    pairs = [judged.pair(f"q{q}", f"d{d}") for q in range(3) for d in range(4)]
    for pair in pairs:
        pair["query"] = hostile + pair["query_id"]
    (tmp_path / "gold.tsv").write_text(
        "query_id\tdoc_id\trelevance\n" + "".join(f"q{q}\td{d}\t{(q + d) % 4}\n" for q in range(3) for d in range(4)),
        encoding="utf-8",
    )
    judges = {"lexical": {"judge": "lexical"}}
    path = judged.workspace(tmp_path, pairs, judges, labels={"files": {"gold": {"path": "gold.tsv", "person": True}}})
    _pooled(tmp_path)
    lines = "".join(f"q{q}\t{hostile}q{q}\n" for q in range(3))
    (tmp_path / "queries.tsv").write_text(lines, encoding="utf-8")
    report(path, Listener(), FEW)
    html = (tmp_path / "reports" / "report.html").read_text(encoding="utf-8")
    assert html.count("<script") == 2
    assert "http://evil" not in re.sub(r">[^<]*<", "><", html)
    markdown = (tmp_path / "reports" / "report.md").read_text(encoding="utf-8")
    assert "<script" not in markdown
    assert "![x](" not in markdown


def test_without_labels_or_runs_the_report_says_what_is_missing(tmp_path: Path) -> None:
    path = judged.workspace(tmp_path, judged.many(2, 3), {})
    _pooled(tmp_path)
    report(path, Listener(), FEW)
    markdown = (tmp_path / "reports" / "report.md").read_text(encoding="utf-8")
    assert "nobody has graded anything" in markdown
    assert "## The pool" in markdown


def test_without_a_pool_it_is_one_line(tmp_path: Path) -> None:
    path = judged.workspace(tmp_path, judged.many(2, 3), {})
    (tmp_path / "pool.jsonl.gz").unlink()
    with pytest.raises(InputError, match="not there yet; run: quati-pool build"):
        report(path, Listener(), FEW)


def test_labels_written_while_it_reads_are_in_none_of_it(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grade that lands between the reading of grades and that of the ledger is in neither."""
    from quati_pool.commands import labels
    from quati_pool.commands.judge.judge import judge

    before = read(made / "pool.yaml", FEW)
    (made / "pool.yaml").write_text(
        (made / "pool.yaml").read_text(encoding="utf-8").replace("labels:\n", "  second: {judge: lexical}\nlabels:\n"),
        encoding="utf-8",
    )
    reading = labels.read

    def meanwhile(*arguments: Any, **options: Any) -> Any:
        other = threading.Thread(target=lambda: judge(made / "pool.yaml", "second", Listener()))
        other.start()
        other.join()
        return reading(*arguments, **options)

    monkeypatch.setattr(labels, "read", meanwhile)
    during = read(made / "pool.yaml", FEW)
    assert during.seq == before.seq
    assert during.ledger is not None
    assert during.ledger.coverages["second"].unasked == len(before.pool.pool)
    assert "second" not in {source.name for source in during.gathered.sources}
    monkeypatch.undo()
    with Store.open(None, made) as store, store.snapshot() as seq:
        assert seq > during.seq
    assert "second" in {source.name for source in read(made / "pool.yaml", FEW).gathered.sources}


def _pooled(folder: Path) -> None:
    """Gives a pool that a test wrote the sidecar of one that ``build`` made."""
    meta = folder / "pool.jsonl.gz.meta.json"
    told = json.loads(meta.read_text(encoding="utf-8"))
    told["key"] = {"depth": {"a": 10}, "systems": ["a"]}
    meta.write_text(json.dumps(told), encoding="utf-8")


def test_no_secret_of_a_judges_settings_is_printed() -> None:
    address = "https://h/v1?api_key=s3cret"
    # Settings that are checked hold none.
    parameters = LlmParameters.model_construct(
        model="m", prompt="p.yaml", base_url=address, extra_body={"token": "s3cret"}
    )
    told = _compact(parameters)
    assert "s3cret" not in told
    assert "https://h/v1?***" in told
