"""`make demo DB=postgres`: the memory is there after each restart of the server."""

import subprocess
import sys

from tests import servers


def test_the_demo_finds_what_was_kept_though_the_server_is_restarted_between_its_processes():
    command = [sys.executable, "-m", "tests.demo_postgres"]
    done = subprocess.run(command, cwd=servers.ROOT, capture_output=True, check=False, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith(("Step", "PostgreSQL was"))]
    assert [line[:6] for line in told] == ["Step 1", "Postgr", "Step 2", "Postgr", "Step 3"]
    assert "Your name is Ada." in done.stdout
    assert "You prefer jasmine tea." in done.stdout
    assert done.stderr == ""
