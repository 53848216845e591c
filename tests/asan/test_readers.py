# SPDX-License-Identifier: MIT
"""The readers, built with ASan and UBSan, read real recordings: same answers as the plain tool, and
no complaint.

SEEP_BUILD is the plain build that records, SEEP_ASAN_BUILD the one with sanitizers that reads.
"""
import os
import random
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PLAIN = Path(os.environ["SEEP_BUILD"]) / "src" / "seep"
ASAN = Path(os.environ["SEEP_ASAN_BUILD"]) / "src" / "seep"
COMPLAINT = 99
SANITIZE = {
    "ASAN_OPTIONS": f"exitcode={COMPLAINT}:detect_leaks=0",
    "UBSAN_OPTIONS": f"halt_on_error=1:exitcode={COMPLAINT}",
}

# These tell by their status what they found.
LEAKS = [
    ["leaks"],
    ["leaks", "--json", "--show", "all"],
    ["leaks", "--blocks", "--show", "all"],
    ["leaks", "--gen-suppressions"],
    ["leaks", "--gen-suppressions=lsan"],
    ["why", "--site", "1"],
    ["why", "--site", "1", "--all", "--json"],
    ["report", "--retained"],
    ["report", "--retained=sites"],
    ["check"],
]

VIEWS = [
    ["report", "--json"],
    ["report", "--summary"],
    *[["report", "--tree", f"--cost={cost}"] for cost in ("live", "peak", "total", "temporary")],
    ["report", "--flat"],
    ["report", "--blocks"],
    ["report", "--threads"],
    ["report", "--tree", "-i", "parse", "-x", "stoi"],
    ["report", "--tree", "--at", "end", "--depth-merge", "2"],
    ["info"],
    *[
        ["export", "--to", form]
        for form in (
            "collapsed", "speedscope", "callgrind", "gprof2dot", "csv", "json", "pprof", "dhat",
            "massif", "firefox", "heaptrack", "sqlite", "valgrind-xml", "sarif", "junit",
        )
    ],
    ["sql", "--schema"],
    ["html", "-o", "-"],
    ["html", "-o", "-", "--source", "used", "-x", "parse"],
    ["top", "--batch", "3"],
    *[["top", "--batch", "1", "--group-by", group] for group in ("function", "thread", "size")],
    *LEAKS,
    ["events"],
    *[
        ["events", form]
        for form in ("--csv", "--memtraq", "--mmleak", "--totals", "--stacks", "--open")
    ],
]


def run(tool, arguments, home, timeout=60):
    env = {**os.environ, **SANITIZE, "XDG_CACHE_HOME": str(home), "NO_COLOR": "1"}
    env.pop("SEEP_OPTIONS", None)
    return subprocess.run(
        [str(tool), *map(str, arguments)],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
    )


@pytest.fixture(scope="module", params=["leaky", "shell"])
def recording(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    program = ["/bin/sh", "-c", "x=$(printf %0100d 7); echo ${#x}; exit 3"]
    if request.param == "leaky":
        program = [folder / "leaky"]
        subprocess.run(
            ["g++", "-g", "-O1", ROOT / "demo" / "leaky.cpp", "-o", program[0]], check=True
        )
    file = folder / "a.seep"
    done = run(PLAIN, ["record", "--events", "-o", file, "--", *program], folder)
    assert done.returncode == (3 if request.param == "shell" else 0), done.stderr.decode()
    assert file.stat().st_size > 0
    return file


def assert_no_complaint(done):
    assert done.returncode != COMPLAINT, done.stderr.decode()
    assert done.returncode >= 0, f"killed by signal {-done.returncode}: {done.stderr.decode()}"
    assert (
        b"runtime error" not in done.stderr and b"AddressSanitizer" not in done.stderr
    ), done.stderr.decode()


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_a_view_is_the_same_with_sanitizers(recording, view, tmp_path):
    plain = run(PLAIN, [*view, recording], tmp_path / "plain")
    assert plain.returncode in ((0, 1, 2) if view in LEAKS else (0,)), plain.stderr.decode()
    for _ in ("cold", "warm"):  # the second time names come from the cache
        asan = run(ASAN, [*view, recording], tmp_path / "asan")
        assert_no_complaint(asan)
        assert asan.returncode == plain.returncode, asan.stderr.decode()
        assert asan.stdout == plain.stdout


# By tests/fuzz/corpus.c: every number that a file can hold, also those that no program would give.
@pytest.mark.parametrize("name", ["least", "tiny", "small", "plain", "larger", "graph", "leaky"])
def test_numbers_that_no_program_gives_do_no_harm(name, tmp_path):
    file = Path(os.environ["SEEP_BUILD"]) / "tests" / "fuzz" / f"{name}.seep"
    for view in VIEWS:
        done = run(ASAN, [*view, file], tmp_path)
        assert_no_complaint(done)
        assert done.returncode in (0, 1, 2, 3), f"{view}: {done.returncode}: {done.stderr.decode()}"


def damaged_copies(whole, how_many):
    """Truncated and flipped versions, always the same ones."""
    chance = random.Random(2)
    for i in range(how_many):
        data = bytearray(whole)
        if i % 2:
            del data[chance.randrange(len(data)):]
        else:
            for _ in range(chance.randrange(1, 9)):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        yield i, bytes(data)


STATUSES = [
    (["report", "--json"], (0, 4)),
    (["info"], (0, 1, 4)),
    (["events", "--csv"], (0, 2, 4)),
    (["leaks", "--blocks"], (0, 1, 3, 4)),
    (["why", "--site", "1"], (0, 1, 2, 3, 4)),
    (["report", "--retained"], (0, 2, 3, 4)),
    (["check"], (0, 1, 3, 4)),
    (["html", "-o", "-"], (0, 4)),
    (["top", "--batch", "2"], (0, 4)),
    *[
        (["export", "--to", form, "-o", "-"], (0, 2, 4))
        for form in ("pprof", "dhat", "massif", "callgrind", "heaptrack", "firefox", "sqlite")
    ],
]


def test_damaged_recordings_are_read_or_refused(recording, tmp_path):
    whole = recording.read_bytes()
    for i, data in damaged_copies(whole, 60):
        file = tmp_path / f"{i}.seep"
        file.write_bytes(data)
        for view, statuses in STATUSES[:3] if i % 3 else STATUSES:
            done = run(ASAN, [*view, file], tmp_path)
            assert_no_complaint(done)
            assert (
                done.returncode in statuses
            ), f"copy {i}: {done.returncode}: {done.stderr.decode()}"
