"""quati-pool: from a corpus and questions to a published information-retrieval test collection.

    import quati_pool as qp

    c = qp.open("pool.yaml")
    c.build()
    c.judge("lexical")
    print(c.evaluate())

The names below come from ``quati_pool.api``, which is imported when the first of them is used. ``__init__.pyi`` lists
them for type checkers and editors.
"""

__version__ = "0.1.0"

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


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Named in a string: whatever imports this package must not depend on its highest layer.
    from importlib import import_module

    return getattr(import_module("quati_pool.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
