"""Prepares ``pool.yaml`` for publication: removes the address of the label database, and secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from quati_pool.errors import InputError
from quati_pool.text.secrets import masked, masked_text, secret_address, secret_in

_REMEDY = "take it out of the file: a key belongs in an environment variable, which api_key_env: names"


def publishable(path: Path) -> str:
    """The file's text with ``labels: url:`` set to null and ``***`` in place of anything that looks like a secret
    (``text.secrets``); everything else, including comments, is unchanged.

    Raises InputError, which does not show the secret, if a secret or the address cannot be replaced without changing
    anything else, or if a secret is in a comment.
    """
    text = path.read_bytes().decode("utf-8-sig")
    cut = _without_secrets(path, _without_url(path, text), text)
    for number, line in enumerate(cut.split("\n"), 1):
        found = secret_in(_comment(line)) or secret_address(line)
        if found:
            raise InputError(path, _line_before(text, line, number), f"holds {found}; {_REMEDY}")
    return cut


def _without_url(path: Path, text: str) -> str:
    url = _url(yaml.safe_load(text))
    if url is None:
        return text
    node = _node(yaml.compose(text, Loader=yaml.SafeLoader), ("labels", "url"))
    cut = text
    if node is not None:
        cut = _replaced(text, {(node.start_mark.index, node.end_mark.index): "null"})
    if not _only_url_is_gone(text, cut) or str(url) in cut:
        raise InputError(
            path,
            None,
            "the address under labels: url: cannot be taken out of the file; write it there once, on one line",
        )
    return cut


def _only_url_is_gone(text: str, cut: str) -> bool:
    try:
        before, after = yaml.safe_load(text), yaml.safe_load(cut)
    except yaml.YAMLError:
        return False
    before["labels"]["url"] = None
    return bool(before == after)


def _url(settings: Any) -> object:
    labels = settings.get("labels") if isinstance(settings, dict) else None
    return labels.get("url") if isinstance(labels, dict) else None


def _node(node: yaml.Node | None, keys: tuple[str, ...]) -> yaml.Node | None:
    """The node of the value under ``keys``."""
    for key in keys:
        if not isinstance(node, yaml.MappingNode):
            return None
        node = next((value for name, value in node.value if name.value == key), None)
    return node


def _without_secrets(path: Path, text: str, original: str) -> str:
    before = yaml.safe_load(text)
    wanted = _masked_settings(before)
    if wanted == before:
        return text
    changes = list(_changes(yaml.compose(text, Loader=yaml.SafeLoader), before, wanted))
    spans = {(node.start_mark.index, node.end_mark.index): value for node, value in changes}
    cut = _replaced(text, spans)
    try:
        gone = yaml.safe_load(cut) == wanted
    except yaml.YAMLError:
        gone = False
    if not gone:
        line = None
        if changes:
            line = changes[0][0].start_mark.line + 1
            line = _line_before(original, text.split("\n")[line - 1], line)
        raise InputError(path, line, f"holds a secret that cannot be taken out alone; {_REMEDY}")
    return cut


def _masked_settings(settings: Any) -> Any:
    """The settings with secrets masked. Names that the user chose (of systems, judges, corpora, label files) are not
    treated as names of settings, and the addresses under ``release:`` are kept because they are meant to be public."""
    if not isinstance(settings, dict):
        return settings
    found = {}
    for key, value in settings.items():
        if key in ("systems", "judges", "corpora") and isinstance(value, dict):
            found[key] = {name: masked(inner) for name, inner in value.items()}
        elif key == "labels" and isinstance(value, dict) and isinstance(value.get("files"), dict):
            files = {name: masked(inner) for name, inner in value["files"].items()}
            found[key] = {**masked(value), "files": files}
        elif key == "release" and isinstance(value, dict):
            found[key] = {
                name: masked_text(inner) if isinstance(inner, str) else inner for name, inner in value.items()
            }
        else:
            found[key] = masked(value, str(key))
    return found


def _changes(node: yaml.Node | None, before: Any, wanted: Any) -> Iterator[tuple[yaml.Node, str]]:
    """The YAML scalars that differ between ``before`` and ``wanted``, each with its replacement."""
    if node is None or before == wanted:
        return
    if isinstance(node, yaml.MappingNode) and isinstance(before, Mapping):
        keys = {str(key): key for key in before}
        for name, value in node.value:
            key = keys.get(name.value) if isinstance(name, yaml.ScalarNode) else None
            if key is not None:
                yield from _changes(value, before[key], wanted[key])
    elif isinstance(node, yaml.SequenceNode) and isinstance(before, list):
        for value, was, now in zip(node.value, before, wanted, strict=True):
            yield from _changes(value, was, now)
    elif isinstance(node, yaml.ScalarNode):
        yield node, json.dumps(wanted, ensure_ascii=False)


def _replaced(text: str, spans: Mapping[tuple[int, int], str]) -> str:
    """The text with the given spans replaced; if a span ends in a newline, as that of a block scalar does, the newline
    is kept."""
    for (start, end), value in sorted(spans.items(), reverse=True):
        text = text[:start] + value + ("\n" if text[:end].endswith("\n") else "") + text[end:]
    return text


def _comment(line: str) -> str:
    """The part of a line that may be a comment: from the first ``#`` that begins the line or follows white space."""
    found = re.search(r"(?:^|[ \t])#.*", line)
    return found[0] if found else ""


def _line_before(original: str, line: str, number: int) -> int:
    """The number that a line had in the original text, before lines above it were removed."""
    lines = original.split("\n")
    return next((place for place in range(number, len(lines) + 1) if lines[place - 1] == line), number)
