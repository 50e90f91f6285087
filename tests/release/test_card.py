"""The data card: a header that the Hub reads, and a body that says what is known and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.files.pools import PoolPair, write_pool
from quati_pool.judging.prompts import load_prompt
from quati_pool.release.about import ReleaseConfig
from quati_pool.release.card import Part, card, header
from quati_pool.release.state import EstimatedSystem, Labelled, Release, ReleasedAudit, ReleasedEstimates
from tests.release.small_release import HOSTILE, labelled, release_of

PARTS = [Part("corpus", "corpus", 3), Part("qrels-gpt", "test", 2, "qrels/gpt", "gpt")]


def fields(text: str) -> dict[str, Any]:
    """What stands between the first line of dashes and the next, as the Hub cuts it."""
    from huggingface_hub import DatasetCardData
    from huggingface_hub.repocard import RepoCard

    read = RepoCard(text)
    assert isinstance(DatasetCardData(**read.data.to_dict()).to_dict(), dict)
    start, rest = text.split("\n", 1)
    assert start == "---"
    found: dict[str, Any] = yaml.safe_load(rest[: rest.index("\n---\n") + 1])
    assert found == read.data.to_dict()
    return found


def one(folder: Path, about: ReleaseConfig | None = None, **changes: Any) -> Release:
    gpt = labelled("gpt", {("q1", "d1"): 3, ("q1", "d2"): 0}, **changes)
    return release_of(folder, [gpt], about=about or ReleaseConfig())


def test_a_bare_release_states_no_license_and_invents_nothing(tmp_path: Path) -> None:
    release = one(tmp_path)
    told = fields(header(release, 3) + card(release, PARTS))
    assert told == {
        "pretty_name": "small",
        "task_categories": ["text-retrieval"],
        "tags": ["information-retrieval", "test-collection", "qrels", "quati-pool"],
        "size_categories": ["n<1K"],
    }
    assert card(release, PARTS) == (
        "# small\n\n"
        "- License: not stated\n\n"
        "## Contents\n\n"
        "| Configuration | Split | Rows | Graded by |\n|---|---|---:|---|\n"
        "| corpus | corpus | 3 |  |\n| qrels-gpt | test | 2 | gpt |\n\n"
        "## Grades\n\n"
        "| Labeler | Kind | Graded pairs | 0 Irrelevant | 1 Relevant | 2 Highly relevant | 3 Perfectly relevant |\n"
        "|---|---|---:|---:|---:|---:|---:|\n"
        "| gpt | judge | 2 | 1 | 0 | 0 | 1 |\n\n"
        "Every pair of the pool has a grade by every labeler.\n\n"
        "## How the pairs were graded\n\n### gpt\n\nKind: judge.\n\n"
        "## Provenance\n\n- tool: quati-pool 0.0\n- config: c0ffee\n- seed: 0\n"
    )


def test_the_card_says_how_many_queries_programs_drafted(tmp_path: Path) -> None:
    release = one(tmp_path)
    assert "drafted" not in card(release, PARTS)
    said = card(replace(release, drafted_by={"gpt-4o": 1}), PARTS)
    assert "1 of 1 queries (100.0 %) was drafted by gpt-4o.\n\n## Grades" in said


def test_estimates_are_shown_with_what_they_hold_for(tmp_path: Path) -> None:
    systems = [EstimatedSystem("a|b", 0.61249, 0.571, 0.653, 0.6, 0.7), EstimatedSystem("c", 0.5, 0.4, 0.6, 0.51, 0.62)]
    estimates = ReleasedEstimates("nDCG@10", "gpt_4", "Estimate of nDCG@10 *never* as truth.", systems)
    text = card(replace(one(tmp_path), estimates=estimates), PARTS)
    assert (
        "## Estimates\n\nEstimate of nDCG@10 \\*never\\* as truth.\n\n"
        "| System | nDCG@10 | 95 % interval | People only | Judge alone |\n|---|---|---|---|---|\n"
        "| a\\|b | 0.612 | 0.571 to 0.653 | 0.600 | 0.700 |\n| c | 0.500 | 0.400 to 0.600 | 0.510 | 0.620 |\n\n"
        "People only: without the judge's grades. Judge alone: under the grades of gpt\\_4, which is no estimate of "
        "people's.\n\n## How the pairs were graded" in text
    )


def test_the_verdicts_of_audits_are_escaped(tmp_path: Path) -> None:
    found = [ReleasedAudit("gpt_4", "gpt_4 failed the probe for *stuffing*.\n# Not a heading")]
    text = card(replace(one(tmp_path), audits=found), PARTS).replace("\\#", "#")
    assert "\n\n- gpt\\_4 failed the probe for \\*stuffing\\*. # Not a heading\n\n## How the pairs" in text.replace(
        "\\#", "#"
    )
    assert "## Audits" not in card(one(tmp_path / "without"), PARTS)


def test_all_that_is_known_is_told(tmp_path: Path) -> None:
    about = ReleaseConfig(
        title="Quati", description="Passages in *Portuguese*.", languages=["pt", "Brazilian Portuguese"],
        license="CC BY 4.0", citation="@misc{quati,\n title={Quati}}", url="https://example.org/a_b",
    )  # fmt: skip
    release = one(tmp_path, about, version="ab12", left_out={"failed": 1, "never asked": 2, "ok": 0})
    text = header(release, 1_200_000) + card(release, PARTS, ["The passages are elsewhere."])
    told = fields(text)
    assert (told["license"], told["language"], told["pretty_name"]) == ("cc-by-4.0", ["pt"], "Quati")
    assert told["size_categories"] == ["1M<n<10M"]
    for part in (
        "# Quati\n\nPassages in *Portuguese*.\n\n- License: CC BY 4.0\n- Language: pt, Brazilian Portuguese\n",
        "- Home: https://example.org/a\\_b\n",
        "The passages are elsewhere.\n",
        "they are unjudged, not irrelevant:\n\n| Labeler | failed | never asked |\n|---|---:|---:|\n| gpt | 1 | 2 |\n",
        "Version: `ab12`.",
        "## Citation\n\n```bibtex\n@misc{quati,\n title={Quati}}\n```\n",
    ):
        assert part in text


def test_a_judges_prompt_model_and_parameters_are_told_in_full(tmp_path: Path) -> None:
    prompt = load_prompt("quati-pt", tmp_path).definition
    definition = {"model": "gpt-4o", "temperature": 0.0, "top_p": None, "logprobs": True, "prompt": prompt}
    text = card(one(tmp_path, definition=definition), PARTS)
    assert "| model | gpt-4o |" in text
    assert "| temperature | 0.0 |" in text
    assert "| logprobs | true |" in text
    assert "top" not in text.split("### gpt")[1].split("prompt.head")[0]
    for message in prompt["head"]:
        assert message["content"] in text
    assert prompt["user"] in text


@pytest.mark.parametrize(
    ("license_", "expected"),
    [
        ("MIT", {"license": "mit"}),
        ("cc0-1.0", {"license": "cc0-1.0"}),
        ("ClueWeb22 Agreement", {"license": "other", "license_name": "clueweb22-agreement"}),
        ("…", {"license": "other", "license_name": "other"}),
    ],
)
def test_a_license_the_hub_does_not_know_is_other_with_a_name(
    tmp_path: Path, license_: str, expected: dict[str, str]
) -> None:
    told = fields(header(one(tmp_path, ReleaseConfig(license=license_)), 1))
    assert {name: value for name, value in told.items() if name.startswith("license")} == expected


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1000, "1K<n<10K"),
        (10**6 - 1, "100K<n<1M"),
        (10**7, "10M<n<100M"),
        (10**9, "1B<n<10B"),
    ],
)
def test_size_categories_are_the_hubs(tmp_path: Path, rows: int, size: str) -> None:
    assert fields(header(one(tmp_path), rows))["size_categories"] == [size]


def outline(text: str) -> list[tuple[int, str]]:
    """The headings of a Markdown text, outside its code blocks."""
    found, fence = [], None
    for line in text.split("\n"):
        marks = len(line) - len(line.lstrip("`"))
        if fence is None and marks >= 3:
            fence = marks
        elif fence is not None and marks >= fence and not line.strip("`"):
            fence = None
        elif fence is None and line.startswith("#"):
            found.append((len(line) - len(line.lstrip("#")), line.lstrip("# ")))
    assert fence is None
    return found


HEADINGS = [
    (1, "small"), (2, "Contents"), (2, "Grades"), (2, "How the pairs were graded"), (3, "gpt"),
    (2, "Citation"), (2, "Provenance"),
]  # fmt: skip


@given(st.one_of(st.sampled_from(HOSTILE), st.text(st.one_of(st.sampled_from("`~-#|<>\n\r\\ "), st.characters()))))
def test_no_text_of_others_breaks_the_card(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    definition = {"model": text, "prompt": {"head": [{"role": "user", "content": text + "\n" + text}]}}
    about = ReleaseConfig.model_construct(
        **{**ReleaseConfig().model_dump(), "citation": f"x{text}", "license": text or "x"}
    )
    base = tmp_path_factory.getbasetemp()
    release = one(base, about, definition=definition, left_out={text: 1}, version=text)
    whole = header(release, 1) + card(release, PARTS)
    whole.encode()
    assert set(fields(whole)) >= {"pretty_name", "license"}
    body = card(release, PARTS)
    assert outline(body) == HEADINGS
    rows = [line for line in body.split("\n") if line.startswith("| gpt |")]
    assert [row.replace("\\|", "").count("|") for row in rows] == [8, 3]


@given(st.text())
def test_no_title_breaks_the_header(tmp_path_factory: pytest.TempPathFactory, title: str) -> None:
    release = one(tmp_path_factory.getbasetemp(), ReleaseConfig(title=title, languages=["no", "pt"]))
    told = fields(header(release, 1) + card(release, PARTS))
    assert told["language"] == ["no", "pt"]
    assert told["pretty_name"] == (" ".join(title.split()) or "small") or not title.isprintable()


def test_labelers_of_every_kind_have_a_part_of_their_own(tmp_path: Path) -> None:
    grades = {("q1", "d1"): 1}
    made = [
        labelled("gpt", grades), labelled("ana", grades, kind="assessor"), labelled("panel", grades, kind="consensus"),
    ]  # fmt: skip
    text = card(release_of(tmp_path, made), PARTS)
    assert [name for level, name in outline(text) if level == 3] == ["gpt", "ana", "panel"]
    assert "### ana\n\nKind: assessor." in text
    assert isinstance(made[0], Labelled)


def test_grades_outside_the_pool_are_counted_and_a_label_file_is_no_judge(tmp_path: Path) -> None:
    grades = {("q1", "d1"): 1, ("q1", "d2"): 0}
    gold = labelled("gold", grades, kind="file", outside=1)
    text = card(release_of(tmp_path, [labelled("gpt", grades), gold]), PARTS)
    assert "### gold\n\nKind: label file." in text
    assert "| gold | label file | 2 |" in text
    assert text.count("outside the pool") == 1
    assert "- Of the 2 grades by gold, 1 are of pairs outside the pool." in text


def test_an_adaptive_pool_is_called_one_with_what_it_cannot_say(tmp_path: Path) -> None:
    release = one(tmp_path)
    assert "adaptive" not in card(release, PARTS)
    rows: list[PoolPair] = [
        {
            "query_id": "q1", "doc_id": f"d{number}", "query": "what is q1?", "text": "t", "runs": {"bm25": 1},
            "round": 1, "reason": reason, "inclusion": None,
        }
        for number, reason in enumerate(["mine_x.py:Own", "mine_x.py:Own", "kept", "random", "extra"], 1)
    ]  # fmt: skip
    write_pool(release.pool, rows)
    text = card(release, PARTS)
    assert "The pool is adaptive: of its 5 pairs earlier grades chose some (mine\\_x.py:Own: 2), with" in text
    assert "1 pair was drawn at random, with known probabilities." in text
