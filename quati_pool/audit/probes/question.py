"""The probe ``question``: the query in the place of the passage."""

from __future__ import annotations

from random import Random

from quati_pool.audit.base import Change, Material, Probe, SourcePair
from quati_pool.audit.passages import altered

_TIMES = {"query": 1, "query ten times": 10}


class Question(Probe):
    """Shows the query as the passage. A question does not answer itself, however often it is repeated."""

    id = "probe/question"
    summary = "the query in the place of the passage, once and ten times"
    paper = "Alaofi et al., SIGIR-AP 2024 (arXiv 2501.17969)"
    danger = "question as passage"
    seen = "were graded as answers with the question as their passage"
    advice = "use its grades of texts that may repeat the question instead of answering it"
    drawn = "irrelevant"
    expected = "not_answer"
    variants = tuple(_TIMES)

    def change(self, pair: SourcePair, variant: str, material: Material, random: Random) -> Change | None:
        query = pair.shown.query.strip()
        return altered(pair, " ".join([query] * _TIMES[variant])) if query else None
