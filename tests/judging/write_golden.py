"""Writes the golden messages again, after a prompt was changed on purpose."""

from __future__ import annotations

import json
from pathlib import Path

from quati_pool.judging.prompts import bundled_prompts

GOLDEN = Path(__file__).parent / "golden"


def hostile_pair() -> dict[str, str]:
    pair: dict[str, str] = json.loads((GOLDEN / "hostile.json").read_text(encoding="utf-8"))
    return pair


if __name__ == "__main__":
    for prompt in bundled_prompts():
        text = json.dumps(prompt.messages(**hostile_pair()), ensure_ascii=False, indent=1) + "\n"
        (GOLDEN / f"{prompt.id}.messages.json").write_text(text, encoding="utf-8")
