# SPDX-License-Identifier: MIT
"""Section 8 of docs/FORMAT.md is enough to read an event log: replayed, it gives the blocks and
sums of the same file."""
import json
import subprocess

import pytest

import format_events
import format_reader
from harness import DEADLINE, SEEP, clean_environment

POOL = 14


class Replay:
    """What is alive, by events alone."""

    def __init__(self, log):
        self.live, self.taken = {}, {}
        self.allocations = self.frees = 0
        for event in log.events:
            getattr(self, format_events.TYPES[event.type], lambda event: None)(event)

    @staticmethod
    def key(event):
        return event.address, event.kind == POOL

    def alloc(self, event):
        assert self.key(event) not in self.live
        self.live[self.key(event)] = event.site, event.size
        self.allocations += 1

    def free(self, event):
        del self.live[self.key(event)]
        self.frees += 1

    def take(self, event):
        self.taken[event.thread] = self.key(event), self.live.pop(self.key(event))
        self.frees += 1

    def move(self, event):
        self.taken.pop(event.thread, None)
        self.alloc(event)

    def put_back(self, event):
        key, block = self.taken.pop(event.thread)
        self.live[key] = block
        self.frees -= 1


PROGRAMS = [
    (
        "steps.c",
        [
            "+red:50:10", "-red:20", "tag:x", "+green:5000:200", "-green:4000", "+blue:9000:33",
            "spin:20",
        ],
    ),
    ("random_trace.c", ["7", "8", "60000"]),
    ("realloc_forms.c", []),
    ("pools.c", ["threads"]),
    ("many_threads.c", ["2000"]),
    ("small_blocks.c", ["4", "5000"]),
]


@pytest.mark.parametrize("source, words", PROGRAMS, ids=[source for source, _ in PROGRAMS])
def test_a_replay_by_the_document_gives_what_the_recording_holds(compiler, tmp_path, source, words):
    file = tmp_path / "log.seep"
    done = subprocess.run(
        [SEEP, "record", "-q", "--events", "-o", file, compiler.build(source), *words],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr.decode()
    found, log = format_reader.read(file), format_events.read(file)
    replay = Replay(log)
    assert log.end == "done" and log.events
    assert (replay.allocations, replay.frees) == (
        found.totals["allocations"],
        found.totals["frees"],
    )
    sites = found.arrays["sites"]
    assert replay.live == {
        (b["address"], sites[b["site"]]["kind"] == POOL): (b["site"], b["size"])
        for b in found.arrays["blocks"]
    }


def test_info_tells_the_size_of_the_log(compiler, tmp_path):
    file = tmp_path / "log.seep"
    for options, batches in (((), 0), (("--events", "-f"), 2)):
        subprocess.run(
            [SEEP, "record", "-q", *options, "-o", file, compiler.build("steps.c"), "+red:9:10"],
            check=True,
            capture_output=True,
            env=clean_environment(),
            timeout=DEADLINE,
            cwd=tmp_path,
        )
        sections = [
            s for s in format_reader.read(file).sections if s["type"] == format_events.EVENTS
        ]
        info = json.loads(
            subprocess.run(
                [SEEP, "info", "--json", file],
                check=True,
                capture_output=True,
                env=clean_environment(),
                timeout=DEADLINE,
            ).stdout
        )
        assert len(sections) == batches  # the events, and the end of the log
        assert info["event_log"] == (
            {"bytes": sum(s["stored_bytes"] for s in sections), "batches": batches, "whole": True}
            if batches
            else None
        )


def test_a_batch_that_was_changed_is_not_believed(compiler, tmp_path):
    file = tmp_path / "log.seep"
    subprocess.run(
        [SEEP, "record", "-q", "--events", "-o", file, compiler.build("steps.c"), "+red:9:10"],
        check=True,
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
        cwd=tmp_path,
    )
    section = next(
        s for s in format_reader.read(file).sections if s["type"] == format_events.EVENTS
    )
    data = bytearray(file.read_bytes())
    data[section["offset"] + 40] ^= 1
    file.write_bytes(data)
    with pytest.raises(format_reader.Broken):
        format_reader.read(file)
    done = subprocess.run(
        [SEEP, "info", file],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 1 and "DAMAGED" in done.stdout
