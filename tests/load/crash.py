"""A PostgreSQL server that can be crashed: its processes end at once, as if the machine's plug was pulled, but
for what the operating system still writes."""

from __future__ import annotations

from tests.store.cluster import Cluster


class Crashing(Cluster):
    """A server of one's own, to crash and start again on the same data and socket."""

    def crash(self) -> None:
        self._run("pg_ctl", "stop", "--mode=immediate", "--silent")

    def start(self) -> None:
        settings = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off"
        self._run("pg_ctl", "start", "--wait", f"--log={self.folder / 'log'}", f"--options={settings}")
