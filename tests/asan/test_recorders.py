# SPDX-License-Identifier: MIT
"""The tool, built with ASan and UBSan, records: same output of the program, and no complaint, in
any mode.

The library inside the program is the plain one: it has no sanitizer to call.
"""
import os
import subprocess

import pytest

from test_readers import ASAN, COMPLAINT, PLAIN, SANITIZE

SCRIPT = ("import threading\nt = [threading.Thread(target=lambda: bytearray(5000)) for _ in "
          "range(9)]\n[x.start() for x in t]\nprint(len(t))")
MODES = {
    "plain": [],
    "children": ["--follow=all"],
    "everything": ["--events", "--track-fds", "--free-stacks", "--keep-graph"],
    "kept back": ["--quarantine", "1M", "--fill", "--keep-going"],
    "snapshots": ["--snapshot-every", "50ms", "--signal", "USR1"],
    "sampled": ["--sample=4K"],
    "told": ["-vv"],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "program",
    [["sh", "-c", "ls / | wc -l; exit 3"], ["/usr/bin/python3", "-c", SCRIPT]],
    ids=["sh", "python"],
)
def test_recording(tmp_path, mode, program):
    bare = subprocess.run(
        program, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False
    )
    env = {
        **os.environ,
        **SANITIZE,
        "SEEP_AGENT_DIR": str(PLAIN.parent / "agent"),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    env.pop("SEEP_OPTIONS", None)
    done = subprocess.run(
        [ASAN, "record", "-o", "%e.%p.%n.seep", *MODES[mode], "--", *program],
        cwd=tmp_path,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert (
        done.returncode != COMPLAINT
        and b"runtime error" not in done.stderr
        and b"Sanitizer" not in done.stderr
    ), done.stderr
    assert (done.returncode, done.stdout) == (bare.returncode, bare.stdout)
    assert list(tmp_path.glob("*.seep"))
