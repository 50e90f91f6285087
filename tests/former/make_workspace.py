"""Makes the workspace that ``workspace-<revision>.tar.gz`` keeps of a commit: run once, by the code of that commit.

    python -m tests.former.make_workspace

It holds every kind of component that runs without a network: its pool.yaml, models with random weights, what
``build`` and ``prepare`` made, and a labels.db with labels of judges and of people in every phase. ``known.json``
says what the commands of the day counted, which those of any later day must count too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.store.records import Design, Entry, Label, NewSlot, Phase, Selection, content_sha
from quati_pool.store.schema import HEAD
from tests.llm.embedding_server import EmbeddingServer
from tests.llm.server import ServerProcess
from tests.tiny_models import cross_encoder, dense, multivector, sparse, t5

HERE = Path(__file__).parent
FOLDER = HERE / f"workspace-{HEAD}"
KEPT = HERE / f"{FOLDER.name}.tar.gz"

PASSAGES = (
    "the tide lifts the boats of the harbour before the court sits",
    "a judge hears the appeal of a witness who saw the harbour at night",
    "the baker kneads the dough while the oven rises to its heat",
    "the lighthouse keeper counts boats and writes the tide of each day",
    "agua do rio e floresta nao faltam ao judge que viaja",
    "the fox and the dog sleep beside the oven of the baker",
    "an appeal to the court needs a witness and a judge",
    "dough that rises too long tastes of the river",
    "boats leave the harbour with the tide",
    "the keeper of the court keeps a dog",
)
QUERIES = {"q1": "boats of the harbour and the tide", "q2": "judge of the court", "q3": "dough in the oven"}
TINY: dict[str, Any] = {"num_hidden_layers": 1}


def main() -> None:
    if KEPT.exists():
        sys.exit(f"{KEPT} is there: a kept workspace stays as the tool of its day made it")
    FOLDER.mkdir()
    write_inputs()
    write_models(FOLDER / "models")
    with ServerProcess(polls=0) as chat, EmbeddingServer() as embedding:
        os.environ["FORMER_KEY"] = "any"
        write_config(chat.url, embedding.url)
        run("build")
        for judge in ("gpt", "narrow", "lexical", "gold"):
            run("judge", judge)
        run("batch", "submit", "offline")
        run("batch", "collect", "offline")
    run("assign", "--stratified", "14", "--judge", "lexical", "--seed", "3")
    for name in ("ana", "bia"):
        run("assessors", "add", name)
        run("import", f"{name}={name}.qrels", "--skip-unknown")
    with AnnotationSession.open(FOLDER / "pool.yaml") as session:
        label_by_hand(session)
    for judge in ("lexical", "ana"):
        run("export", "qrels", "--labeler", judge, "-o", f"qrels/{judge}.qrels", "--allow-missing")
    run("prepare", config="prepare.yaml")
    write_known()
    for needless in ("cache/locks", "labels.db-locks", "reports"):
        shutil.rmtree(FOLDER / needless)
    shutil.make_archive(str(FOLDER), "gztar", HERE, FOLDER.name)
    shutil.rmtree(FOLDER)


def write_inputs() -> None:
    rows = [{"doc_id": f"d{n}", "text": text} for n, text in enumerate(PASSAGES)]
    (FOLDER / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (FOLDER / "queries.tsv").write_text("".join(f"{query_id}\t{query}\n" for query_id, query in QUERIES.items()))
    theirs = [
        f"{q} Q0 d{(n + place) % 10} {n} {10 - n} theirs\n" for place, q in enumerate(QUERIES) for n in range(1, 6)
    ]
    (FOLDER / "theirs.run").write_text("".join(theirs))
    pairs = [(q, f"d{n}") for q in QUERIES for n in range(len(PASSAGES))]
    for name, step in (("ana", 1), ("bia", 2), ("gold", 3)):
        graded = [f"{q} 0 {d} {(place * step) % 4}\n" for place, (q, d) in enumerate(pairs)]
        (FOLDER / f"{name}.qrels").write_text("".join(graded))
    pages = [
        {"doc_id": f"p{n}", "url": f"https://example.org/{n}", "text": "\n\n".join(PASSAGES[n : n + 4] * 3)}
        for n in range(6)
    ]
    (FOLDER / "pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    # Shards are known by the times of their files, of which an archive keeps the seconds.
    os.utime(FOLDER / "pages.jsonl", (1_700_000_000, 1_700_000_000))
    steps: list[Any] = [
        {"read": {"path": "pages.jsonl"}},
        {"url": {"drop_tlds": ["pt"]}},
        {"language": {"keep": ["en"], "threshold": 0.1}},
        {"segment": {"characters": 300, "tolerance": 50}},
        {"variety": {"keep": "br"}},
        {"line-breaks": {"share": 0.5}},
        {"quality": {"min_words": 3}},
        "duplicates",
        {"near-duplicates": {"threshold": 0.9}},
        {"sample": {"share": 0.9}},
        {"write": {"to": "prepared"}},
    ]
    (FOLDER / "prepare.yaml").write_text(yaml.safe_dump({"name": "former", "seed": 0, "steps": steps}, sort_keys=False))


def write_models(folder: Path) -> None:
    made = folder / "made"
    dense.sentence_transformer(made / "dense", **TINY)
    sparse.splade(made / "splade", **TINY)
    multivector.plain(made / "colbert")
    cross_encoder.cross_encoder(made / "cross-encoder", **TINY)
    t5.t5(made / "monot5", num_layers=1)
    for name in ("dense", "colbert", "cross-encoder", "monot5"):
        shutil.move(made / name, folder / name)
    shutil.move(made / "splade" / "model", folder / "splade")
    shutil.rmtree(made)


def write_config(chat: str, embedding: str) -> None:
    llm = {"model": "m-2024", "prompt": "quati-pt", "base_url": chat, "api_key_env": "FORMER_KEY"}
    config = {
        "name": "former",
        "seed": 7,
        "corpus": {"path": "corpus.jsonl"},
        "queries": {"path": "queries.tsv"},
        "systems": {
            "bm25": {"retriever": "bm25", "language": "en"},
            "bm25s": {"retriever": "bm25s", "language": "en"},
            "lsa": {"retriever": "lsa", "language": "en", "dimensions": 4},
            "dense": {"retriever": "dense", "model": "models/dense"},
            "dense-hnsw": {"retriever": "dense", "model": "models/dense", "index": "hnsw"},
            "splade": {"retriever": "splade", "model": "models/splade"},
            "colbert": {"retriever": "colbert", "model": "models/colbert"},
            "openai": {
                "retriever": "openai-embedding", "model": "embedding", "base_url": embedding,
                "api_key_env": "FORMER_KEY",
            },
            "theirs": {"retriever": "run", "path": "theirs.run"},
            "by-lsa": {"first": "bm25s", "rerank": {"with": "lsa", "language": "en", "dimensions": 4, "depth": 8}},
            "by-dense": {"first": "bm25s", "rerank": {"with": "dense", "model": "models/dense", "depth": 8}},
            "by-colbert": {"first": "bm25s", "rerank": {"with": "colbert", "model": "models/colbert", "depth": 8}},
            "by-cross": {
                "first": "bm25s", "rerank": {"with": "cross-encoder", "model": "models/cross-encoder", "depth": 8},
            },
            "by-t5": {
                "first": "bm25s",
                "rerank": {"with": "monot5", "model": "models/monot5", "tokens": ["yes", "no"], "depth": 8},
            },
            "rrf": {"fuse": ["bm25", "dense"], "method": "rrf"},
            "combsum": {"fuse": ["bm25s", "lsa"], "method": "combsum"},
            "combmnz": {"fuse": ["bm25s", "by-lsa"], "method": "combmnz"},
        },
        "run_depth": 6,
        "pool": {"depth": 3},
        "judges": {
            "gpt": llm,
            "narrow": {**llm, "max_passage_tokens": 16, "samples": 2, "temperature": 0.7},
            "offline": {**llm, "model": "m-offline"},
            "lexical": {"judge": "lexical", "language": "en"},
            "gold": {"judge": "replay", "path": "gold.qrels"},
            "both": {"consensus": ["gpt", "lexical"], "method": "median"},
            "panel": {"people": "majority"},
        },
    }  # fmt: skip
    (FOLDER / "pool.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def label_by_hand(session: AnnotationSession) -> None:
    """Labels in the phases that no command writes by itself, and slots in every state."""
    pool = session.pool_view
    ids = [(query_id, doc_id) for query_id in pool.query_ids for doc_id in pool.doc_ids(query_id)]
    phases: Sequence[tuple[str, Phase, State, int | None]] = (
        ("ana", "training", State.ok, 1), ("ana", "revealed", State.ok, 3), ("adjudicated", "final", State.ok, 2),
        ("bia", "blind", State.unsure, None), ("bia", "blind", State.skipped, None),
    )  # fmt: skip
    for place, (name, phase, status, relevance) in enumerate(phases):
        shown = pool.pair(*ids[place])
        assert shown is not None
        label = Label(
            collection=session.config.name, labeler_id=name, kind="assessor", version=session.version,
            query_id=ids[place][0], doc_id=ids[place][1], content_sha=content_sha(shown.query, shown.text),
            status=status, relevance=relevance, phase=phase, rationale=f"{name}: {phase}", nonce=f"{name}-{place}",
        )  # fmt: skip
        session.store.append([Entry(label=label)])
    design = Design(method="random", seed=3, frame_sha=pool.sha, frame_pairs=len(pool), parameters={"load": None})
    chosen = [Selection(*pair, "all", 0.5, 1) for pair in ids[:3]]
    session.designs.create(design, chosen, [NewSlot(*pair, 1, 1) for pair in ids[:3]])


def run(*arguments: str, config: str = "pool.yaml") -> str:
    main = "from quati_pool.cli.main import main; main()"
    command = [sys.executable, "-c", main, *arguments, "-c", config]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def write_known() -> None:
    labels = json.loads(run("labels", "--format", "json"))
    agree = json.loads(run("agree", "--format", "json"))
    known = {
        "labels": labels,
        "pairs": [{key: pair[key] for key in ("a", "b", "n", "kappa")} for pair in agree["pairs"]],
    }
    (FOLDER / "known.json").write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
