"""Names of measures: what is understood, and what is refused with the way out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quati_pool.errors import ConfigError
from quati_pool.evaluation.measures import DEFAULTS, deepest, parse_measures, resolve


def test_the_defaults_keep_their_names() -> None:
    assert parse_measures(DEFAULTS) == DEFAULTS


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["nDCG@10, R@100"], ("nDCG@10", "R@100")),
        (["nDCG@10,R(rel=2,judged_only=True)@100", "AP"], ("nDCG@10", "R(rel=2,judged_only=True)@100", "AP")),
        (["nDCG(gains={0:0,1:5})@10,P@5"], ("nDCG(gains={1:5})@10", "P@5")),
        (["P@5,,P@10,"], ("P@5", "P@10")),
        (["AP", "MAP, AP", "P(rel=1)@5", "P@5"], ("AP", "P@5")),
        (["nDCG(cutoff=10)"], ("nDCG@10",)),
        (["IPrec@0.1"], ("IPrec@0.1",)),
        (["NumRet", "Compat(p=0.8)", "SetF(beta=2.0)"], ("NumRet", "Compat(p=0.8)", "SetF(beta=2.0)")),
        (["nDCG@10 R(rel=2)@100"], ("nDCG@10", "R(rel=2)@100")),
        ([" nDCG@10 ,\tR@100  AP\n"], ("nDCG@10", "R@100", "AP")),
        (["R(rel=2, judged_only=True)@100 RBP(p=0.5, rel=2)"], ("R(rel=2,judged_only=True)@100", "RBP(p=0.5,rel=2)")),
        (["R(rel=2", "judged_only=True)@100", "AP"], ("R(rel=2,judged_only=True)@100", "AP")),
        (["R (rel=2) @ 100 nDCG(gains={0: 0, 1: 5})@10"], ("R(rel=2)@100", "nDCG(gains={1:5})@10")),
    ],
)
def test_names_are_split_and_count_once(names: list[str], expected: tuple[str, ...]) -> None:
    assert parse_measures(names) == expected
    assert parse_measures(expected) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndcg@10", "there is no measure 'ndcg@10'; did you mean 'nDCG@10'?"),
        ("NDCG10", "there is no measure 'NDCG10'; did you mean 'nDCG'?"),
        ("ndcg_cut_10", "there is no measure 'ndcg_cut_10'; did you mean 'nDCG@10'?"),
        ("ndcg_cut.10", "there is no measure 'ndcg_cut.10'; did you mean 'nDCG@10'?"),
        ("recip_rank", "there is no measure 'recip_rank'; did you mean 'RR'?"),
        ("nDCG@0", "'nDCG@0': cutoff is 0; give a whole number from 1"),
        ("Judged@0", "'Judged@0': cutoff is 0; give a whole number from 1"),
        ("P@True", "'P@True': cutoff is True; give a whole number from 1"),
        ("P(rel=0)@5", "'P(rel=0)@5': rel is 0; give a whole number from 1"),
        ("P(rel=9999999999)@5", "'P(rel=9999999999)@5': rel is 9999999999; give a whole number from 1"),
        ("nDCG@1.5", "'nDCG@1.5': cutoff is 1.5; give a whole number from 1"),
        ("P@-3", "'P@-3' is not a measure; write it as nDCG@10 or R(rel=2)@100"),
        ("nDCG@", "'nDCG@' is not a measure; write it as nDCG@10 or R(rel=2)@100"),
        ("P)@5, AP", "'P)@5' is not a measure; write it as nDCG@10 or R(rel=2)@100"),
        ("nDCG@10;AP", "'nDCG@10;AP' is not a measure; write it as nDCG@10 or R(rel=2)@100"),
        ("R", "'R': R needs cutoff; write it as R@10"),
        ("nDCG(cut=1)", "'nDCG(cut=1)': nDCG does not take 'cut'; did you mean 'cutoff'?"),
        ("nDCG(dcg='log')@3", "\"nDCG(dcg='log')@3\": dcg cannot be 'log'; give 'log2' or 'exp-log2'"),
        ("P(judged_only=1)@3", "'P(judged_only=1)@3': judged_only cannot be 1; give True or False"),
        ("SetF(beta=0)", "'SetF(beta=0)': beta cannot be 0; give a number with a decimal point"),
        (
            "nDCG(gains={1:1000000000})@10",
            "'nDCG(gains={1:1000000000})@10': gains maps grades to gains, none beyond ±1,000,000; "
            "write it as gains={1:0,2:1}",
        ),
        (
            "nDCG(gains={'a':1})",
            "\"nDCG(gains={'a':1})\": gains maps grades to gains, none beyond ±1,000,000; write it as gains={1:0,2:1}",
        ),
        (
            "IPrec@0.123",
            "'IPrec@0.123': recall is 0.123; give a number from 0.0 to 1.0 with at most two decimals",
        ),
        ("", "no measure is named; name some, such as nDCG@10"),
    ],
)
def test_a_bad_name_is_refused_with_the_way_out(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_measures([name])
    assert str(refused.value) == message


@pytest.mark.parametrize(("name", "package"), [("RBP(rel=1)", "cwl_eval"), ("alpha_nDCG@10", "pyndeval")])
def test_a_measure_without_its_provider_says_what_to_install(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ir_measures

    monkeypatch.setattr(ir_measures.providers.registry[package], "_is_available", False)
    with pytest.raises(ConfigError, match="no installed provider of ir_measures computes") as refused:
        parse_measures([name])
    assert str(refused.value).endswith(f"run: pip install ir-measures[{package}]")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("ERR", "(ERR takes cutoff); gdeval computes it with a cutoff"),
        ("RBP(p=0.8)", "(RBP takes cutoff, p, rel); cwl_eval computes it with a rel"),
        ("RBP@10", "(RBP takes cutoff, p, rel); cwl_eval computes it without cutoff and with a rel"),
        # Not: install ranx, which does not install next to this numpy and scipy.
        (
            "nDCG(dcg='exp-log2')",
            "(nDCG takes cutoff, dcg, gains, judged_only); pytrec_eval computes it with another dcg; "
            "gdeval computes it with a cutoff",
        ),
    ],
)
def test_a_measure_that_no_provider_computes_says_what_to_change(name: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_measures([name])
    assert str(refused.value) == f"no provider of ir_measures computes {name!r} with these parameters {remedy}"


def test_only_measures_with_a_cutoff_say_how_deep_they_look() -> None:
    assert deepest(resolve(DEFAULTS)) == 100
    assert deepest(resolve(["P@5"])) == 5
    assert deepest(resolve(["P@5", "AP"])) is None
    assert deepest(resolve(["P@5", "Rprec"])) is None
    assert deepest(resolve(["P@5", "Accuracy@10"])) is None
    assert deepest(resolve(["P@5", "nDCG(judged_only=True)@10"])) is None


def test_the_module_is_imported_without_ir_measures() -> None:
    code = "import sys, quati_pool.evaluation.scores as s; print('ir_measures' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_the_library_is_loaded_without_a_word_where_nothing_is_compiled_yet(tmp_path: Path) -> None:
    """As in a new environment; Python 3.12 and later print what earlier ones keep to themselves."""
    script = "from quati_pool.evaluation.measures import resolve; print(*resolve(['RBP(rel=2)', 'nDCG@10']))"
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    command = [sys.executable, "-W", "error:invalid escape sequence", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("RBP(rel=2) nDCG@10\n", "")
