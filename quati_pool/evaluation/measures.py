"""Parses the names of measures, in the syntax of ir_measures, and checks them before anything is computed."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Iterable
from typing import Any

from quati_pool.errors import ConfigError
from quati_pool.records import MAX_GRADE
from quati_pool.registry import nearest

DEFAULTS = ("nDCG@10", "nDCG@20", "R(rel=2)@100", "RR(rel=2)@10", "Judged@10")
"""The default measures; the first ranks the runs. On the default scale grade 1 does not answer the query, so recall
and reciprocal rank start at 2."""

# Measures whose value at a cutoff does not depend on the documents ranked below it.
_CUT = frozenset({"AP", "DCG", "ERR", "Judged", "P", "R", "RR", "Success", "nDCG"})

# Providers whose packages require older releases of numpy and scipy.
_OUTDATED = frozenset({"ranx"})
# White space within one measure: R (rel=2) @ 100.
_INSIDE = re.compile(r"\s*(@)\s*|\s+(?=\()")


def parse_measures(names: Iterable[str]) -> tuple[str, ...]:
    """The measures in ``names`` under the names that ir_measures gives them (MAP is AP), in order, without repeats.

    Commas and white space outside brackets separate measures. Raises ConfigError for a name that ir_measures
    does not know, for invalid parameters, and for a measure that no installed provider computes.
    """
    return tuple(str(measure) for measure in resolve(names))


def resolve(names: Iterable[str]) -> list[Any]:
    """The ir_measures objects behind ``parse_measures``."""
    found: dict[str, Any] = {}
    # Joined before splitting, because YAML reads [R(rel=2, judged_only=True)@100] as two strings.
    for text in _split(", ".join(names)):
        measure = _measure(text)
        found.setdefault(str(measure), measure)
    if not found:
        raise ConfigError(f"no measure is named; name some, such as {DEFAULTS[0]}")
    return list(found.values())


def load_ir_measures() -> Any:
    """The library ir_measures, imported without the warnings from compiling cwl_eval."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "invalid escape sequence")
        import ir_measures

        # Its import makes the measures for samples known to ir_measures.
        import quati_pool.evaluation.sampled_measures  # noqa: F401
    return ir_measures


def for_samples(measure: Any) -> bool:
    """Whether a measure reads how the pairs were drawn, and is computed here."""
    from quati_pool.evaluation.sampled_measures import SampledMeasure

    return isinstance(measure, SampledMeasure)


def provider(measure: Any) -> Any:
    """The installed provider of ir_measures that computes ``measure``; None if there is none."""
    ir_measures = load_ir_measures()
    providers: Iterable[Any] = ir_measures.DefaultPipeline.providers
    return next((one for one in providers if one.supports(measure) and one.is_available()), None)


def deepest(measures: Iterable[Any]) -> int | None:
    """The deepest cutoff of these ir_measures objects; None if any of them depends on all ranks."""
    cutoffs = []
    for measure in measures:
        if measure.NAME not in _CUT or "cutoff" not in measure.params or measure.params.get("judged_only"):
            return None
        cutoffs.append(measure.params["cutoff"])
    return max(cutoffs, default=None)


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in _INSIDE.sub(r"\1", text):
        depth = max(0, depth + (character in "([{") - (character in ")]}"))
        if depth == 0 and (character == "," or character.isspace()):
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part]


def _measure(text: str) -> Any:
    ir_measures = load_ir_measures()
    try:
        with warnings.catch_warnings():  # its parser uses names that Python 3.12 deprecates
            warnings.simplefilter("ignore", DeprecationWarning)
            measure = ir_measures.parse_measure(text)
    except NameError:
        raise _unknown(text) from None
    except (ValueError, SyntaxError, TypeError, AttributeError, RecursionError):
        if _trec_name(text):
            raise _unknown(text) from None
        raise ConfigError(f"{text!r} is not a measure; write it as nDCG@10 or R(rel=2)@100") from None
    problem = _parameter_problem(measure)
    if problem:
        raise ConfigError(f"{text!r}: {problem}")
    if provider(measure) is None and not for_samples(measure):
        raise _not_computed(text, measure)
    return measure


def _unknown(text: str) -> ConfigError:
    ir_measures = load_ir_measures()
    name = re.split(r"[@(]", text, maxsplit=1)[0].strip()
    trec_name = _trec_name(text)
    hint = f"did you mean {trec_name!r}?" if trec_name else nearest(name, ir_measures.measures.registry)
    if hint.startswith("did you mean") and not trec_name:
        hint = hint.removesuffix("'?") + text[len(name) :] + "'?"
    return ConfigError(f"there is no measure {text!r}; {hint}")


def _trec_name(text: str) -> str | None:
    """The measure for a trec_eval name such as ndcg_cut_10; None if ``text`` is not such a name."""
    ir_measures = load_ir_measures()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            (measure,) = ir_measures.parse_trec_measure(text)
        return str(measure)
    except Exception:  # the parser raises many kinds of errors for names unknown to trec_eval
        return None


def _parameter_problem(measure: Any) -> str | None:
    """Says what is wrong with a measure's parameters, None if nothing; some faults would crash a provider."""
    taken = measure.SUPPORTED_PARAMS
    for name, value in measure.params.items():
        if name not in taken:
            return f"{measure.NAME} does not take {name!r}; {nearest(name, taken)}"
        whole = isinstance(value, int) and not isinstance(value, bool)
        # Values beyond 2³¹ - 1 overflow a C integer in trec_eval.
        if name in ("cutoff", "rel") and not (whole and 1 <= value < 2**31):
            return f"{name} is {value!r}; give a whole number from 1"
        # pytrec_eval's names have two decimals, so 0.121 and 0.123 would be confused.
        if name == "recall" and (not isinstance(value, float) or not 0 <= value <= 1 or round(value, 2) != value):
            return f"recall is {value!r}; give a number from 0.0 to 1.0 with at most two decimals"
        if name == "gains" and not _grades(value):
            return f"gains maps grades to gains, none beyond ±{MAX_GRADE:,}; write it as gains={{1:0,2:1}}"
        if not taken[name].validate(value):
            return f"{name} cannot be {value!r}; give {_expected(taken[name])}"
    missing = [name for name, parameter in taken.items() if parameter.required and name not in measure.params]
    if missing:
        example = f"{measure.NAME}@10" if missing == ["cutoff"] else f"{measure.NAME}({missing[0]}=…)"
        return f"{measure.NAME} needs {' and '.join(missing)}; write it as {example}"
    return None


def _grades(value: Any) -> bool:
    return isinstance(value, dict) and all(type(n) is int and abs(n) <= MAX_GRADE for n in [*value, *value.values()])


def _expected(parameter: Any) -> str:
    if isinstance(parameter.choices, list):
        return " or ".join(repr(choice) for choice in parameter.choices)
    kinds = parameter.dtype if isinstance(parameter.dtype, tuple) else (parameter.dtype,)
    names = {int: "a whole number", float: "a number with a decimal point", bool: "True or False", str: "a text"}
    return " or ".join(names.get(kind, "another value") for kind in kinds)


def _not_computed(text: str, measure: Any) -> ConfigError:
    ir_measures = load_ir_measures()
    providers = [one for one in ir_measures.DefaultPipeline.providers if one.NAME not in _OUTDATED]
    installs = [one.install_instructions() or f"install {one.NAME}" for one in providers if one.supports(measure)]
    if installs:
        return ConfigError(f"no installed provider of ir_measures computes {text!r}; run: {', or '.join(installs)}")
    taken = ", ".join(measure.SUPPORTED_PARAMS)
    known = [(one.NAME, like) for one in providers for like in one.SUPPORTED_MEASURES if like.NAME == measure.NAME]
    nearby = [f"{name} computes it {_changes(measure, like)}" for name, like in known]
    return ConfigError(
        f"no provider of ir_measures computes {text!r} with these parameters ({measure.NAME} takes {taken}); "
        f"{'; '.join(nearby)}"
    )


def _changes(measure: Any, like: Any) -> str:
    """How ``measure`` must be changed to become ``like``, a measure that a provider computes."""
    from ir_measures.providers.base import NOT_PROVIDED

    changes = []
    for name, spec in like.params.items():
        if not spec.validate(measure[name]):
            given, optional = name in measure.params, spec.validate(NOT_PROVIDED)
            changes.append(f"without {name}" if given and optional else f"with {'another' if given else 'a'} {name}")
    return " and ".join(changes)
