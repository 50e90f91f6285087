"""``pool.yaml`` as checked models, a module for each part of it."""

from quati_pool.project.config.labelers import (
    NO_GRADE,
    ConsensusConfig,
    HybridConfig,
    JudgeConfig,
    LabelFileConfig,
    LabelsConfig,
    PeopleConfig,
)
from quati_pool.project.config.pool import CorpusConfig, PoolConfig, QueriesConfig, load_config, scale_of
from quati_pool.project.config.systems import FusionSystem, RerankSystem, RetrieverSystem, needs_corpus

__all__ = [
    "NO_GRADE",
    "ConsensusConfig",
    "CorpusConfig",
    "FusionSystem",
    "HybridConfig",
    "JudgeConfig",
    "LabelFileConfig",
    "LabelsConfig",
    "PeopleConfig",
    "PoolConfig",
    "QueriesConfig",
    "RerankSystem",
    "RetrieverSystem",
    "load_config",
    "needs_corpus",
    "scale_of",
]
