# SPDX-License-Identifier: MIT
"""What seep itself takes: in proportion to the heap that it looks at, and little."""
import json
import subprocess
import time

from harness import DEADLINE, SEEP, clean_environment

BLOCKS = 1_200_000  # so many that they stay packed (profile/packed.h)
HEAP = 48 * BLOCKS
LEAST = 64 << 20


def facts(pid):
    """Name and peak of resident memory of a process; None: it is gone."""
    try:
        lines = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status", encoding="utf-8", errors="replace"))
        return lines["Name"].strip(), int(lines["VmHWM"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        return None


def children(pid):
    try:
        return [int(word) for word in open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()]
    except OSError:
        return []


def peaks(process):
    """The largest that the observer and any process that it started to work for it were seen with."""
    observer = searcher = 0
    end = time.monotonic() + DEADLINE
    while process.poll() is None:
        assert time.monotonic() < end
        seen = facts(process.pid)
        observer = max(observer, seen[1] if seen else 0)
        for pid in children(process.pid):
            seen = facts(pid)
            if seen and seen[0] == "seep":
                searcher = max(searcher, seen[1])
        time.sleep(0.002)
    return observer, searcher


def test_a_heap_of_many_blocks(compiler, tmp_path):
    """At most 0.6 times the heap for the observer and 1.2 times for the search, and all that is lost is found."""
    program = compiler.build("numerous.c", flags=("-O1", "-g"))
    process = subprocess.Popen([SEEP, "record", "-o", "x.seep", program, str(BLOCKS)], cwd=tmp_path, env=clean_environment(),
                               stderr=subprocess.PIPE, text=True)
    observer, searcher = peaks(process)
    said = process.stderr.read()
    assert process.returncode == 0, said
    assert 0 < observer <= 0.6 * HEAP + LEAST
    assert searcher <= 1.2 * HEAP + LEAST
    lists = BLOCKS // 10
    assert f"{48 * lists / 10 / 1024:.1f} KiB in {lists // 10:,} blocks definitely lost" in said and f"in {lists:,} blocks" in said
    shown = json.loads(subprocess.run([SEEP, "leaks", "--json", "x.seep"], cwd=tmp_path, env=clean_environment(), capture_output=True,
                                      timeout=DEADLINE).stdout)["leaks"]
    assert [shown[word]["blocks"] for word in ("definite", "indirect", "possible", "reachable")] == \
        [lists // 10, 9 * lists // 10, lists, BLOCKS - 2 * lists + 1]
