"""The account that servers run as: PostgreSQL refuses to run as root."""

import os
import pwd
import resource
import subprocess
from pathlib import Path


def server_account():
    """Return the passwd entry of the account that servers run as.

    Whoever is not root runs them as himself.  Root names an account in
    ANAGO_USER; the default is `postgres`, which the packages create.
    """
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    name = os.environ.get("ANAGO_USER", "postgres")
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise SystemExit(
            f"there is no account {name!r} to run PostgreSQL as: "
            "create one, or name another in ANAGO_USER")


def make_own_directory(path: Path):
    """Create a directory that belongs to the server account, mode 0700."""
    account = server_account()
    path.mkdir(parents=True, exist_ok=True)
    os.chown(path, account.pw_uid, account.pw_gid)
    path.chmod(0o700)


def lift_limits():
    """Locked memory and open files as far as we may; children inherit it."""
    for which in (resource.RLIMIT_MEMLOCK, resource.RLIMIT_NOFILE):
        _, hard = resource.getrlimit(which)
        resource.setrlimit(which, (hard, hard))


def _identity():
    """Arguments for subprocess that make the child the server account."""
    account = server_account()
    args = {"env": {**os.environ, "HOME": account.pw_dir, "LC_ALL": "C",
                    "USER": account.pw_name}}
    if os.geteuid() == 0:
        args.update(user=account.pw_uid, group=account.pw_gid, extra_groups=[])
    return args


def run_as_server(argv, **kwargs):
    """subprocess.run() as the server account, with generous limits."""
    lift_limits()
    return subprocess.run([str(a) for a in argv], cwd="/", **_identity(),
                          **kwargs)
