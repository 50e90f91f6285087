"""Every test that takes ``url`` or ``store`` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.store.database import Store
from tests.store.cluster import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    started = Cluster()
    yield started
    started.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def engine(request: pytest.FixtureRequest) -> str:
    """The engine's name; asking for it makes a test run on both."""
    if request.param == "postgresql":
        request.getfixturevalue("cluster")
    return str(request.param)


@pytest.fixture
def url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty database of its own."""
    if engine == "sqlite":
        yield f"sqlite:///{tmp_path / 'labels.db'}"
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    name = cluster.create()
    yield cluster.url(name)
    cluster.drop(name)


@pytest.fixture(scope="session")
def made_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database at the newest revision, to be copied: quicker than migrating each time."""
    folder = tmp_path_factory.mktemp("made")
    Store.open(None, folder).close()
    return folder / "labels.db"


@pytest.fixture(scope="session")
def made_postgresql(cluster: Cluster) -> str:
    name = cluster.create()
    Store.open(cluster.url(name), Path()).close()
    return name


@pytest.fixture
def made_url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a database of its own, at the newest revision and without a row."""
    if engine == "sqlite":
        shutil.copy(request.getfixturevalue("made_sqlite"), tmp_path / "labels.db")
        yield f"sqlite:///{tmp_path / 'labels.db'}"
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    name = cluster.create(template=request.getfixturevalue("made_postgresql"))
    yield cluster.url(name)
    cluster.drop(name)


@pytest.fixture
def store(made_url: str) -> Iterator[Store]:
    with Store.open(made_url, Path()) as opened:
        yield opened
