"""A private PostgreSQL cluster: create, start, stop, make cold.

A cluster is one directory that belongs to the server account:

    <root>/data         the data directory
    <root>/server.log   what the server says
    <root>/.s.PGSQL.*   its socket; it listens nowhere else

Settings of one start are written to <root>/data/bench.conf and nowhere else.
(`pg_ctl -o` would keep the settings of the start before on a restart.)
"""

import contextlib
import os
import subprocess
import time
from pathlib import Path

import psycopg

from lib import account

SUPERUSER = "postgres"

# A socket path longer than this does not fit in sockaddr_un.
SOCKET_PATH_MAX = 107

# By then a server that was being started says that it runs.
STARTING_S = 1.0

# The same for everybody unless a script says otherwise.
BASE_SETTINGS = {
    "listen_addresses": "",
    "autovacuum": "off",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] %q%a ",
    "logging_collector": "off",
}


class ClusterError(Exception):
    """Something the caller can act on; the message says what."""


def bindir_from_environment() -> Path:
    """Directory of PostgreSQL's programs, from PG_CONFIG (or the path)."""
    pg_config = os.environ.get("PG_CONFIG", "pg_config")
    try:
        out = subprocess.run([pg_config, "--bindir"], check=True,
                             capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as err:
        raise SystemExit(f"cannot run {pg_config}: {err}; set PG_CONFIG")
    return Path(out.stdout.strip())


class Cluster:
    """One cluster; at most one server runs on it.

    A server that somebody else started on it is never stopped, and never
    measured.
    """

    def __init__(self, root, bindir=None, port=5650):
        self.root = Path(root).resolve()
        self.data = self.root / "data"
        self.log = self.root / "server.log"
        self.bindir = Path(bindir) if bindir else bindir_from_environment()
        self.port = port
        self.settings = {}
        self.started_here = False
        socket = self.root / f".s.PGSQL.{port}"
        if len(str(socket)) > SOCKET_PATH_MAX:
            raise ClusterError(f"path too long for a socket: {socket}")

    # --- create -----------------------------------------------------------

    def exists(self) -> bool:
        return (self.data / "PG_VERSION").exists()

    def create(self, initdb_options=()):
        """initdb with C collation, UTF8 and, from 18 on, checksums."""
        account.make_own_directory(self.root)
        self._run("initdb", "-D", self.data, "-U", SUPERUSER, "-A", "trust",
                  "--no-locale", "-E", "UTF8", "--no-sync", *initdb_options)
        with open(self.data / "postgresql.conf", "a") as conf:
            conf.write("\ninclude_if_exists 'bench.conf'\n")

    def version(self) -> str:
        out = self._run("postgres", "--version")
        return out.stdout.strip()

    def major(self) -> int:
        """Major version of the programs, for example 18."""
        word = self.version().split()[2]
        return int("".join(c if c.isdigit() else " " for c in word).split()[0])

    def library(self, name) -> Path:
        """Where an extension's shared library is, or would be."""
        out = self._run("pg_config", "--pkglibdir")
        return Path(out.stdout.strip()) / f"{name}.so"

    def computed(self, name, settings) -> str:
        """What a stopped server would make of a setting that it computes."""
        out = self._run("postgres", "-D", self.data, "-C", name, *(
            f"--{key}={value}" for key, value in settings.items()))
        return out.stdout.strip()

    def takes(self, name, value) -> bool:
        """Would a server of this version take that value for a setting?"""
        done = self._run("postgres", "-D", self.data, "-C", name,
                         f"--{name}={value}", check=False)
        return done.returncode == 0

    # --- start and stop ---------------------------------------------------

    def start(self, settings=None, timeout_s=120):
        """Start with BASE_SETTINGS and `settings` on top."""
        if self.running():
            raise ClusterError(f"a server already runs on {self.data}, "
                               "started by somebody else: stop it first")
        if other := self._server_on_socket():
            raise ClusterError(f"port {self.port} is taken in {self.root} by "
                               f"process {other}: choose another with --port")
        self.settings = {**BASE_SETTINGS, "port": self.port,
                         "unix_socket_directories": str(self.root),
                         **(settings or {})}
        conf = self.data / "bench.conf"
        conf.write_text("".join(f"{name} = {_quote(value)}\n"
                                for name, value in self.settings.items()))
        conf.chmod(0o644)
        self.started_here = True        # from here on there may be a server
        try:
            done = self._run("pg_ctl", "-D", self.data, "-l", self.log, "-w",
                             "-t", timeout_s, "start", check=False, quiet=True)
        except KeyboardInterrupt:
            time.sleep(STARTING_S)
            self.stop()
            raise
        if done.returncode != 0:
            self.stop()                 # it may only have taken too long
            raise ClusterError(f"the server did not start; {self.log} ends:\n"
                               + self.log_tail())

    def stop(self, mode="fast"):
        """Stop the server, if this object started one."""
        if self.started_here and self.running():
            self._run("pg_ctl", "-D", self.data, "-w", "-t", "600", "-m", mode,
                      "stop", quiet=True)
        self.started_here = False

    def running(self) -> bool:
        """Is a server on this data directory?"""
        return self.exists() and self._run(
            "pg_ctl", "-D", self.data, "status", check=False).returncode == 0

    def _server_on_socket(self):
        """Process that has our socket, from its lock file; None: nobody."""
        lock = self.root / f".s.PGSQL.{self.port}.lock"
        try:
            pid = int(lock.read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None
        return pid if Path(f"/proc/{pid}").exists() else None

    def restart_cold(self, settings=None):
        """Stop, forget what the kernel cached of it, start: nothing is warm."""
        self.stop()
        drop_caches(self.data)
        self.start(settings)

    @contextlib.contextmanager
    def started(self, settings=None):
        """Start; whatever happens inside, stop at the end."""
        self.start(settings)
        try:
            yield self
        finally:
            self.stop()

    def postmaster_pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])

    # --- use --------------------------------------------------------------

    def connect(self, dbname="postgres", **kwargs) -> psycopg.Connection:
        """An autocommit connection as superuser; it prepares nothing."""
        kwargs.setdefault("autocommit", True)
        kwargs.setdefault("prepare_threshold", None)
        return psycopg.connect(host=str(self.root), port=self.port,
                               user=SUPERUSER, dbname=dbname, **kwargs)

    def program(self, name, *args, **kwargs):
        """Run one of PostgreSQL's programs against this server."""
        return self._run(name, "-h", self.root, "-p", self.port,
                         "-U", SUPERUSER, *args, **kwargs)

    def log_tail(self, lines=20) -> str:
        if not self.log.exists():
            return "(no log)"
        return "\n".join(self.log.read_text(errors="replace")
                         .splitlines()[-lines:])

    def _run(self, program, *args, check=True, quiet=False):
        """Run a program; `quiet` ones may leave a server holding our pipes."""
        output = ({"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                  if quiet else {"capture_output": True, "text": True})
        done = account.run_as_server([self.bindir / program, *args],
                                     stdin=subprocess.DEVNULL, **output)
        if check and done.returncode != 0:
            said = "" if quiet else f":\n{done.stdout}{done.stderr}"
            raise ClusterError(f"{program} failed ({done.returncode}){said}")
        return done


def fill_caches(conn, tables=None):
    """Read tables and their indexes, all if none is named, into shared buffers.

    What does not fit is in the kernel's page cache then; how long it stays there is
    the kernel's business, and on some machines its host's.
    """
    conn.execute("create extension if not exists pg_prewarm")
    conn.execute(
        "select count(pg_prewarm(c.oid)) from pg_class c left join pg_index i"
        " on i.indexrelid = c.oid join pg_class t on t.oid = coalesce(i.indrelid, c.oid)"
        " where t.relkind in ('r', 'm') and c.relkind in ('r', 'm', 'i')"
        " and t.relnamespace = 'public'::regnamespace"
        " and (%s::text[] is null or t.relname = any(%s))", [tables, tables])


def drop_caches(path: Path):
    """Put `path`'s files to disk and out of the kernel's page cache.

    POSIX_FADV_DONTNEED on each file works without privilege and leaves the
    rest of the machine its cache; what stays (inodes, pages of files that
    were deleted) does not serve reads of ours.
    """
    os.sync()
    for directory, _, files in os.walk(path):
        for name in files:
            try:
                fd = os.open(os.path.join(directory, name), os.O_RDONLY)
            except FileNotFoundError:
                continue
            try:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(fd)


def wait_for(condition, what, timeout_s=30.0, poll_s=0.05):
    """Wait until condition() is true; say what did not happen if it is not."""
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            raise ClusterError(f"timed out waiting for {what}")
        time.sleep(poll_s)


def _quote(value) -> str:
    return "'" + str(value).replace("'", "''") + "'"
