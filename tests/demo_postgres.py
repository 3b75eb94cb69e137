"""`make demo DB=postgres`: the demo on a PostgreSQL of its own, which is stopped and started between its processes."""

# ruff: noqa: T201 - it prints, as the demo does
from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from tests import databases, servers


def main(*options: str) -> int:
    """Run the demo as the role of an application, which the walls between tenants bind."""
    folder = servers.HOME / f"demo-{os.getpid()}"
    with servers.Server(folder) as server:
        databases.prepare(server.url())
        url = server.url(user=databases.APPLICATION)
        restart = shlex.join([sys.executable, "-m", "tests.demo_postgres", "--restart", str(folder)])
        command = [Path(sys.executable).with_name("perdure"), "demo", "--db", url, "--between", restart, *options]
        code = subprocess.run(command, cwd=servers.ROOT, check=False).returncode
    print("This PostgreSQL is gone now; docs/how-to/use-postgresql.md starts one that stays.")
    return code


if __name__ == "__main__":
    if sys.argv[1:2] == ["--restart"]:
        servers.Server(Path(sys.argv[2])).restart()
        print("PostgreSQL was stopped and started")
    else:
        sys.exit(main(*sys.argv[1:]))
