"""A PostgreSQL server for one test run: its own data, a socket in a folder of its own, no TCP."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection

USER, PASSWORD = "tester", "s3cret/of:tests"


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; None where PostgreSQL's server is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in folders), key=lambda path: float(path.parent.name), default=None)


def owner() -> str | None:
    """The account a server is started under: PostgreSQL refuses root."""
    return "postgres" if os.geteuid() == 0 else None


def lacking() -> str | None:
    """Why no server can be started here; None where one can."""
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'quati-pool[postgres]'"
    if programs() is None:
        return "PostgreSQL's server is not installed (on Debian: apt-get install postgresql)"
    try:
        pwd.getpwnam(owner() or pwd.getpwuid(os.geteuid()).pw_name)
    except KeyError:
        return "PostgreSQL refuses to run as root, and there is no account postgres"
    return None


class Cluster:
    """A started server; ``stop`` removes it and all its data."""

    def __init__(self) -> None:
        # Short: the path of a socket may have 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="qp-"))
        self._count = 0
        password = self.folder / "password"
        password.write_text(PASSWORD)
        if owner():
            shutil.chown(self.folder, owner())
            shutil.chown(password, owner())
        try:
            access = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={password}"]
            self._run("initdb", *access, "--encoding=UTF8", "--no-locale", "--no-sync")
            settings = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off"
            self._run("pg_ctl", "start", "--wait", f"--log={self.folder / 'log'}", f"--options={settings}")
        except BaseException:
            shutil.rmtree(self.folder)
            raise

    def _run(self, program: str, *arguments: str) -> None:
        folder = programs()
        assert folder is not None
        as_owner: dict[str, Any] = {}
        if name := owner():
            as_owner = {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}
        command = [folder / program, f"--pgdata={self.folder / 'data'}", *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **as_owner)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "--mode=immediate", "--silent")
        shutil.rmtree(self.folder)

    def url(self, database: str, password: str = PASSWORD) -> str:
        coded = password.replace("/", "%2F").replace(":", "%3A")
        return f"postgresql://{USER}:{coded}@/{database}?host={self.folder}"

    def connect(self, database: str = "postgres") -> Connection[tuple[Any, ...]]:
        import psycopg

        return psycopg.connect(host=str(self.folder), user=USER, password=PASSWORD, dbname=database, autocommit=True)

    def create(self, template: str = "template0", encoding: str = "UTF8") -> str:
        """The name of a new database."""
        self._count += 1
        name = f"test{self._count}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING '{encoding}'".encode())
        return name

    def drop(self, name: str) -> None:
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
