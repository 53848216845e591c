# SPDX-License-Identifier: MIT
"""Views of the report over a program whose stacks take a known course
(tests/programs/courses.cpp)."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from bench import Bench
from harness import DEADLINE, PROGRAMS, SEEP, clean_environment, wait_until
from pages import page_of

ROUNDS, LEAK, CACHE, START, TABLE, WALK = 240, 1000, 3000, 100000, 20024, 64
LIVE = START + TABLE + WALK + ROUNDS * LEAK + 10 * CACHE
CALLS = 2 * ROUNDS + 4
TOTAL = START + TABLE + WALK + ROUNDS * (LEAK + CACHE)
OWN = r"-i ^(start_up|leak|cache|table|walk)\b"  # without what the C++ library allocates for itself


def answer(file, *argv, **more):
    return subprocess.run(
        [SEEP, "report", "-q", *map(str, argv), str(file)],
        capture_output=True,
        text=True,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
        **more,
    )


def report(file, *argv):
    done = answer(file, *argv)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def recording(compiler, tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    program = compiler.build("courses.cpp")

    def was_even():
        """Growth is judged over time: a program that others held up for a large part of its run
        took another course."""
        done = subprocess.run(
            [SEEP, "record", "-q", "-f", "-o", folder / "courses.seep", program],
            capture_output=True,
            cwd=folder,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert done.returncode == 0, done.stderr
        longest, whole = map(int, done.stdout.split())
        return longest <= whole / 10
    wait_until(was_even, "a run that nothing held up for a tenth of its time")
    return folder / "courses.seep"


def number(text):
    return int(text.replace(",", ""))


def line_of(source, text):
    """The number of the line of a test program that holds a text."""
    return next(
        i for i, line in enumerate((PROGRAMS / source).read_text().splitlines(), 1) if text in line
    )


def entry_of(text, function):
    """The entry of --flat whose innermost function it is."""
    for entry in text.split("\n\n"):
        frames = [line for line in entry.splitlines() if line.startswith("        ")]
        if frames and re.match(rf"{function}\b", frames[0].strip()):
            return entry
    raise AssertionError(f"{function} is not in\n{text}")


# ---- wrappers ----

def test_wrappers_are_hidden_at_the_inner_end(recording):
    text = report(recording, "--flat", "--cost=live")
    assert "xmalloc" not in text and "operator new" not in text and "llocate(" not in text
    assert "not freed 234.4 KiB in 240 blocks" in entry_of(text, "leak")
    # which calls std::vector::reserve
    assert "std::" not in text and "by 1 call" in entry_of(text, "table")


def test_all_frames_shows_the_wrappers(recording):
    text = report(recording, "--flat", "--cost=live", "--all-frames")
    assert re.search(r"^ +xmalloc [^\n]*\n +leak\(\)", text, re.M), text
    assert "llocate(" in text


def test_the_list_of_wrappers_can_be_made_longer(recording):
    text = report(recording, "--flat", "--cost=live", "--hide=^walk", "--hide=^start_up")
    assert "walk(" not in text and "start_up" not in text and "leak()" in text
    assert "walk(" in report(recording, "--flat", "--cost=live", "--hide=^start_up")


def test_json_keeps_all_frames(recording):
    names = {frame["function"] for frame in json.loads(report(recording, "--json"))["frames"]}
    assert "xmalloc" in names


def test_hiding_changes_no_sum(recording):
    def total(*more):
        return number(
            re.match(
                r"not freed: ([\d,]+)B", report(recording, "--cost=live", *OWN.split(), *more)
            ).group(1)
        )
    assert total() == total("--all-frames") == total("--inverted") == LIVE


# ---- growth ----

def test_growth_tells_the_leak_from_the_cache_and_the_start(recording):
    text = report(recording, "--growth")
    assert re.search(
        r"^growth: 1 stack that grows [\d.]+ KiB/s in all; \d+ bounded, \d+ once$", text, re.M
    ), text
    first = text.split("\n\n")[2]
    assert first == entry_of(text, "leak") and re.match(r"   1\. [\d.]+ KiB/s +grows, by ", first)
    assert "bounded" in entry_of(text, "cache")
    assert "once" in entry_of(text, "start_up") and "once" in entry_of(text, "walk")


def test_the_rate_is_that_of_the_program(recording):
    seconds = json.loads(report(recording, "--json"))["duration_ms"] / 1000
    rate = (
        float(
            re.search(r"grows ([\d.]+) KiB/s", entry_of(report(recording, "--flat"), "leak")).group(
                1
            )
        )
        * 1024
    )
    assert ROUNDS * LEAK / seconds / 2 < rate < ROUNDS * LEAK / seconds * 2


def test_the_summary_marks_what_grows(recording):
    text = report(recording, "--summary")
    assert re.search(
        r"240 blocks +grows: leak courses.cpp:\d+[^\n]* \([\d.]+ KiB/s\)$", text, re.M
    ), text
    assert re.search(r"seep report --growth ", text)


# ---- time ----

def test_the_timeline_has_peak_axis_and_marks(recording):
    text = report(recording, "--timeline")
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80 and not [line for line in lines if line != line.rstrip()]
    assert re.match(r"heap: [\d.]+ KiB at most, at [^;]+; [\d.]+ KiB at the end$", lines[0])
    assert lines[1].endswith("P") and "#" in lines[2]
    marks = re.findall(r"^ +(\w+)  ([\d.]+ m?s) +([\d.]+ \w+)  (tag|snapshot) (\w+)$", text, re.M)
    assert [(m[0], m[3], m[4]) for m in marks] == [
        ("a", "tag", "ready"),
        ("1", "snapshot", "half"),
        ("b", "tag", "over"),
    ]
    half = (START + TABLE + WALK + (ROUNDS // 2 + 1) * LEAK + 10 * CACHE) / 1024
    # the C++ library has its own 72 KiB
    assert abs(float(marks[1][2].split()[0]) - half) < 100, marks
    at = {
        m[0]: m.start()
        for line in lines
        if re.fullmatch(r"[ a1b]{12,}", line)
        for m in re.finditer(r"\S", line)
    }
    ready, then, over = (
        float(m[1].split()[0]) * (1 if m[1].endswith("ms") else 1000) for m in marks
    )
    # where the run was held up two of them may be in one column
    assert at["a"] <= at["1"] <= at["b"]
    # "1.1 s" is rounded
    assert abs((at["1"] - at["a"]) - (at["b"] - at["a"]) * (then - ready) / (over - ready)) <= 5, (
        at,
        marks,
    )
    assert re.search(r"^RSS: [\d.]+ MiB at most", text, re.M)


def test_the_timeline_of_some_stacks_is_theirs(recording):
    text = report(recording, "--timeline", "-i", "leak")
    assert re.match(
        r"heap of the chosen stacks: 234\.4 KiB at most, at [^;]+; 234\.4 KiB at the end", text
    )
    assert "RSS" not in text


def test_the_timeline_of_a_range_begins_and_ends_there(recording):
    text = report(recording, "--timeline", "--range=ready..half")
    assert "tag ready" in text and "snapshot half" in text and "tag over" not in text


# ---- sizes and lifetimes ----

def classes(text):
    return {
        m[0]: number(m[1]) for m in re.findall(r"^ +([\d.]+ \w+) +([\d,]+) +[\d.]+ %", text, re.M)
    }


def test_sizes_of_all_calls_are_exact(recording):
    text = report(recording, "--sizes")
    found = classes(text)
    totals = json.loads(report(recording, "--json"))["totals"]
    assert re.match(r"sizes of all allocations: ([\d,]+) \(each call, whole process\)", text)
    assert sum(found.values()) == totals["allocations"]
    assert (
        found["512 B"] == ROUNDS
        and found["2.0 KiB"] == ROUNDS
        and found["16.0 KiB"] == 1
        and found["64 B"] >= 1
    )


def test_sizes_of_some_stacks_are_averages_or_blocks(recording):
    text = report(recording, "--sizes", "-i", "leak|cache")
    assert "by the average size of each stack" in text.splitlines()[0]
    assert {k: v for k, v in classes(text).items() if v} == {"512 B": ROUNDS, "2.0 KiB": ROUNDS}
    text = report(recording, "--sizes", "--cost=live", "-i", "leak|cache")
    assert "sizes of blocks not freed: 250 of 263.7 KiB in all (each block)" in text
    assert {k: v for k, v in classes(text).items() if v} == {"512 B": ROUNDS, "2.0 KiB": 10}


def test_lifetimes_count_each_freed_block(recording):
    text = report(recording, "--lifetimes")
    totals = json.loads(report(recording, "--json"))["totals"]
    assert sum(classes(text).values()) == totals["frees"] >= ROUNDS - 10
    assert number(re.search(r"not freed +([\d,]+)$", text, re.M).group(1)) == totals["live_blocks"]
    some = report(recording, "--lifetimes", "-i", "cache")
    assert (
        "by the average lifetime of each stack" in some
        and sum(classes(some).values()) == ROUNDS - 10
    )


# ---- places ----

def test_modules_have_what_their_functions_allocate(recording):
    text = report(recording, "--modules", "--cost=total", *OWN.split())
    row = next(line for line in text.splitlines() if line.endswith("/courses"))
    assert row.split()[:3] == ["100", "%", str(CALLS)]
    left_out = report(recording, "--modules", "--exclude-module=/courses$")
    assert not re.search(r"/courses$", left_out, re.M)


def test_callers_of_a_wrapper(recording):
    text = report(recording, "--callers=xmalloc", "--cost=live", *OWN.split())
    assert text.startswith(f"through xmalloc: {ROUNDS * LEAK:,}B of {LIVE:,}B (")
    assert re.search(r"xmalloc [^\n]*\n    -> 100\.00% \(240,000B, 240x\): leak\(\) [^\n]*\n      "
                     r"-> 100\.00% [^\n]*: main ", text)


def test_recursion_is_no_caller(recording):
    text = report(recording, "--callers=walk", "--cost=live")
    assert re.search(r"not freed: 64B\n  -> 100\.00% \(64B, 1x\): walk\(int\) [^\n]*\n    -> "
                     r"100\.00% \(64B, 1x\): main ", text)
    assert text.count("walk(int)") == 1


def test_a_line_that_recursion_left_empty_is_not_shown(compiler, recorder):
    done = recorder.record(compiler.build("places.c"), "9")
    text = report(done.profile.path, "--threshold=0")
    assert "place_11" in text and "odd" in text and "(0B, 0x)" not in text


def test_callers_by_expression(recording):
    text = report(recording, "--callers=^(leak|cac)", "--cost=live")
    assert text.startswith(f"through ^(leak|cac): {ROUNDS * LEAK + 10 * CACHE:,}B of ")


def test_source_lines_have_their_costs(recording):
    text = report(recording, "--source=courses.cpp", "--cost=live", *OWN.split())
    rows = {int(m[2]): (m[0].strip(), m[1].strip(), m[3]) for m in
            re.findall(r"^(.{11})(.{11}) +(\d+)(?:  (.*))?$", text, re.M)}
    leak = line_of("courses.cpp", "= xmalloc(1000)")
    inside = line_of("courses.cpp", "void *p = malloc(size)")
    assert rows[leak][:2] == ("", "234.4 KiB") and "xmalloc(1000)" in rows[leak][2]
    assert rows[inside][:2] == ("234.4 KiB", "234.4 KiB") and "malloc(size)" in rows[inside][2]
    # twice in its stack
    assert rows[line_of("courses.cpp", "walk(depth - 1);")][:2] == ("", "64 B")
    assert rows[line_of("courses.cpp", "malloc(100000)")][:2] == ("97.7 KiB", "97.7 KiB")


def test_source_text_from_elsewhere(recording, tmp_path):
    (tmp_path / "courses.cpp").write_text("\n" * 1000 + "// another text\n")
    text = report(recording, "--source=courses.cpp", "--cost=live", f"--debug-path={tmp_path}")
    assert "xmalloc(1000)" not in text and "newer than the recording" in text


def test_blocks_tell_when_and_by_which_thread(recording):
    text = report(recording, "--blocks", "-i", "leak")
    assert text.startswith(f"{ROUNDS} blocks not freed, {ROUNDS * LEAK:,} B\n")
    line = (r"^0x[0-9a-f]+ +1,000 B, at [\d.]+ m?s, age [\d.]+ m?s, thread courses \(\d+\), by "
            r"malloc\n    leak\(\) ")
    assert len(re.findall(line, text, re.M)) == ROUNDS


# ---- words ----

@pytest.mark.parametrize(
    "option", ["-i", "-x", "--module", "--exclude-module", "--thread", "--hide"]
)
def test_a_wrong_expression_is_pointed_at(recording, option):
    done = answer(recording, option, "a|b(c")
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"seep: {option}: ") and lines[0].endswith(", at character 4")
    assert lines[1:3] == ["seep:     a|b(c", "seep:        ^"]


@pytest.mark.parametrize(
    "words,told",
    [
        ("--summary -i leak", "--summary cannot be combined with -i"),
        ("--lifetimes --at=1ms", "--lifetimes cannot be combined with --at"),
        ("--timeline --thread=x", "--timeline cannot be combined with --thread"),
        ("--callers=nobody", "no function in these stacks"),
        ("--source=nothing.c", "no line of a file 'nothing.c'"),
        ("--sizes --timeline", "two views"),
        ("--group-by=size --at=50ms", "--group-by size cannot be combined with --at"),
        ("--group-by=thread --at=peak", "--group-by thread cannot be combined with --at"),
        (
            "--group-by=thread --range=1ms..50ms",
            "--group-by thread cannot be combined with --range",
        ),
        ("--memlog --sort=allocs", "--memlog has its own order; --sort is for"),
        ("--blocks --sort=allocs", "--blocks has its own order, live-bytes or age"),
    ],
)
def test_what_cannot_be_is_refused(recording, words, told):
    done = answer(recording, *words.split())
    assert (done.returncode, done.stdout) == (2, "") and told in done.stderr, done.stderr


@pytest.mark.parametrize(
    "key,first",
    [
        ("live-bytes", "leak"),
        ("alloc-bytes", "cache"),
        ("average", "start_up"),
        ("live-blocks", "leak"),
    ],
)
def test_keys_order_the_list(recording, key, first):
    text = report(recording, "--flat", f"--sort={key}", "-n", "1", *OWN.split())
    assert entry_of(text, first)


def test_a_key_names_the_cost_where_there_is_one_only(recording):
    for view in ("--tree", "--callers=leak", "--source=courses.cpp"):
        assert report(recording, view, "--sort=allocs") == report(recording, view, "--cost=allocs")


def test_a_narrow_terminal_gets_a_narrow_plot(recording):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        os.execve(
            SEEP,
            ["seep", "report", "--timeline", "-q", "--no-pager", str(recording)],
            clean_environment(),
        )
    seen = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        seen += more
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    lines = seen.decode().replace("\r", "").splitlines()
    assert len(lines) > 20 and max(map(len, lines)) <= 60
    assert max(map(len, lines)) == 59


@pytest.mark.parametrize("when", ["early", "late"])
def test_threads_one_after_the_other_are_told_apart_by_their_names(compiler, recorder, when):
    file = recorder.record(compiler.build("shifts.c"), when).folder / "out.seep"
    for number in range(1, 6):
        sites = json.loads(report(file, "--json", "--thread", f"shift-{number}$"))["sites"]
        assert sum(s["allocations"] for s in sites) == 100 * number + (when == "late")


MAPS = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) void *map_much(void) {
    return mmap(0, 48 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void) { char *p = map_much(); void *keep = malloc(70000); memset(p, 1, 48 << 20);
    return !keep; }
"""


def test_where_most_memory_is_mapped_that_comes_first(tmp_path):
    bench = Bench(tmp_path)
    (tmp_path / "maps.c").write_text(MAPS)
    bench.run("gcc", "-g", "-O0", "maps.c", "-o", "maps")
    bench.seep("record", "-q", "-o", "out.seep", "--", "./maps")
    summary = bench.seep("report", "--summary", "out.seep").stdout.splitlines()
    at = next(i for i, line in enumerate(summary) if line.startswith("  mapped "))
    assert "100 % of it: map_much" in summary[at + 1]
    tree = bench.seep("report", "-q", "out.seep").stdout
    assert (
        tree.startswith("mapped by mmap, at the peak of the heap: 50,331,648B\n")
        and "\n\npeak: 70,000B\n" in tree
    )
    assert (
        page_of("out.seep", cwd=tmp_path).data["recordings"][0]["totals"]["mostly_mapped"] is True
    )
