"""Chat messages as the tokens that a model was trained to answer, by its own chat template.

No text becomes a special token: a backslash separates the first character of everything that the tokenizer would read
as one, and a prompt whose special tokens are not those of its template is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from quati_pool.llm.faults import CallError
from quati_pool.llm.local.engine import Choice, Tokens
from quati_pool.models.errors import ModelError

Messages = Sequence[Mapping[str, str]]
_PROBE = "quati-pool-probe"
# Templates of Llama 3 write the current date, which would change the prompt from day to day.
_VARIABLES = {"date_string": "26 Jul 2024"}


class ChatPrompts:
    """The prompts of one model. ``thinks`` is False if the answer is to begin without thoughts, where the template
    leaves that open."""

    def __init__(self, tokenizer: Any, model: str, *, thinks: bool) -> None:
        """Raises ModelError if the template cannot be used."""
        self._tokenizer = tokenizer
        self._model = model
        self._variables = _VARIABLES if thinks else {**_VARIABLES, "enable_thinking": False}
        self._expected: dict[tuple[str, ...], list[int]] = {}
        self._takes_system = self._shows_system()
        if not thinks and self.text([{"role": "user", "content": _PROBE}]).rstrip().endswith(("<think>", "[THINK]")):
            raise ModelError(f"model {model!r} thinks before each answer; set mode: answer")

    def text(self, messages: Messages) -> str:
        """The text of a prompt, up to where the answer begins."""
        return self._rendered([{**message, "content": self.broken_up(message["content"])} for message in messages])

    def tokens(self, messages: Messages) -> Tokens:
        """The tokens of a prompt. Raises CallError if a text in it would be read as a special token."""
        return self._checked(messages, [self.text(messages)])[0]

    def choice(self, messages: Messages, begun: str, endings: Sequence[str]) -> Choice:
        """The tokens of a prompt whose answer has ``begun``, and those of each text that may follow.

        Each is tokenised with all before it, and what all have in common belongs to the prompt. Raises CallError if a
        text in the prompt would be read as a special token.
        """
        text = self.text(messages) + begun
        whole = self._checked(messages, [text + ending for ending in endings])
        shortest = min(map(len, whole))
        same = np.all([tokens[:shortest] == whole[0][:shortest] for tokens in whole], axis=0)
        shared = shortest if same.all() else int(np.argmin(same))
        # An ending that is the beginning of another still needs a token of its own.
        shared = min(shared, shortest - 1)
        return Choice(whole[0][:shared], tuple(tokens[shared:] for tokens in whole))

    def broken_up(self, text: str) -> str:
        """``text`` with a backslash in everything that the tokenizer would read as a special token."""
        if self._tokens_of_templates is None:
            return text
        return self._tokens_of_templates.sub(lambda found: f"{found[0][0]}\\{found[0][1:]}", text)

    def _rendered(self, messages: Messages) -> str:
        shown = messages if self._takes_system else _with_system_in_first_turn(messages)
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    list(shown), tokenize=False, add_generation_prompt=True, **self._variables
                )
            )
        except Exception as error:  # whatever a template raises
            said = " ".join(str(error).split())[:200] or type(error).__name__
            raise ModelError(f"the chat template of model {self._model!r} refuses the prompt ({said})") from error

    def _shows_system(self) -> bool:
        """Whether the template takes a system message and writes it."""
        messages = [{"role": "system", "content": _PROBE}, {"role": "user", "content": "?"}]
        self._takes_system = True
        try:
            return _PROBE in self._rendered(messages)
        except ModelError:
            return False

    def _checked(self, messages: Messages, texts: list[str]) -> list[Tokens]:
        encoded = self._tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)
        tokens = [np.array(ids, dtype=np.int64) for ids in encoded["input_ids"]]
        expected = self._expected_special(tuple(message["role"] for message in messages))
        for ids in tokens:
            found = ids[np.isin(ids, self._special)].tolist()
            if found != expected:
                odd = next((one for one, other in zip_longest(found, expected) if one != other), None)
                name = "missing" if odd is None else self._tokenizer.convert_ids_to_tokens(odd)
                raise CallError(f"a text of the prompt would be read as a special token ({name})", "rejected")
        return tokens

    def _expected_special(self, roles: tuple[str, ...]) -> list[int]:
        """The special tokens of a prompt whose messages hold none."""
        if roles not in self._expected:
            text = self._rendered([{"role": role, "content": _PROBE} for role in roles])
            ids = np.array(self._tokenizer(text, add_special_tokens=False)["input_ids"], dtype=np.int64)
            self._expected[roles] = ids[np.isin(ids, self._special)].tolist()
        return self._expected[roles]

    @cached_property
    def _special(self) -> Tokens:
        """The ids of all special tokens but the unknown one, which any text may hold."""
        added = self._tokenizer.added_tokens_decoder
        special = {*self._tokenizer.all_special_ids, *(number for number, token in added.items() if token.special)}
        return np.array(sorted(special - {self._tokenizer.unk_token_id}), dtype=np.int64)

    @cached_property
    def _tokens_of_templates(self) -> re.Pattern[str] | None:
        """Finds the special tokens, and those others that the tokenizer reads as one wherever they occur and that look
        like marks (``<tool_call>``), not like words, line feeds or spaces."""
        added = self._tokenizer.added_tokens_decoder.values()
        marks = {str(token.content) for token in added if token.special or _is_mark(str(token.content))}
        names = [name for name in {*marks, *self._tokenizer.all_special_tokens} if len(name) > 1]
        longest_first = sorted(names, key=lambda name: (-len(name), name))
        return re.compile("|".join(map(re.escape, longest_first))) if names else None


def _is_mark(name: str) -> bool:
    visible = name.replace("▁", "").strip()
    return len(visible) > 1 and not (visible[0].isalnum() and visible[-1].isalnum())


def _with_system_in_first_turn(messages: Messages) -> list[Mapping[str, str]]:
    """The messages with that of the system before the text of the first user message."""
    first, *rest = messages
    if first["role"] != "system" or not rest:
        return list(messages)
    return [{**rest[0], "content": f"{first['content']}\n\n{rest[0]['content']}"}, *rest[1:]]
