"""``prepare.yaml``: what it may hold, and faults that are told with file, line and remedy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.errors import InputError
from quati_pool.preparation.base import Filter
from quati_pool.preparation.config import PrepareConfig, load_prepare_config
from quati_pool.registry import PREPARATIONS
from tests.plugin_package import write_dist_info

READ = "- read: {path: p.jsonl}"
WRITE = "- write: {to: corpus}"


def load(folder: Path, text: str) -> PrepareConfig:
    path = folder / "prepare.yaml"
    path.write_text(text, encoding="utf-8")
    return load_prepare_config(path)


def steps(*lines: str) -> str:
    """A file whose first step stands on line 4."""
    return "name: x\nseed: 7\nsteps:\n" + "".join(f"  {line}\n" for line in lines)


def test_steps_have_their_parameters_labels_and_lines(tmp_path: Path) -> None:
    quality, sampled = "- quality: {language: pt}", "- sample: {n: 3}"
    config = load(tmp_path, steps(READ, quality, "- duplicates", WRITE, "- quality:", sampled, "- write: {to: b}"))
    assert (config.name, config.seed, config.folder) == ("x", 7, tmp_path)
    assert [(step.label, step.line) for step in config.steps] == [
        ("read", 4), ("quality", 5), ("duplicates", 6), ("write", 7), ("quality-2", 8), ("sample", 9), ("write-2", 10),
    ]  # fmt: skip
    made = config.built_steps()
    assert [type(step) for step in made] == [PREPARATIONS.get(step.step) for step in config.steps]
    assert (made[1].parameters.language, made[4].parameters.language) == ("pt", None)
    assert {(step.environment.folder, step.environment.seed) for step in made} == {(tmp_path, 7)}


FAULTS = [
    ("", 1, "holds no settings; expected keys such as name, seed, steps"),
    ("- read\n", 1, "holds no settings; expected keys such as name, seed, steps"),
    ("name: x\nsteps: [", 2, "is not YAML: expected the node content, but found '<stream end>'"),
    ("name: x\nname: y\n", 2, "the key 'name' occurs twice; keep one"),
    ("name: x\nstep:\n", 2, "step: unknown key; did you mean 'steps'?"),
    ("name: x\n", 1, "steps: expected a list of steps, such as  - read: {path: pages/*.jsonl.gz}"),
    ("name: x\nsteps: []\n", 2, "steps: expected a list of steps, such as  - read: {path: pages/*.jsonl.gz}"),
    (f"steps:\n  {READ}\n  {WRITE}\n", 1, "the key 'name' is missing; add it"),
    (f"seed: -1\nname: x\nsteps:\n  {READ}\n  {WRITE}\n", 1, "seed: expected at least 0, not -1"),
    # The name becomes part of a file's name, and must not lead out of its folder.
    (f"seed: 1\nname: ../x\nsteps:\n  {READ}\n  {WRITE}\n", 2,
     "name: expected a name of letters, digits, '.', '_', '+' and '-' (quote a number: '7')"),
    (f"name: 7\nsteps:\n  {READ}\n  {WRITE}\n", 1, "name: expected text, not 7 (put it in quotes)"),
    (steps(READ, "- qualty", WRITE), 5, "steps.1: there is no step 'qualty'; did you mean 'quality'?"),
    (steps(READ, "- 3", WRITE), 5,
     "steps.1: expected one step, such as  - url: {drop_tlds: [pt]}  or  - duplicates"),
    (steps(READ, "- {url: {}, segment: {}}", WRITE), 5,
     "steps.1: expected one step, such as  - url: {drop_tlds: [pt]}  or  - duplicates"),
    (steps(READ, "- url:", "    drop_tld: [pt]", WRITE), 6,
     "steps.1.url.drop_tld: unknown key; did you mean 'drop_tlds'?"),
    (steps(READ, "- language: {keep: [pt], windows: {cont: 3}}", WRITE), 5,
     "steps.1.language.windows.cont: unknown key; did you mean 'count'?"),
    (steps("- read: {path: a, fields: {id: x}}", WRITE), 4,
     "steps.0.read.fields.id: unknown key; there are: doc_id, language, text, url"),
    (steps("- read", WRITE), 4, "steps.0.read: the key 'path' is missing; add it"),
    (steps("- read: {path: [a, 3]}", WRITE), 4,
     "steps.0.read.path.1: expected text, not 3 (put it in quotes)"),
    (steps("- read: {path: ''}", WRITE), 4, "steps.0.read.path: expected a file, a pattern or a folder, not ''"),
    (steps("- read: {path: a, format: json}", WRITE), 4,
     "steps.0.read.format: expected 'jsonl', 'parquet', 'text', 'warc' or 'clueweb22', not 'json'"),
    (steps(READ, "- url: {drop_tlds: [no]}", WRITE), 5,
     "steps.1.url.drop_tlds.0: expected text, not False "
     "(YAML reads a bare yes, no, on or off that way: put it in quotes)"),
    (steps(READ, "- language: {keep: [pt], threshold: 1.5}", WRITE), 5,
     "steps.1.language.threshold: expected at most 1, not 1.5"),
    (steps(READ, "- segment: {characters: 100}", WRITE), 5,
     "steps.1.segment: tolerance 200 allows passages of no length; expected less than characters, 100"),
    (steps(READ, "- duplicates: [a]", WRITE), 5,
     "steps.1.duplicates: expected keys and their values, {key: value}, not ['a']"),
    (steps("- duplicates", READ, WRITE), 4,
     "steps.0: duplicates reads nothing: put  - read: …  first"),
    (steps(READ, READ, WRITE), 5, "steps.1: read reads, but only the first step may: drop it"),
    (steps(READ, "- segment", "- segment", WRITE), 6,
     "steps.2: segment cuts what is already cut: keep one of them"),
    (steps(READ, WRITE, "- duplicates"), 6,
     "steps.2: duplicates is last, and nothing is written: end with  - write: …"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message"), FAULTS, ids=range(len(FAULTS)))
def test_a_fault_is_told_with_its_line_and_a_remedy(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert str(caught.value) == f"{tmp_path / 'prepare.yaml'}:{line}: {message}"


def test_a_file_that_is_not_there_or_not_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml: there is no such file; name one with -c"):
        load_prepare_config(tmp_path / "none.yaml")
    (tmp_path / "prepare.yaml").write_bytes(b"name: x\nsteps: caf\xe9\n")
    with pytest.raises(InputError, match=r"prepare\.yaml:2: is not UTF-8; save it as UTF-8"):
        load_prepare_config(tmp_path / "prepare.yaml")


CANNOT_BE_DONE = [
    ((READ, WRITE, "- sample: {n: 1}", "- write: {to: ./corpus/}"), 7,
     "two steps write to corpus; give each a folder of its own"),
    ((READ, WRITE, "- write: {to: other/../corpus}"), 6,
     "two steps write to other/../corpus; give each a folder of its own"),
    ((READ, "- duplicates", "- write: {to: .}"), 6,
     "write: to: '.' is not a folder of its own; name one beside prepare.yaml, such as  to: corpus"),
    (("- read: {path: a, format: warc, fields: {text: t}}", WRITE), 4,
     "read: the format warc has no fields to choose from; leave out fields"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "line", "message"), CANNOT_BE_DONE, ids=range(len(CANNOT_BE_DONE)))
def test_what_cannot_be_carried_out_is_told_with_its_line(
    tmp_path: Path, lines: tuple[str, ...], line: int, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, steps(*lines)).built_steps()
    assert str(caught.value) == f"{tmp_path / 'prepare.yaml'}:{line}: {message}"


PLUGIN = """
import numpy as np
from pydantic import Field
from quati_pool.preparation.base import Filter, Parameters, DropReasons

class OddOnes(Filter):
    summary = "a step from elsewhere"
    class Parameters(Parameters):
        of: int = Field(2, description="a number")
    def apply(self, batch):
        return DropReasons(np.zeros(len(batch), dtype=np.int16))

class NoStep:
    summary = "something else"
    Parameters = Parameters
"""

ENTRY_POINTS = """
[quati_pool.preparations]
odd-ones = odd_steps:OddOnes
broken = odd_steps:Missing
no-step = odd_steps:NoStep
url = odd_steps:OddOnes
"""


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    environment = tmp_path / "site"
    write_dist_info(environment, "odd-steps", "3.1", ENTRY_POINTS)
    (environment / "odd_steps.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(environment)
    # What is installed is looked up once a process.
    vars(PREPARATIONS).pop("_plugins", None)
    yield
    del vars(PREPARATIONS)["_plugins"]
    sys.modules.pop("odd_steps", None)


@pytest.mark.usefixtures("plugins")
def test_a_step_from_elsewhere_stands_among_ours_and_a_broken_one_names_itself(tmp_path: Path) -> None:
    config = load(tmp_path, steps(READ, "- odd-ones: {of: 3}", "- url", WRITE))
    assert [type(step).__name__ for step in config.built_steps()] == ["Read", "OddOnes", "Url", "Write"]
    made = config.built_steps()[1]
    assert isinstance(made, Filter)
    assert made.parameters.of == 3
    assert PREPARATIONS.identity("odd-ones") == "preparation/odd-ones@1 (odd-steps 3.1)"
    for name, message in {
        "odd-ons": "there is no step 'odd-ons'; did you mean 'odd-ones'?",
        "broken": "the preparation 'broken' of odd-steps 3.1 cannot be loaded (AttributeError: module 'odd_steps' has "
        "no attribute 'Missing'); fix or uninstall that package",
        "no-step": "no-step is not a step; its class must inherit from one of Source, Filter, Cutter, "
        "GlobalFilter, Sink",
    }.items():
        with pytest.raises(InputError) as caught:
            load(tmp_path, steps(READ, f"- {name}", WRITE))
        assert str(caught.value) == f"{tmp_path / 'prepare.yaml'}:5: steps.1: {message}"
