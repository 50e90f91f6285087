"""Files of the structure that the Quati authors released, with words of our own, and the messages that
their script makes of such files: line by line, as ``str.format`` fills the formats."""

from __future__ import annotations

import json
from pathlib import Path

SYSTEM = 'Dê uma nota a {cada} trecho; responda em JSON: {"Razão": …, "Pontuação": …}\n'
# The escapes of the pattern, \{ and \s and \' among them, are no JSON.
CONFIG = r"""{
    "query_passage_format": "Trecho: \"{}\"\nDúvida: \"{}\"",
    "example_format": "Caso {}:\n{}",
    "result_regex": "[\n\r]*\{\s*[\"\']Razão[\"\']\s*:\s*\"(.+)\"\s*,\s*[\"\']Pontuação[\"\']\s*:\s*([0-9\.]+)\s*\}[\.\n\r]*"
}
"""  # noqa: E501
EXAMPLES = [
    ('Trecho: "A maré sobe {duas} vezes."\nDúvida: "o que é a maré?"', '{"Razão":"não explica","Pontuação":1}'),
    ('Trecho: "O caju é um\n\n pseudofruto. "\nDúvida: "caju é fruta?"', '{"Razão":"explica","Pontuação":3}'),
]


def write_released_files(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    turns = [[{"role": "user", "content": u}, {"role": "assistant", "content": a}] for u, a in EXAMPLES]
    system = json.dumps({"role": "system", "content": SYSTEM}, ensure_ascii=False, indent=4)
    (folder / "initial_prompt_rev_9.json").write_text(system, encoding="utf-8")
    (folder / "examples_rev_9.json").write_text(json.dumps(turns, ensure_ascii=False), encoding="utf-8")
    (folder / "config.json").write_text(CONFIG, encoding="utf-8")
    return folder


def their_messages(query: str, passage: str) -> list[dict[str, str]]:
    """Written out by hand from CONFIG: the passage comes first."""
    shown = [f"Caso {number}:\n{user}" for number, (user, _) in enumerate(EXAMPLES, start=1)]
    turns = [
        turn
        for user, (_, assistant) in zip(shown, EXAMPLES, strict=True)
        for turn in ({"role": "user", "content": user}, {"role": "assistant", "content": assistant})
    ]
    last = {"role": "user", "content": f'Trecho: "{passage}"\nDúvida: "{query}"'}
    return [{"role": "system", "content": SYSTEM}, *turns, last]
