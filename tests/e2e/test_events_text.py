# SPDX-License-Identifier: MIT
"""`seep events`: what is printed of a log, ranges of it, and the formats of earlier tools."""
import csv
import re
import resource
import struct
import subprocess
import time
import zlib

import pytest

import format_reader
from event_logs import HEADER_BYTES, rows
from harness import DEADLINE, SEEP, ask, clean_environment


@pytest.fixture
def steps(compiler, recorder):
    return recorder.record(
        compiler.build("steps.c"), "+red:3:100", "tag:one", "+green:4:200", "-red:2", "tag:two",
        "+blue:2:300", "-green:1",
        options=["--events"],
    )


def sizes(lines):
    return [
        (line["what"], int(line["size"])) for line in lines if line["size"] in ("100", "200", "300")
    ]


def test_a_range_between_two_tags_is_printed(steps):
    file = steps.folder / "out.seep"
    assert (
        sizes(rows(file, "--from", "one", "--to", "two"))
        == [("alloc", 200)] * 4 + [("free", 100)] * 2
    )
    assert sizes(rows(file, "--to", "one")) == [("alloc", 100)] * 3
    assert sizes(rows(file, "--from", "two")) == [("alloc", 300)] * 2 + [("free", 200)]
    found = rows(file, "--from", "one", "--to", "two")
    assert (found[0]["what"], found[0]["stack"], found[-1]["what"], found[-1]["stack"]) == (
        "tag", "one", "tag", "two",
    )
    wrong = ask("events", "--from", "three", file, status=2)
    assert "three" in wrong.stderr and "one" in wrong.stderr


def test_a_range_that_ends_before_the_log_says_nothing_about_its_end(steps):
    for bounds in (("--to", "one"), ("--from", "one", "--to", "two", "--open"), ("--to", "0ms")):
        assert ask("events", *bounds, steps.folder / "out.seep").stderr == ""


def test_a_reader_that_leaves_early_is_told_nothing_about_the_end(compiler, recorder):
    seen = recorder.record(compiler.build("random_trace.c"), 5, 1, 200000, options=["--events"])
    done = subprocess.run(
        ["/bin/sh", "-c", '"$0" events "$1" | head -3', SEEP, seen.folder / "out.seep"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert len(done.stdout.splitlines()) == 3 and done.stderr == ""


@pytest.mark.parametrize("bounds", [("two", "one"), ("end", "one"), ("5s", "2s")])
def test_a_range_that_ends_before_it_begins_is_refused(steps, bounds):
    done = ask(
        "events", "--from", bounds[0], "--to", bounds[1], steps.folder / "out.seep", status=2
    )
    assert "the end lies before the start" in done.stderr and done.stdout == ""


def test_open_shows_what_was_never_freed(steps):
    file = steps.folder / "out.seep"
    blocks = format_reader.read(file).arrays["blocks"]
    assert {int(line["address"], 16) for line in rows(file, "--open")} == {
        b["address"] for b in blocks
    }
    assert (
        sizes(rows(file, "--open"))
        == [("alloc", 100)] + [("alloc", 200)] * 3 + [("alloc", 300)] * 2
    )
    assert sizes(rows(file, "--open", "--from", "one", "--to", "two")) == [("alloc", 200)] * 4


def test_the_text_names_functions_threads_and_what_a_release_belongs_to(steps):
    text = ask("events", steps.folder / "out.seep").stdout.splitlines()
    assert text[0].split() == ["no", "time", "s", "thread", "event", "address", "size", "what"]
    made = next(line for line in text if "red < " in line)
    assert re.match(r" +\d+ +\d+\.\d{3}  steps \d+ +malloc +0x[0-9a-f]+ +\+100 +red < ", made)
    number = made.split()[0]
    assert any(
        re.search(rf"free +0x[0-9a-f]+ +-100 +of event {number}, \d+ ms old, by steps\+0x", line)
        for line in text
    )
    whole = ask("events", "--stacks", steps.folder / "out.seep").stdout
    assert re.search(r"\+100\n +red \[.*steps\.c:\d+\]\n(.+\n)* +main ", whole)


def test_at_most_n_events_and_a_reader_that_leaves(steps):
    file = steps.folder / "out.seep"
    assert len(ask("events", "-n", 5, file).stdout.splitlines()) == 6
    assert len(ask("events", "-n", 5, "--mmleak", file).stdout.splitlines()) == 5
    done = subprocess.run(
        [
            "/bin/bash", "-c", '"$0" events "$1" --csv | head -1; exit "${PIPESTATUS[0]}"', SEEP,
            file,
        ],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("event,ms,")


def test_a_file_is_written_and_not_replaced_unasked(steps, tmp_path):
    file, out = steps.folder / "out.seep", tmp_path / "events.csv"
    ask("events", "--csv", "-o", out, file)
    assert list(csv.DictReader(out.read_text().splitlines())) == rows(file)
    assert "-f replaces it" in ask("events", "-o", out, file, status=2).stderr
    ask("events", "--mmleak", "-f", "-o", out, file)
    assert out.read_text().startswith("0x")
    assert ask("events", "-o", "/dev/stdout", file).stdout == ask("events", file).stdout
    assert ask("report", "-o", "/dev/stdout", file).stdout == ask("report", file).stdout


def test_wrong_words_are_told(steps):
    file = steps.folder / "out.seep"
    assert "two formats" in ask("events", "--csv", "--mmleak", file, status=2).stderr
    assert "whole log" in ask("events", "--totals", "--open", file, status=2).stderr
    assert "a number" in ask("events", "-n", "many", file, status=2).stderr
    assert "one recording" in ask("events", file, file, status=2).stderr


def test_a_recording_without_a_log_says_how_to_get_one(compiler, recorder):
    seen = recorder.record(compiler.build("steps.c"), "+red:3:100")
    told = ask("events", seen.folder / "out.seep", status=2).stderr
    assert "has no event log" in told and "--events" in told


def test_something_else_than_a_recording_is_refused(tmp_path):
    (tmp_path / "x").write_text("hello, this is not a recording at all")
    assert "seep:" in ask("events", tmp_path / "x", status=4).stderr
    assert "cannot read" in ask("events", tmp_path / "missing", status=4).stderr


def test_a_recording_with_stored_names_keeps_its_log(steps, tmp_path):
    file, stored = steps.folder / "out.seep", tmp_path / "stored.seep"
    ask("symbolize", "-q", "-o", stored, file)
    assert rows(stored) == rows(file)
    assert "differs" not in ask("events", "--totals", stored).stdout


def test_releases_have_stacks_when_asked_for(compiler, recorder):
    seen = recorder.record(
        compiler.build("random_trace.c"), 3, 4, 2000, options=["--events", "--free-stacks"]
    )
    freed = [
        line
        for line in ask("events", seen.folder / "out.seep").stdout.splitlines()
        if " by random_trace+" in line
    ]
    assert freed and all(re.search(r"\+0x[0-9a-f]+ \w+ < ", line) for line in freed)


def live_blocks(seen):
    return {
        b["address"]: b["size"]
        for b in format_reader.read(seen.folder / "out.seep").arrays["blocks"]
    }


@pytest.fixture(params=["steps", "realloc_forms", "random_trace"])
def some_program(request, compiler, recorder):
    words = {
        "steps": [
            "+red:30:100", "tag:one", "-red:10", "off", "+blue:2:9", "on", "snapshot:",
            "+green:7:70",
        ],
        "realloc_forms": [],
        "random_trace": [9, 8, 3000],
    }
    return recorder.record(
        compiler.build(request.param + ".c"), *words[request.param], options=["--events"]
    )


def test_mmleak_s_dump_ends_with_the_live_blocks(some_program):
    live = {}
    for line in ask("events", "--mmleak", some_program.folder / "out.seep").stdout.splitlines():
        pointer, caller, *size = line.split(" ")
        assert re.fullmatch(r"0x[0-9a-f]+ 0x[0-9a-f]+", f"{pointer} {caller}"), line
        if size:
            assert pointer not in live, line
            live[pointer] = int(size[0])
        else:
            del live[pointer]
    assert {int(p, 16): size for p, size in live.items()} == live_blocks(some_program)


def test_memtraq_s_log_ends_with_the_live_blocks(some_program):
    live, tags, last = {}, [], 0
    head, first, *lines = ask(
        "events", "--memtraq", some_program.folder / "out.seep"
    ).stdout.splitlines()
    assert head == "timestamp;thread-name;thread-id;event;param1;param2;param3;result;callstack"
    assert re.fullmatch(r"\d{16};[^;]+;\d+;start;[^;]+;0;1;0", first)
    for line in lines:
        stamp, name, tid, event, one, two, three, *frames = line.split(";")
        assert int(stamp) > 10**15 and int(stamp) >= last and int(tid) > 0 and name
        last = int(stamp)
        assert all(re.fullmatch("0x[0-9a-f]+", frame) for frame in frames)
        if event == "malloc":
            assert two == "void" and three not in live and frames
            live[three] = int(one)
        elif event == "free":
            assert (two, three) == ("void", "void")
            del live[one]
        elif event == "realloc":
            del live[one]
            assert three not in live
            live[three] = int(two)
        else:
            tags.append((event, one, two, three))
    assert {int(p, 16): size for p, size in live.items()} == live_blocks(some_program)
    if "steps" in some_program.profile.json["program"]:
        assert tags == [
            ("tag", "one", "1", "void"),
            ("disable", "void", "void", "void"),
            ("enable", "void", "void", "void"),
            ("tag", "snapshot", "2", "void"),
        ]


def test_memtraq_s_times_are_microseconds_that_rise_within_a_millisecond(compiler, recorder):
    before = time.time()
    seen = recorder.record(compiler.build("steps.c"), "+red:300:100", options=["--events"])
    stamps = [
        int(line.split(";")[0])
        for line in ask("events", "--memtraq", seen.folder / "out.seep").stdout.splitlines()[1:]
    ]
    assert before * 10**6 - 10**6 < stamps[0] <= stamps[-1] < time.time() * 10**6 + 10**6
    by_ms = {}
    for stamp in stamps:
        by_ms.setdefault((stamp - stamps[0]) // 1000, []).append(stamp)
    assert all(len(set(same)) == len(same) for same in by_ms.values() if len(same) < 900)


def test_a_log_without_events_says_so(compiler, recorder):
    seen = recorder.record(compiler.build("steps.c"), "+red:3:100", options=["--events"])
    empty = seen.folder / ".empty.seep.events"
    empty.write_bytes((seen.folder / "out.seep").read_bytes()[:HEADER_BYTES])
    assert "no event has been written yet" in ask("events", empty, status=2).stderr


def with_large_log(file, batch, count):
    """FILE's bytes with COUNT more sections of its log, which only `seep events` would look
    into."""
    def section(kind, body):
        head = struct.pack("<4sHHQQI", b"SECT", kind, 0, len(body), len(body), zlib.crc32(body))
        return head + struct.pack("<I", zlib.crc32(head)) + body

    whole, sections = bytearray(file.read_bytes()), format_reader.read(file).sections
    end, number = sections[-1]["offset"], len(sections) - 1 + count
    whole[end:] = section(64, batch) * count + section(
        255, bytes([number & 127 | 128, number >> 7])
    )
    struct.pack_into("<IQ", whole, 12, number + 1, len(whole))
    struct.pack_into("<I", whole, 124, zlib.crc32(whole[:124]))
    return whole


@pytest.mark.parametrize(
    "words",
    [("report",), ("info",), ("symbolize", "-o", "named.seep"), ("events", "-n", "5")],
    ids=lambda w: w[0],
)
def test_no_command_needs_memory_in_proportion_to_the_log(steps, tmp_path, words):
    file = tmp_path / "large.seep"
    file.write_bytes(with_large_log(steps.folder / "out.seep", bytes(300000), 250))
    few = 48 << 20  # of 75 MB
    done = subprocess.run(
        [SEEP, *words, file],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (few, few)),
    )
    assert done.returncode == 0, done.stderr
    assert "damaged" not in done.stderr
    if words[0] == "symbolize":
        assert len(format_reader.read(tmp_path / "named.seep").data) > 75000000
