"""Fences untrusted text in a prompt, so that it cannot be mistaken for the prompt itself.

A field is put between marks such as ``<passage>`` and ``</passage>``. In its text, anything that looks like the
beginning of such a mark gets a backslash after its bracket; nothing else changes, and ``recovered`` undoes it. The
marks are the same in every message, so that equal pairs give equal requests. Chat template tokens, which a server may
take for the end of a turn, get a backslash in the same place.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

FIELDS = ("query", "passage", "narrative")
"""The fields shown to judges; marks of any of them are neutralised in all of them."""

ANSWERING_FIELDS = ("question", "text", "options", "candidates")
"""The fields of the prompts that ask for an answer; they form a second family."""

WRITING_FIELDS = ("source", "brief", "wording")
"""The fields of the prompts that ask for a draft: a text to write from, what is wanted, and words to write in another
way or to keep away from; a third family."""

_FAMILIES = (FIELDS, ANSWERING_FIELDS, WRITING_FIELDS)

# The tokens with which chat templates mark turns, roles, thoughts and tools. Tokenizers match the exact spelling.
_TEMPLATE_TOKENS = re.compile(
    r"[<\[](?="
    r"[|｜][^\s<>\[\]]{1,64}[|｜][>\]]"  # <|im_start|>, <｜User｜>, [|user|]
    r"|\|(?:channel|tool|tool_call|tool_response|turn)>"
    r"|/?(?:s|bos|eos|pad|unk|sep|cls|mask|sop|eop|start_of_turn|end_of_turn|start_of_image|end_of_image|turn\|)>"
    r"|/?(?:think|thinking|reasoning|thought|tool_calls?|tool_responses?|tools?|function_calls?|im_start|im_end)>"
    r"|(?:channel|tool|tool_call|tool_response)\|>"
    r"|</?SYS>>"
    r"|seed:[a-z_/]{1,32}>|extra_id_\d{1,4}>|reserved_\d{1,4}>|unused\d{1,4}>"
    r"|/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|IMG|THINK|PREFIX|SUFFIX"
    r"|MIDDLE|CLS|SEP|MASK|PAD|UNK|BOS|EOS|gMASK|sMASK)\]"
    r")"
)

# Brackets that a reader may take for "<"; models trained on HTML also read its entity as one.
_BRACKETS = "<＜﹤‹❮〈⟨〈˂ᐸ≺«"
_ENTITY = r"(?<=&)(?:lt;?|#0*+60;?|#[xX]0*+3[cC];?)"
_OPENERS = (*_BRACKETS, "&")

# Characters that are invisible or that a reader ignores: white space, control and format characters, combining accents.
_PASSED_OVER = (
    r"\s\x00-\x1f\x7f-\x9f\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef"
)
_STROKES = r"\\/／⁄∕╱⧸＼"

# Letters of other scripts that look like those of the field names.
_LOOK_ALIKES = {
    "a": "аαɑΑА",
    "c": "сϲⅽСϹ",
    "d": "ԁⅾժ",
    "e": "еεҽΕЕ℮",
    "g": "ɡցԍ",
    "i": "іιıΙІӏⅼlL|1",
    "n": "ոпηΝ",
    "o": "оοօОΟ0",
    "p": "рρΡР",
    "q": "ԛգႳ",
    "r": "гᴦⲅ",
    "s": "ѕꜱЅ5",
    "t": "тτΤТ",
    "u": "υսμ",
    "v": "νѵⅴ",
    "x": "хχⅹХΧ×",
    "y": "уүγΥУ",
}
_LATIN = (
    *range(0xC0, 0x250), *range(0x1E00, 0x1F00), *range(0x2070, 0x20A0), *range(0x2100, 0x2150),
    *range(0x24B6, 0x24EA), *range(0xFF21, 0xFF5B), *range(0x1D400, 0x1D6A4),
)  # fmt: skip


def _family(field: str) -> tuple[str, ...]:
    return next(family for family in _FAMILIES if field in family)


@cache
def _alike(fields: tuple[str, ...]) -> dict[str, str]:
    """For each letter, the characters that can be read as it: other cases, widths, styles, accents, scripts."""
    found = {letter: letter + letter.upper() + _LOOK_ALIKES.get(letter, "") for letter in set("".join(fields))}
    for code in _LATIN:
        base = unicodedata.normalize("NFKD", chr(code))[:1].lower()
        if base in found:
            found[base] += chr(code)
    return found


@cache
def _mark(fields: tuple[str, ...]) -> re.Pattern[str]:
    alike = _alike(fields)
    gap = f"[{_PASSED_OVER}]*+"
    names = (gap.join(f"[{re.escape(alike[letter])}]" for letter in field) for field in fields)
    opener = f"[{re.escape(_BRACKETS)}&](?:(?<!&)|{_ENTITY})"
    # Possessive quantifiers over disjoint character classes keep the time linear on any text.
    return re.compile(f"{opener}(?=[{_PASSED_OVER}{_STROKES}]*+(?:{'|'.join(names)}))")


def sendable(text: str) -> str:
    """``text`` with lone surrogates, which UTF-8 cannot represent, replaced by U+FFFD. Everything else, including
    control characters, is valid in JSON and stays."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def shortened(text: str, most: int) -> str:
    """``text`` on one line, shortened to at most ``most`` characters."""
    line = " ".join(sendable(text[: 4 * most]).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def neutralised(text: str, fields: tuple[str, ...] = FIELDS) -> str:
    """``text`` with a backslash inside everything that could be read as a fence mark of ``fields``."""
    if not any(opener in text for opener in _OPENERS):
        return text
    return _mark(fields).sub(r"\g<0>\\", text)


def without_template_tokens(text: str) -> str:
    """``text`` with a backslash after the bracket of everything that could be read as a chat template token
    (``<|im_start|>``, ``[INST]``, ``</s>``); idempotent."""
    if "<" not in text and "[" not in text:
        return text
    return _TEMPLATE_TOKENS.sub(r"\g<0>\\", text)


def recovered(text: str, fields: tuple[str, ...] = FIELDS) -> str:
    """The inverse of ``neutralised``."""
    kept, end = [], 0
    for found in _mark(fields).finditer(text):
        kept.append(text[end : found.end()])
        end = found.end() + 1
    return "".join([*kept, text[end:]])


def fenced(field: str, text: str) -> str:
    """``text`` between the marks of ``field``, each on a separate line; in ``text``, marks of the field's family
    (``FIELDS``, ``ANSWERING_FIELDS`` or ``WRITING_FIELDS``) and chat template tokens are neutralised."""
    return f"<{field}>\n{neutralised(without_template_tokens(text), _family(field))}\n</{field}>"
