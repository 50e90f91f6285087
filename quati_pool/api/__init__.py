"""The Python API: what the commands do, with results that print as the commands do and become pandas frames.

``open`` opens a workspace as a ``Collection``; ``evaluate``, ``agree`` and ``pool`` need no workspace. All ids are
strings. Errors are ``QuatiPoolError``, with the one-line messages of the command line.
"""

from quati_pool.api.agreement import Agreement
from quati_pool.api.audits import Audit, AuditComparison, AuditPlan
from quati_pool.api.collection import Collection, open  # noqa: A004  # qp.open, as gzip.open
from quati_pool.api.estimates import EstimatePlan, EstimateReplay, Estimates
from quati_pool.api.evaluation import Evaluation
from quati_pool.api.results import Build, Coverage, Estimate, Judging, JudgingPlan, Plan, Status
from quati_pool.api.without_workspace import agree, evaluate, pool
from quati_pool.errors import QuatiPoolError, QuatiPoolWarning

__all__ = [
    "Agreement",
    "Audit",
    "AuditComparison",
    "AuditPlan",
    "Build",
    "Collection",
    "Coverage",
    "Estimate",
    "EstimatePlan",
    "EstimateReplay",
    "Estimates",
    "Evaluation",
    "Judging",
    "JudgingPlan",
    "Plan",
    "QuatiPoolError",
    "QuatiPoolWarning",
    "Status",
    "agree",
    "evaluate",
    "open",
    "pool",
]
