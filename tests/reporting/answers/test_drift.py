"""What is said of a check of anchors, also where a server's names are hostile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from quati_pool.audit.drift import Anchor, AnchorGrades, Drift, Server, Unfinished
from quati_pool.commands.audit.asking import Asked
from quati_pool.commands.audit.drift import DriftReport
from quati_pool.reporting.answers.audit import answer as card
from quati_pool.reporting.answers.drift import answer
from quati_pool.reporting.explorer import audits as explorer
from quati_pool.reporting.formats.answers import LINES, PIPE, answer_text
from quati_pool.reporting.json_data.drift import as_data
from quati_pool.reporting.tables.drift import tables
from quati_pool.text.display_width import columns
from tests.reporting.audit_reports import STUFFED, report

THEN, NOW = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
HOSTILE = "\x1b[31mgpt\n\u202e" + "m" * 200


def drift(up: int, n: int = 40, **changes: Any) -> Drift:
    anchors = [Anchor(f"q{place}", "d", f"sha{place}", 1, 1) for place in range(n)]
    pairs = [AnchorGrades(f"q{place}", f"d{HOSTILE}", 1, 1, 2 if place < up else 1) for place in range(n)]
    usual: dict[str, Any] = {"kappa": 0.5, "people_then": 0.61, "people_now": None}
    usual["servers_then"] = [Server("gpt-4o-2024-08-06", "fp_a", n, THEN, THEN)]
    usual["servers_now"] = [Server("gpt-4o-2024-11-20", "fp_b", n, NOW, NOW)]
    return Drift(anchors, [0, 1, 2, 3], 0, 2, pairs, **{**usual, **changes})


def said(found: Drift, gone: int = 0) -> str:
    text = answer_text(answer([DriftReport("gpt", found, Asked("gpt", 0, 0), gone)]))
    lines = text.splitlines()
    assert len(lines) <= LINES
    assert max(map(columns, lines)) <= PIPE
    return " ".join(text.split())


def test_another_model_is_named_although_grades_did_not_move() -> None:
    found = said(drift(0))
    assert found.startswith("gpt was not seen to move: on 40 anchors its mean grade is +0.00 (0.00 to 0.00)")
    assert (
        "The server now answers with another model: gpt-4o-2024-11-20 fp_b (2026-11-20); then: gpt-4o-2024-08-06 fp_a "
        "(2026-01-05)." in found
    )
    assert "Its κ with its former grades is 0.50; with people it was 0.61, and is undefined." in found
    same = drift(0, servers_now=[Server("gpt-4o-2024-08-06", "fp_c", 40, NOW, NOW)])
    assert "The server now answers with another fingerprint: gpt-4o-2024-08-06 fp_c (2026-11-20)" in said(same)
    assert "The server" not in said(drift(0, servers_now=[Server("gpt-4o-2024-08-06", "fp_a", 40, NOW, NOW)]))


def test_a_judge_that_moved_is_said_to_have() -> None:
    # 20 of 40 up: the mean of 20 ones and 20 zeros, 0.5 ± 2.02 · 0.506 / √40 = 0.16.
    assert said(drift(20)).startswith(
        "gpt has moved: on 40 anchors its mean grade is +0.50 (0.34 to 0.66) from what it was (20 higher, 0 lower; "
        "p < 0.0001, alarm at 0.01): do not mix its new grades with the old ones."
    )


def test_what_is_missing_is_counted_and_noise_lowers_the_power() -> None:
    found = said(drift(0, ungraded=3, unasked=12, noise=0.2), gone=2)
    assert "Of 40 anchors, 3 got no grade, 10 were not asked about yet and 2 are no longer in the pool" in found
    assert "if it changes 20 % of its answers by chance" in found


def test_a_judge_that_gives_no_grades_is_not_cleared() -> None:
    some = said(drift(0, ungraded=10, lost=10))
    assert some.startswith(
        "gpt cannot be cleared: 10 of 50 anchors have no grade now, which all had one. The others were not seen to move"
    )
    none = replace(drift(0, ungraded=40, lost=40), pairs=())
    assert said(none).startswith("gpt cannot be cleared: 40 of 40 anchors have no grade now, which all had one.")
    card = cards(none)
    assert " ".join(card).startswith("gpt may have moved since its anchors were fixed: 40 of 40 anchors have no grade")
    assert "Drift: not cleared on 2026-11-20 (40 of 40 anchors have no grade now" in " ".join(card)


def test_a_check_that_is_not_finished_is_named() -> None:
    begun = drift(20, unfinished=Unfinished(NOW, 5, 40))
    assert "A check begun on 2026-11-20 is unfinished: 5 of 40." in said(begun)
    assert "A check begun on 2026-11-20 is unfinished: 5 of 40." in " ".join(cards(begun))


@pytest.mark.parametrize("up", [0, 20])
def test_hostile_names_neither_act_nor_spread(up: int) -> None:
    servers = [Server(f"{HOSTILE}{place}", HOSTILE, 1, NOW, NOW) for place in range(50)]
    found = drift(up, servers_now=servers)
    text = said(found)
    assert "\x1b" not in text
    assert "\u202e" not in text
    cells = [str(cell) for table in tables("gpt", found) for row in table.rows for cell in row]
    assert not any("\x1b" in cell or "\u202e" in cell for cell in cells)
    assert any("⟨U+202E⟩" in cell for cell in cells)


def test_the_json_says_why_a_value_is_missing() -> None:
    unchecked = Drift([Anchor("q", "d", "sha", 1, 1)], [0, 1], 0)
    data = as_data([DriftReport("gpt", unchecked, Asked("gpt", 0, 1))])
    assert json.loads(json.dumps(data)) == data
    found = data["drift"]
    assert (found["verdict"], found["p"], found["mean_shift"], found["check"]) == ("not checked", None, None, None)
    assert set(found["undefined"]) >= {"p", "mean_shift", "check", "kappa", "noise"}
    servers = as_data([DriftReport("gpt", drift(0), Asked("gpt", 0, 0))])["drift"]["servers"]
    assert servers["changed"] is True
    assert servers["now"][0] == {
        "model": "gpt-4o-2024-11-20", "fingerprint": "fp_b", "answers": 40, "first": "2026-11-20T00:00:00+00:00",
        "last": "2026-11-20T00:00:00+00:00",
    }  # fmt: skip


def cards(found: Drift) -> Sequence[str]:
    return answer_text(card([report(STUFFED, drift=found)])).splitlines()


def test_the_card_and_the_explorer_have_a_line_of_it() -> None:
    moved, same = cards(drift(20)), cards(drift(0))
    assert moved[0].startswith("gpt has moved since its anchors were fixed: do not mix its new grades")
    assert "Drift: not moved on 2026-11-20 (0 of 40 anchors higher, 0 lower; p = 1)." in same
    assert max(len(moved), len(same)) <= LINES
    data = explorer._audit(replace(report(STUFFED), drift=drift(20)), None, False)  # type: ignore[arg-type]
    assert data["said"][0].startswith("gpt has moved")
    assert data["said"][-1].startswith("Drift: moved on 2026-11-20 (20 of 40 anchors higher")
