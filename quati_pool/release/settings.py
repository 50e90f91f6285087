"""``pool.yaml`` as it may be published: without the address of the label database, which may hold a password."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from quati_pool.errors import InputError


def publishable(path: Path) -> str:
    """The file's text, in which ``labels: url:`` is null; all else, comments too, stays as it is.

    Raises InputError where the address cannot be taken out alone.
    """
    text = path.read_bytes().decode("utf-8-sig")
    url = _url(yaml.safe_load(text))
    if url is None:
        return text
    node = _node(yaml.compose(text, Loader=yaml.SafeLoader), ("labels", "url"))
    cut = text
    if node is not None:
        end = "\n" if text[: node.end_mark.index].endswith("\n") else ""
        cut = text[: node.start_mark.index] + "null" + end + text[node.end_mark.index :]
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
