"""Twenty people at once, whatever happens to the database meanwhile: every label that they were told is stored is
there, once, and no slot was ever two people's."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.session import AnnotationSession
from tests.load.crash import Crashing
from tests.load.cut import Cutting
from tests.load.people import Acknowledged, all_at_once, at_work, workspace
from tests.store.cluster import Cluster

pytestmark = pytest.mark.kill

PEOPLE = [f"person{number:02}" for number in range(20)]


def test_twenty_people_in_four_processes_store_two_thousand_labels(tmp_path: Path, made_url: str) -> None:
    # Half as many pairs again as they grade: what they hold in the end is given to nobody else.
    config = workspace(tmp_path, made_url, PEOPLE, queries=50, docs=30)
    acknowledged = Acknowledged()
    with at_work(config, made_url, [PEOPLE[group::4] for group in range(4)], wanted=100) as processes:
        for process in processes:
            process.end(acknowledged)
    with AnnotationSession.open(config, made_url) as session:
        acknowledged.asserts_nothing_lost_or_doubled(session, PEOPLE)
        everybody = session.store.labelers(session.config.name)
    assert len(acknowledged.stored) == sum(labeler.rows for labeler in everybody) == 2000
    assert Counter(one.name for one in acknowledged.stored) == dict.fromkeys(PEOPLE, 100)
    graded = Counter((one.query_id, one.doc_id) for one in acknowledged.stored)
    assert max(graded.values()) == 2


class _Heard(Acknowledged):
    """What people of this process are told."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def tell(self, *what: Any) -> None:
        with self._lock:
            self.hear(json.dumps(what))


def test_a_database_that_crashes_twice_under_twenty_people_loses_nothing(tmp_path: Path, cluster: Cluster) -> None:
    own = Crashing()
    try:
        url = own.url(own.create())
        config = workspace(tmp_path, url, PEOPLE, queries=20, docs=30)
        acknowledged = Acknowledged()
        with at_work(config, url, [PEOPLE[group::2] for group in range(2)]) as processes:
            for crash in (1, 2):
                while min(process.stored() for process in processes) < 25 * crash:
                    time.sleep(0.02)
                own.crash()
                own.start()
            enough = [process.stored() + 20 for process in processes]
            while any(process.stored() < count for process, count in zip(processes, enough, strict=True)):
                time.sleep(0.02)
            for process in processes:
                process.end(acknowledged)
        with AnnotationSession.open(config, url) as session:
            acknowledged.asserts_nothing_lost_or_doubled(session, PEOPLE)
    finally:
        own.stop()


def test_a_connection_that_breaks_as_a_label_is_committed_stores_it_once(tmp_path: Path, cluster: Cluster) -> None:
    """Sometimes the commit does not reach the server, sometimes only the answer to it is lost; nobody can tell
    which, so the label is sent again."""
    name = cluster.create()
    people = PEOPLE[:6]
    config = workspace(tmp_path, cluster.url(name), people, queries=6, docs=20)
    acknowledged = _Heard()
    with Cutting(cluster.folder) as proxy:
        url = cluster.url(name).replace(str(cluster.folder), str(proxy.folder))
        with AnnotationSession.open(config, url) as session:
            proxy.begin()
            all_at_once(session, people, 8, acknowledged.tell)
            proxy.end()
            acknowledged.asserts_nothing_lost_or_doubled(session, people)
    assert proxy.unsent >= 5
    assert proxy.unanswered >= 5
    assert len(acknowledged.stored) == 6 * 8
    cluster.drop(name)
