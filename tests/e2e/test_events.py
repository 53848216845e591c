# SPDX-License-Identifier: MIT
"""The event log: every transaction, in order, in few bytes, and a replay of it gives what the
ledger counted.

The replay in this file knows nothing of the tool's own: it reads the printed forms.
"""
import csv
import re
import resource
import signal
import struct
import subprocess
import time
import zlib

import pytest

import format_events
import format_reader
from harness import DEADLINE, SEEP, ask, clean_environment, end_process, wait_until
from plain import start_recorded

HEADER_BYTES = 256
SQL = b"".join(
    [
        b"create table t(a integer primary key, b text, c real);\n",
        b"with recursive n(i) as (select 1 union all select i+1 from n where i<3000) insert into t "
        b"select i, 'text '||i*7919%10007, i*1.5 from n;\ncreate index ti on t(b);\n",
        *(
            b"insert into t values(%d,'row %d',%d); select * from t where a=%d;\n"
            % (i + 10000, i, i, i)
            for i in range(600)
        ),
        b"select b, count(*) from t group by b order by 2 desc limit 3;\n",
    ]
)
PYTHON = """
import json
d = {str(i): [i / 3, {"a": i, "b": "x" * (i % 50)}] for i in range(3000)}
e = json.loads(json.dumps(d))
words = " ".join(sorted(e)).split()
for i in range(50):
    class A:
        x = i
kept = {}
for i in range(20000):
    kept[i * 7919 % 501] = bytes(600 + i % 300)
print(len(words))
"""
PERL = 'my %h; for (1..20000) { $h{$_ % 977} = "x" x ($_ % 300); } print scalar keys %h'


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


def tell_otherwise(file, **changes):
    """The recording with other totals, as a new file."""
    seen, data = format_reader.read(file), file.read_bytes()
    [section] = [s for s in seen.sections if s["type"] == format_reader.TOTALS]
    numbers = [changes.get(name, seen.totals[name]) for name in format_reader.TOTALS_FIELDS]
    for name in format_reader.TOTALS_LISTS:
        numbers += [len(seen.totals[name]), *seen.totals[name]]
    numbers += [seen.totals[name] for name in format_reader.TOTALS_LATE]
    body = b"".join(varint(number) for number in numbers)
    head = struct.pack(
        "<4sHHQQI", b"SECT", format_reader.TOTALS, 0, len(body), len(body), zlib.crc32(body)
    )
    start, end = section["offset"], section["offset"] + 32 + section["stored_bytes"]
    data = data[:start] + head + struct.pack("<I", zlib.crc32(head)) + body + data[end:]
    front = data[:16] + struct.pack("<Q", len(data)) + data[24:124]
    other = file.with_name("other.seep")
    other.write_bytes(front + struct.pack("<I", zlib.crc32(front)) + data[128:])
    return other


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def test_a_difference_between_log_and_totals_is_told_and_is_the_exit_status(compiler, recorder):
    file = recorder.record(compiler.build("events.c"), options=["--events"]).folder / "out.seep"
    totals = format_reader.read(file).totals
    peak = totals["peak_bytes"]

    def line(label, status, **changes):
        found = ask("events", "--totals", tell_otherwise(file, **changes), status=status).stdout
        return re.search(f"^  {label} .*", found, re.M).group()

    assert line("peak bytes", 0).endswith(f"{peak:,}")
    assert line("peak bytes", 1, peak_bytes=peak - 1).endswith("  differs")
    assert line("peak bytes", 0, peak_bytes=peak - 1, peak_error_bytes=1).endswith(
        "  no difference: it is accurate to within 1 B"
    )
    assert line("peak bytes", 1, peak_bytes=peak - 2, peak_error_bytes=1).endswith("  differs")
    assert line("frees", 1, frees=totals["frees"] + 1).endswith("  differs")
    assert line("frees", 1, frees=totals["frees"] + 1, peak_error_bytes=9).endswith("  differs")


def log_bytes(file):
    return sum(s["stored_bytes"] for s in format_reader.read(file).sections if s["type"] == 64)


@pytest.mark.parametrize("tool", ["sqlite3", "python3", "perl"])
def test_a_replay_gives_the_ledger_of_a_real_program_in_at_most_two_bytes_an_event(
    recorder, need, tool
):
    need(tool)
    words = {"sqlite3": [":memory:"], "python3": ["-c", PYTHON], "perl": ["-e", PERL]}[tool]
    program = "/usr/bin/python3" if tool == "python3" else tool
    seen = recorder.record(
        program, *words, options=["--events"], stdin=SQL if tool == "sqlite3" else None
    )
    assert seen.status == 0
    count = check_replay(seen)
    assert count > 10000
    assert log_bytes(seen.folder / "out.seep") <= 2 * count


def test_python_without_its_own_allocator_takes_at_most_two_bytes_an_event(recorder):
    seen = recorder.record(
        "/usr/bin/python3", "-c", PYTHON, options=["--events"], env={"PYTHONMALLOC": "malloc"}
    )
    count = check_replay(seen)
    assert log_bytes(seen.folder / "out.seep") <= 2 * count


@pytest.mark.parametrize("threads", [1, 8])
def test_random_work_takes_at_most_six_bytes_an_event_and_its_replay_is_the_truth(
    compiler, recorder, threads
):
    seen = recorder.record(
        compiler.build("random_trace.c"), 5, threads, 60000 // threads, options=["--events"]
    )
    assert seen.status == 0
    count = check_replay(seen)
    assert log_bytes(seen.folder / "out.seep") <= 6 * count
    told, totals = seen.truth.total, seen.profile.totals
    assert (told["allocs"], told["frees"], told["live_bytes"]) == tuple(
        seen.profile.own(compiler.build("random_trace.c"))[k]
        for k in ("allocations", "frees", "live_bytes")
    ), totals


def test_each_form_of_realloc_is_in_the_log(compiler, recorder):
    seen = recorder.record(compiler.build("realloc_forms.c"), options=["--events"])
    check_replay(seen)
    words = {line["what"] for line in rows(seen.folder / "out.seep")}
    assert {"alloc", "free", "realloc-from", "realloc-to", "realloc-failed"} <= words


def test_pools_and_their_arenas_are_replayed(compiler, recorder):
    seen = recorder.record(compiler.build("pools.c"), options=["--events"])
    assert "differs" not in ask("events", "--totals", seen.folder / "out.seep").stdout
    assert any(line["kind"] == "pool" for line in rows(seen.folder / "out.seep"))


def test_threads_begin_have_names_and_end(compiler, recorder):
    file = (
        recorder.record(compiler.build("named_threads.c"), options=["--events"]).folder / "out.seep"
    )
    told = [
        (row["tid"], row["what"], row["stack"])
        for row in rows(file)
        if row["what"].startswith("thread")
    ]
    tids = list(dict.fromkeys(tid for tid, _, _ in told))
    assert len(tids) == 3
    for tid, names in zip(tids, (["named_threads"], ["first", "renamed"], ["second", "renamed"])):
        assert [stack for t, what, stack in told if t == tid and what == "thread-name"] == names
        assert [what for t, what, _ in told if t == tid and what != "thread-name"] == [
            "thread",
            "thread-end",
        ]


def test_libraries_that_are_loaded_are_told(compiler, recorder):
    """Also those that are on no stack."""
    seen = recorder.record(compiler.build("passing_library.c"), options=["--events"])
    modules = [row["stack"] for row in rows(seen.folder / "out.seep") if row["what"] == "module"]
    assert seen.status == 0 and len(modules) == len(set(modules))
    for name in ("libz.so", "libm.so", "passing_library"):
        assert any(name in module for module in modules), modules


def test_mappings_are_replayed(compiler, recorder):
    seen = recorder.record(
        "/usr/bin/python3",
        "-c",
        "import mmap\nm = [mmap.mmap(-1, 40960) for _ in range(9)]\nm[3].close()",
        options=["--events"],
    )
    found = ask("events", "--totals", seen.folder / "out.seep").stdout
    assert "differs" not in found
    assert re.search(r"mmap calls +(\S+)", found).group(1) == str(
        sum(line["what"] == "mmap" for line in rows(seen.folder / "out.seep"))
    )


def test_a_program_that_is_killed_loses_no_event(compiler, recorder):
    seen = recorder.record(
        compiler.build("steps.c"), "+red:500:10", "-red:100", "+green:7:70", "kill",
        options=["--events"],
    )
    assert seen.status == 128 + signal.SIGKILL
    check_replay(seen)


def test_a_forked_child_that_is_followed_has_a_log_of_its_own(compiler, recorder):
    seen = recorder.record(
        compiler.build("steps.c"), "+red:50:10", "fork", "+green:5:64", "-green:2",
        options=["--events", "--follow=all"],
    )
    child = next(f for f in seen.files() if f.name != "out.seep")
    made = [line for line in rows(child) if line["size"] == "64"]
    assert [line["what"] for line in made] == ["alloc"] * 5 + ["free"] * 2
    assert "forked" in ask("events", "--totals", child).stdout
    assert [line["what"] for line in rows(seen.folder / "out.seep") if line["size"] == "64"] == []


def test_the_log_ends_at_its_limit_and_the_ledger_goes_on(compiler, recorder):
    program = compiler.build("random_trace.c")
    seen = recorder.record(program, 5, 1, 60000, options=["--events", "--max-file", "8k"])
    file = seen.folder / "out.seep"
    assert seen.status == 0 and log_bytes(file) <= 8 * 1024 + 100
    assert seen.profile.own(program)["allocations"] == seen.truth.total["allocs"]
    assert any("--max-file was reached" in w for w in seen.profile.json["warnings"])
    shown = ask("events", "--csv", file)
    lines = list(csv.DictReader(shown.stdout.splitlines()))
    assert "the log ends here: --max-file was reached" in shown.stderr
    assert 500 < len(lines) < seen.profile.totals["allocations"]
    Replay(lines)
    assert "Not compared" in ask("events", "--totals", file).stdout


def test_a_log_in_parts_has_its_end_and_says_what_is_gone(compiler, recorder):
    program = compiler.build("random_trace.c")
    seen = recorder.record(
        program, 5, 1, 60000, options=["--events", "--max-file", "8k", "--max-files", "3"]
    )
    file = seen.folder / "out.seep"
    assert (
        seen.status == 0 and seen.profile.own(program)["allocations"] == seen.truth.total["allocs"]
    )
    assert 2 * 8 * 1024 < log_bytes(file) <= 3 * (8 * 1024 + 2048)
    assert seen.profile.json["warnings"] == []
    whole = [
        line
        for line in rows(
            recorder.record(program, 5, 1, 60000, options=["--events"]).folder / "out.seep"
        )
        if line["size"]
    ]
    shown = ask("events", "--csv", file)
    lines = list(csv.DictReader(shown.stdout.splitlines()))
    gone = int(re.search(r"the first (\d+) events are no longer there: only the last parts of the "
                         r"log were kept \(--max-files\)", shown.stderr)[1])
    assert (
        gone > 1000
        and int(lines[0]["event"]) == gone + 1
        and int(lines[-1]["event"]) == gone + len(lines)
    )
    assert "the log ends here" not in shown.stderr
    made = [line["size"] for line in lines if line["what"] == "alloc"]
    assert made and made == [line["size"] for line in whole if line["what"] == "alloc"][-len(made):]
    told = ask("events", "--totals", file).stdout
    assert ("Not compared with what was counted while recording: its first events are no longer in "
            "the log" in told)
    remarked = ask("export", "--to", "heaptrack", "-o", seen.folder / "heaptrack", file).stderr
    assert "the first events are no longer in the log (--max-files)" in remarked


def test_marks_that_are_gone_are_moments_all_the_same(compiler, recorder):
    seen = recorder.record(
        compiler.build("steps.c"), "+red:1:10", "tag:early", "spin:200", "tag:late", "+green:3:77",
        options=["--events", "--max-file", "4k", "--max-files", "2"],
    )
    file = seen.folder / "out.seep"
    assert "no longer there" in ask("events", file).stderr
    assert [line["size"] for line in rows(file, "--from", "late") if line["size"] == "77"] == [
        "77"
    ] * 3
    assert len(rows(file, "--from", "early")) >= len(rows(file, "--from", "late")) > 0
    assert rows(file, "--to", "early") == []


@pytest.mark.parametrize(
    "options,told",
    [
        (["--max-files", "3"], "--max-files needs --max-file"),
        (["--max-file", "1M", "--max-files", "1"], "at least 2"),
    ],
)
def test_parts_without_a_sense_are_refused(options, told):
    assert told in ask("record", "--events", *options, "true", status=2).stderr


def test_what_an_observer_that_was_killed_leaves_of_a_log_in_parts_can_be_read(compiler, recorder):
    folder = recorder.folder()
    side = folder / ".out.seep.events"
    observer = subprocess.Popen(
        [
            SEEP, "record", "-q", "--events", "--max-file", "4k", "--max-files", "2", "-o",
            folder / "out.seep",
            compiler.build("steps.c"), "spin:300", "ready", "wait",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    )
    try:
        assert observer.stdout.readline().strip() == b"ready"
        wait_until(
            lambda: side.stat().st_size > 20000, "some parts in the side file", process=observer
        )
    finally:
        end_process(observer, signal.SIGKILL)
    observer.stdin.close()
    shown = ask("events", "--csv", side)
    assert (
        len(shown.stdout.splitlines()) > 100
        and "the first events are no longer there" in shown.stderr
    )


def test_a_log_that_cannot_be_written_ends_and_everything_else_goes_on(compiler, recorder):
    """The name of the file beside the recording is taken by a directory."""
    folder = recorder.folder()
    (folder / ".out.seep.events").mkdir()
    done = subprocess.run(
        [
            SEEP, "record", "--events", "-o",
            folder / "out.seep",
            compiler.build("steps.c"),
            "+red:50:10",
        ],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 0 and "event log ends after 0 events" in done.stderr
    assert "red" in ask("report", "--flat", "--cost", "total", folder / "out.seep").stdout
    (folder / ".out.seep.events").rmdir()


# ---- forms ----


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


# ---- the forms of earlier tools ----


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


# ---- damage ----


def test_a_file_that_was_cut_off_gives_the_whole_batches(compiler, recorder, tmp_path):
    seen = recorder.record(compiler.build("random_trace.c"), 5, 1, 200000, options=["--events"])
    file, cut = seen.folder / "out.seep", tmp_path / "cut.seep"
    batches = [s for s in format_reader.read(file).sections if s["type"] == 64]
    assert len(batches) >= 3
    body = format_events.Body(file.read_bytes()[batches[0]["offset"] + 32:])
    assert body.varint() == 0
    first = body.varint()  # events: 65,536, or what there was when a second was over
    cut.write_bytes(file.read_bytes()[:batches[1]["offset"] + 500])
    done = ask("events", "--csv", cut)
    assert len(done.stdout.splitlines()) == 1 + first
    assert "cut off" in done.stderr and "the log ends here" in done.stderr
    changed = bytearray(file.read_bytes())
    changed[batches[1]["offset"] + 500] ^= 0x10
    cut.write_bytes(changed)
    done = ask("events", "--csv", cut)
    assert len(done.stdout.splitlines()) == 1 + first
    assert "damaged after this point" in done.stderr


def test_a_program_that_does_little_has_a_log_soon(compiler, recorder):
    folder = recorder.folder()
    side = folder / ".out.seep.events"
    with start_recorded(
        folder, compiler.build("steps.c"), "ready", "wait", "+red:5:10", "wait",
        options=["--events"],
    ) as program:
        program.said(b"ready\n")
        program.say()
        wait_until(
            lambda: side.exists() and side.stat().st_size > HEADER_BYTES,
            "the first batch",
            deadline=20,
        )
        wait_until(
            lambda: len([r for r in rows(side) if r["size"] == "10"]) == 5,
            "the events",
            deadline=20,
        )
        program.say()
        program.finish()
    assert not side.exists()


def test_a_log_without_events_says_so(compiler, recorder):
    seen = recorder.record(compiler.build("steps.c"), "+red:3:100", options=["--events"])
    empty = seen.folder / ".empty.seep.events"
    empty.write_bytes((seen.folder / "out.seep").read_bytes()[:HEADER_BYTES])
    assert "no event has been written yet" in ask("events", empty, status=2).stderr


def test_what_an_observer_that_was_killed_leaves_can_be_read(compiler, recorder):
    """The observer is killed in the middle; the program goes on, and the batches so far are in a
    hidden file."""
    folder = recorder.folder()
    side = folder / ".out.seep.events"
    observer = subprocess.Popen(
        [
            SEEP, "record", "-q", "--events", "-o",
            folder / "out.seep",
            compiler.build("steps.c"), "spin:300", "ready", "wait", "+red:5:10",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    )
    try:
        assert observer.stdout.readline().strip() == b"ready"
        wait_until(
            lambda: side.exists() and side.stat().st_size > 300,
            "a batch in the side file",
            process=observer,
        )
    finally:
        end_process(observer, signal.SIGKILL)
    observer.stdin.close()
    assert observer.stdout.read() == b""
    shown = ask("events", "--csv", side)
    assert len(shown.stdout.splitlines()) > 1000
    assert "events only" in shown.stderr and "it was not closed" in shown.stderr
    left = side.read_bytes()
    assert f"`seep events {side}` prints it" in ask("report", side, status=4).stderr
    again = subprocess.run(
        [
            SEEP, "record", "-q", "--events", "-o",
            folder / "out.seep",
            compiler.build("steps.c"),
            "+red:5:10",
        ],
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert again.returncode == 0
    assert side.read_bytes() == left
    assert [f.name for f in folder.iterdir() if f.name.endswith(".events")] == [side.name]
    assert [line["size"] for line in rows(folder / "out.seep") if line["size"] == "10"] == [
        "10"
    ] * 5


def test_a_log_that_a_killed_observer_left_goes_when_its_recording_is_replaced(compiler, recorder):
    """With -f, also by a recording without events; not the log of somebody who records to the
    same name just now."""
    folder, steps = recorder.folder(), compiler.build("steps.c")
    file, side = folder / "out.seep", folder / ".out.seep.events"
    killed_observer(
        compiler,
        folder,
        "+red:5:100",
        until=lambda: file.exists() and side.stat().st_size > HEADER_BYTES,
    )
    with start_recorded(
        folder, steps, "ready", "wait", "+red:5:10", options=["-f", "--events"]
    ) as program:
        program.said(b"ready\n")
        ask("record", "-q", "-f", "-o", file, steps, "+green:2:20")
        assert sorted(f.name for f in folder.glob(".*")) == [".out.seep.2.events"]
        program.say()
        program.finish()
    assert list(folder.glob(".*")) == []
    assert [line["size"] for line in rows(file) if line["size"] == "10"] == ["10"] * 5
    (folder / ".out.seep.3.events").write_bytes(file.read_bytes())
    ask("record", "-q", "-f", "-o", file, steps, "+green:2:20")
    assert list(folder.glob(".*")) == []


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


def test_events_of_a_recording_that_was_cut_short_are_found_and_have_names(
    compiler, recorder, tmp_path
):
    folder = recorder.folder()
    file, side = folder / "out.seep", folder / ".out.seep.events"

    def is_logged():
        """Also while it is recorded the log can be read."""
        return (
            file.exists()
            and subprocess.run(
                [SEEP, "events", "-q", file],
                capture_output=True,
                env=clean_environment(),
                timeout=DEADLINE,
            ).stdout.count(b"-100 ")
            == 2
        )

    killed_observer(compiler, folder, "+red:5:100", "+green:3:70", "-red:2", until=is_logged)
    shown = ask("events", "--csv", file)
    assert (
        f"{file} is incomplete" in shown.stderr
        and str(side) in shown.stderr
        and "the log ends here" in shown.stderr
    )
    lines = list(csv.DictReader(shown.stdout.splitlines()))
    assert [
        row["size"] for row in lines if row["what"] == "alloc" and row["size"] in ("100", "70")
    ] == ["100"] * 5 + ["70"] * 3
    assert all(
        "red" in row["stack"] for row in lines if row["size"] == "100" and row["what"] == "alloc"
    )
    for words in ("report",), ("info",), ("leaks", "-o", "-"):
        told = subprocess.run(
            [SEEP, *words, file],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        ).stderr
        assert f"'seep events {file}' prints all events, which are in {side}" in told
    assert "cut short" not in ask("events", "-q", file).stderr
    # Somewhere else, without what lay beside it.
    alone = tmp_path / "alone.seep"
    alone.write_bytes(file.read_bytes())
    assert (
        f"its event log is not in {tmp_path}/.out.seep.events"
        in ask("events", alone, status=2).stderr
    )
    assert "events" not in ask("report", alone).stderr
    # Before the first checkpoint there is nothing but the log.
    file.unlink()
    assert len(ask("events", "--csv", file).stdout.splitlines()) == len(lines) + 1
    assert f"'seep events {file}' prints them" in ask("report", file, status=4).stderr


def test_a_recording_cannot_name_any_file_as_its_log(compiler, recorder):
    """The name of the log comes with the recording, perhaps a stranger's: only a hidden file
    with the right ending, in the same directory."""
    folder = recorder.folder()
    file = folder / "out.seep"
    killed_observer(compiler, folder, "+red:5:100", until=file.exists)
    data = bytearray(file.read_bytes())
    section = next(s for s in format_reader.read(file).sections if s["type"] == 65)
    start = section["offset"] + 32
    body = data[start:start + section["stored_bytes"]]
    assert section["stored_bytes"] == section["raw_bytes"] and body.endswith(b".out.seep.events")
    for name in b"./../x/a.events!", b"/etc/abc/.events", b"out.seep.events!", b".out.seep.event!":
        body[-16:] = name
        data[start:start + len(body)] = body
        struct.pack_into("<I", data, start - 8, zlib.crc32(body))
        struct.pack_into("<I", data, start - 4, zlib.crc32(data[start - 32:start - 4]))
        file.write_bytes(data)
        ask("events", file, status=2)


# ---- memory ----


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
