"""The judge ``distilled``: a cross-encoder that ``quati-pool train judge`` trained from other labelers' grades."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError
from quati_pool.judging import base
from quati_pool.judging.pair import Pair
from quati_pool.judging.verdict import Verdict
from quati_pool.models.cross_encoder import PairReader, PairScorer
from quati_pool.models.judge_card import JudgeCard, read_card
from quati_pool.models.loading import require_neural
from quati_pool.models.location import LocalModel, locate, locate_or_download
from quati_pool.models.parameters import ModelParameters
from quati_pool.records import State


class Distilled(base.Judge):
    """Grades as its card says that its model's outputs are to be read (``JudgeCard.read``).

    A query is read as a whole; of a passage, what fits. Loaded when it first grades; fetched, where it is a name on the
    hub, before a run alone.
    """

    id = "judge/distilled"
    summary = "a small model trained from labels by quati-pool train judge; grades without a server"
    example = "model: models/judge"
    Parameters = ModelParameters
    parameters: ModelParameters

    @classmethod
    def require(cls) -> None:
        require_neural("distilled")

    def identity(self) -> dict[str, Any]:
        """The weights and the card, by digest or commit, and what of the card concerns the origin of its labels
        (``learned``), which must stay known where the model is gone."""
        return {
            "weights": self._local.identity,
            "compute": self.parameters.compute,
            "learned": self._card.learned(),
            "grades": sorted(self.setting.grades),
        }

    def fetch(self, note: Callable[[str], None]) -> None:
        locate_or_download(self.setting, self.parameters.model, self.parameters.revision, note)

    def may_be(self, identity: Mapping[str, Any]) -> bool:
        known = (identity.get("compute"), identity.get("grades"))
        return known == (self.parameters.compute, sorted(self.setting.grades))

    def reads_whole(self, pair: Pair) -> bool:
        return self._reader.fits(pair.query, pair.text)

    def grade(self, pairs: Sequence[Pair]) -> list[Verdict]:
        outputs = self._scorer.score([pair.query for pair in pairs], [pair.text for pair in pairs])
        defined: npt.NDArray[np.bool_] = np.all(np.isfinite(outputs), axis=1)
        read = self._card.read(np.where(defined[:, None], outputs, 0.0))
        verdicts = []
        for row, known in enumerate(defined.tolist()):
            if not known:
                verdicts.append(Verdict(State.failed, problem=self._problem(outputs[row])))
                continue
            details: dict[str, Any] = {}
            if read.expected is None:
                details["probability_relevant"] = float(read.score[row])
            else:
                details["expected_grade"] = float(read.expected[row])
            if read.distribution is not None:
                shares = read.distribution[row].tolist()
                details["distribution"] = {str(grade): share for grade, share in zip(self._scale, shares, strict=True)}
            verdicts.append(Verdict(State.ok, int(read.grades[row]), details=details))
        return verdicts

    def _problem(self, outputs: Any) -> str:
        if np.isnan(outputs).all():
            return f"the query leaves no room for a passage in the {self._card.max_tokens:,} tokens that are read"
        return f"the model's outputs are {outputs.tolist()}, which are not numbers to read; use compute: fp32"

    @cached_property
    def _local(self) -> LocalModel:
        return locate(self.setting, self.parameters.model, self.parameters.revision)

    @cached_property
    def _card(self) -> JudgeCard:
        card = read_card(self._local.folder, self.parameters.model)
        grades = sorted(self.setting.grades)
        if card.scale != grades:
            learned, here = (", ".join(map(str, scale)) for scale in (card.scale, grades))
            raise ConfigError(
                f"model {self.parameters.model!r} learned grades {learned}, and this collection's are {here}; train a "
                f"judge from this collection's grades, or give it the same grades:"
            )
        return card

    @property
    def _scale(self) -> list[int]:
        return self._card.scale

    @cached_property
    def _reader(self) -> PairReader:
        return PairReader.of_folder(self._local.folder, self._card.max_tokens)

    @cached_property
    def _scorer(self) -> PairScorer:
        return PairScorer(self._local, self.parameters, self._card.max_tokens)
