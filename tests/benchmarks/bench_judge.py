"""Pairs a second of a whole ``judge`` run, beside the bare SDK with its aiohttp transport, on the same server.

The peer sends the same messages in a plain gather behind a semaphore and keeps nothing; ``judge`` reads the
pool, renders, asks, parses, and commits every label with its attempt. Then the memory of two pool sizes, and
the time of a rerun over finished pairs until it ends.

    python -m tests.benchmarks.bench_judge [--pairs 5000] [--rounds 3] [--finished 100000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from openai import AsyncOpenAI, DefaultAioHttpClient

from quati_pool.files.pools import read_pool
from quati_pool.judging.prompts import load_prompt
from quati_pool.labels.labelers import Grading, judge_definition, judge_version
from quati_pool.project.config import load_config
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.records import Entry, Label, content_sha
from tests.commands.judged import ID_PATTERN, pair, workspace
from tests.llm.server import ServerProcess

CONCURRENCY = 64
LATENCY = 0.05
TEXT = "Um parágrafo comum de uma página da web, com palavras de sobra para mil caracteres. " * 12
JUDGES = {"fake": {"model": "fake-1", "prompt": "quati-pt", "output": "json_schema", "concurrency": CONCURRENCY}}

RUN = """
import json, re, sys, time
began = time.perf_counter()
from pathlib import Path
from quati_pool.commands.judge.judge import judge
from quati_pool.project.events import Listener
report = judge(Path(sys.argv[1]), None, Listener())
assert report.error is None, report.error
coverage = report.pending.coverage
print(json.dumps({
    "seconds": time.perf_counter() - began, "judging": report.seconds, "ok": coverage.states["ok"],
    # Not ru_maxrss, which a child inherits from its parent.
    "peak_mb": int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024,
}))
"""


def collection(folder: Path, pairs: int) -> Path:
    rows = [pair(f"q{i // 100:05d}", f"d{i:07d}", f"[pair {i}] {TEXT}") for i in range(pairs)]
    return workspace(folder, rows, JUDGES)


def ours(config: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", RUN, str(config)], capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def peer(config: Path, url: str) -> float:
    """Seconds for the calls alone: messages are rendered before the clock starts."""
    prompt = load_prompt("quati-pt")
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": prompt.schema()}}
    asked = [
        prompt.messages(row.query, row.text) for block in read_pool(config.parent / "pool.jsonl.gz") for row in block
    ]

    async def run() -> float:
        slots = asyncio.Semaphore(CONCURRENCY)
        async with AsyncOpenAI(base_url=url, api_key="sk", max_retries=0, http_client=DefaultAioHttpClient()) as sdk:

            async def call(messages: list[dict[str, str]]) -> None:
                async with slots:
                    await sdk.chat.completions.create(
                        model="fake-1", messages=messages, temperature=0, max_tokens=1024, response_format=form
                    )  # type: ignore[call-overload]

            began = time.perf_counter()
            await asyncio.gather(*map(call, asked))
            return time.perf_counter() - began

    return asyncio.run(run())


def finished(config_path: Path) -> None:
    """Fills the store with a grade for every pair, as a run would have."""
    config = load_config(config_path)
    with Store.open(None, config.folder) as store:
        grading = Grading(config, store)
        settings, made = grading.judge("fake")
        version = judge_version(settings, made)
        store.register(version, "judge", judge_definition(settings, made))
        for chunk in grading.pairs():
            store.append(
                [
                    Entry(
                        label=Label(
                            collection=config.name, labeler_id="fake", kind="judge", version=version,
                            query_id=row.query_id, doc_id=row.doc_id, content_sha=content_sha(row.query, row.text),
                            status=State.ok, relevance=1,
                        )
                    )
                    for row in chunk
                ]
            )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--finished", type=int, default=100_000)
    options = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name, ServerProcess() as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk"}
        server.script(id_pattern=ID_PATTERN, latency=LATENCY)
        speeds, peers = [], []
        for number in range(options.rounds):
            config = collection(Path(name) / str(number), options.pairs)
            peers.append(options.pairs / peer(config, server.url))
            server.clear()
            result = ours(config)
            assert result["ok"] == options.pairs
            speeds.append(options.pairs / result["judging"])
            server.clear()
            print(f"round {number + 1}: judge {speeds[-1]:.0f} pairs/s, bare SDK {peers[-1]:.0f} calls/s", flush=True)
        judge, bare = statistics.median(speeds), statistics.median(peers)
        print(f"median: judge {judge:.0f}, bare SDK {bare:.0f}, ratio {judge / bare:.2f}")
        for pairs in (options.pairs, 4 * options.pairs):
            config = collection(Path(name) / f"memory{pairs}", pairs)
            print(f"{pairs:,} pairs: peak {ours(config)['peak_mb']:.0f} MB", flush=True)
            server.clear()
        config = collection(Path(name) / "finished", options.finished)
        finished(config)
        for what in ("first look at the pool", "rerun", "rerun", "rerun"):
            result = ours(config)
            assert result["ok"] == options.finished
            seconds, peak = result["seconds"], result["peak_mb"]
            print(f"{options.finished:,} finished pairs, {what}: {seconds:.2f} s with imports, peak {peak:.0f} MB")


if __name__ == "__main__":
    main()
