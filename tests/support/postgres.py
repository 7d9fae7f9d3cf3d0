"""A real PostgreSQL server for tests: in a temporary directory, by a user without rights, reached by a socket in it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from support.ledgers import new_folder

MISSING = "PostgreSQL's server is not installed: put Debian's package postgresql there to run these tests"
OWNER = "pcqr"
"""The database's first user."""
GUARDED, PASSWORD = "guarded", "open sesame"
"""A user who needs a password, once `Server.guard` was called."""


def programs() -> Path | None:
    """Where initdb and pg_ctl are: Debian keeps them apart by version, others have them on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: path.parts[-3].rjust(4))
    on_path = shutil.which("initdb")
    chosen = found[-1] if found else Path(on_path) if on_path else None
    return chosen.parent if chosen else None


class Server:
    """A running server. `stop`, `start` and `crash` as its administrator would, or would not."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.folder = folder
        self._binaries = binaries
        user = next((name for name in ("postgres", "nobody") if _has_user(name)), None) if os.getuid() == 0 else None
        self._user = user
        if user is not None:
            shutil.chown(folder, user)
        self._run("initdb", "--auth=trust", "--no-sync", f"--username={OWNER}", "--encoding=UTF8", "--locale=C")

    def start(self, *settings: str) -> None:
        given = ("listen_addresses=''", f"unix_socket_directories='{self.folder}'", "max_connections=60")
        options = " ".join(f"-c {each}" for each in (*given, "shared_buffers=16MB", *settings))
        self._run("pg_ctl", "--wait", f"--log={self.folder}/log", f"--options={options}", "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "--wait", f"--mode={mode}", "stop")

    def address(self, schema: str) -> str:
        """Where a test has tables of its own: in a schema."""
        path = quote(f"-csearch_path={schema}")
        return f"postgresql://{OWNER}@/postgres?host={quote(str(self.folder))}&options={path}"

    def run(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(host=str(self.folder), user=OWNER, dbname="postgres", autocommit=True) as connection:
            connection.execute(statement)

    def guard(self) -> None:
        """Make a user who needs a password."""
        import psycopg

        with psycopg.connect(host=str(self.folder), user=OWNER, dbname="postgres", autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (GUARDED,)).fetchone():
                return
            connection.execute(f"CREATE ROLE {GUARDED} LOGIN PASSWORD '{PASSWORD}'")
        rules = self.folder / "data" / "pg_hba.conf"
        rules.write_text(f"local all {GUARDED} scram-sha-256\n" + rules.read_text())
        self.stop()
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), f"--pgdata={self.folder}/data", *arguments]
        subprocess.run(command, user=self._user, stdout=subprocess.DEVNULL, cwd="/", timeout=120, check=True)  # noqa: S603


@contextmanager
def server() -> Iterator[Server | None]:
    """A server for the length of the block, or None where PostgreSQL is not installed."""
    binaries = programs()
    if binaries is None:
        yield None
        return
    folder = new_folder()
    try:
        running = Server(folder, binaries)
        running.start()
        try:
            yield running
        finally:
            running.stop("immediate")
    finally:
        shutil.rmtree(folder)


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
