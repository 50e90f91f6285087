"""`quati-pool prepare` on synthetic Portuguese pages: passages a second and core, one worker against two, memory.

    python -m tests.benchmarks.bench_prepare speed          # all steps but near-duplicates, 1 worker and 2
    python -m tests.benchmarks.bench_prepare memory 0.1 1   # the same of so many GB of pages, and what workers hold
    python -m tests.benchmarks.bench_prepare memory 1 10 --light   # without language and quality
    python -m tests.benchmarks.bench_prepare near           # near-duplicates too

Pages of some 4,000 characters are put together from 160 phrases (tests/made_pages.py), a tenth of them copies of
earlier ones. The command runs as a user runs it; its wall time holds the start of workers. datatrove's Gopher
filters stand beside ours in bench_quality.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from tests.made_pages import text

CONFIG = """\
name: bench
seed: 0
steps:
  - read: {{path: "pages/*.jsonl"}}
  - url: {{drop_tlds: [pt]}}
{language}  - segment: {{characters: 1000, tolerance: 200}}
  - line-breaks
{quality}  - duplicates
{near}  - sample: {{share: 0.9}}
  - write: {{to: corpus}}
"""
HEAVY = {"language": "  - language: {keep: [pt]}\n", "quality": "  - quality: {language: pt}\n"}
REPEAT = 3
# Four shards of 32 MiB: fewer would not keep two workers at work.
SIZE = 0.134
PAGE = 4000
FILE_BYTES = 200_000_000


def pages(count: int) -> Iterator[str]:
    """Lines of JSON; every tenth page is a copy of one of the last nine."""
    source = random.Random(5)
    recent: list[str] = []
    for number in range(count):
        page = source.choice(recent) if number % 10 == 9 else text(source, PAGE)
        recent = [*recent[-8:], page]
        record = {
            "doc_id": f"p{number:09d}",
            "url": f"https://site{number % 977}.example.com.br/{number}",
            "text": page,
        }
        yield json.dumps(record, ensure_ascii=False) + "\n"


def write_pages(folder: Path, size: float) -> int:
    """Files of pages, ``size`` bytes in all; gives their characters."""
    folder.mkdir(parents=True)
    written, number = 0, 0
    file = (folder / "0000.jsonl").open("w", encoding="utf-8")
    for line in pages(int(size)):
        if file.tell() > FILE_BYTES:
            file.close()
            number += 1
            file = (folder / f"{number:04d}.jsonl").open("w", encoding="utf-8")
        file.write(line)
        written += len(line.encode())
        if written >= size:
            break
    file.close()
    return written


def prepare(folder: Path, workers: int) -> dict[str, float]:
    """One run from nothing: wall and processor seconds, the passages cut, and the most that a process held."""
    for made in ("cache", "corpus", "reports"):
        shutil.rmtree(folder / made, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "quati_pool",
        "prepare",
        "-c",
        str(folder / "prepare.yaml"),
        "--workers",
        str(workers),
    ]
    started, before = time.perf_counter(), os.times()
    process = psutil.Popen([*command, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    most: dict[int, int] = {}
    while process.poll() is None:
        try:
            for each in [process, *process.children(recursive=True)]:
                most[each.pid] = max(most.get(each.pid, 0), each.memory_full_info().uss)
        except psutil.Error:
            pass
        try:
            process.wait(0.3)
        except psutil.TimeoutExpired:
            continue
    wall, after = time.perf_counter() - started, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert process.stdout is not None
    funnel = json.loads(process.stdout.read())
    cut = next(step["rows_out"] for step in funnel["steps"] if step["step"] == "segment")
    driver = most.pop(process.pid)
    return {"wall": wall, "cpu": spent, "passages": cut, "driver": driver, "worker": max(most.values(), default=0)}


def told(name: str, runs: list[dict[str, float]]) -> float:
    wall = statistics.median(run["wall"] for run in runs)
    first = runs[0]
    print(
        f"{name}: {first['passages']:,} passages, {wall:.1f} s, {first['passages'] / wall:,.0f} passages/s, "
        f"{first['passages'] / statistics.median(run['cpu'] for run in runs):,.0f} a second of processor time; "
        f"a worker {max(run['worker'] for run in runs) / 1e6:,.0f} MB, the command {first['driver'] / 1e6:,.0f} MB",
        flush=True,
    )
    return wall


def seconds_by_step(folder: Path) -> None:
    """What the steps themselves took, of the last run."""
    spent: dict[str, float] = {}
    for meta in folder.glob("cache/preparation/*/*/meta.json"):
        for label, count in json.loads(meta.read_text())["counts"].items():
            spent[label] = spent.get(label, 0.0) + count["seconds"]
    print("  seconds by step: " + ", ".join(f"{label} {seconds:.1f}" for label, seconds in spent.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "memory", "near"])
    parser.add_argument("gigabytes", nargs="*", type=float, default=[])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--light", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        for size in options.gigabytes or [SIZE]:
            folder = Path(place) / f"{size}"
            written = write_pages(folder / "pages", size * 1e9)
            near = "  - near-duplicates\n" if options.what == "near" else ""
            (folder / "prepare.yaml").write_text(
                CONFIG.format(near=near, **(dict.fromkeys(HEAVY, "") if options.light else HEAVY))
            )
            print(f"{written / 1e9:.2f} GB of pages", flush=True)
            if options.what == "memory":
                told(f"{options.workers} workers", [prepare(folder, options.workers)])
                seconds_by_step(folder)
            else:
                one: list[dict[str, float]] = []
                two: list[dict[str, float]] = []
                for _ in range(options.repeat):
                    one.append(prepare(folder, 1))
                    two.append(prepare(folder, options.workers))
                single = told("1 worker", one)
                several = told(f"{options.workers} workers", two)
                print(f"  {options.workers} workers: {single / several:.2f} times as fast as one", flush=True)
                seconds_by_step(folder)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
