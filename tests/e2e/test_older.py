# SPDX-License-Identifier: MIT
"""Blocks from before `seep attach`: the search covers the whole heap, old blocks are told apart,
and what they hold is not lost."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from contextlib import contextmanager

import pytest

from harness import DEADLINE, SEEP, Profile, ask, clean_environment, wait_until

COUNT = 1000


class Program:
    """A running older.c."""

    def __init__(self, path, count):
        truth, out = os.pipe()
        self.process = subprocess.Popen(
            [path, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(3,),
            preexec_fn=lambda: os.dup2(out, 3),
            env=clean_environment(),
        )
        os.close(out)
        self.pid, self.truth = self.process.pid, os.fdopen(truth)
        self.ready()

    def ready(self):
        assert self.process.stdout.readline() == b"ready\n"

    def go_on(self, count):
        """The blocks, by address: what they are."""
        self.process.stdin.write(b"x")
        self.process.stdin.flush()
        blocks = {}
        while len(blocks) < 2 * count:
            age, leak, address, size = self.truth.readline().split()
            blocks[int(address, 16)] = age, leak, int(size)
        self.ready()
        return blocks

    def end(self):
        self.process.stdin.close()
        return self.process.wait(DEADLINE)


@contextmanager
def started(compiler, count=COUNT, **how):
    made = Program(compiler.build("older.c", **how), count)
    try:
        yield made
    finally:
        made.truth.close()
        if made.process.poll() is None:
            made.process.kill()
        made.process.wait(DEADLINE)


@contextmanager
def attached(pid, folder, *options):
    errors = folder / "errors"
    with open(errors, "wb") as to:
        seep = subprocess.Popen(
            [SEEP, "attach", "-v", "-f", "-o", str(folder / "out.seep"), *options, str(pid)],
            stderr=to,
            env=clean_environment(),
        )
    wait_until(lambda: " by inject, to " in errors.read_text() or seep.poll() is not None, "attach")
    yield seep, errors
    assert seep.wait(DEADLINE) == 0, errors.read_text()


def found(source):
    """What `leaks` says of each block: its age, its class."""
    done = ask("leaks", "--json", "--blocks", "--show=all", "-q", source, status=1)
    said = json.loads(done.stdout)
    blocks = {}
    for site in said["sites"]:
        for b in site["blocks"]:
            old = site["kind"] == "older"
            assert (b["age_ms"] is None) == old
            blocks[int(b["address"], 16)] = "old" if old else "new", b["leak"], b["size"]
    return blocks, said


def check(blocks, truth):
    for address, (age, leak, size) in truth.items():
        has_age, has_leak, has_size = blocks[address]
        assert (has_age, has_leak) == (age, leak), hex(address)
        assert has_size == size if age == "new" else size <= has_size <= size + 16
    others = Counter(b[:2] for a, b in blocks.items() if a not in truth)
    assert set(others) <= {("old", "reachable"), ("new", "reachable")}


def check_sums(said, truth):
    counts = Counter(leak for _, leak, _ in truth.values())
    for leak in ("definite", "indirect", "possible"):
        assert said["leaks"][leak]["blocks"] == counts[leak], leak


HOW = {
    "glibc": {},
    "static": {"flags": ("-O1", "-g", "-static")},
    "musl": {"cc": "musl-gcc", "flags": ("-O1", "-g")},
    "musl-static": {"cc": "musl-gcc", "flags": ("-O1", "-g", "-static")},
}


@pytest.mark.parametrize("how", HOW)
def test_a_search_on_request_covers_the_whole_heap(compiler, tmp_path, how):
    if "musl" in how and not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed")
    with started(compiler, **HOW[how]) as program, attached(program.pid, tmp_path) as (_, errors):
        truth = program.go_on(COUNT)
        blocks, said = found(program.pid)
        check(blocks, truth)
        check_sums(said, truth)
        text = ask("leaks", program.pid, status=1)
        assert "not recorded" not in text.stderr and re.search(
            r"of the lost .* older than the recording\n", text.stdout
        )
        assert re.search(r"blocks definitely lost,\n +and .*\n +older than the recording, site "
                         r"#\d+\n +\[\d+ bytes\]", text.stdout)
        old = next(a for a, b in truth.items() if b[:2] == ("old", "reachable"))
        why = json.loads(ask("why", "--json", program.pid, hex(old)).stdout)
        assert why["root"]["variable"]["name"] == "table" and why["block"]["birth_ms"] is None
        assert ask("why", program.pid, hex(old)).stdout.count("older than the recording") == 1
        ask("detach", program.pid)
        assert program.end() == 0


@pytest.mark.parametrize("way", ["detach", "exit"])
def test_the_recording_has_the_search_at_its_end(compiler, tmp_path, way):
    with started(compiler) as program, attached(program.pid, tmp_path) as (_, errors):
        truth = program.go_on(COUNT)
        if way == "detach":
            ask("detach", program.pid)
        else:
            assert program.end() == 0
            program.process.wait(DEADLINE)
    path = tmp_path / "out.seep"
    blocks, said = found(path)
    check(blocks, truth)
    check_sums(said, truth)
    assert "definitely lost" in errors.read_text()
    # In no count: what was recorded is what came since.
    totals = Profile(path).totals
    assert (totals["allocations"], totals["live_blocks"]) == (COUNT + 1, COUNT + 1)
    flat = json.loads(ask("report", "--json", path).stdout)
    assert flat["totals"]["live_blocks"] == COUNT + 1
    assert (
        sum(s["live_blocks"] for s in flat["sites"] if s["kind"] not in ("older", "mmap"))
        == COUNT + 1
    )
    rows = list(csv.reader(io.StringIO(ask("report", "--blocks", "--csv", "-q", path).stdout)))[1:]
    assert truth.keys() <= {int(row[0], 16) for row in rows}
    assert ask("report", "--blocks", path).stdout.count("blocks older than the recording") == 1
    retained = ask("report", "--retained", path).stdout
    assert re.search(r" table \[.*older.c:", retained)
    one = ask(
        "sql",
        "--csv",
        path,
        "SELECT kind, heap, sum(live_blocks) >= %d FROM site WHERE kind = 'older' GROUP BY 1, 2"
        % COUNT,
    )
    assert one.stdout.splitlines()[1:] == ["older,0,1"]


def test_older_blocks_that_go_are_not_listed(compiler, tmp_path):
    """All that is listed is live: the walk is of the moment of the search, not of the attach."""
    with started(compiler, 400) as program, attached(program.pid, tmp_path):
        first, _ = found_quietly(program.pid)
        truth = program.go_on(400)
        blocks, _ = found(program.pid)
        assert {a for a, b in first.items() if b[0] == "old"} <= blocks.keys()
        check(blocks, truth)
        ask("detach", program.pid)
        assert program.end() == 0


def found_quietly(pid):
    done = ask("leaks", "--json", "--blocks", "--show=all", "-q", pid)
    said = json.loads(done.stdout)
    return {
        int(b["address"], 16): ("old" if s["kind"] == "older" else "new",)
        for s in said["sites"]
        for b in s["blocks"]
    }, said


def test_the_words_of_the_option(compiler, tmp_path):
    done = ask("attach", "--walk-heap", "--no-leak-scan", "1", status=2)
    assert "--walk-heap" in done.stderr
    with started(compiler, 40) as program, attached(program.pid, tmp_path, "--walk-heap"):
        program.go_on(40)
        ask("detach", program.pid)
        assert program.end() == 0


def test_older_memory_is_not_called_free(compiler, tmp_path):
    with subprocess.Popen(
        [compiler.build("hoard.c")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    ) as program:
        assert program.stdout.readline() == b"ready\n"
        with attached(program.pid, tmp_path, "--duration=0.05s"):
            pass
        program.stdin.close()
        assert program.wait(DEADLINE) == 0
    said = json.loads(ask("report", "--json", tmp_path / "out.seep").stdout)
    kept = said["resident"]["allocator"]
    assert sum(part.get("unrecorded_bytes", 0) for part in kept) > 1 << 20
    assert said["resident"]["free_bytes"] == sum(part["free_bytes"] for part in kept) == 0
    assert said["warnings"] == []
    assert " free in " not in ask("report", "--summary", tmp_path / "out.seep").stdout
