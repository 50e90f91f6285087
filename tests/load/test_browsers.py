"""Real browsers in the middle of the load, and what happens to the server, the pool and the database under them."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import create_engine, select, text

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.schema import HEAD, REVISION_TABLE, labels
from tests.browser.served import code_for, question, served, sign_in, visitor
from tests.commands.annotate.people_at_work import assigned, collection, pairs
from tests.commands.judged import repool
from tests.load.people import Acknowledged, at_work, workspace
from tests.store.make_revision import FOLDER

pytestmark = pytest.mark.browser

OTHERS = [f"person{number:02}" for number in range(18)]
NAMES = {0: "Irrelevant", 1: "Relevant", 2: "Highly relevant", 3: "Perfectly relevant"}
PATIENCE = 30_000


class Grader:
    """Somebody at a browser: what they pressed, and what their page said was stored."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.name = name
        self.confirmed: list[tuple[str, int]] = []
        self.pressed: tuple[str, int] | None = None
        """The pair and its grade that the page has not confirmed yet."""
        self._asked = ""

    def shown(self) -> str:
        """The pair on the page, once it could have been read."""
        question(self.page)
        found = re.match(r"amarelo(\d+)", self.page.locator(".passage").inner_text())
        assert found
        return f"q{int(found[1]) // 100}/d{int(found[1]) % 100}"

    def press(self, grade: int) -> None:
        """Presses the grade's key, and waits for nothing."""
        self.pressed = self.shown(), grade
        self._asked = self._question()
        self.page.keyboard.press(str(grade))

    def confirm(self) -> None:
        """Waits until the page says that it is stored, and asks about the next pair."""
        assert self.pressed is not None
        self.wait_for_a_question()
        said = self.page.locator(".stored").inner_text()
        assert said == f"Stored: {self.pressed[1]} {NAMES[self.pressed[1]]}"
        self.confirmed.append(self.pressed)
        self.pressed = None

    def wait_for_a_question(self) -> None:
        """Another one than the press was made at: the page was redrawn."""
        self.page.wait_for_function(
            "before => { const item = document.querySelector('[data-item]');"
            " return item && item.dataset.item !== before }",
            arg=self._asked,
            timeout=PATIENCE,
        )

    def _question(self) -> str:
        return self.page.get_attribute("[data-item]", "data-item") or ""


def of(session: AnnotationSession, name: str) -> list[tuple[str, int]]:
    """All labels of a person, by pair and grade, oldest first."""
    c = labels.c
    with session.store.reading() as connection:
        rows = connection.execute(
            select(c.query_id, c.doc_id, c.relevance).where(c.labeler_id == name).order_by(c.seq)
        ).all()
    return [(f"{row.query_id}/{row.doc_id}", row.relevance) for row in rows]


def test_two_browsers_and_eighteen_others_lose_nothing_when_the_server_is_killed(
    browser: Browser, tmp_path: Path, made_url: str
) -> None:
    config = workspace(tmp_path / "small", made_url, OTHERS, queries=40, docs=30)
    chance = random.Random(5)
    acknowledged = Acknowledged()
    with (
        served(config, made_url) as app,
        visitor(browser) as (_, first),
        visitor(browser) as (_, second),
        AnnotationSession.open(config, made_url) as session,
    ):
        both = [Grader(first.page, "ana"), Grader(second.page, "bia")]
        for person in both:
            sign_in(person.page, app, code_for(config, person.name, database=made_url))
        with at_work(config, made_url, [OTHERS]) as (others,):

            def some(count: int) -> None:
                for _ in range(count):
                    for person in both:
                        person.press(chance.randrange(4))
                    for person in both:
                        person.confirm()

            some(3)
            while not others.stored():
                time.sleep(0.05)
            waiting, pressing = both
            before = waiting.shown()
            pressing.press(chance.randrange(4))
            app.stop(signal.SIGKILL)
            app.start()
            waiting.page.reload()
            assert waiting.shown() == before
            # Its answer was on its way: it is stored, or the pair is asked about again. The page finds the server
            # by itself.
            pressing.wait_for_a_question()
            assert pressing.pressed is not None
            again = pressing.shown() == pressing.pressed[0]
            assert again != (pressing.pressed in of(session, pressing.name))
            if not again:
                pressing.confirmed.append(pressing.pressed)
            some(3)
            for person in both:
                assert person.page.url == f"{app.address}/"  # nobody had to sign in again
                # The store holds what their pages confirmed, in that order, and nothing else.
                assert of(session, person.name) == person.confirmed
            while others.stored() < 200:
                time.sleep(0.05)
            others.end(acknowledged)
        acknowledged.asserts_nothing_lost_or_doubled(session, OTHERS)
        a = labels.c.assignment_id
        with session.store.reading() as connection:
            slots = connection.execute(select(a)).scalars().all()
        assert len(slots) == len(set(slots)) == len(acknowledged.stored) + sum(len(person.confirmed) for person in both)


def test_a_pair_that_leaves_the_pool_while_it_is_shown_is_told_and_the_next_one_comes(
    browser: Browser, tmp_path: Path
) -> None:
    rows = pairs(1, 3)
    config = collection(tmp_path / "small", rows)
    with AnnotationSession.open(config) as session:
        assigned(session)
    with served(config) as app, visitor(browser) as (_, record), AnnotationSession.open(config) as session:
        ana = Grader(record.page, "ana")
        sign_in(ana.page, app, code_for(config, "ana"))
        gone = ana.shown()
        repool(config.parent, [row for row in rows if f"{row['query_id']}/{row['doc_id']}" != gone])
        ana.press(3)
        ana.wait_for_a_question()
        expect(ana.page.locator(".notice")).to_contain_text("That pair was withdrawn.")
        assert of(session, "ana") == []
        ana.pressed = None
        for grade in (1, 2):
            assert ana.shown() != gone
            ana.press(grade)
            if grade == 1:
                ana.confirm()
        ana.page.wait_for_selector(".end", timeout=PATIENCE)
        assert sorted(pair for pair, _ in of(session, "ana")) == sorted({"q0/d0", "q0/d1", "q0/d2"} - {gone})
        (mine,) = session.assignments.mine("ana")
        assert (mine.open, mine.done) == (0, 2)


# ---- the store of another version of the tool


def old_workspace(folder: Path) -> Path:
    """A workspace of a collection whose labels revision 0001 wrote."""
    config = collection(folder, pairs(1, 2), name="pira")
    shutil.copy(FOLDER / "0001.db", folder / "labels.db")
    return config


def revision(config: Path) -> str:
    engine = create_engine(f"sqlite:///{config.parent / 'labels.db'}")
    with engine.connect() as connection:
        found = connection.execute(text(f"SELECT version_num FROM {REVISION_TABLE}")).scalar_one()
    engine.dispose()
    return str(found)


def test_annotate_migrates_a_store_of_an_older_version_and_people_grade_on_it(browser: Browser, tmp_path: Path) -> None:
    config = old_workspace(tmp_path / "old")
    assert revision(config) == "0001"
    engine = create_engine(f"sqlite:///{config.parent / 'labels.db'}")
    with engine.connect() as connection:
        before = connection.execute(text("SELECT seq, labeler_id, relevance FROM labels ORDER BY seq")).all()
    engine.dispose()
    assert before
    with served(config) as app:
        assert revision(config) == HEAD
        with AnnotationSession.open(config) as session:
            assigned(session)
        with visitor(browser) as (_, record), AnnotationSession.open(config) as session:
            caio = Grader(record.page, "caio")
            sign_in(caio.page, app, code_for(config, "caio"))
            caio.press(2)
            caio.confirm()
            assert of(session, "caio") == caio.confirmed
            with session.store.reading() as connection:
                columns = (labels.c.seq, labels.c.labeler_id, labels.c.relevance)
                now = connection.execute(select(*columns).order_by(labels.c.seq)).all()
    assert now[:-1] == before


def test_annotate_refuses_a_store_of_a_newer_version_and_says_what_to_run(tmp_path: Path) -> None:
    config = old_workspace(tmp_path / "new")
    engine = create_engine(f"sqlite:///{config.parent / 'labels.db'}")
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {REVISION_TABLE} SET version_num = '9999'"))
    engine.dispose()
    command = [sys.executable, "-m", "quati_pool", "annotate", "-c", str(config), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "was written by a newer quati-pool (revision 9999" in line
    assert line.endswith("run: pip install --upgrade quati-pool")
    assert revision(config) == "9999"
