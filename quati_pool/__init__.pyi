from quati_pool.api import Agreement as Agreement
from quati_pool.api import Audit as Audit
from quati_pool.api import AuditComparison as AuditComparison
from quati_pool.api import AuditPlan as AuditPlan
from quati_pool.api import Build as Build
from quati_pool.api import Collection as Collection
from quati_pool.api import Coverage as Coverage
from quati_pool.api import Estimate as Estimate
from quati_pool.api import EstimatePlan as EstimatePlan
from quati_pool.api import EstimateReplay as EstimateReplay
from quati_pool.api import Estimates as Estimates
from quati_pool.api import Evaluation as Evaluation
from quati_pool.api import Judging as Judging
from quati_pool.api import JudgingPlan as JudgingPlan
from quati_pool.api import Plan as Plan
from quati_pool.api import QuatiPoolError as QuatiPoolError
from quati_pool.api import QuatiPoolWarning as QuatiPoolWarning
from quati_pool.api import Status as Status
from quati_pool.api import agree as agree
from quati_pool.api import evaluate as evaluate
from quati_pool.api import open as open  # noqa: A004
from quati_pool.api import pool as pool

__version__: str
