"""monoT5 (Nogueira et al. 2020, arXiv 2003.06713): T5 and mT5 models fine-tuned to answer with one of two words whether
a passage is relevant."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from quati_pool.errors import ConfigError
from quati_pool.models.loading import load_errors, load_model
from quati_pool.models.location import LocalModel
from quati_pool.models.pair_tokens import Batch, Frame, Part, TextReader
from quati_pool.models.parameters import devices_of
from quati_pool.retrieval.pairwise.pairs import PairModel, PairParameters, PairReranker, Scorer, Scores

_MAX_TOKENS = 512
"""The input length with which the models below were fine-tuned. T5 uses relative positions, so that it also takes
longer input."""


class TokenPair(NamedTuple):
    """The first tokens of a model's two answers; ▁ marks the beginning of a word."""

    relevant: str
    irrelevant: str


_TRUE_FALSE = TokenPair("▁true", "▁false")
_YES_NO = TokenPair("▁yes", "▁no")
_SIM_NAO = TokenPair("▁sim", "▁não")

KNOWN: Mapping[str, TokenPair] = {
    # Nogueira et al. 2020, section 3; pygaggle's table in pygaggle/rerank/transformer.py. The models that it
    # does not list (small, 3b-msmarco) are in that of InPars, inpars/rerank.py.
    "castorini/monot5-small-msmarco-10k": _TRUE_FALSE,
    "castorini/monot5-small-msmarco-100k": _TRUE_FALSE,
    "castorini/monot5-base-msmarco": _TRUE_FALSE,
    "castorini/monot5-base-msmarco-10k": _TRUE_FALSE,
    "castorini/monot5-base-med-msmarco": _TRUE_FALSE,
    "castorini/monot5-large-msmarco": _TRUE_FALSE,
    "castorini/monot5-large-msmarco-10k": _TRUE_FALSE,
    "castorini/monot5-3b-msmarco": _TRUE_FALSE,
    "castorini/monot5-3b-msmarco-10k": _TRUE_FALSE,
    "castorini/monot5-3b-med-msmarco": _TRUE_FALSE,
    # Bonifacio et al. 2021 (mMARCO, arXiv 2108.13897); pygaggle's table.
    "unicamp-dl/mt5-base-en-msmarco": _YES_NO,
    "unicamp-dl/mt5-base-en-pt-msmarco-v1": _YES_NO,
    "unicamp-dl/mt5-base-en-pt-msmarco-v2": _YES_NO,
    "unicamp-dl/mt5-base-mmarco-v1": _YES_NO,
    "unicamp-dl/mt5-base-mmarco-v2": _YES_NO,
    "unicamp-dl/ptt5-base-pt-msmarco-10k-v1": _SIM_NAO,
    "unicamp-dl/ptt5-base-pt-msmarco-10k-v2": _SIM_NAO,
    "unicamp-dl/ptt5-base-pt-msmarco-100k-v1": _SIM_NAO,
    "unicamp-dl/ptt5-base-pt-msmarco-100k-v2": _SIM_NAO,
    "unicamp-dl/ptt5-base-en-pt-msmarco-10k-v1": _SIM_NAO,
    "unicamp-dl/ptt5-base-en-pt-msmarco-100k-v2": _SIM_NAO,
    # pygaggle's table since its pull request 320: mT5's vocabulary has no ▁false, so the first token of the word is
    # the one that only marks its beginning.
    "unicamp-dl/mt5-3B-mmarco-en-pt": TokenPair("▁true", "▁"),
    "unicamp-dl/mt5-13b-mmarco-100k": TokenPair("▁true", "▁"),
    # The table of the library rerankers, rerankers/models/t5ranker.py.
    "unicamp-dl/InRanker-small": _TRUE_FALSE,
    "unicamp-dl/InRanker-base": _TRUE_FALSE,
    "unicamp-dl/InRanker-3B": _TRUE_FALSE,
    "unicamp-dl/monoptt5-small": TokenPair("▁Sim", "▁Não"),
    "unicamp-dl/monoptt5-base": TokenPair("▁Sim", "▁Não"),
    "unicamp-dl/monoptt5-large": TokenPair("▁Sim", "▁Não"),
    "unicamp-dl/monoptt5-3b": TokenPair("▁Sim", "▁Não"),
}
_BY_LAST_PART = {name.rpartition("/")[2].lower(): name for name in KNOWN}


class MonoT5Parameters(PairParameters):
    tokens: Annotated[
        list[str] | None,
        Field(
            min_length=2,
            max_length=2,
            description="the two words the model answers with, relevant first; known models need none",
        ),
    ] = None


class MonoT5(PairReranker):
    """Scores a pair by log p(relevant): the log softmax over the logits of the model's two answer tokens at the first
    decoding step, for the input ``Query: … Document: … Relevant:`` (Nogueira et al. 2020, section 3)."""

    id = "reranker/monot5"
    name = encodes = "monot5"
    kind = "t5"
    summary = "a T5 or mT5 that answers whether a passage is relevant (transformers)"
    example = "model: unicamp-dl/mt5-base-mmarco-v2"
    Parameters = MonoT5Parameters
    parameters: MonoT5Parameters

    def check(self, local: LocalModel, note: Callable[[str], None]) -> None:
        super().check(local, note)
        known, pair = self._token_pair(local)
        if known is not None and known != self.parameters.model:
            note(f"model {self.parameters.model} is treated as {known}: tokens {pair.relevant} and {pair.irrelevant}")
        if self.parameters.tokens is not None:
            self._token_ids(self._tokenizer(local), pair)

    def chosen(self, local: LocalModel) -> dict[str, Any]:
        return {"tokens": list(self._token_pair(local)[1])}

    def load(self, local: LocalModel) -> PairModel:
        tokenizer = self._tokenizer(local)
        ids = self._token_ids(tokenizer, self._token_pair(local)[1])
        model = load_model("AutoModelForSeq2SeqLM", local.folder, self.parameters)
        names = devices_of(self.parameters)
        copies = [model, *(copy.deepcopy(model).to(name) for name in names[1:])]
        most = self.parameters.max_tokens or _MAX_TOKENS
        reader = TextReader(tokenizer, most)
        before, between, after = reader.whole(["Query:", "Document:", "Relevant:"])
        frame = Frame(
            Part.untyped(before),
            Part.untyped(between),
            Part.untyped(np.append(after, np.int32(tokenizer.eos_token_id))),
            pad=tokenizer.pad_token_id or 0,
        )
        return PairModel(
            reader,
            frame,
            most,
            [_scorer(copied, name, ids) for copied, name in zip(copies, names, strict=True)],
            names,
        )

    def _tokenizer(self, local: LocalModel) -> Any:
        with load_errors(self.parameters.model):
            from transformers import AutoTokenizer

            return AutoTokenizer.from_pretrained(str(local.folder), local_files_only=True, trust_remote_code=False)

    def _token_pair(self, local: LocalModel) -> tuple[str | None, TokenPair]:
        """The name of the known model that this one is (None if the parameter ``tokens`` is given), and its tokens.

        Raises ConfigError if neither is the case."""
        if self.parameters.tokens is not None:
            return None, TokenPair(*self.parameters.tokens)
        config = json.loads((local.folder / "config.json").read_text(encoding="utf-8"))
        for name in (self.parameters.model, Path(self.parameters.model).name, str(config.get("_name_or_path", ""))):
            known = _BY_LAST_PART.get(name.rstrip("/").rpartition("/")[2].lower())
            if known is not None:
                return known, KNOWN[known]
        raise ConfigError(
            f"which two words model {self.parameters.model!r} answers with is not known here; write the ones it was "
            f"tuned with, the one for relevant first, such as  tokens: [yes, no]"
        )

    def _token_ids(self, tokenizer: Any, pair: TokenPair) -> tuple[int, int]:
        """The ids of the two tokens; raises ConfigError if they are the same, or not in the model's vocabulary."""
        vocabulary = tokenizer.get_vocab()
        reader = TextReader(tokenizer, 1)

        def first(word: str) -> int:
            if word in vocabulary and word.startswith("▁"):
                return int(vocabulary[word])
            tokens = reader.whole([word.replace("▁", " ")])[0]
            if not len(tokens) or tokens[0] == tokenizer.unk_token_id:
                raise ConfigError(
                    f"tokens: model {self.parameters.model!r} has no token for {word!r}; "
                    f"write the two words it was tuned to answer with"
                )
            return int(tokens[0])

        relevant, irrelevant = first(pair.relevant), first(pair.irrelevant)
        if relevant == irrelevant:
            raise ConfigError(
                f"tokens: for model {self.parameters.model!r} {pair.relevant!r} and {pair.irrelevant!r} begin with the "
                f"same token, {tokenizer.convert_ids_to_tokens(relevant)!r}; write the two words it was tuned to "
                f"answer with"
            )
        return relevant, irrelevant


def _scorer(model: Any, device: str, tokens: tuple[int, int]) -> Scorer:
    import torch

    start = model.config.decoder_start_token_id
    start = model.config.pad_token_id if start is None else start

    def score(batch: Batch) -> Scores:
        with torch.inference_mode():
            logits = model(
                input_ids=torch.from_numpy(batch.ids).to(device),
                attention_mask=torch.from_numpy(batch.mask).to(device),
                decoder_input_ids=torch.full((len(batch.ids), 1), start, dtype=torch.long, device=device),
            ).logits[:, -1, list(tokens)]
            # The log softmax of two logits, in a form that still distinguishes nearly certain scores, which the usual
            # form would round to 0.
            scores = torch.nn.functional.logsigmoid(logits[:, 0].float() - logits[:, 1].float())
        found: Scores = scores.cpu().numpy().astype(np.float32)
        return found

    return score
