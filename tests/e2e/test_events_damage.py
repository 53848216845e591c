# SPDX-License-Identifier: MIT
"""Event logs that were cut off, that a killed observer left, that are in parts, or
that others planted."""
import csv
import re
import signal
import struct
import subprocess
import zlib

import pytest

import format_events
import format_reader
from event_logs import HEADER_BYTES, Replay, check_replay, killed_observer, log_bytes, rows
from harness import DEADLINE, SEEP, ask, clean_environment, end_process, wait_until
from plain import start_recorded


def test_a_program_that_is_killed_loses_no_event(compiler, recorder):
    seen = recorder.record(
        compiler.build("steps.c"), "+red:500:10", "-red:100", "+green:7:70", "kill",
        options=["--events"],
    )
    assert seen.status == 128 + signal.SIGKILL
    check_replay(seen)


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


def test_events_of_a_log_in_parts_are_named_by_their_numbers(compiler, recorder):
    program = compiler.build("random_trace.c")
    seen = recorder.record(
        program, 5, 1, 60000, options=["--events", "--max-file", "8k", "--max-files", "3"]
    )
    file = seen.folder / "out.seep"
    lines = rows(file)
    made, never_freed, freed = {}, {}, 0
    for line in lines:
        key = line["kind"] == "pool", line["address"]
        if line["what"] in ("alloc", "realloc-to"):
            made[line["event"]] = line["address"]
            never_freed[key] = line["event"]
        elif line["what"] in ("free", "realloc-from"):
            never_freed.pop(key, None)
            if line["of_event"] not in ("", "0"):
                freed += 1
                assert made[line["of_event"]] == line["address"]
    assert int(lines[0]["event"]) > 1000 and freed > 100 and never_freed
    shown = [line["event"] for line in rows(file, "--open")]
    assert shown == sorted(never_freed.values(), key=int)


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
