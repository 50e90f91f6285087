"""What pool.yaml may say, and what a user reads where it says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.errors import InputError
from quati_pool.evaluation.measures import DEFAULTS as MEASURES
from quati_pool.pooling.adaptive import Limits
from quati_pool.project.config import (
    FusionSystem,
    LabelFileConfig,
    PoolConfig,
    RerankSystem,
    RetrieverSystem,
    load_config,
)
from quati_pool.project.config.pooling import lowest_relevant

# Lines 1 to 3; what a test adds begins with line 4.
HEAD = "name: mine\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\n"
TWO_CORPORA = "name: mine\ncorpora: {10M: {path: a}, 1M: {path: b}}\nqueries: {path: q.tsv}\n"
ONE = "systems:\n  a: {retriever: bm25s}\n"

FULL = """\
name: pira-pt
seed: 7
corpora:
  10M: {path: [a.jsonl, "b*.jsonl.gz"], doc_id: id, text: [title, body]}
  1M: {path: c.tsv}
queries: {path: q.csv, query_id: qid, query: question, narrative: about, cluster_id: group, sample: 50}
systems:
  rrf: {fuse: [bm25s, two-stage], method: rrf, k: 10, weights: [1, 0.5], depth: 200, family: mixed}
  two-stage: {first: bm25s, rerank: {with: lsa, dimensions: 16, depth: 1000}, pool_depth: 20}
  bm25s: {retriever: bm25s, corpus: 1M, language: "no", stemming: false, k1: 1, b: 0.75}
  mnz: {fuse: [rrf, lsa_10M], method: combmnz, normalization: z-score}
  lsa_10M: {retriever: lsa, corpus: 10M, pool: false}
  theirs+x.1: {retriever: run, corpus: 1M, path: theirs.run}
run_depth: 50
pool: {depth: 5, extra: more.tsv}
"""


def load(folder: Path, text: str) -> PoolConfig:
    path = folder / "pool.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path)


def message(folder: Path, text: str) -> str:
    """What the user reads, without the folder."""
    with pytest.raises(InputError) as caught:
        load(folder, text)
    return str(caught.value).removeprefix(f"{folder}/")


def test_the_smallest_file_and_its_defaults(tmp_path: Path) -> None:
    config = load(tmp_path, HEAD + ONE)
    assert (config.name, config.seed, config.run_depth, config.pool.depth) == ("mine", 0, 100, 10)
    assert config.folder == tmp_path
    assert (config.corpora["corpus"].doc_id, config.corpora["corpus"].text) == ("doc_id", "text")
    system = config.systems["a"]
    assert isinstance(system, RetrieverSystem)
    assert system.corpus == "corpus"
    assert system.parameters.model_dump() == {
        "language": "en", "stemming": True, "stop_words": True, "k1": 0.9, "b": 0.4,
    }  # fmt: skip
    assert (config.family("a"), config.pool_depth("a"), config.search_depth("a")) == ("a", 10, 100)


def test_a_file_that_uses_everything(tmp_path: Path) -> None:
    config = load(tmp_path, FULL)
    assert list(config.corpora) == ["10M", "1M"]
    assert config.corpora["10M"].path == ["a.jsonl", "b*.jsonl.gz"]
    assert (config.queries.query, config.queries.sample, config.pool.extra) == ("question", 50, "more.tsv")
    assert config.queries.cluster_id == "group"
    rrf, two_stage, bm25s = (config.systems[tag] for tag in ("rrf", "two-stage", "bm25s"))
    assert isinstance(rrf, FusionSystem)
    assert (rrf.fuse, rrf.parameters.k, rrf.parameters.weights) == (["bm25s", "two-stage"], 10, [1, 0.5])
    assert isinstance(two_stage, RerankSystem)
    assert (two_stage.first, two_stage.reranker, two_stage.depth) == ("bm25s", "lsa", 1000)
    assert two_stage.parameters.dimensions == 16
    assert isinstance(bm25s, RetrieverSystem)
    assert (bm25s.parameters.language, bm25s.parameters.k1) == ("no", 1.0)
    assert [config.family(tag) for tag in ("rrf", "mnz")] == ["mixed", "mnz"]
    assert {tag: config.pool_depth(tag) for tag in config.systems} == {
        "rrf": 5, "two-stage": 20, "bm25s": 5, "mnz": 5, "lsa_10M": 0, "theirs+x.1": 5,
    }  # fmt: skip


def test_systems_are_made_after_what_they_are_made_from(tmp_path: Path) -> None:
    config = load(tmp_path, FULL)
    order = config.order()
    assert sorted(order) == sorted(config.systems)
    assert [tag for tag in order if tag in ("bm25s", "two-stage", "rrf", "mnz")] == [
        "bm25s", "two-stage", "rrf", "mnz",
    ]  # fmt: skip
    assert order.index("lsa_10M") < order.index("mnz")


def test_a_system_goes_as_deep_as_its_readers(tmp_path: Path) -> None:
    config = load(tmp_path, FULL)
    # two-stage reads 1000 of bm25s; rrf reads 200 of both; mnz, without a depth, run_depth of its inputs.
    assert {tag: config.search_depth(tag) for tag in config.systems} == {
        "rrf": 50, "two-stage": 200, "bm25s": 1000, "mnz": 50, "lsa_10M": 50, "theirs+x.1": 50,
    }  # fmt: skip


FAULTS = {
    "pool deeper than runs": (
        HEAD + ONE + "run_depth: 5\npool: {depth: 6}\n",
        "7: pool.depth: 6 is deeper than run_depth (5); raise run_depth",
    ),
    "system deeper than runs": (
        HEAD + "systems:\n  a: {retriever: lsa, pool_depth: 101}\n",
        "5: systems.a.pool_depth: 101 is deeper than run_depth (100); raise run_depth",
    ),
    "fused twice": (
        HEAD + "systems:\n  a: {retriever: lsa}\n  f: {fuse: [a, a]}\n",
        "6: systems.f.fuse: names 'a' twice; name it once and give it a weight",
    ),
    "weights": (
        HEAD + "systems:\n  a: {retriever: lsa}\n  f: {fuse: [a], weights: [1, 2]}\n",
        "6: systems.f.weights: 2 weights for 1 systems; give one weight per system",
    ),
    "empty": ("", "1: holds no settings; expected keys such as name, corpus, queries, systems"),
    "a list": ("- a\n", "1: holds no settings; expected keys such as name, corpus, queries, systems"),
    "unclosed": ("name: x\nsystems: [\n", "3: is not YAML: expected the node content, but found '<stream end>'"),
    "tab": ("\tname: x\n", "1: is not YAML: found character '\\t' that cannot start any token"),
    "twice": (HEAD + "name: y\n" + ONE, "4: the key 'name' occurs twice; keep one"),
    "twice inside": (
        HEAD + "systems:\n  a:\n    retriever: lsa\n    retriever: bm25s\n",
        "7: the key 'retriever' occurs twice; keep one",
    ),
    "a list as a key": (HEAD + "systems: {[a]: b}\n", "4: a list or a mapping cannot be a key; expected a word"),
    "no name": (HEAD.replace("name: mine\n", "") + ONE, "1: the key 'name' is missing; add it"),
    "no queries": (HEAD.replace("queries: {path: q.tsv}\n", "") + ONE, "1: the key 'queries' is missing; add it"),
    "no path": (
        HEAD.replace("{path: q.tsv}", "{}") + ONE,
        "3: queries: the key 'path' is missing; add it, as a reads the queries' texts",
    ),
    "no corpus": (
        HEAD.replace("corpus: {path: c.jsonl}\n", "") + ONE,
        "1: expected either corpus: (one) or corpora: (several by name), as a reads passages; only run files and "
        "fusions of them do without",
    ),
    "corpus and corpora": (
        HEAD + "corpora: {a: {path: x}}\n" + ONE,
        "1: expected either corpus: (one) or corpora: (several by name)",
    ),
    "no corpora": (
        "name: x\nqueries: {path: q}\ncorpora: {}\n" + ONE,
        "3: corpora: expected a name and a path for each corpus",
    ),
    "no systems": (HEAD, "1: systems: expected at least one system, such as  bm25s: {retriever: bm25s}"),
    "empty systems": (
        HEAD + "systems: {}\n",
        "4: systems: expected at least one system, such as  bm25s: {retriever: bm25s}",
    ),
    "unknown key": (HEAD + "sytems: {}\n", "4: sytems: unknown key; did you mean 'systems'?"),
    "unknown corpus key": (
        HEAD.replace("c.jsonl}", "c.jsonl, txt: body}") + ONE,
        "2: corpus.txt: unknown key; did you mean 'text'?",
    ),
    "unknown key of one of several corpora": (
        TWO_CORPORA.replace("path: b", "path: b, docid: x") + ONE,
        "2: corpora.1M.docid: unknown key; did you mean 'doc_id'?",
    ),
    "unknown queries key": (
        HEAD.replace("q.tsv}", "q.tsv, sampel: 3}") + ONE,
        "3: queries.sampel: unknown key; did you mean 'sample'?",
    ),
    "unknown pool key": (HEAD + "pool:\n  dept: 5\n" + ONE, "5: pool.dept: unknown key; did you mean 'depth'?"),
    "unknown parameter": (
        HEAD + "systems:\n  a:\n    retriever: bm25s\n    K1: 2\n",
        "7: systems.a.K1: unknown key; did you mean 'k1'?",
    ),
    "parameter of another component": (
        HEAD + "systems:\n  a: {retriever: lsa, k1: 2}\n",
        "5: systems.a.k1: unknown key; there are: corpus, dimensions, family, language, pool, pool_depth, "
        "priority, retriever, stemming, stop_words, uses",
    ),
    "unknown rerank key": (
        HEAD + "systems:\n  a: {first: b, rerank: {with: lsa, dept: 5}}\n  b: {retriever: lsa}\n",
        "5: systems.a.rerank.dept: unknown key; did you mean 'depth'?",
    ),
    "unknown key beside rerank": (
        HEAD + "systems:\n  a: {first: b, depth: 5, rerank: {with: lsa}}\n  b: {retriever: lsa}\n",
        "5: systems.a.depth: unknown key; did you mean 'pool_depth'?",
    ),
    "the model's own field": (
        HEAD + "systems:\n  a: {retriever: lsa, parameters: {}}\n",
        "5: systems.a.parameters: unknown key; there are: corpus, dimensions, family, language, pool, "
        "pool_depth, priority, retriever, stemming, stop_words, uses",
    ),
    "unknown retriever": (
        HEAD + "systems:\n  a: {retriever: bm52s}\n",
        "5: systems.a.retriever: there is no retriever 'bm52s'; did you mean 'bm25s'?",
    ),
    "unknown reranker": (
        HEAD + "systems:\n  a: {first: b, rerank: {with: gpt}}\n  b: {retriever: lsa}\n",
        "5: systems.a.rerank.with: there is no reranker 'gpt'; there are: colbert, cross-encoder, dense, lsa, monot5",
    ),
    "unknown fusion": (
        HEAD + ONE + "  c: {fuse: [a], method: rff}\n",
        "6: systems.c.method: there is no fusion 'rff'; did you mean 'rrf'?",
    ),
    "retriever is no name": (
        HEAD + "systems:\n  a: {retriever: 5}\n",
        "5: systems.a.retriever: expected a name; "
        "there are: bm25, bm25s, colbert, dense, lsa, openai-embedding, run, splade",
    ),
    "rerank is no mapping": (
        HEAD + "systems:\n  a: {first: b, rerank: lsa}\n  b: {retriever: lsa}\n",
        "5: systems.a.rerank: expected a reranker, such as  rerank: {with: lsa, depth: 100}",
    ),
    "two kinds of system": (
        HEAD + "systems:\n  a: {retriever: lsa, fuse: [a]}\n",
        "5: systems.a: expected exactly one of retriever:, first: (with rerank:) or fuse:",
    ),
    "no kind of system": (
        HEAD + "systems:\n  a: lsa\n",
        "5: systems.a: expected exactly one of retriever:, first: (with rerank:) or fuse:",
    ),
    "undefined system": (
        HEAD + ONE + "  c: {fuse: [a, b25s]}\n  bm25s: {retriever: bm25s}\n",
        "6: systems.c: is made from 'b25s', which is not defined; did you mean 'bm25s'?",
    ),
    "undefined first stage": (
        HEAD + "systems:\n  a: {first: zzz, rerank: {with: lsa}}\n  b: {retriever: lsa}\n",
        "5: systems.a: is made from 'zzz', which is not defined; there are: b",
    ),
    "made from itself": (
        HEAD + "systems:\n  a: {fuse: [a]}\n",
        "5: systems.a: depends on itself (a → a); break the cycle",
    ),
    "made from itself by another": (
        HEAD + ONE + "  b: {first: c, rerank: {with: lsa}}\n  c: {fuse: [a, b]}\n",
        "7: systems.c: depends on itself (c → b → c); break the cycle",
    ),
    "nothing to fuse": (
        HEAD + "systems:\n  a: {fuse: []}\n",
        "5: systems.a.fuse: expected at least 1, not []",
    ),
    "one to fuse, not in a list": (
        HEAD + ONE + "  b: {fuse: a}\n",
        "6: systems.b.fuse: expected a list, such as [a, b], not 'a'",
    ),
    "a number as a run tag": (
        HEAD + "systems:\n  7: {retriever: lsa}\n",
        "5: systems.7: expected a name of letters, digits, '.', '_', '+' and '-' (quote a number: '7')",
    ),
    "a run tag with a blank": (
        HEAD + "systems:\n  my system: {retriever: lsa}\n",
        "5: systems.my system: expected a name of letters, digits, '.', '_', '+' and '-' (quote a number: '7')",
    ),
    "a run tag that is a path": (
        HEAD + "systems:\n  ../a: {retriever: lsa}\n",
        "5: systems.../a: expected a name of letters, digits, '.', '_', '+' and '-' (quote a number: '7')",
    ),
    "Norway": (
        HEAD + "systems:\n  a: {retriever: bm25s, language: no}\n",
        "5: systems.a.language: expected text, not False (YAML reads a bare yes, no, on or off that way: put "
        "it in quotes)",
    ),
    "unknown language": (
        HEAD + "systems:\n  a: {retriever: bm25s, language: ptt}\n",
        "5: systems.a.language: there is no language 'ptt'; did you mean 'pt'?",
    ),
    "a year as a name": (
        HEAD.replace("mine", "2024") + ONE,
        "1: name: expected text, not 2024 (put it in quotes)",
    ),
    "a name that is nothing": (HEAD.replace("mine", "") + ONE, "1: name: expected text, not nothing"),
    "corpus is a path": (
        HEAD.replace("{path: c.jsonl}", "c.jsonl") + ONE,
        "2: corpus: expected keys and their values, {key: value}, not 'c.jsonl'",
    ),
    "pool is a number": (
        HEAD + "pool: 10\n" + ONE,
        "4: pool: expected keys and their values, {key: value}, not 10",
    ),
    "run_depth is a word": (HEAD + "run_depth: ten\n" + ONE, "4: run_depth: expected a whole number, not 'ten'"),
    "run_depth is broken": (HEAD + "run_depth: 2.5\n" + ONE, "4: run_depth: expected a whole number, not 2.5"),
    "seed is true": (HEAD + "seed: true\n" + ONE, "4: seed: expected a whole number, not True"),
    "depth is 0": (HEAD + "pool: {depth: 0}\n" + ONE, "4: pool.depth: expected at least 1, not 0"),
    "rerank depth is 0": (
        HEAD + "systems:\n  a: {first: b, rerank: {with: lsa, depth: 0}}\n  b: {retriever: lsa}\n",
        "5: systems.a.rerank.depth: expected at least 1, not 0",
    ),
    "k1 is a word": (
        HEAD + "systems:\n  a:\n    retriever: bm25s\n    k1: high\n",
        "7: systems.a.k1: expected a number, not 'high'",
    ),
    "k1 is negative": (
        HEAD + "systems:\n  a: {retriever: bm25s, k1: -0.1}\n",
        "5: systems.a.k1: expected at least 0, not -0.1",
    ),
    "b is above 1": (
        HEAD + "systems:\n  a: {retriever: bm25s, b: 4}\n",
        "5: systems.a.b: expected at most 1, not 4",
    ),
    "k1 is infinite": (
        HEAD + "systems:\n  a: {retriever: bm25s, k1: .inf}\n",
        "5: systems.a.k1: expected a finite number, not inf",
    ),
    "a weight is not a number": (
        HEAD + ONE + "  c: {fuse: [a], weights: [.nan]}\n",
        "6: systems.c.weights.0: expected a finite number, not nan",
    ),
    "stemming is a word": (
        HEAD + "systems:\n  a: {retriever: bm25s, stemming: often}\n",
        "5: systems.a.stemming: expected true or false, not 'often'",
    ),
    "unknown normalisation": (
        HEAD + ONE + "  c: {fuse: [a], method: combsum, normalization: minmax}\n",
        "6: systems.c.normalization: expected 'min-max', 'z-score', 'sum' or 'none', not 'minmax'",
    ),
    "a required parameter": (
        HEAD + "systems:\n  a: {retriever: run}\n",
        "5: systems.a: the key 'path' is missing; add it",
    ),
    "which of several corpora": (
        TWO_CORPORA + ONE,
        "5: systems.a: the key 'corpus' is missing; name one of 10M, 1M",
    ),
    "a corpus that is not there": (
        TWO_CORPORA + "systems:\n  a: {retriever: lsa, corpus: 10m}\n",
        "5: systems.a.corpus: there is no corpus '10m'; did you mean '10M'?",
    ),
    "nobody feeds the pool": (
        HEAD + "systems:\n  a: {retriever: lsa, pool: false}\n  b: {retriever: bm25s, pool: false}\n",
        "4: systems: every system has pool: false; let at least one feed the pool",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_its_line_and_key(tmp_path: Path, fault: str) -> None:
    text, expected = FAULTS[fault]
    assert message(tmp_path, text) == f"pool.yaml:{expected}"


_LABELERS = "judges:\n  j: {judge: lexical}\n  h: {people: majority, else: j}\n"
# Line 10 is that of pool:.
_POOLS = {
    "unknown method": (
        "method: mmns, steered_by: j, budget: 9",
        ".method: there is no pool method 'mmns'; did you mean 'mm-ns'?",
    ),
    "method is a number": (
        "method: 5",
        ".method: expected a name; there are: active-sampling, depth, judge-order, max-mean, mm-ns, move-to-front",
    ),
    "parameter of a method": (
        "method: mm-ns, steered_by: j, budget: 9, forgeting: 1",
        ".forgeting: unknown key; did you mean 'forgetting'?",
    ),
    "value of a parameter": (
        "method: mm-ns, steered_by: j, budget: 9, update: x",
        ".update: expected 'holders' or 'source', not 'x'",
    ),
    "no end": ("method: mm-ns, steered_by: j", ": mm-ns needs an end: add budget: (pairs in all) or per_query:"),
    "nobody steers": (
        "method: mm-ns, budget: 9",
        ": mm-ns learns from grades; name who gives them, such as  steered_by: lexical",
    ),
    "an unknown labeler steers": (
        "method: mm-ns, steered_by: k, budget: 9",
        ".steered_by: there is no labeler 'k'; there are: h, j",
    ),
    "a hybrid steers": (
        "method: mm-ns, steered_by: h, budget: 9",
        ".steered_by: h grades by the whole pool, so it cannot choose it; name its people or its judge",
    ),
    "a steered depth pool": (
        "steered_by: j",
        ".steered_by: depth reads no grades; name another method: or drop it",
    ),
    "budget of 0": ("method: mm-ns, steered_by: j, budget: 0", ".budget: expected at least 1, not 0"),
    "half a budget": ("method: mm-ns, steered_by: j, budget: 1.5", ".budget: expected a whole number, not 1.5"),
    "nothing but random": (
        "method: mm-ns, steered_by: j, budget: 9, random_share: 1",
        ".random_share: expected less than 1, not 1",
    ),
    "a grade off the scale": (
        "method: mm-ns, steered_by: j, budget: 9, relevant: 7",
        ".relevant: expected a grade above the lowest one (1, 2, 3), not 7",
    ),
    "everything is relevant": (
        "method: mm-ns, steered_by: j, budget: 9, relevant: 0",
        ".relevant: expected a grade above the lowest one (1, 2, 3), not 0",
    ),
    "spread without a budget": (
        "method: mm-ns, steered_by: j, per_query: 9, spread: 0.5",
        ".spread: is of a budget: that moves between queries; drop it",
    ),
    "spread of a method that does not move": (
        "method: active-sampling, steered_by: j, budget: 9, spread: 0.5",
        ".spread: is of a budget: that moves between queries; drop it",
    ),
    "rounds of a depth pool": ("budget: 9, per_round: 2", ".per_round: has no effect with depth; drop it"),
    "relevance of a depth pool": ("budget: 9, relevant: 2", ".relevant: has no effect with depth; drop it"),
    "a random share of everything": ("random_share: 0.5", ".random_share: has no effect with depth; drop it"),
}


@pytest.mark.parametrize("fault", _POOLS)
def test_a_fault_of_an_adaptive_pool_names_its_line_and_key(tmp_path: Path, fault: str) -> None:
    settings, expected = _POOLS[fault]
    assert message(tmp_path, f"{HEAD}{ONE}{_LABELERS}\npool: {{{settings}}}\n") == f"pool.yaml:10: pool{expected}"


def test_an_adaptive_pool_and_its_defaults(tmp_path: Path) -> None:
    pool = load(tmp_path, f"{HEAD}{ONE}{_LABELERS}pool: {{method: mm-ns, steered_by: j, budget: 9}}\n").pool
    assert (pool.method, pool.parameters.forgetting, pool.steered_by, pool.depth) == ("mm-ns", 0.9, "j", 10)
    assert pool.limits == Limits(budget=9, per_query=None, per_round=1, random=0.0, spread=0.25)
    assert (pool.adaptive, pool.limited, pool.chooses) == (True, True, True)
    assert load(tmp_path, HEAD + ONE).pool.chooses is False
    limited = load(tmp_path, f"{HEAD}{ONE}pool: {{per_query: 3, random_share: 0.3}}\n").pool
    assert (limited.method, limited.adaptive, limited.chooses) == ("depth", False, True)


@pytest.mark.parametrize(
    ("scale", "relevant"),
    [
        # At least half the highest grade; where no grade is above 0, the highest one.
        ([0, 1, 2, 3], 2), ([0, 1], 1), ([0, 1, 2], 1), ([-1, 0, 1], 1), ([-2, -1, 0], 0), ([-3, -2, -1], -1),
    ],
)  # fmt: skip
def test_the_lowest_relevant_grade_of_any_scale(scale: list[int], relevant: int) -> None:
    assert lowest_relevant(scale) == relevant


def test_faults_that_belong_to_no_line(tmp_path: Path) -> None:
    assert message(tmp_path, "a: &a [*a]\n") == "pool.yaml: nests too deeply, or holds itself; write it out"
    assert message(tmp_path, 'name: "\x01"\n') == (
        "pool.yaml: is not YAML: unacceptable character #x0001: special characters are not allowed in "
        '"<unicode string>", position 7'
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_config(tmp_path / "pool.yaml")
    assert str(caught.value) == (
        f"{tmp_path}/pool.yaml: there is no such file; run: quati-pool init DIR, or name one with -c"
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_config(tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read (Is a directory); expected a YAML file"


def test_a_file_in_another_encoding_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_bytes("name: x\n# coleção\n".encode("latin-1"))
    with pytest.raises(InputError) as caught:
        load_config(path)
    assert str(caught.value) == f"{path}:2: is not UTF-8; save it as UTF-8"


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    assert load(tmp_path, "\ufeff" + HEAD + ONE).name == "mine"


def test_anchors_and_merges_are_yaml(tmp_path: Path) -> None:
    text = HEAD + "systems:\n  a: &base {retriever: bm25s, language: pt}\n  b: {<<: *base, k1: 2.0}\n"
    system = load(tmp_path, text).systems["b"]
    assert isinstance(system, RetrieverSystem)
    assert (system.parameters.language, system.parameters.k1) == ("pt", 2.0)


# ---- labels, measures, release


def test_label_files_measures_and_release_are_read(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        HEAD
        + ONE
        + """\
judges:
  lexical: {judge: lexical}
  panel: {consensus: [lexical, ana], method: median}
labels:
  files:
    ana: {path: ana.tsv, person: true, columns: {relevance: grade}, grades: {Good: 3}}
    bruno: bruno.jsonl
measures: [AP, "P@10"]
release: {title: Mine, languages: [pt, en], license: cc-by-4.0}
""",
    )
    ana = config.labels.files["ana"]
    assert (ana.path, ana.person, ana.columns, ana.grades) == ("ana.tsv", True, {"relevance": "grade"}, {"Good": 3})
    assert config.labels.files["bruno"] == LabelFileConfig(path="bruno.jsonl")
    assert config.measures == ["AP", "P@10"]
    assert (config.release.title, config.release.languages, config.release.citation) == ("Mine", ["pt", "en"], None)


def test_without_measures_the_default_ones_are_taken(tmp_path: Path) -> None:
    assert load(tmp_path, HEAD + ONE).measures == list(MEASURES)


@pytest.mark.parametrize(
    ("added", "message"),
    {
        "of a judge's name": (
            "judges: {ana: {judge: lexical}}\nlabels: {files: {ana: a.tsv}}\n",
            "7: labels.files.ana: is the name of a judge too; give one of them another",
        ),
        "unknown key": (
            "labels: {files: {ana: {path: a.tsv, persn: true}}}\n",
            "6: labels.files.ana.persn: unknown key; did you mean 'person'?",
        ),
        "no path": (
            "labels: {files: {ana: {person: true}}}\n",
            "6: labels.files.ana: the key 'path' is missing; add it, or name a data set with ir_datasets:, beir: or "
            "mteb:",
        ),
        "a bad name": (
            "labels: {files: {'a/b': a.tsv}}\n",
            "6: labels.files.a/b: expected a name of letters, digits, '.', '_', '+' and '-' (quote a number: '7')",
        ),
        "no mapping": (
            "labels: {files: [a.tsv]}\n",
            "6: labels.files: expected keys and their values, {key: value}, not ['a.tsv']",
        ),
        "no measures": ("measures: []\n", "6: measures: expected at least 1, not []"),
        "one measure": ("measures: AP\n", "6: measures: expected a list, such as [a, b], not 'AP'"),
        "unknown word of a release": (
            "release: {licence: MIT}\n",
            "6: release.licence: unknown key; did you mean 'license'?",
        ),
    }.values(),
)
def test_what_is_wrong_with_labels_measures_or_release_is_one_line(tmp_path: Path, added: str, message: str) -> None:
    with pytest.raises(InputError) as fault:
        load(tmp_path, HEAD + ONE + added)
    assert str(fault.value) == f"{tmp_path / 'pool.yaml'}:{message}"


# ---- annotation


def test_annotation_has_defaults_and_is_read(tmp_path: Path) -> None:
    usual = load(tmp_path, HEAD + ONE).annotation
    assert (usual.prompt, usual.guidelines, usual.version, usual.reveal) == (None, None, 1, None)
    assert (usual.language, usual.lease, usual.idle, usual.taxonomy.theme) == (None, 30, 120, None)
    assert (usual.evidence, usual.repeats, usual.gold) == ("optional", 0, 0.05)
    text = """\
judges: {a: {judge: lexical}, b: {judge: lexical}, both: {consensus: [a, b]}}
annotation:
  prompt: quati-pt
  guidelines: guidelines.md
  version: 3
  language: pt
  lease: 45
  idle: 60
  evidence: off
  repeats: 0.1
  gold: 0
  taxonomy: {theme: [law, music], type: [how]}
"""
    read = load(tmp_path, HEAD + ONE + text).annotation
    assert (read.prompt, read.guidelines, read.version, read.reveal) == ("quati-pt", "guidelines.md", 3, None)
    assert (read.language, read.lease, read.idle, read.evidence) == ("pt", 45, 60, "off")
    assert (read.repeats, read.gold) == (0.1, 0)
    assert (read.taxonomy.theme, read.taxonomy.scope, read.taxonomy.type) == (["law", "music"], None, ["how"])
    revealing = text.replace("repeats: 0.1", "reveal: both")
    assert load(tmp_path, HEAD + ONE + revealing).annotation.reveal == "both"


@pytest.mark.parametrize(
    "fault",
    [
        "guideline: a.md -> 6: annotation.guideline: unknown key; did you mean 'guidelines'?",
        "version: 0 -> 6: annotation.version: expected at least 1, not 0",
        "language: fr -> 6: annotation.language: expected 'pt', 'en' or 'es', not 'fr'",
        "language: no -> 6: annotation.language: expected 'pt', 'en' or 'es', not False",
        "lease: 0 -> 6: annotation.lease: expected at least 1, not 0",
        "idle: soon -> 6: annotation.idle: expected a number, not 'soon'",
        "repeats: 0.6 -> 6: annotation.repeats: expected at most 0.5, not 0.6",
        "repeats: -0.1 -> 6: annotation.repeats: expected at least 0, not -0.1",
        "gold: .nan -> 6: annotation.gold: expected a finite number, not nan",
        "evidence: on -> 6: annotation.evidence: expected 'optional', 'required' or 'off', not True",
        "reveal: gpt -> 6: annotation.reveal: there is no judge 'gpt'; add it under judges:",
        "taxonomy: {topic: [a]} -> 6: annotation.taxonomy.topic: unknown key; there are: scope, theme, type",
        "taxonomy: {theme: []} -> 6: annotation.taxonomy.theme: expected at least 1, not []",
        "taxonomy: {theme: [a, a]} -> 6: annotation.taxonomy.theme: names 'a' twice; name it once",
        "taxonomy: {theme: [' ']} -> 6: annotation.taxonomy.theme: expected one line of text, not ' '",
    ],
)
def test_a_fault_of_annotation_names_its_line_and_key(tmp_path: Path, fault: str) -> None:
    line, _, told = fault.partition(" -> ")
    text = f"{HEAD}systems: {{a: {{retriever: bm25s}}}}\nannotation:\n  {line}\n"
    assert message(tmp_path, text).startswith(f"pool.yaml:{told}")


def test_annotation_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    assert message(tmp_path, f"{HEAD}{ONE}annotation: soon\n").startswith("pool.yaml:6: annotation: expected keys")


def test_only_a_judge_can_be_revealed(tmp_path: Path) -> None:
    rest = "judges: {lexical: {judge: lexical}}\nlabels: {files: {lex: l.tsv}}\nannotation: {reveal: lex}\n"
    assert "annotation.reveal: there is no judge 'lex'; did you mean 'lexical'?" in message(tmp_path, HEAD + ONE + rest)
