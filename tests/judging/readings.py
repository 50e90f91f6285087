"""The readings that the tests of verdicts share."""

from __future__ import annotations

from quati_pool.judging.verdict import Reading

SCALE = range(4)
PT = Reading("Razão", "Pontuação", ["Pontuacao"], SCALE)
EN = Reading("Reason", "Score", ["Final score"], SCALE)
