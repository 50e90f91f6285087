"""No format gives away a secret that slipped into a judge's settings or into pool.yaml."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import yaml

from quati_pool.errors import InputError
from quati_pool.release.base import Format
from quati_pool.release.beir import Beir, BeirParameters
from quati_pool.release.bundle import Bundle, BundleParameters
from quati_pool.release.hf import Hf, HfParameters
from quati_pool.release.settings import publishable
from tests.release.small_release import contents, labelled, release_of

KEY = "sk-0123456789abcdef"
DEFINITION = {
    "model": "m",
    "base_url": f"https://h/v1?api_key={KEY}",
    "extra_body": {"metadata": {"api_key": KEY}, "headers": {"Authorization": f"Bearer {KEY}"}, "top_k": 20},
}
SETTINGS = f"""\
name: small  # the key: in the environment
judges:
  gpt:
    model: m
    api_key_env: OPENAI_API_KEY
    base_url: https://h/v1?api_key={KEY}  # ours
    max_tokens: 300
    extra_body: {{"api_key": '{KEY}', headers: {{Authorization: Bearer {KEY}}}, top_k: 20}}
  token: {{judge: lexical, language: en}}
systems:
  key: {{retriever: bm25s, language: en}}
release: {{url: "https://zenodo.org/search?q=small"}}
"""
PUBLISHED = """\
name: small  # the key: in the environment
judges:
  gpt:
    model: m
    api_key_env: OPENAI_API_KEY
    base_url: "https://h/v1?***"  # ours
    max_tokens: 300
    extra_body: {"api_key": "***", headers: {Authorization: "***"}, top_k: 20}
  token: {judge: lexical, language: en}
systems:
  key: {retriever: bm25s, language: en}
release: {url: "https://zenodo.org/search?q=small"}
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("form", [Beir(BeirParameters()), Hf(HfParameters()), Bundle(BundleParameters())])
def test_a_judges_secrets_are_in_no_file(tmp_path: Path, form: Format) -> None:
    config = written(tmp_path / "pool.yaml", SETTINGS)
    gpt = labelled("gpt", {("q1", "d1"): 3}, definition=DEFINITION, version="v1")
    (tmp_path / "out").mkdir()
    form.write(release_of(tmp_path, [gpt], config=config), tmp_path / "out")
    files = contents(tmp_path / "out")
    unpacked = {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in files.items()}
    assert [name for name, data in unpacked.items() if KEY.encode() in data] == []
    if isinstance(form, Bundle):
        assert files["pool.yaml"].decode() == PUBLISHED
        assert "| extra\\_body.metadata.api\\_key | \\*\\*\\* |" in files["README.md"].decode()
        assert '"top_k": 20' in files["judges/gpt.json"].decode()


def test_the_settings_stay_as_they_are_but_for_the_secrets(tmp_path: Path) -> None:
    text = publishable(written(tmp_path / "pool.yaml", SETTINGS))
    assert text == PUBLISHED
    assert yaml.safe_load(text)["judges"]["gpt"]["extra_body"]["top_k"] == 20
    assert publishable(written(tmp_path / "again.yaml", text)) == text


REMEDY = "take it out of the file: a key belongs in an environment variable, which api_key_env: names"
REFUSED: dict[str, tuple[str, int, str]] = {
    "a password in a comment": (
        f"name: a\n# url: postgresql://ana:{KEY}@db/labels\n", 2, "holds an address with a user and password",
    ),
    "a password behind a setting": (
        f"name: a\nseed: 0  # or sqlite://a:{KEY}@x\n", 2, "holds an address with a user and password",
    ),
    "a key in a comment": (f"name: a\n\n#  api_key: {KEY}\n", 3, "holds a value of api_key"),
    "a key in the address of a comment": (f"name: a # https://h/?token={KEY}\n", 1, "holds an address with a key"),
    "below an address that is taken out": (
        f"labels:\n  url: >-\n    postgresql://db/labels\nname: a\n# token={KEY}\n", 5, "holds a value of token",
    ),
    "a secret that others refer to": (
        f"a: 1\nb: {{api_key: &k {KEY}}}\nc: *k\n", 2, "holds a secret that cannot be taken out alone",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_secret_that_cannot_be_masked_is_refused_with_its_line_and_not_shown(tmp_path: Path, case: str) -> None:
    text, line, problem = REFUSED[case]
    path = written(tmp_path / "pool.yaml", text)
    with pytest.raises(InputError) as caught:
        publishable(path)
    assert str(caught.value) == f"{path}:{line}: {problem}; {REMEDY}"


@pytest.mark.parametrize(
    "value", [f"|\n    {KEY}\n", f">-\n    {KEY}\n    more\n", f'"{KEY}"\n', f"!!str {KEY}\n", "12345\n"]
)
def test_a_secret_in_any_style_of_yaml_is_masked(tmp_path: Path, value: str) -> None:
    text = publishable(written(tmp_path / "pool.yaml", f"a:\n  password: {value}name: é\n"))
    assert text == 'a:\n  password: "***"\nname: é\n'


def test_what_is_null_is_no_secret(tmp_path: Path) -> None:
    text = "a: {api_key: null, token: ~, secret: }\nb: [1]\n"
    assert publishable(written(tmp_path / "pool.yaml", text)) == text
