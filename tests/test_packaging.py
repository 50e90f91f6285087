"""What a wheel carries, and that an install of it works away from the checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from datetime import date
from email import message_from_bytes
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from quati_pool import __version__
from quati_pool.bundled import bundled

pytestmark = pytest.mark.slow

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

WRITING = {
    f"writing/{kind}-{language}.yaml"
    for kind in ("passage", "taxonomy", "logical", "paraphrase", "translate")
    for language in ("pt", "en", "es")
}
PARAPHRASES = {f"paraphrases/{name.removesuffix('.yaml')}-{number}.yaml" for name in PROMPTS for number in (2, 3)}


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
    carried = {name.removeprefix(folder) for name in names if name.startswith(folder)}
    assert carried == {"LICENSE.md"} | PROMPTS | ANSWERING | WRITING | PARAPHRASES
    assert "quati_pool/bundled/data/quati-paper/pool.yaml" in names
    assert "quati_pool/bundled/data/quati-paper/prepare.yaml" in names
    assert "quati_pool/bundled/data/sample/prepare.yaml" in names
    assert "quati_pool/preparation/lists/portuguese.txt" in names
    assert "quati_pool/preparation/quality_rules/stop_words/pt.txt" in names
    # Nothing lands beside the package in site-packages.
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"quati_pool", "annotator_app"}


def test_the_wheel_finds_its_prompts_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    script = "from quati_pool.judging.prompts import bundled_prompts; print(*{p.path for p in bundled_prompts()})"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert set(map(Path, ran.stdout.split())) == {tmp_path / "quati_pool" / "bundled" / "prompts" / n for n in PROMPTS}


def test_the_wheel_carries_its_licences_and_types(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    [folder] = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    assert archive.read(f"{folder}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert b"Copyright 2026 The quati-pool contributors" in archive.read(f"{folder}/licenses/NOTICE")
    for kind in ("data", "prompts"):
        assert b"CC-BY-4.0" in archive.read(f"quati_pool/bundled/{kind}/LICENSE.md")
    metadata = message_from_bytes(archive.read(f"{folder}/METADATA"))
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]
    # PEP 561: without it a type checker treats what it imports from here as untyped.
    assert {"quati_pool/py.typed", "annotator_app/py.typed"} <= set(archive.namelist())


def test_the_source_distribution_carries_the_documentation(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} <= names
    assert {"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md"} <= names
    assert {"data/LICENSE.md", "prompts/LICENSE.md", "quati_pool/py.typed", "constraints.txt"} <= names


def test_the_licence_is_apaches_text() -> None:
    # SHA-256 of https://www.apache.org/licenses/LICENSE-2.0.txt.
    text = (ROOT / "LICENSE").read_bytes()
    assert sha256(text).hexdigest() == "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"


def test_the_citation_is_of_this_version() -> None:
    # The required keys of the Citation File Format 1.2.0, and the one kind of author without a family name.
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert citation["authors"] == [{"name": "The quati-pool contributors"}]
    assert citation["version"] == __version__
    assert citation["license"] == "Apache-2.0"
    assert date.fromisoformat(citation["date-released"])


def test_every_version_says_what_happens_to_stored_data() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert heads[0] == ("Unreleased", "")
    assert heads[1][0] == __version__
    assert all(date.fromisoformat(day) for _, day in heads[1:])
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", section, re.MULTILINE)
        assert "Stored data" in kinds
        assert set(kinds) <= {"Stored data", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_standard_install_brings_what_computes_rank_biased_precision(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    asked = [line for line in archive.read(metadata).decode().splitlines() if line.startswith("Requires-Dist: ir-m")]
    assert len(asked) == 1
    assert asked[0].startswith("Requires-Dist: ir-measures[cwl-eval]>=")
    assert "extra ==" not in asked[0]
    assert "\ncwl-eval==" in (ROOT / "constraints.txt").read_text(encoding="utf-8")


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
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.yaml")} == (
        PROMPTS | ANSWERING | WRITING | PARAPHRASES
    )
