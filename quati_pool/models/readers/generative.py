"""Readers that write their answer: encoder-decoder models such as T5, PTT5 and UnifiedQA."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.answers_in_words import closest_option, one_text
from quati_pool.models.readers.base import Reader, ReaderAnswer, ReaderQuestion
from quati_pool.models.readers.card import ReaderCard
from quati_pool.models.readers.loaded import (
    LoadedModel,
    encoded,
    load,
    load_tokenizer,
    longest_input,
    max_tokens,
)
from quati_pool.models.readers.single_text import Fitted, Parts, SingleTexts

MODEL = "AutoModelForSeq2SeqLM"
"""The class of transformers that writes answers."""
MAX_TOKENS = 512
ANSWER_TOKENS = 128
"""The longest answer in tokens, unless a card says another length."""


def parts_of(question: ReaderQuestion) -> Parts:
    """The text that a reader of this kind is given.

    In words: ``question: … context: …``, as T5 was trained on SQuAD (Raffel et al. 2020, arXiv 1910.10683, appendix D)
    and Pirá's notebooks write it; without ``context:`` where there is none. With options, in the form of UnifiedQA:
    question, ``(A) … (B) …`` and context, with ``\\n`` (two characters) between them.
    """
    context = one_text(question)
    if question.options:
        options = " ".join(f"({label_of(place)}) {option}" for place, option in enumerate(question.options))
        return Parts(f"{question.question} \\n {options}" + (" \\n " if context else ""), context)
    return Parts(f"question: {question.question}" + ("  context: " if context else ""), context)


def label_of(place: int) -> str:
    """A to Z for the first 26 options, then numbers from 27."""
    return string.ascii_uppercase[place] if place < len(string.ascii_uppercase) else str(place + 1)


_OF_SAMPLES_AND_BEAMS = {
    *("do_sample", "temperature", "top_k", "top_p", "min_p", "typical_p", "num_return_sequences"),
    *("num_beams", "num_beam_groups", "early_stopping", "length_penalty", "diversity_penalty"),
    *("max_length", "max_new_tokens"),
}


def greedy(config: Any, answer_tokens: int) -> Any:
    """A model's generation settings without those of sampling and of searching with beams, for answers of at most
    ``answer_tokens`` tokens; what else the model's publisher set, such as a shortest length, stays."""
    import transformers

    settings: Any = transformers.GenerationConfig
    kept = {name: value for name, value in config.to_dict().items() if name not in _OF_SAMPLES_AND_BEAMS}
    return settings(**{**kept, "max_new_tokens": answer_tokens, "do_sample": False, "num_beams": 1})


class GenerativeReader(Reader):
    """Writes the answer greedily, at most ``answer_tokens`` long; where there are options, it chooses the one with the
    highest token F1 with what it wrote. The context is shortened at its end where the input is too long.

    A model without a card reads 512 tokens, which is the length that T5 was pre-trained with, or fewer if it takes
    fewer.
    """

    kind = "generative"

    def __init__(self, parameters: ModelParameters, local: LocalModel, card: ReaderCard | None) -> None:
        super().__init__(parameters, local, card)
        self._answer_tokens = ANSWER_TOKENS if card is None else int(card.inputs["answer_tokens"])

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self._parameters, self._local)

    @cached_property
    def _model(self) -> LoadedModel:
        loaded = load(MODEL, self._parameters, self._local)
        for model in loaded.models:
            model.generation_config = greedy(model.generation_config, self._answer_tokens)
        return loaded

    @cached_property
    def _texts(self) -> SingleTexts:
        longest = longest_input(self._model.models[0], self._tokenizer)
        most = max_tokens(None if self._card is None else self._card.max_tokens, longest, self._parameters, MAX_TOKENS)
        return SingleTexts(self._tokenizer, most)

    def answers(self, questions: Sequence[ReaderQuestion]) -> Iterator[tuple[int, ReaderAnswer]]:
        texts, unread = encoded(questions, lambda question: self._texts.fit(parts_of(question)))
        yield from unread.items()
        places = list(texts)
        # The decoder's tokens take memory too.
        lengths = [max(self._texts.length(text), self._answer_tokens) for text in texts.values()]

        def write(model: Any, part: list[int]) -> list[str]:
            return self._write(model, [texts[places[row]] for row in part])

        for part, written in self._model.run(lengths, write):
            for row, text in zip(part, written, strict=True):
                place = places[row]
                options, shortened = questions[place].options, texts[place].shortened
                if options:
                    yield place, closest_option(text, options, shortened)
                else:
                    yield place, ReaderAnswer(text=text, shortened=shortened)

    def _write(self, model: Any, texts: Sequence[Fitted]) -> list[str]:
        import torch

        batch = self._texts.batch(texts)
        with torch.inference_mode():
            found = model.generate(
                input_ids=torch.from_numpy(batch.ids).to(model.device),
                attention_mask=torch.from_numpy(batch.mask).to(model.device),
            )
        decoded: list[str] = self._tokenizer.batch_decode(found, skip_special_tokens=True)
        return [text.strip() for text in decoded]
