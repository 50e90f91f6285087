"""The commands whose JSON ``golden/`` holds: a table of scenes, each a folder with what is in it and the calls of the
command line that are made there, one after the other."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from quati_pool.commands.annotate.session import AnnotationSession
from tests.commands import small_collection
from tests.commands.annotate import people_at_work, writers
from tests.commands.annotate.authoring import five_questions, romqa_people
from tests.commands.judged import ID_PATTERN, many, pair, workspace
from tests.former.kept_workspace import unpack
from tests.llm.server import ServerProcess
from tests.made_pages import sentence_text
from tests.qa_benchmarks.pira_rows import row, write_split
from tests.qa_benchmarks.small_questions import write_article

ROOT = Path(__file__).parents[2]

PACKED = frozenset({"sha256", "bytes"})
"""Of files whose bytes differ from one zlib, or in the last digit of a score, to the next."""


class Call(NamedTuple):
    """A command line. ``name`` is that of its JSON in ``golden/``, for which ``--format json`` is added; None where it
    prints none. ``status``: how it exits."""

    name: str | None
    command: str
    status: int = 0


@dataclass(frozen=True)
class Scene:
    """``make`` writes what the current folder holds; calls that are functions change it in between. ``saved``: patterns
    of the JSON files that are kept too; a sidecar only where a pattern says so. ``varying``: keys whose values differ
    from one run or processor to the next. ``marks``: what it needs, as the test's markers."""

    make: Callable[[ExitStack], None]
    calls: Sequence[Call | Callable[[], None]]
    saved: Sequence[str] = ()
    varying: frozenset[str] = frozenset()
    marks: Sequence[str] = ()


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def write_yaml(path: str, data: Mapping[str, Any]) -> None:
    write(path, yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True))


def edited(**changes: Any) -> Callable[[], None]:
    """Puts ``changes`` in place of keys of the pool.yaml of the current folder."""

    def edit() -> None:
        write_yaml("pool.yaml", yaml.safe_load(Path("pool.yaml").read_text(encoding="utf-8")) | changes)

    return edit


def serve(stack: ExitStack, **script: Any) -> ServerProcess:
    """A server that OPENAI_BASE_URL names: its port is in no setting, and so in no hash of one."""
    server = stack.enter_context(ServerProcess(id_pattern=ID_PATTERN, polls=0, **script))
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    patch.setenv("OPENAI_BASE_URL", server.url)
    patch.setenv("OPENAI_API_KEY", "sk-mine")
    return server


# ---- build

SYSTEMS = {
    "bm25s": {"retriever": "bm25s", "language": "en", "family": "lexical"},
    "words": {"retriever": "bm25s", "stemming": False, "stop_words": False, "pool_depth": 2, "family": "lexical"},
    "rrf": {"fuse": ["bm25s", "theirs"], "method": "rrf", "k": 60},
    "theirs": {"retriever": "run", "path": "theirs.run"},
    "sixth": {"retriever": "run", "path": "sixth.run", "pool": False},
    "nobody": {"retriever": "run", "path": "nobody.run"},
}


def built(stack: ExitStack) -> None:
    small_collection.make_collection(Path(), systems=SYSTEMS)
    write("nobody.run", "q9 Q0 p01 1 1 nobody\n")
    write("sixth.run", "q6 Q0 p01 1 1 sixth\n")
    asked = list(small_collection.QUERIES)[:5]
    grades = [f"{query} 0 p{n:02} {(place + n) % 3}\n" for place, query in enumerate(asked) for n in range(50)]
    write("gold.qrels", "".join(grades))
    write("empty/nobody.run", "q9 Q0 p01 1 1 nobody\n")
    write("empty/queries.tsv", "q1\tsailors\n")
    shutil.copy("corpus.jsonl", "empty/corpus.jsonl")
    empty = {"nobody": {"retriever": "run", "path": "nobody.run"}}
    write_yaml("empty/pool.yaml", {
        "name": "empty", "corpus": {"path": "corpus.jsonl"}, "queries": {"path": "queries.tsv"}, "systems": empty,
    })  # fmt: skip
    write_yaml("lost/pool.yaml", {
        "name": "lost", "corpus": {"path": "corpus.jsonl"}, "queries": {"path": "queries.tsv"},
        "systems": {"bm25s": {"retriever": "bm25s"}, "theirs": {"retriever": "run", "path": "theirs.run"}},
    })  # fmt: skip


BUILD = Scene(
    built,
    [
        Call("plan", "build --plan"),
        Call("plan-of-one", "build --plan --only theirs"),
        Call("plan-without-files", "build --plan -c lost/pool.yaml"),
        Call("build-of-one", "build --only bm25s"),
        Call("build", "build"),
        Call("build-with-grades", "build --qrels gold.qrels"),
        Call("build-of-nothing", "build -c empty/pool.yaml"),
        Call("plan-of-what-is-there", "build --plan"),
        edited(systems={tag: system for tag, system in SYSTEMS.items() if tag != "nobody"}),
        Call(None, "build"),
        lambda: Path("runs/rrf.trec.gz").unlink(),
        Call("evaluate", "evaluate -c pool.yaml --qrels gold=gold.qrels --draws 50"),
    ],
    saved=["reports/*.json", "pool.jsonl.gz", "pool.jsonl.gz.meta.json"],
    varying=PACKED,
)

PAPER = Scene(
    lambda _: None,
    [Call(None, "init quati --paper"), Call("plan", "build --plan -c quati/pool.yaml")],
    marks=["neural", "java"],  # what is not installed is said
)

# ---- files without a workspace

QUERIES = [f"q{n}" for n in range(1, 7)]
DOCS = [f"d{n:02}" for n in range(20)]


def write_run(run_tag: str, seed: int, queries: Sequence[str] = QUERIES, docs: int = 10) -> None:
    """So many documents a query, with ties."""
    chance = random.Random(seed)
    lines = [
        f"{query} Q0 {doc} {rank} {chance.randrange(5)} {run_tag}\n"
        for query in queries
        for rank, doc in enumerate(chance.sample(DOCS, docs), 1)
    ]
    write(f"runs/{run_tag}.run", "".join(lines))


def write_qrels(name: str, seed: int, queries: Sequence[str] = QUERIES, top: int = 3) -> None:
    chance = random.Random(seed)
    lines = [f"{q} 0 {d} {chance.randint(0, top)}\n" for q in queries for d in DOCS if chance.random() < 0.7]
    write(f"{name}.qrels", "".join(lines))


def files(stack: ExitStack) -> None:
    for seed, run_tag in enumerate("abcd"):
        write_run(run_tag, seed, QUERIES[: 6 - seed])
    write_run("twin-a", 0)
    write_qrels("human", 4)
    write_qrels("llm", 5)
    write_qrels("zeros", 6, top=0)
    write_qrels("one", 7, ["q1"])
    write_qrels("sixth", 8, ["q6"])
    write("twice.qrels", "q1 0 d01 1\nq1 0 d01 1\nq2 0 d02 0\n")
    clusters = {"q1": "north", "q2": "north", "q3": "south", "q4": "", "q5": "south"}
    rows = "".join(f"{query}\t{query} asks\t{cluster}\n" for query, cluster in clusters.items())
    write("clusters.tsv", "query_id\tquery\tcluster_id\n" + rows)
    write("single.tsv", "query_id\tquery\tcluster_id\nq1\tone\tnorth\nq3\tthree\tsouth\n")
    write("alone.tsv", "query_id\tquery\tcluster_id\nq1\tone\tnorth\nq2\ttwo\tnorth\n")
    for name, step in (("ana", 1), ("bia", 2), ("gpt", 3)):
        rows = [
            f"{n // 8}º assunto\ttexto {n}\t{'8' if n == 5 else (n * step) % 4}\n"
            for n in range(8 * 3)
            if n % 7 != step
        ]
        write(f"{name}.tsv", "query\ttext\trelevance\n" + "".join(rows))
    write("constant.qrels", "".join(f"q{n} 0 d01 2\n" for n in range(1, 4)))
    write("other.qrels", "q1 0 d01 2\nq2 0 d01 2\nq3 0 d01 1\n")
    numbers = (0, *range(20))
    pairs = [{"query_id": f"q{n // 8}", "query": f"{n // 8}º assunto", "text": f"texto {n}"} for n in numbers]
    rows = [json.dumps(one | {"doc_id": f"d{place}"}) + "\n" for place, one in enumerate(pairs)]
    write("pool.jsonl", "".join(rows))


ONE = "evaluate --run runs --qrels human=human.qrels --draws 50"
AGREE = "agree --labels ana=ana.tsv --labels bia=bia.tsv --labels gpt=gpt.tsv --grade 8=none --draws 50"

FILES = Scene(
    files,
    [
        Call("evaluate", f"{ONE} --qrels llm=llm.qrels --qrels zeros=zeros.qrels -o out/evaluate"),
        Call("evaluate-per-query", f"{ONE} --per-query --measures 'AP P@5 RR(rel=2)'"),
        Call("evaluate-baseline", f"{ONE} --baseline b --test wilcoxon --alpha 0.5 --labeler human"),
        Call("evaluate-randomisation", f"{ONE} --test randomisation --queries returned --seed 3"),
        Call("evaluate-common", f"{ONE} --queries common --qrels one=one.qrels"),
        Call("evaluate-one-query", "evaluate --run runs --qrels one=one.qrels --draws 50"),
        Call("evaluate-without-draws", "evaluate --run runs --qrels one=one.qrels --qrels zeros=zeros.qrels --draws 0"),
        Call("evaluate-one-run", "evaluate --run runs/a.run --qrels human=human.qrels --draws 50"),
        Call("evaluate-duplicates", "evaluate --run runs --qrels twice=twice.qrels --draws 50"),
        Call("evaluate-pool-depth", f"{ONE} --pool-depth 3"),
        Call("evaluate-pool-depth-irrelevant", "evaluate --run runs --qrels zeros.qrels --pool-depth 3 --draws 0"),
        Call("evaluate-nothing-in-common", "evaluate --run runs/a.run --run runs/twin-a.run --qrels one.qrels "
             "--qrels sixth.qrels --robust --queries clusters.tsv --draws 50 --measures RR"),
        Call("evaluate-sets", "evaluate --run x=runs/a.run --run y=runs/b.run --qrels x=human.qrels "
             "--qrels y=llm.qrels --draws 50"),
        Call("evaluate-sets-under-all", "evaluate --run x=runs --run y=runs/b.run --qrels human.qrels --draws 50"),
        Call("evaluate-robust", f"{ONE} --robust --queries clusters.tsv"),
        Call("evaluate-robust-pool-depth", f"{ONE} --robust --queries clusters.tsv --pool-depth 3"),
        Call("evaluate-robust-single", f"{ONE} --robust --queries single.tsv"),
        Call("evaluate-robust-alone", f"{ONE} --robust --queries alone.tsv"),
        Call("evaluate-robust-one-run", "evaluate --run runs/a.run --qrels human=human.qrels --qrels one=one.qrels "
             "--draws 0 --robust --queries clusters.tsv"),
        Call("agree", f"{AGREE} --person ana --person bia -o out/agree"),
        Call("agree-one-person", f"{AGREE} --person ana --seed 4"),
        Call("agree-nobody", f"{AGREE} --scale 0,1,2,3,4"),
        Call("agree-joined", f"{AGREE} --person ana --person bia --pool pool.jsonl"),
        Call("agree-undefined", "agree --labels a=constant.qrels --labels b=constant.qrels --labels c=other.qrels "
             "--person a --person b --draws 20"),
        Call("agree-without-draws", "agree --labels human.qrels --labels llm.qrels --labels twice.qrels --draws 0"),
        Call("validate", "validate runs/a.run human.qrels ana.tsv clusters.tsv --grade 8=none"),
    ],
    saved=["out/*/*.json"],
)  # fmt: skip

# ---- judging

ASPECTS = {
    "id": "aspects", "version": 1, "language": "en", "summary": "a grade and two aspects",
    "scale": {0: "no", 1: "a little", 2: "yes", 3: "wholly"},
    "system": "Grade by {scale}", "user": "{query}\n\n{passage}", "reask": "{problem}",
    "answer": {"reasoning": "why", "grade": "O", "aspects": {"M": [0, 3], "T": [0, 2]}},
}  # fmt: skip
WAYS = (
    "think_alone", "wrong_keys", "half_grade", "refusal", "filtered_prompt", "length", "400", "off_scale",
    "null", "thought_alone", "long_names", "usage_none", "odd_counts",
)  # fmt: skip
TO_JUDGE = [
    *many(2, 2),
    *(pair("q1", f"s{at:02}", f"[[serve: {way}]] [pair {way}]") for at, way in enumerate(WAYS)),
    pair("q1", "t", " "),
]
FAKE = {"model": "gpt-4o-mini", "prompt": "quati-pt", "concurrency": 1}
JUDGES: dict[str, Any] = {
    "fake": FAKE,
    "aspects": {**FAKE, "prompt": "aspects", "samples": 2, "temperature": 1.0, "model": "unheard-of"},
    "lexical": {"judge": "lexical", "language": "pt"},
    "gold": {"judge": "replay", "path": "gold.qrels"},
    "both": {"consensus": ["lexical", "gold"], "method": "median"},
    "lost": {**FAKE, "prompt": "lost"},
    "limited": {**FAKE, "rpm": 60, "tpm": 100000},
}


def judged(stack: ExitStack) -> None:
    workspace(Path(), TO_JUDGE, JUDGES)
    write_yaml("prompts/aspects.yaml", ASPECTS)
    write("prompts/broken.yaml", "id: broken\n")
    write(
        "gold.qrels", "".join(f"{one['query_id']} 0 {one['doc_id']} {at % 4}\n" for at, one in enumerate(TO_JUDGE[:9]))
    )
    lines = [
        {"query": "um", "text": "[pair a]"}, {"query": "um", "text": "[[serve: empty]] [pair b]"},
        {"query": "dois", "text": "[pair c]"},
    ]  # fmt: skip
    write("pairs.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    serve(stack)


PAIRS = "judge --pairs pairs.jsonl --model fake-1 --prompt quati-en -o graded.jsonl --set concurrency=1"

JUDGE = Scene(
    judged,
    [
        Call("dry-run", "judge fake --dry-run"),
        Call("dry-run-of-a-program", "judge lexical --dry-run"),
        Call("dry-run-of-unknown-price", "judge aspects --dry-run --max-passage-tokens 5"),
        Call("dry-run-within-limits", "judge limited --dry-run --limit 3"),
        Call("judge-limit", "judge fake --reask 0 --limit 2"),
        Call("labels-at-first", "labels fake"),
        Call("judge-budget", "judge fake --reask 0 --budget 0.002 --concurrency 1", 1),
        Call("judge", "judge fake --reask 0"),
        Call("judge-again", "judge fake --reask 0 --budget 1"),
        Call("judge-reread", "judge fake --reread"),
        Call("dry-run-after", "judge fake --dry-run"),
        Call("judge-program", "judge lexical"),
        Call("judge-replay", "judge gold"),
        Call("judge-aspects", "judge aspects --reask 0"),
        Call("labels", "labels"),
        Call("labels-missing", "labels fake aspects gold both --missing"),
        Call("agree", "agree --draws 20"),
        Call("pairs-dry-run", f"{PAIRS} --dry-run"),
        Call("pairs-limit", f"{PAIRS} --limit 2 --reask 0"),
        Call("pairs", PAIRS),
        edited(judges={**JUDGES, "fake": {**FAKE, "model": "gpt-4o"}}),
        Call("labels-earlier", "labels fake"),
        Call("batch-submit", "batch submit fake --limit 12"),
        Call("batch-status", "batch status fake"),
        Call("labels-in-batch", "labels fake"),
        Call("dry-run-in-batch", "judge fake --dry-run"),
        Call("batch-collect", "batch collect fake"),
        Call("batch-status-after", "batch status fake"),
        Call("batch-collect-nothing", "batch collect fake"),
        Call("prompts", "prompts"),
        Call("prompts-show", "prompts show quati-pt --query 'onde fica' --passage 'O Jalapão'"),
        Call("prompts-show-narrative", "prompts show umbrela-style-en --query a --passage b --narrative c"),
        Call(None, "export qrels --labeler lexical -o lexical.qrels"),
        Call("validate", "validate pool.yaml", 1),
    ],
    saved=["graded.jsonl", "reports/agreement.json", "lexical.qrels.meta.json"],
    varying=frozenset({"key", "batch_id"}),
)  # fmt: skip

# ---- what an earlier release left


def former(stack: ExitStack) -> None:
    for path in unpack(Path.cwd()).iterdir():
        path.rename(path.name)


FORMER = Scene(
    former,
    [
        Call("labels", "labels"),
        Call("labels-missing", "labels --missing"),
        Call("dry-run", "judge gpt --dry-run"),
        Call("judge-reread", "judge narrow --reread"),
        Call("agree", "agree ana bia lexical both --draws 50"),
        Call("agree-revealed", "agree ana lexical panel --draws 0 --revealed"),
        Call("assessors", "assessors list"),
        Call("batch-status", "batch status offline"),
        Call("assign", "assign --stratified 14 --judge lexical --seed 3"),
    ],
    saved=["reports/agreement.json"],
)

# ---- people


def people(stack: ExitStack) -> None:
    people_at_work.collection(Path(), people_at_work.pairs(2, 4), judges={"lexical": {"judge": "lexical"}})
    write("training.tsv", "query_id\tdoc_id\trelevance\texplanation\nq0\td0\t3\tyes\n")
    write("ana.qrels", "q0 0 d1 3\nq1 0 d0 0\nq1 0 d0 0\nq9 0 d9 2\n")
    texts = [people_at_work.text(1), people_at_work.text(101), "de ninguém"]
    rows = [f"pergunta q{place}\t{text}\t{place}\n" for place, text in zip((0, 1, 1), texts, strict=True)]
    write("bia.tsv", "query\ttext\trelevance\n" + "".join(rows))
    write("caio.tsv", "query_id\tdoc_id\ttext\trelevance\nq0\td2\toutro texto\t2\nq1\td2\t\tnenhuma\n")
    writers.workspace(Path("questions"), read=False)
    with AnnotationSession.open(Path("questions/pool.yaml")) as session:
        ana, bia = writers.sign_in(session, "ana"), writers.sign_in(session, "bia")
        writers.accepted(session, bia, writers.proposed(session, ana, "Quem cuida do farol?", narrative="De hoje."))
        writers.proposed(session, ana, "Ainda está?", theme="health")


PEOPLE = Scene(
    people,
    [
        Call("assessors-none", "assessors list"),
        Call(None, "assessors add ana --role lead"),
        Call(None, "assessors add bia"),
        Call(None, "assessors revoke bia"),
        Call(None, "assessors add bia"),
        Call(None, "assessors add rui"),
        Call(None, "assessors revoke rui"),
        Call("judge", "judge lexical"),
        Call("assign-dry-run", "assign --stratified 4 --by query --overlap 2 --load 4 --to ana,bia --dry-run"),
        Call("assign", "assign --stratified 4 --by query --overlap 2 --load 4 --to ana,bia"),
        Call("assign-again", "assign --stratified 4 --by query --overlap 2 --load 4 --to ana,bia"),
        Call("assign-by-judge", "assign --stratified 5 --judge lexical --seed 2"),
        Call("assign-random", "assign --random 50% --seed 1"),
        Call("assign-nothing", "assign --random 0.0001"),
        Call("assign-query", "assign --queries q1"),
        Call("training", "assign --training training.tsv"),
        Call("training-dry-run", "assign --training training.tsv --dry-run"),
        Call("assign-all", "assign --all"),
        Call("import", "import ana=ana.qrels bia=bia.tsv caio=caio.tsv --grade nenhuma=none --skip-unknown"),
        Call("import-again", "import ana=ana.qrels --skip-unknown"),
        Call("assessors", "assessors list"),
        Call("labels", "labels --missing ana bia"),
        Call("assessors-seen", "assessors list -c questions/pool.yaml"),
        Call("questions", "questions list -c questions/pool.yaml"),
        Call(None, "questions export -c questions/pool.yaml -o questions.jsonl"),
        Call(None, "export labels --labeler ana -o ana.json"),
        Call(None, "export labels --labeler bia -o bia.jsonl"),
        Call(None, "export labels --labeler caio --as doccano -o doccano.jsonl"),
        Call("validate", "validate questions.jsonl ana.json bia.jsonl doccano.jsonl"),
    ],
    saved=["questions.jsonl", "ana.json", "bia.jsonl", "doccano.jsonl"],
)

# ---- questions written in rounds


def authoring(stack: ExitStack) -> None:
    grades = [{"sense": grade, "hard": 6 - grade, "generic": grade < 4} for grade in (5, 4, 3, 1, 5)]
    others = [{"sense": grade, "hard": 2, "generic": False} for grade in (4, 4, 3, 2, 5)]
    people = five_questions.Five({"rui": grades, "eva": others})
    five_questions.five(Path("sea"), ("ana", "rui", "eva"), people, assessors=2)
    line = {"question_id": "A6", "field": "paraphrase.1.en", "text": "Otherwise?", "drafted_by": "pegasus"}
    write("derived.jsonl", json.dumps(line) + "\n")


AUTHORING = Scene(
    authoring,
    [
        Call("report", "questions report -c sea/pool.yaml"),
        Call("status", "status -c sea/pool.yaml"),
        Call("release", "questions release -c sea/pool.yaml --as jsonl -o released"),
        Call("status-released", "status -c sea/pool.yaml"),
        Call("derive", "questions derive -c sea/pool.yaml --file derived.jsonl"),
        Call("derive-again", "questions derive -c sea/pool.yaml --file derived.jsonl"),
        Call("list", "questions list -c sea/pool.yaml"),
        Call(None, "questions release -c sea/pool.yaml --as jsonl -o released", status=1),
        Call("release-missing", "questions release -c sea/pool.yaml --as jsonl -o released --allow-missing"),
        Call("validate", "validate sea/pool.yaml"),
    ],
    saved=["released/*.json"],
)


def constraints(stack: ExitStack) -> None:
    romqa_people.romqa_workspace(Path("logic"), [romqa_people.made_cluster(number, 4) for number in range(3)])
    people = romqa_people.RomqaPeople(inexact=["not place of birth Q201"], doubting=["bia", "caio"])
    romqa_people.people_done(Path("logic"), people)


CONSTRAINTS = Scene(
    constraints,
    [
        Call("report", "questions report -c logic/pool.yaml"),
        Call("derive", "questions derive -c logic/pool.yaml"),
        Call("release", "questions release -c logic/pool.yaml --as romqa -o released"),
        Call("status", "status -c logic/pool.yaml"),
        Call("list", "questions list -c logic/pool.yaml"),
    ],
    saved=["released/*.json"],
)

# ---- the demo, its page and what is exported of it


def demo(stack: ExitStack) -> None:
    """Without bm25, which joins where it can run, and lsa, whose ties differ from one processor to the next."""
    sample = yaml.safe_load((ROOT / "data" / "sample" / "pool.yaml").read_text(encoding="utf-8"))
    sample["systems"] = {tag: sample["systems"][tag] for tag in ("bm25s", "bm25s-words")}
    sample["systems"]["rrf"] = {"fuse": ["bm25s", "bm25s-words"], "method": "rrf", "k": 60}
    write_yaml("demo/pool.yaml", sample)


DEMO = Scene(
    demo,
    [
        Call("demo", "demo demo"),
        Call("evaluate", "evaluate -c demo/pool.yaml --draws 20"),
        Call("evaluate-named", "evaluate -c demo/pool.yaml lexical sample-gold --draws 20 --baseline rrf"),
        Call(None, "report -c demo/pool.yaml --draws 20"),
        Call(None, "export bundle -c demo/pool.yaml -o bundle"),
        Call(None, "export beir -c demo/pool.yaml -o beir --labeler sample-gold --allow-missing"),
        Call(None, "export hf -c demo/pool.yaml -o hf"),
        Call(None, "export doccano -c demo/pool.yaml -o doccano"),
    ],
    saved=["demo/reports/*.json", "bundle/*.json", "beir/*.json", "hf/*.json", "doccano/*.json"],
    varying=PACKED,
)

AUDIT = Scene(
    demo,
    [
        Call(None, "demo demo"),
        Call("dry-run", "audit -c demo/pool.yaml --pairs 4 --dry-run"),
        Call("audit", "audit -c demo/pool.yaml --pairs 4"),
        Call("audit-again", "audit -c demo/pool.yaml --pairs 4 --probe question --probe language"),
        Call("probes", "audit --probes"),
    ],
)

# ---- prepare

PREPARE_YAML = """\
name: small
seed: 5
steps:
  - read: {path: pages.jsonl}
  - url: {drop_tlds: [pt]}
  - quality: {language: pt}
  - segment: {characters: 300, tolerance: 100}
  - duplicates
  - write: {to: all}
  - sample: {n: 9}
  - write: {to: nine, format: parquet}
"""


def pages(stack: ExitStack) -> None:
    source = random.Random(3)
    rows = []
    for number in range(12):
        url = f"https://example.{'pt' if number < 2 else 'com.br'}/{number}"
        text = "Poucas palavras de que." if number == 7 else sentence_text(source, 900)
        rows.append(json.dumps({"doc_id": f"p{number}", "url": url, "text": text}, ensure_ascii=False) + "\n")
    write("pages.jsonl", "".join(rows))
    os.utime("pages.jsonl", (1_700_000_000, 1_700_000_000))
    write("prepare.yaml", PREPARE_YAML)


PREPARE = Scene(
    pages,
    [
        Call("prepare", "prepare"),
        Call("explain", "prepare --explain quality"),
        Call("steps", "prepare --steps"),
        Call("validate", "validate prepare.yaml pages.jsonl"),
    ],
    saved=["reports/*.json"],
)

# ---- bench


def benchmarks(stack: ExitStack) -> None:
    rows = [
        row(f"A{n}", f"Text {n} of the tide and of wave {n}.", at_labels=f"{n % 2}.0",
            question_meaningful=f"{2 + 3 * (n % 2)}.0",
            question_en_origin=f"What is wave {n}? [[answer: wave {n % 3}]]", answer_en_origin=f"wave {n}",
            answer_en_validate="" if n == 3 else f"the wave {n}")
        for n in range(8)
    ]  # fmt: skip
    write_split(Path("pira"), "test", rows)
    write_split(Path("pira"), "train", rows)
    ferry = [("When does it leave?", ["At eight.", "At nine.", "At ten.", "Never."], "C")]
    write_article(Path("race/test/high/12.txt"), "high12.txt", "In winter it leaves at ten.", ferry)
    write("answers.json", json.dumps({"A1": "wave 1", "A2": "no wave"}))
    write("triggers.json", json.dumps({"A1": "yes", "A2": "no"}))
    write_yaml("models.yaml", {
        "name": "models", "corpus": {"path": "none.jsonl"}, "queries": {"path": "none.tsv"},
        "systems": {"bm25s": {"retriever": "bm25s", "language": "en"}},
        "judges": {"gpt": {"model": "gpt-4o-mini", "prompt": "quati-en", "concurrency": 1}},
    })  # fmt: skip
    serve(stack)


PIRA = "--data pira --lang en --split test"
GPT = "--judge gpt --systems models.yaml"
BENCH = Scene(
    benchmarks,
    [
        Call("list", "bench list"),
        Call("list-one", "bench list pira"),
        Call("ir", f"bench pira ir {PIRA} --systems models.yaml -o out"),
        Call("ir-to", f"bench pira ir {PIRA} --to written"),
        Call("cgqa", f"bench pira cgqa {PIRA} {GPT} --predictions mine=answers.json -o out"),
        Call("cgqa-budget", f"bench pira cgqa {PIRA} {GPT} --budget 0.0000001 -o poor", 1),
        Call("mrc", f"bench pira mrc {PIRA} -o out"),
        Call("at", f"bench pira at {PIRA} --predictions mine=triggers.json -o out"),
        Call("expectations", "bench race expectations --data race -o out"),
    ],
    saved=["out/reports/*.json", "out/reports/at.json.meta.json", "written/*.json"],
)  # fmt: skip

# ---- validate


def faulty(stack: ExitStack) -> None:
    write("a.run", "q1 Q0 d1 1 2.5 a\nq1 Q0 d1 2 x a\nq1 Q0\n")
    write("b.qrels", "q1 0 d1 1\nq1 0 d1 2\nq2 0 d2 no\n")
    write("queries.tsv", "q1\tone\nq1\ttwo\nq3\t\n")
    write("corpus.jsonl", '{"doc_id": "d1", "text": "a"}\n{"doc_id": "d1", "text": ""}\n{"doc_id": 3}\nno\n')
    write("good.jsonl", '{"doc_id": "d1", "text": "a"}\n{"doc_id": "d2", "text": ""}\n')
    write("pool.yaml", "name: x\nsystem: {}\n")
    write("what", "?\n")


VALIDATE = Scene(
    faulty,
    [
        Call("faults", "validate a.run b.qrels queries.tsv corpus.jsonl pool.yaml what", 1),
        Call("limited", "validate a.run --limit 1", 1),
        Call("warnings", "validate good.jsonl --kind corpus"),
    ],
)

LISTINGS = Scene(
    lambda _: None, [Call("retrievers", "retrievers")], varying=frozenset({"problem"}), marks=["neural", "java"]
)

SCENES = {
    "build": BUILD,
    "paper": PAPER,
    "files": FILES,
    "judge": JUDGE,
    "former": FORMER,
    "people": PEOPLE,
    "authoring": AUTHORING,
    "constraints": CONSTRAINTS,
    "demo": DEMO,
    "audit": AUDIT,
    "prepare": PREPARE,
    "bench": BENCH,
    "validate": VALIDATE,
    "listings": LISTINGS,
}
