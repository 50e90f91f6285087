"""The manifest lists every file, and the check against it finds every one that is not as it was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from quati_pool.errors import InputError
from quati_pool.release.base import Format
from quati_pool.release.beir import Beir, BeirParameters
from quati_pool.release.bundle import Bundle, BundleParameters
from quati_pool.release.errors import ReleaseError
from quati_pool.release.hf import Hf, HfParameters
from quati_pool.release.manifest import verify
from quati_pool.release.output import Output
from quati_pool.release.state import Release
from tests.release.small_release import contents, labelled, release_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "out"
    made.mkdir()
    ana = labelled("ana", {("q1", "d1"): 1}, kind="assessor", version="v1", outside=1, left_out={"unsure": 2})
    release = release_of(tmp_path, [labelled("gpt", {("q1", "d1"): 3}), ana])
    Beir(BeirParameters()).write(release, made)
    return made


def test_every_file_stands_in_it_with_size_hash_and_rows(folder: Path) -> None:
    files = contents(folder)
    manifest = json.loads(files.pop("MANIFEST.json"))
    assert {name: (entry["bytes"], entry["sha256"], entry["rows"]) for name, entry in manifest["files"].items()} == {
        name: (len(data), hashlib.sha256(data).hexdigest(), data.count(b"\n") - name.endswith(".tsv"))
        for name, data in files.items()
    }
    assert manifest["format"] == "beir"
    assert manifest["provenance"] == {"tool": "quati-pool 0.0", "config": "c0ffee", "seed": 0}
    assert manifest["labelers"][1] == {
        "labeler": "ana", "kind": "assessor", "version": "v1", "pairs": 1, "outside_pool": 1,
        "left_out": {"unsure": 2},
    }  # fmt: skip


def test_an_untouched_folder_has_no_problem_wherever_it_lies(folder: Path) -> None:
    moved = folder.rename(folder.with_name("elsewhere"))
    assert verify(moved) == []


@pytest.mark.parametrize("form", [Beir(BeirParameters()), Hf(HfParameters()), Bundle(BundleParameters())])
@pytest.mark.parametrize("change", ["removed", "cut", "all removed"])
def test_a_file_that_went_away_or_shrank_while_the_others_were_written_fails_the_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Format, change: str
) -> None:
    """As by another process that fills the same folder; the counts alone would not tell."""
    fill = type(form).fill
    out = tmp_path / "out"

    def disturbed(self: Format, release: Release, output: Output) -> dict[str, Any]:
        counts = fill(self, release, output)
        if change == "all removed":
            shutil.rmtree(out)
            out.mkdir()
        else:
            name = next(path for path in sorted(out.rglob("*")) if path.is_file() and "qrels" in path.parts)
            name.unlink() if change == "removed" else os.truncate(name, name.stat().st_size - 1)
        return counts

    out.mkdir()
    monkeypatch.setattr(type(form), "fill", disturbed)
    with pytest.raises(ReleaseError, match="was changed or removed while the export was being written; export again"):
        form.write(release_of(tmp_path, {"gpt": {("q1", "d1"): 3}}), out)
    assert not (out / "MANIFEST.json").exists()


def test_missing_extra_and_changed_files_are_named(folder: Path) -> None:
    (folder / "queries.jsonl").unlink()
    (folder / "qrels" / "test.tsv").write_bytes((folder / "qrels" / "test.tsv").read_bytes().replace(b"3", b"2"))
    (folder / "corpus.jsonl").write_bytes(b"")
    (folder / "qrels" / "new.tsv").write_bytes(b"")
    size = json.loads((folder / "MANIFEST.json").read_bytes())["files"]["corpus.jsonl"]["bytes"]
    assert verify(folder) == [
        f"corpus.jsonl: was changed: it has 0 bytes, not {size}",
        "qrels/new.tsv: is not in the manifest",
        "qrels/test.tsv: was changed: its SHA-256 is another",
        "queries.jsonl: is missing",
    ]


def test_a_link_is_not_followed(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere.tsv")
    (folder / "qrels" / "test.tsv").rename(elsewhere)
    (folder / "qrels" / "test.tsv").symlink_to(elsewhere)
    (folder / "more").symlink_to(folder, target_is_directory=True)
    assert verify(folder) == ["more: is not in the manifest", "qrels/test.tsv: is a link or not a regular file"]


def test_a_manifest_that_names_files_outside_reads_none_of_them(folder: Path) -> None:
    path = folder / "MANIFEST.json"
    manifest = json.loads(path.read_bytes())
    secret = folder.with_name("secret")
    secret.write_bytes(b"secret")
    entry = {"bytes": 6, "sha256": hashlib.sha256(b"secret").hexdigest()}
    manifest["files"] |= {"../secret": entry, str(secret): entry, "a\n": entry}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert verify(folder) == ["../secret: is missing", f"{secret}: is missing", "'a\\n': is missing"]


def test_what_git_and_the_hub_put_beside_the_files_is_no_problem(folder: Path) -> None:
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "objects" / "aa").write_bytes(b"")
    (folder / ".gitattributes").write_bytes(b"")
    (folder / "qrels" / ".git").write_bytes(b"")
    assert verify(folder) == ["qrels/.git: is not in the manifest"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no such file; copy the release again, with its manifest"),
        ("{", "cannot be read; copy the release again"),
        ("[" * 200_000, "cannot be read; copy the release again"),
        ("[]", "is not the manifest of a release; copy the release again"),
        ('{"files": {"a": 1}}', "is not the manifest of a release; copy the release again"),
        ('{"files": {"a": {"bytes": "1", "sha256": ""}}}', "is not the manifest of a release; copy the release again"),
    ],
)
def test_no_manifest(folder: Path, text: str | None, message: str) -> None:
    path = folder / "MANIFEST.json"
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        verify(folder)
    assert str(caught.value) == f"{path}: {message}"


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder; name the folder of a release"):
        verify(tmp_path / "nothing")


def test_two_exports_of_one_state_are_byte_identical(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 3}})
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        Beir(BeirParameters()).write(release, tmp_path / name)
        os.utime(tmp_path / "pool.jsonl.gz", (0, 0))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
