"""The command line in this process, and databases of both engines."""

from __future__ import annotations

from tests.cli.conftest import cli as cli
from tests.store.conftest import cluster as cluster
from tests.store.conftest import engine as engine
from tests.store.conftest import made_postgresql as made_postgresql
from tests.store.conftest import made_sqlite as made_sqlite
from tests.store.conftest import made_url as made_url
