# SPDX-License-Identifier: MIT
"""What seep itself takes: in proportion to the heap that it looks at, and little."""
import json
import subprocess
import sys
import time

from harness import DEADLINE, SEEP, clean_environment

BLOCKS = 1_200_000  # so many that they stay packed (profile/packed.h)
HEAP = 48 * BLOCKS
LEAST = 64 << 20


def facts(pid):
    """Name and peak of resident memory of a process; None: it is gone."""
    try:
        lines = dict(
            line.split(":", 1)
            for line in open(f"/proc/{pid}/status", encoding="utf-8", errors="replace")
        )
        return lines["Name"].strip(), int(lines["VmHWM"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        return None


def children(pid):
    try:
        return [
            int(word)
            for word in open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()
        ]
    except OSError:
        return []


def peaks(process):
    """The largest that the observer and any process that it started to work for it were seen
    with."""
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
    """At most 0.6 times the heap for the observer and 1.2 times for the search, and all that is
    lost is found."""
    program = compiler.build("numerous.c", flags=("-O1", "-g"))
    process = subprocess.Popen(
        [SEEP, "record", "-o", "x.seep", program, str(BLOCKS)],
        cwd=tmp_path,
        env=clean_environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    observer, searcher = peaks(process)
    said = process.stderr.read()
    assert process.returncode == 0, said
    assert 0 < observer <= 0.6 * HEAP + LEAST
    assert searcher <= 1.2 * HEAP + LEAST
    lists = BLOCKS // 10
    assert (
        f"{48 * lists / 10 / 1024:.1f} KiB in {lists // 10:,} blocks definitely lost" in said
        and f"in {lists:,} blocks" in said
    )
    shown = json.loads(
        subprocess.run(
            [SEEP, "leaks", "--json", "x.seep"],
            cwd=tmp_path,
            env=clean_environment(),
            capture_output=True,
            timeout=DEADLINE,
        ).stdout
    )["leaks"]
    assert [
        shown[word]["blocks"] for word in ("definite", "indirect", "possible", "reachable")
    ] == [lists // 10, 9 * lists // 10, lists, BLOCKS - 2 * lists + 1]


# A process begins with the peak of the one that started it: this one is small, whatever the tests
# before had in memory.
SMALL = """
import os, sys
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(os.waitstatus_to_exitcode(status), used.ru_maxrss << 10, file=open("used", "w"))
"""


def show(folder, *words):
    """What a command writes, its status, and its peak of resident memory."""
    done = subprocess.run(
        [sys.executable, "-c", SMALL, SEEP, *words],
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        check=True,
        timeout=DEADLINE,
    )
    status, peak = (folder / "used").read_text().split()
    return done.stdout.decode(), int(status), int(peak)


def check_lost(blocks, lists):
    heads = {b["address"] for b in blocks if b["leak"] == "definite"}
    assert len(heads) == lists // 10 and len(blocks) == lists
    assert all(b["size"] == 48 for b in blocks)
    assert all(
        b["hanging"]
        == ({"blocks": 9, "bytes": 432} if b["leak"] == "definite" else {"blocks": 0, "bytes": 0})
        for b in blocks
    )
    assert all(b["head"] in heads for b in blocks if b["leak"] == "indirect")


def check_map(heap, lists):
    """Each list that was freed left one hole, and nine lists are between two of them.  The
    loader has a few blocks, too."""
    assert 0 <= heap["total"]["blocks"] - (BLOCKS - lists) < 10
    assert 0 <= heap["total"]["holes"] - lists // 10 < 10
    holes = sorted(
        (h for h in heap["holes"] if h["bytes"] == 640), key=lambda h: int(h["address"], 16)
    )
    assert len(holes) == lists // 10
    assert all(
        a["blocks_above"] - b["blocks_above"] == 90
        and a["bytes_above"] - b["bytes_above"] == 90 * 48
        for a, b in zip(holes, holes[1:])
    )


def test_single_blocks_and_the_map_of_many(compiler, tmp_path):
    """What was lost is listed block by block, and the heap is drawn, without an array of all
    blocks (80 bytes for each)."""
    program, lists = compiler.build("numerous.c", flags=("-O1", "-g")), BLOCKS // 10
    subprocess.run(
        [SEEP, "record", "-q", "-o", "x.seep", program, str(BLOCKS), "freed"],
        cwd=tmp_path,
        env=clean_environment(),
        check=True,
        timeout=DEADLINE,
    )
    commands = [
        ["leaks", "--blocks", "-n", "3", "x.seep"],
        ["report", "--fragmentation", "--json", "x.seep"],
        ["leaks", "--json", "--blocks", "-n", "0", "--show", "definite,indirect", "x.seep"],
    ]
    shown, heap, lost = [show(tmp_path, *words) for words in commands]
    assert [status for _, status, _ in (shown, heap, lost)] == [1, 0, 1]
    assert max(peak for _, _, peak in (shown, heap, lost)) < LEAST + 50 * BLOCKS
    assert shown[0].count("48 B definitely lost") == 3
    check_lost([b for site in json.loads(lost[0])["sites"] for b in site["blocks"]], lists)
    check_map(json.loads(heap[0]), lists)
