# SPDX-License-Identifier: MIT
"""seep top -n: screens for scripts, and what it refuses."""
import json
import re
import subprocess

import pytest

from harness import DEADLINE, SEEP, clean_environment, end_process, plain_name
from screens import ROW, Row, rows, screens, size, top
from watched import held, watched


def live_of(path, *options):
    """Bytes and blocks not freed by function, as the report tells them."""
    done = subprocess.run(
        [SEEP, "report", "--json", *options, str(path)],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    sums = {}
    for site in told["sites"]:
        if site["kind"] in ("mmap", "mremap") or not site["live_blocks"]:
            continue
        name = plain_name(told["frames"][site["stack"][0]]["function"])
        before = sums.get(name, (0, 0))
        sums[name] = (before[0] + site["live_bytes"], before[1] + site["live_blocks"])
    return sums


def test_a_running_program_holds_what_it_says(steps, recorder):
    with watched(
        recorder, steps, "+red:10:100", "+green:3:5", "-red:4", "ready", "wait", "+blue:7:9",
        "ready", "wait",
    ) as program:
        first = screens("--batch", 1, "--interval", "100ms", program.target)[0]
        program.say()
        program.said(b"ready\n", 2)
        second = screens(
            "--batch", 1, "--interval", "100ms", "--group-by", "function", program.target
        )[0]
        program.say()
        program.finish()
    assert held(first) == {"red": (600, 6), "green": (15, 3)}
    assert held(second) == {"red": (600, 6), "green": (15, 3), "blue": (63, 7)}
    assert (
        f"steps ({program.target})" in first.splitlines()[0]
        and "heap 615 " in first
        and "9 blocks" in first
    )
    assert "heap 678 " in second


def test_the_number_of_the_tool_will_do(steps, recorder):
    with watched(recorder, steps, "+red:10:100", "ready", "wait") as program:
        assert held(screens("--batch", 1, "--interval", "100ms", program.pid)[0]) == {
            "red": (1000, 10)
        }
        program.say()


def test_as_many_screens_as_asked_for_or_until_the_end(steps, recorder):
    with watched(recorder, steps, "+red:10:100", "ready", "wait") as program:
        assert len(screens("--batch", 3, "--interval", "100ms", program.target)) == 3
        endless = subprocess.Popen(
            [SEEP, "top", "--batch", "100000", "--interval", "100ms", str(program.target)],
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        endless.stdout.readline()
        program.say()
        out, err = endless.communicate(timeout=DEADLINE)
    assert endless.returncode == 0 and err == b"" and b"red" in out


def test_a_recording_is_the_report(steps, recorder):
    done = recorder.record(
        steps, "+red:10:100", "+green:20:7", "-red:2", "snapshot:middle", "+blue:5:3", "-green:0",
        "moment:end",
    )
    path = done.folder / "out.seep"
    assert held(screens("--batch", 1, "--group-by", "function", path)[0]) == live_of(path)
    assert held(
        screens("--batch", 1, "--group-by", "function", "--at", "middle", path)[0]
    ) == live_of(path, "--at", "middle")
    assert live_of(path, "--at", "middle")["green"] == (140, 20)
    several = screens("--batch", 4, "--group-by", "function", path)
    assert len(several) == 4 and held(several[3]) == live_of(path)


def test_order_limit_and_filters(steps, recorder):
    done = recorder.record(steps, "+red:2:400", "+green:20:7", "+blue:5:3", "moment:end")
    path = done.folder / "out.seep"

    def names(*options):
        return list(rows(screens("--batch", 1, *options, path)[0]))
    assert names() == ["red", "green", "blue"]
    assert names("-s", "live-blocks") == ["green", "blue", "red"]
    assert names("-n", 1) == ["red"]
    assert names("-i", "^green$") == ["green"]
    assert names("-i", "green", "-i", "blue") == ["green", "blue"]
    assert names("-x", "red", "-x", "blue") == ["green"]
    assert names("--exclude-module", "steps") == []
    assert names("--thread", "steps") == ["red", "green", "blue"]
    assert names("--thread", "no such") == []
    assert list(rows(screens("--batch", 1, "--group-by", "file", path)[0])) == [
        r for r in names("--group-by", "file") if "steps.c" in r
    ]


def test_stacks_that_look_the_same_are_one_row_with_its_number(recorder, compiler):
    """Each entry is two blocks, allocated below one line by two functions of the C++ library."""
    file = recorder.record(compiler.build("wordy.cpp"), "100").folder / "out.seep"
    found = [
        row
        for row in map(
            Row, filter(None, map(ROW.match, screens("--batch", 1, file)[0].splitlines()))
        )
        if row.name == "add_entry"
    ]
    assert [row.blocks for row in found] == [200]
    whole = [
        row
        for row in map(
            Row,
            filter(
                None, map(ROW.match, screens("--batch", 1, "--all-frames", file)[0].splitlines())
            ),
        )
        if row.blocks == 100
    ]
    assert len(whole) == 2 and all(row.name != "add_entry" for row in whole)
    for row in (*found, *whole):
        told = subprocess.run(
            [SEEP, "why", str(file), f"#{row.number}"],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert (
            told.returncode == 0
            and f"(site #{row.number})" in told.stdout
            and "add_entry" in told.stdout
        ), told.stderr


def test_groups_of_threads_and_sizes(steps, recorder):
    with watched(recorder, steps, "+red:10:100", "+green:20:7", "ready", "wait") as program:
        threads = screens(
            "--batch", 1, "--interval", "100ms", "--group-by", "thread", program.target
        )[0]
        sizes = screens("--batch", 1, "--interval", "100ms", "--group-by", "size", program.target)[
            0
        ]
        program.say()
    assert held(threads) == {"steps": (size("1.1K"), 30)}
    assert re.search(r"\n +1000 +\S+ +10 +- +\S+  up to 128 B\n", sizes) and re.search(
        r"\n +140 +\S+ +20 +- +\S+  up to 8 B", sizes
    )


def test_lines_are_as_wide_as_asked_and_plain(steps, recorder):
    done = recorder.record(steps, "+red:2:400", "moment:end")
    path = done.folder / "out.seep"
    for columns in (20, 40, 80, 132):
        text = top("--batch", 1, path, columns=columns, LC_ALL="C").stdout
        assert max(map(len, text.splitlines())) <= columns
        assert re.fullmatch(r"[ -~\n]*", text)
    whole = top("--batch", 1, path, columns=132).stdout.splitlines()[0]
    # what has no room is left out, not cut into another number
    for columns in range(whole.index("  heap") + 40, len(whole)):
        assert top("--batch", 1, path, columns=columns).stdout.splitlines()[0].split()[-1] in (
            "block",
            "blocks",
            whole.split("RSS ")[1].split()[0],
        )
    assert max(map(len, top("--batch", 1, path, columns="wide").stdout.splitlines())) <= 80
    assert (
        "▼LIVE" in top("--batch", 1, path).stdout
        and "*LIVE" in top("--batch", 1, path, LC_ALL="C").stdout
    )


def test_what_cannot_be_shown_is_told(steps, recorder, tmp_path):
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    try:
        done = top("--batch", 1, stranger.pid)
    finally:
        stranger.stdin.close()
        end_process(stranger)
    assert (
        done.returncode == 3
        and f"process {stranger.pid} is not being recorded" in done.stderr
        and done.stdout == ""
    )
    gone = top(stranger.pid)
    assert gone.returncode == 3 and "there is no process" in gone.stderr
    (tmp_path / "text").write_text("no recording\n")
    assert top("--batch", 1, tmp_path / "text").returncode == 4
    assert top("--batch", 1, tmp_path / "missing.seep").returncode in (2, 4)


@pytest.mark.parametrize(
    "words, told",
    [
        (("--batch", "0"), "a number from 1 on"),
        (("--batch", "many"), "a number from 1 on"),
        (("--interval", "1ms"), "at least 100 ms"),
        (("-i", "a[b"), "not a regular expression"),
        (("--sort", "colour"), "live-bytes"),
        (("a", "b"), "one process or recording"),
        (("--at", "end", "1"), "--at is for a recording"),
    ],
)
def test_wrong_words_are_told(words, told):
    done = top(*words)
    assert done.returncode == 2 and told in done.stderr and done.stdout == ""


def test_without_a_terminal_the_way_out_is_told(steps, recorder):
    path = recorder.record(steps, "+red:1:1").folder / "out.seep"
    done = top(path)
    assert done.returncode == 2 and "--batch N" in done.stderr and done.stdout == ""
