"""What a wheel carries, and that an install of it works away from the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from quati_pool.bundled import bundled

ROOT = Path(__file__).parents[1]
SAMPLE = {
    "corpus.jsonl", "queries.jsonl", "labels.tsv", "pool.yaml", "pages.jsonl", "prepare.yaml", "PROVENANCE.md",
}  # fmt: skip
PROMPTS = {f"{name}.yaml" for name in ("quati-pt", "quati-en", "quati-es", "binary-pt", "umbrela-style-en")}
ANSWERING = {
    f"answering/{name}.yaml"
    for name in (
        "answer-en",
        "answer-pt",
        "choose-en",
        "choose-pt",
        "set-closed-en",
        "set-open-en",
        "trigger-en",
        "trigger-pt",
    )
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # Without isolation: the build backend is among the test requirements, and nothing is fetched.
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_sample_and_prompts_inside_the_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"quati_pool/bundled/data/sample/{name}" for name in SAMPLE} <= set(names)
    folder = "quati_pool/bundled/prompts/"
    assert {name.removeprefix(folder) for name in names if name.startswith(folder)} == PROMPTS | ANSWERING
    assert "quati_pool/bundled/data/quati-paper/pool.yaml" in names
    assert "quati_pool/bundled/data/quati-paper/prepare.yaml" in names
    assert "quati_pool/bundled/data/sample/prepare.yaml" in names
    assert "quati_pool/preparation/lists/portuguese.txt" in names
    assert "quati_pool/preparation/quality_rules/stop_words/pt.txt" in names
    # Nothing lands beside the package in site-packages.
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"quati_pool", "annotator_app"}


def test_the_standard_install_brings_what_computes_rank_biased_precision(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    asked = [line for line in archive.read(metadata).decode().splitlines() if line.startswith("Requires-Dist: ir-m")]
    assert len(asked) == 1
    assert asked[0].startswith("Requires-Dist: ir-measures[cwl-eval]>=")
    assert "extra ==" not in asked[0]
    assert "\ncwl-eval==" in (ROOT / "constraints.txt").read_text(encoding="utf-8")


def test_the_wheel_finds_its_prompts_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    script = "from quati_pool.judging.prompts import bundled_prompts; print(*{p.path for p in bundled_prompts()})"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert set(map(Path, ran.stdout.split())) == {tmp_path / "quati_pool" / "bundled" / "prompts" / n for n in PROMPTS}


@pytest.mark.slow
def test_the_installed_demo_runs_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    home.mkdir()
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, wheel]
    subprocess.run(install, check=True, capture_output=True, text=True)
    script = "import quati_pool; print(quati_pool.__file__); from quati_pool.cli.main import main; main()"
    # The target comes before any checkout that is installed editable.
    environment = {**os.environ, "PYTHONPATH": str(site)}
    ran = subprocess.run(
        [sys.executable, "-c", script, "demo", "--format", "json"],
        cwd=home,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    where, _, data = ran.stdout.partition("\n")
    assert Path(where).is_relative_to(site)
    result = json.loads(data)
    assert len(result["systems"]) >= 6
    assert result["ungraded"] == 0
    assert (home / "quati-pool-demo" / "pool.jsonl.gz").exists()


def test_a_checkout_finds_its_own_sample() -> None:
    assert bundled("data/sample") == ROOT / "data" / "sample"
    assert {path.name for path in bundled("data/sample").iterdir()} == SAMPLE


def test_a_checkout_finds_its_own_prompts() -> None:
    folder = bundled("prompts")
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.yaml")} == PROMPTS | ANSWERING
