# SPDX-License-Identifier: MIT
"""event_logs.py -- event logs in tests: their lines, a replay that knows nothing of the tool's own,
and logs that a killed observer left."""
import csv
import signal
import subprocess

import format_reader
from harness import SEEP, ask, clean_environment, end_process, wait_until

HEADER_BYTES = 256


def rows(file, *options):
    return list(csv.DictReader(ask("events", "--csv", *options, file).stdout.splitlines()))


class Replay:
    """Totals and live blocks by the lines of --csv; a block that begins where another one lives
    is a mistake."""

    def __init__(self, lines):
        self.live, self.taken, self.sites = {}, {}, {}
        self.allocations = self.frees = self.bytes_allocated = self.live_bytes = self.peak_bytes = 0
        for line in lines:
            step = getattr(self, line["what"].replace("-", "_"), None)
            if step:
                step(line, (line["address"], line["kind"] == "pool"), int(line["size"]))

    def alloc(self, line, key, size):
        assert key not in self.live, line
        self.live[key] = size
        self.allocations += 1
        self.bytes_allocated += size
        self.live_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        self.sites[line["site"]] = self.sites.get(line["site"], 0) + 1

    realloc_to = alloc

    def free(self, line, key, size):
        assert self.live.pop(key) == size, line
        self.frees += 1
        self.live_bytes -= size

    def realloc_from(self, line, key, size):
        self.free(line, key, size)
        self.taken[line["tid"]] = key, size

    def realloc_failed(self, line, key, size):
        key, size = self.taken.pop(line["tid"])
        self.live[key] = size
        self.frees -= 1
        self.live_bytes += size

    def carve(self, line, key, size):
        self.live_bytes -= size


def check_replay(seen):
    """By our own replay of the printed lines, and by the tool's."""
    lines = rows(seen.folder / "out.seep")
    replay, totals = Replay(lines), seen.profile.totals
    for name in ("allocations", "frees", "bytes_allocated", "live_bytes"):
        assert getattr(replay, name) == totals[name], name
    assert len(replay.live) == totals["live_blocks"]
    assert (replay.peak_bytes, 0) == (totals["peak_bytes"], totals["peak_error_bytes"])
    blocks = format_reader.read(seen.folder / "out.seep").arrays["blocks"]
    assert {int(address, 16): size for (address, pool), size in replay.live.items()} == {
        b["address"]: b["size"] for b in blocks
    }
    assert replay.sites == {str(s["id"]): s["allocations"] for s in seen.profile.heap_sites()}
    assert [int(line["event"]) for line in lines] == list(range(1, len(lines) + 1))
    assert "differs" not in ask("events", "--totals", seen.folder / "out.seep").stdout
    return len(lines)


def log_bytes(file):
    return sum(s["stored_bytes"] for s in format_reader.read(file).sections if s["type"] == 64)


def killed_observer(compiler, folder, *script, until):
    """What is left of `record --events -o out.seep` after kill -9, when UNTIL holds; the program
    ends, too."""
    observer = subprocess.Popen(
        [
            SEEP, "record", "-q", "--events", "-o",
            folder / "out.seep",
            compiler.build("steps.c"), *script, "ready", "wait",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    )
    try:
        assert observer.stdout.readline().strip() == b"ready"
        wait_until(until, "the recording got so far", process=observer)
    finally:
        end_process(observer, signal.SIGKILL)
    observer.stdin.close()
    assert observer.stdout.read() == b""
