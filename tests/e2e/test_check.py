# SPDX-License-Identifier: MIT
"""`seep check`: budgets on programs and recordings, what their breaking says, baselines, the
exit status."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from checker import Checker, broken
from harness import DEADLINE, SEEP, clean_environment, end_process, run


@pytest.fixture
def check(compiler, tmp_path):
    return Checker(tmp_path, compiler.build("budgets.c"))


def test_a_clean_program_passes_and_leaves_nothing(check):
    done = check.of([], "keep:100", "peak:1000", "say:hello")
    assert (done.status, done.stdout) == (0, b"hello\nall 2 budgets kept\n"), done.stderr
    assert done.stderr == b""
    assert list(check.temporary.iterdir()) == [] and list(check.folder.glob("*.seep")) == []


def test_a_temporary_folder_that_is_not_there_is_no_obstacle(check):
    done = check.of([], "say:hello", env={"TMPDIR": str(check.folder / "nowhere")})
    assert (done.status, done.stdout, done.stderr) == (0, b"hello\nall 2 budgets kept\n", b"")


def test_what_a_check_that_was_killed_leaves_is_gone_when_the_next_one_begins(compiler, check):
    """Of one that runs, or that has kept a recording because it broke a budget, nothing is
    taken; nor is a link followed."""
    steps = compiler.build("steps.c")
    check.of([], "lose:3:10")
    kept = {path: path.read_bytes() for path in check.left()}
    assert len(kept) == 1
    elsewhere = check.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".running").touch()
    (check.temporary / "seep-check-linked").symlink_to(elsewhere)

    def begin():
        tool = subprocess.Popen(
            [SEEP, "check", "-q", "--", steps, "+red:1:10", "ready", "wait"],
            cwd=check.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=clean_environment({"TMPDIR": str(check.temporary)}),
            text=True,
        )
        assert tool.stdout.readline() == "ready\n"
        return tool

    killed = begin()
    folder = next(
        path.parent for path in check.temporary.rglob(".running") if not path.parent.is_symlink()
    )
    (folder / ".some.seep.events").touch()
    end_process(killed, signal.SIGKILL)
    killed.stdin.close()
    assert killed.stdout.read() == "" and folder.exists()
    running = begin()
    assert not folder.exists()
    assert check.of([], "keep:100").status == 0
    assert running.communicate("go\n", timeout=DEADLINE)[0] == "" and running.returncode == 0
    assert {
        path: path.read_bytes() for path in check.left() if path.parent.name != "seep-check-linked"
    } == kept
    assert (elsewhere / ".running").exists()


def test_leaks_break_the_default_budget(check):
    done = check.of([], "lose:3:10", "say:hello", "keep:77")
    size, blocks = done.truth.leaks["lose_block"]["definite"]
    assert done.status == 1
    assert broken(done)[0] == {
        "--max-leaks 0": f"{blocks} blocks lost ({size} B); by lose_block [programs/budgets.c:"
        + re.search(r"budgets.c:(\d+)\]", done.stdout.decode()).group(1)
        + "]"
    }
    assert done.stdout.startswith(b"hello\n")
    assert f"{size} B in {blocks} blocks definitely lost".encode() in done.stdout
    assert (
        b"\n     lose_block [programs/budgets.c:" in done.stdout
        and b"\n     main [programs/budgets.c:" in done.stdout
    )
    assert b"keep_block" not in done.stdout


def test_what_hangs_on_a_lost_block_counts(check):
    done = check.of(["--max-leaks", "2", "--max-leaked", "127"], "group")
    truth = done.truth.leaks["lose_group"]
    assert truth == {"definite": (64, 1), "indirect": (64, 2)}
    assert {k: v.split(";")[0] for k, v in broken(done)[0].items()} == {
        "--max-leaks 2": "3 blocks lost (128 B)",
        "--max-leaked 127": "128 B lost",
    }
    assert check.of(["--max-leaks", "3", "--max-leaked", "128"], "group").status == 0


def test_the_culprit_is_who_lost_most_with_what_hangs_on_it(compiler, check):
    source = check.folder / "culprit.c"
    source.write_text("""
        #include <stdlib.h>
        struct node { struct node *next; };
        static struct node *item(struct node *next) { struct node *n = calloc(1, 40);
            n->next = next; return n; }
        static void **open_list(void) { void **list = malloc(16); struct node *n = 0;
                for (int i = 0; i < 50; i++) n = item(n);
                list[0] = n; return list; }
        static void *other(void) { return malloc(500); }
        int main(void) { void *volatile lost = open_list(); lost = other(); lost = 0;
            return lost != 0; }
    """)
    done = check("--", compiler.build(str(source)))
    line = broken(done)[0]["--max-leaks 0"]
    assert re.fullmatch(r"52 blocks lost \(2\.5 KiB\); most by open_list \[.*culprit\.c:\d+\] \(51 "
                        r"blocks, 2\.0 KiB\)", line), done.stdout


def test_outside_of_the_source_tree_the_program_is_named(compiler, check):
    source = check.folder / "copies.c"
    source.write_text("""
        #include <string.h>
        static void copy(void) { char *volatile lost = strdup("lost"); lost = 0; (void)lost; }
        int main(void) { copy(); return 0; }
    """)
    elsewhere = check.folder / "elsewhere"
    elsewhere.mkdir()
    done = check("--source-root", elsewhere, "--", compiler.build(str(source)))
    assert re.search(r"; by copy \[", broken(done)[0]["--max-leaks 0"]), done.stdout


@pytest.mark.parametrize(
    "option,fact", [("--max-peak", "peak"), ("--max-live", "live"), ("--max-allocs", "allocs")]
)
def test_limits_are_exact(check, option, fact):
    steps = "peak:5000", "keep:300", "lose:2:50", "render:7"
    exact = check.of(["--max-peak", "1G"], *steps).truth.facts[fact]
    assert exact > 5
    assert check.of([option, str(exact)], *steps).status == 0
    done = check.of([option, str(exact - 1)], *steps)
    assert done.status == 1
    assert list(broken(done)[0]) == [f"{option} {exact - 1}"]


UNJUDGED = b"not checked: leaks and invalid frees (--max-leaks 0 --max-bad-frees 0)\n"


def test_only_the_budgets_that_were_given_are_judged(check):
    """... and that is said."""
    done = check.of(["--max-peak", "1M"], "lose:3:10")
    assert (done.status, done.stdout) == (0, UNJUDGED + b"1 budget kept\n")
    for budget, rest in (
        (["--max-leaked", "1M"], b"not checked: invalid frees (--max-bad-frees 0)\n"),
        (["--max-bad-frees", "0"], b"not checked: leaks (--max-leaks 0)\n"),
    ):
        assert rest in check.of(budget, "lose:3:10").stdout
    done = check.of(["--max-bad-frees", "0", "--max-leaks", "3"], "lose:3:10")
    assert b"not checked" not in done.stdout


def test_each_broken_budget_is_one_line(check):
    done = check.of(
        [
            "--max-peak", "1", "--max-live", "1", "--max-allocs", "1", "--max-leaked", "1",
            "--max-leaks", "1", "--max-bad-frees", "0",
        ],
        "lose:3:10",
    )
    assert list(broken(done)[0]) == [
        "--max-peak 1", "--max-live 1", "--max-allocs 1", "--max-leaked 1", "--max-leaks 1",
    ]
    assert b"5 of 6 budgets broken\n" in done.stdout


def test_no_allocation_below_a_function(check):
    done = check.of(["--no-alloc-in", "^audio_", "--no-alloc-in", "^keep"], "render:12", "peak:100")
    assert done.status == 1
    said, _ = broken(done)
    assert list(said) == ["--no-alloc-in '^audio_'"]
    assert said["--no-alloc-in '^audio_'"].startswith("12 allocations; by mix [programs/budgets.c:")
    stack = re.search(
        r"12 allocations where --no-alloc-in '\^audio_' allows none, 576 B\n((?:     .*\n)+)",
        done.stdout.decode(),
    ).group(1)
    assert re.findall(r"^     (\w+) ", stack, flags=re.M) == ["mix", "audio_render", "step", "main"]


def test_functions_are_found_by_their_names_without_parameters(compiler, check):
    program = compiler.build("releases.cpp")
    assert check("--no-alloc-in", "^by_new$", "--", program, "mismatched").status == 1
    assert check("--no-alloc-in", "^by_new_$", "--", program, "mismatched").status == 0


def test_a_function_that_is_not_there_is_told(check):
    done = check.of(
        ["--no-alloc-in", "^audio_", "--no-alloc-in", "^adio_"], "peak:100", "run", "peak:1"
    )
    assert done.status == 0
    assert re.findall(
        r"^--no-alloc-in '(.*)' matches no function of the program",
        done.stdout.decode(),
        flags=re.M,
    ) == ["^adio_"]


def test_a_wrong_expression_is_shown_before_the_program_runs(check):
    done = check.of(["--no-alloc-in", "audio_("], "say:hello")
    assert (done.status, done.stdout) == (2, b"")
    assert b"--no-alloc-in: not a regular expression" in done.stderr and b"^" in done.stderr


def test_wrong_releases_break_the_default_budget(compiler, check):
    done = check("--", compiler.build("releases.cpp"), "mismatched")
    count = sum(n for _, _, n in done.truth.mismatches)
    assert done.status == 1
    assert broken(done)[0]["--max-bad-frees 0"].startswith(f"{count} invalid frees; most by to_")
    assert re.search(rb"memory of new freed by free or realloc, 3 times, of 33 B\n     "
                     rb"to_free.*\n     mismatched.*\n     main.*\n   allocated by\n     by_new",
                     done.stdout)
    assert (
        check(
            "--max-bad-frees", str(count), "--", compiler.build("releases.cpp"), "mismatched"
        ).status
        == 0
    )


# ---- the exit status ----

def test_the_status_of_the_program_is_passed_on_when_all_is_kept(check):
    done = check.of([], "exit:7")
    assert done.status == 7
    assert re.search(rb"^seep: .*budgets itself ended with status 7$", done.stderr, flags=re.M)


def test_a_large_status_is_no_signal(check):
    done = check.of([], "exit:255")
    assert done.status == 255
    assert re.search(rb"^seep: .*budgets itself ended with status 255$", done.stderr, flags=re.M)


def test_signals_are_the_programs_own(check):
    done = check("--max-peak", "1G", "--", "sh", "-c", "kill -USR1 $$; echo survived")
    assert (done.status, done.stdout) == (128 + signal.SIGUSR1, UNJUDGED + b"1 budget kept\n")
    assert list(check.folder.glob("*.memlog")) == []


def test_a_broken_budget_wins_over_the_status_of_the_program(check):
    assert check.of([], "lose:1:1", "exit:7").status == 1
    assert check.of(["--error-exitcode", "42"], "lose:1:1", "exit:7").status == 42


def test_error_exitcode_0_only_tells(check):
    done = check.of(["--error-exitcode", "0"], "lose:1:1")
    assert done.status == 0 and broken(done)[0]
    assert check.of(["--error-exitcode", "0"], "lose:1:1", "exit:7").status == 7


@pytest.mark.parametrize("step,number", [("abort", signal.SIGABRT), ("kill", signal.SIGKILL)])
def test_a_program_that_is_killed_fails(check, step, number):
    done = check.of(["--max-peak", "1M"], step)
    assert done.status == 128 + number
    assert re.search(
        rf"itself was killed by signal {int(number)}$".encode(), done.stderr, flags=re.M
    )


@pytest.mark.parametrize("step,name", [("kill", "SIGKILL")])
def test_leaks_that_could_not_be_searched_for_are_no_success(check, step, name):
    done = check.of(["--max-leaked", "1G"], step)
    assert done.status == 1
    said = broken(done)[0]["--max-leaked 1G"]
    assert said.startswith("not searched for leaks: ") and name in said


def test_a_program_that_cannot_be_recorded_is_no_success(compiler, check):
    static = compiler.build("known.c", flags=("-O0", "-static"), name="known-static")
    assert check("--engine=preload", "--", static).status == 3
    assert check("--", check.folder / "no-such-program").status == 127
    assert check("--", Path(__file__)).status == 126


def test_a_program_that_was_not_recorded_is_not_judged_by_its_children(compiler, check):
    static = compiler.build("budgets.c", flags=("-O0", "-static"), name="budgets-static")
    child = {"BUDGETS_CHILD": str(check.program)}
    done = check("--engine=preload", "--", "env", static, "run", "keep:1", env=child)
    assert done.status == 3 and b"the last program that env ran was not recorded" in done.stderr
    assert (
        check(
            "--engine=preload", "--process", "budgets$", "--", "env", static, "run", "keep:1",
            env=child,
        ).status
        == 0
    )
    assert (
        check(
            "--engine=preload", "--process", "budgets$", "--", "env", static, "run", "lose:1:1",
            env=child,
        ).status
        == 1
    )


# ---- children ----

def test_a_child_that_leaks_is_named(check):
    done = check.of([], "say:parent", "run", "lose:2:9", "say:child")
    said, pids = broken(done)
    assert done.status == 1 and said["--max-leaks 0"].startswith("2 blocks lost (18 B)")
    kept = check.left()
    assert [re.search(r"\.(\d+)(\.2)?\.seep", f.name).group(1) for f in kept] == [
        str(pid) for pid in pids
    ]
    assert f"recording kept: {kept[0]}\n".encode() in done.stderr
    assert b"(2 processes)" in done.stdout


def test_a_child_that_crashed_is_told(check):
    done = check.of([], "say:parent", "run", "abort")
    assert re.search(
        rf"^seep: {check.program} \(pid \d+\) was ended by SIGABRT$".encode(),
        done.stderr,
        flags=re.M,
    )
    assert b"was ended by" not in check.of([], "say:parent", "run", "say:child").stderr
    assert b"was ended by" not in check.of(["-q"], "say:parent", "run", "abort").stderr


def test_a_child_that_became_what_is_not_recorded_is_told(compiler, check):
    static = compiler.build("budgets.c", flags=("-O0", "-static"), name="budgets-static")
    assert check("--", "sh", "-c", f"env {static} lose:1:1; true").status == 1
    done = check("--engine=preload", "--", "sh", "-c", f"env {static} lose:1:1; true")
    assert done.status == 0 and re.search(
        rb"^seep: .*env \(pid \d+\) became a program that was not recorded", done.stderr, flags=re.M
    )
    assert b"became" not in check("--", "sh", "-c", f"env A=1 {check.program} keep:1; true").stderr


def test_budgets_are_for_one_process(check):
    steps = "keep:600", "run", "keep:600"
    assert check.of(["--max-peak", "600"], *steps).status == 0
    done = check.of(["--max-peak", "599"], *steps)
    assert len(broken(done)[1]) == 2 and len(set(broken(done)[1])) == 2


def test_children_that_are_not_followed_are_not_judged(check):
    assert check.of(["--follow", "none"], "run", "lose:2:9").status == 0


def test_processes_can_be_chosen(check):
    other = check.folder / "helper"
    other.write_text(f"#!/bin/sh\n{check.program} lose:1:10\nexit 0\n")
    other.chmod(0o755)
    assert check("--process", "budgets$", "--", other).status == 1
    assert (
        check("--process", "/sh$|dash$|bash$|helper$", "--max-allocs", "100000", "--", other).status
        == 0
    )
    done = check("--process", "no such", "--", other)
    assert done.status == 3 and b"nothing was checked" in done.stderr


# ---- recordings ----

def test_recordings_are_kept_where_the_user_says(check):
    done = check.of(["-o", "kept.seep"], "keep:10")
    assert done.status == 0
    assert (check.folder / "kept.seep").exists() and check.left() == []
    again = check.of(["-o", "kept.seep"], "keep:10", "say:ran")
    assert again.status == 2 and b"ran" not in again.stdout


def test_recordings_can_be_judged_later(check):
    for name, steps in {"clean.seep": ["keep:10"], "lossy.seep": ["lose:4:25"]}.items():
        assert (
            run([SEEP, "record", "-q", "-o", name, check.program, *steps], cwd=check.folder).status
            == 0
        )
    assert check("clean.seep").status == 0
    done = check("clean.seep", "lossy.seep", "--max-leaks", "3")
    assert done.status == 1 and broken(done)[0]["--max-leaks 3"].startswith("4 blocks lost (100 B)")
    os.utime(check.folder / "lossy.seep")
    assert check().status == 1  # the newest
    assert check("--max-peak", "100", "lossy.seep").status == 0
    assert check("--max-peak", "99", "lossy.seep").status == 1


def test_wrong_words_are_refused(check):
    for words, text in {
        ("-o", "x", "a.seep"): "-o is for",
        ("a.seep", "--", "true"): "not both",
        ("--",): "which program",
        ("--max-peak", "much", "a"): "--max-peak needs a size",
        ("--max-leaks", "1M", "a"): "--max-leaks needs a number",
        ("--error-exitcode", "300", "a"): "up to 255",
        ("--annotate", "all", "a"): "--annotate is auto",
    }.items():
        done = check(*words)
        assert done.status == 2 and text in done.stderr.decode(), words
    (check.folder / "text").write_text("no recording\n")
    assert check("text").status == 4
    assert check("missing.seep").status == 4
    done = check(check.program)
    assert done.status == 4 and f"seep check -- {check.program}" in done.stderr.decode()


def test_stacks_that_are_too_short_keep_no_function_clean(check):
    for depth in (3, 30):
        assert (
            run(
                [
                    SEEP, "record", "-q", "-d", str(depth), "-o", f"{depth}.seep", check.program,
                    "keep:10",
                ],
                cwd=check.folder,
            ).status
            == 0
        )
    done = check("--no-alloc-in", "^audio_", "3.seep")
    assert (
        done.status == 1
        and "stacks too short to tell (--depth)" in broken(done)[0]["--no-alloc-in '^audio_'"]
    )
    assert broken(check("--no-alloc-in", "^keep_block", "3.seep"))[0][
        "--no-alloc-in '^keep_block'"
    ].startswith("1 allocation; by keep_block")
    assert check("--no-alloc-in", "^audio_", "30.seep").stdout == UNJUDGED + b"1 budget kept\n"


def test_a_cut_recording_keeps_no_budget(check):
    assert (
        run(
            [SEEP, "record", "-q", "-o", "a.seep", check.program, "keep:10"], cwd=check.folder
        ).status
        == 0
    )
    whole = (check.folder / "a.seep").read_bytes()
    (check.folder / "a.seep").write_bytes(whole[:-40])
    done = check("--max-peak", "1G", "a.seep")
    assert done.status == 1 and b"the recording is cut short" in done.stdout


# ---- what does not count ----

def test_a_baseline_lists_places_once_and_sorted(check):
    done = check.of(["--write-baseline", "known.txt"], "other:2:7", "lose:3:10", "group", "keep:5")
    assert done.status == 0, done.stdout
    lines = [
        x for x in (check.folder / "known.txt").read_text().splitlines() if not x.startswith("#")
    ]
    names = [x.split(" ", 3)[3] for x in lines]
    assert names == sorted(names)
    assert names == [
        "lose_block < lose < step < main",
        "lose_group < group < step < main",
        "lose_other < lose < step < main",
    ]
    assert [re.fullmatch(r"leak [0-9a-f]{16} (\d+B) \w.*", x)[1] for x in lines] == [
        "30B",
        "128B",
        "14B",
    ]
    assert done.stderr == b"seep: 3 places written to known.txt\n"
    assert check.of(["-q", "--write-baseline", "known.txt"], "lose:3:10").stderr == b""


def test_known_places_do_not_count_and_new_ones_do(check):
    check.of(["--write-baseline", "known.txt"], "lose:3:10")
    more = check.of(["--baseline", "known.txt"], "lose:3:11")
    assert (
        more.status == 0 and b"known from the baseline: 1 place, 33 B in 3 blocks\n" in more.stdout
    )
    done = check.of(["--baseline", "known.txt"], "lose:3:10", "other:2:7")
    assert done.status == 1
    assert broken(done)[0]["--max-leaks 0"].startswith("2 blocks lost (14 B); by lose_other ")
    assert b"lose_block [" not in done.stdout
    gone = check.of(["--baseline", "known.txt"], "keep:1")
    assert gone.status == 0
    assert re.search(rb"in the baseline, but no longer found: leak [0-9a-f]{16} lose_block < lose "
                     rb"< step < main\n", gone.stdout)


def test_a_known_leak_that_grew_counts(check):
    """A baseline of version 1 has no amounts: there any amount is known."""
    check.of(["--write-baseline", "known.txt"], "lose:3:10")
    grown = check.of(["--baseline", "known.txt"], "lose:3000:10")
    assert grown.status == 1 and b"(more than the 30 B of the baseline)" in grown.stdout
    assert check.of(["--baseline", "known.txt", "--tolerance", "20%"], "lose:3:12").status == 0
    assert check.of(["--baseline", "known.txt", "--tolerance", "19"], "lose:3:12").status == 1
    assert check.of(["--tolerance", "much"], "keep:1").status == 2
    path = check.folder / "known.txt"
    path.write_text(path.read_text().replace("baseline 2", "baseline 1").replace(" 30B ", " "))
    assert check.of(["--baseline", "known.txt"], "lose:3000:10").status == 0


def test_with_json_the_output_of_the_program_is_on_stderr(check):
    done = check.of(["--json"], "say:hello", "lose:1:5")
    assert json.loads(done.stdout)["findings"]
    assert b"hello\n" in done.stderr and done.status == 1


def test_failed_processes_are_kept_where_the_user_wants_them(check):
    kept = check.folder / "kept"
    assert check.of(["--keep", "kept"], "keep:9").status == 0 and list(kept.iterdir()) == []
    (kept / "mine").touch()
    done = check.of(["--keep", "kept"], "lose:1:5", "run", "keep:7")
    names = sorted(path.name for path in kept.iterdir())
    assert done.status == 1 and len(names) == 2 and names[1] == "mine" and check.left() == []
    assert f"recording kept: kept/{names[0]}\n".encode() in done.stderr
    assert f"seep leaks kept/{names[0]}\n".encode() in done.stderr
    assert check.of(["--keep", "kept"], "abort").status == 134 and len(list(kept.iterdir())) == 3
    assert check("--keep", "kept").status == 2


def test_the_newest_recording_is_named(check):
    assert (
        run(
            [SEEP, "record", "-q", "-o", "old.seep", check.program, "keep:1"], cwd=check.folder
        ).status
        == 0
    )
    assert (
        b"seep: checked " in check().stderr
        and b"old.seep, the newest recording here\n" in check().stderr
    )
    assert check("-q").stderr == b"" and check("old.seep").stderr == b""


def test_resident_memory_and_growth_have_budgets(check):
    assert broken(check.of(["--max-rss", "1K"], "keep:1"))[0]["--max-rss 1K"].endswith(
        " of RSS at most"
    )
    assert check.of(["--max-rss", "1G"], "keep:1").status == 0
    freed = ["peak:10000"] * 3000
    assert check.of(["--max-rss", "12M"], *freed).status == 0
    # which is memory of the program
    assert check.of(["--max-rss", "12M", "--quarantine", "16M"], *freed).status == 1
    done = check.of(["--max-growth", "1M/h"], "keep:1")
    assert done.status == 1 and "too short" in broken(done)[0]["--max-growth 1M/h"]
    for rate in ("1M", "1M/x", "/s", "x/s"):
        assert check.of(["--max-growth", rate], "keep:1").status == 2


def test_lines_and_addresses_do_not_matter_to_a_baseline(compiler, check):
    check.of(["--write-baseline", "known.txt"], "other:1:7", "deep:3")
    shifted = compiler.build(
        "budgets.c",
        flags=("-O0", "-fno-builtin", "-g", "-DSHIFTED", "-fno-pie", "-no-pie"),
        name="budgets",
    )
    assert check("--baseline", "known.txt", "--", shifted, "other:1:7").status == 0
    assert check("--baseline", "known.txt", "--", shifted, "deep:9").status == 0
    assert check("--baseline", "known.txt", "--", shifted, "deep:1", "group").status == 1


def test_a_baseline_with_line_ends_of_other_systems(check):
    check.of(["--write-baseline", "known.txt"], "lose:3:10")
    path = check.folder / "known.txt"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert check.of(["--baseline", "known.txt"], "lose:3:10").status == 0
    assert (
        check.of(["--baseline", "known.txt", "--write-baseline", "known.txt"], "lose:3:10").status
        == 0
    )
    assert b"\r" not in path.read_bytes()


def test_a_baseline_without_names_is_told(compiler, check):
    bare = compiler.build("budgets.c", flags=("-O1", "-s"), name="budgets-bare")
    for option in ("--write-baseline", "--baseline"):
        done = check(option, "known.txt", "--", bare, "lose:1:1")
        assert done.status == 0 and b"has no names and is known by its module alone" in done.stdout
    check.of(["--write-baseline", "named.txt"], "lose:1:1")
    assert b"no names" not in check.of(["--baseline", "named.txt"], "lose:1:1").stdout


def test_wrong_releases_that_do_not_count_are_counted(compiler, check):
    program = compiler.build("releases.cpp")
    done = check("--write-baseline", "known.txt", "--", program, "mismatched")
    count = sum(n for _, _, n in done.truth.mismatches)
    assert re.search(
        rf"^known from the baseline: \d+ places, {count} invalid frees$".encode(),
        done.stdout,
        flags=re.M,
    )
    (check.folder / "rules").write_text("{\n  all\n  Memcheck:Free\n  ...\n  fun:main\n}\n")
    done = check("--suppressions", "rules", "--", program, "mismatched")
    assert done.status == 0 and re.search(
        rb"^suppressed: \d+ invalid frees$", done.stdout, flags=re.M
    )


def test_a_recording_is_a_baseline(check):
    assert (
        run(
            [SEEP, "record", "-q", "-o", "old.seep", check.program, "lose:5:5", "other:1:1"],
            cwd=check.folder,
        ).status
        == 0
    )
    assert check.of(["--baseline", "old.seep"], "lose:5:5").status == 0
    assert check.of(["--baseline", "old.seep"], "lose:6:5").status == 1
    assert check.of(["--baseline", "old.seep"], "lose:5:5", "group").status == 1


def test_no_baseline_is_made_of_what_was_not_searched(check):
    done = check.of(["--write-baseline", "known.txt"], "lose:1:1", "kill")
    assert done.status == 1 and b"no baseline was written" in done.stderr
    assert not (check.folder / "known.txt").exists()


def test_baselines_that_are_none_are_refused_before_the_program_runs(check):
    (check.folder / "wrong.txt").write_text("# seep baseline 1\nleak nonsense\n")
    (check.folder / "other.txt").write_text("hello\n")
    for name, status in {"wrong.txt": 4, "other.txt": 4, "missing.txt": 2}.items():
        done = check.of(["--baseline", name], "say:ran")
        assert (done.status, done.stdout) == (status, b""), name
        assert name.encode() in done.stderr


def test_suppressed_leaks_do_not_count_and_idle_rules_are_named(check):
    (check.folder / "rules").write_text("leak:lose_other\nleak:no_such_function\n")
    done = check.of(["--suppressions", "rules"], "other:2:7")
    assert done.status == 0
    assert b"suppressed: 14 B in 2 blocks\n" in done.stdout
    assert b"unused suppression: rules:2: leak:no_such_function\n" in done.stdout
    done = check.of(["--suppressions", "rules"], "other:2:7", "lose:1:1")
    assert broken(done)[0]["--max-leaks 0"].startswith("1 block lost (1 B)")
    (check.folder / "rules").write_text("nonsense\n")
    done = check.of(["--suppressions", "rules"], "say:ran")
    assert (done.status, done.stdout) == (2, b"")


# ---- forms ----

def test_json_has_everything(check):
    done = check.of(["--json", "--max-leaks", "1", "--max-peak", "1M"], "group", "run", "lose:1:9")
    told = json.loads(done.stdout)
    assert (done.status, told["seep"], told["ok"]) == (1, 1, False)
    assert len(told["processes"]) == 2
    verdicts = {(b["process"], b["budget"]): b for b in told["budgets"]}
    assert {(b["budget"], b["kept"]) for b in told["budgets"]} == {
        ("max-leaks", False),
        ("max-leaks", True),
        ("max-peak", True),
    }
    lossy = next(b for b in verdicts.values() if not b["kept"])
    assert (lossy["limit"], lossy["measured"]) == (1, 3)
    states = {(f["kind"], f["state"]): f for f in told["findings"]}
    assert set(states) == {
        ("definite-leak", "breaks"),
        ("indirect-leak", "breaks"),
        ("definite-leak", "allowed"),
    }
    head = states["definite-leak", "breaks"]
    assert (head["count"], head["bytes"], head["hanging_blocks"], head["hanging_bytes"]) == (
        1, 64, 2, 64,
    )
    assert [f["function"] for f in head["stack"]] == ["lose_group", "group", "step", "main"]
    assert head["stack"][head["place"]]["file"] == "programs/budgets.c"


def test_quiet_says_only_what_is_broken(check):
    assert check.of(["-q"], "keep:1").stdout == b""
    done = check.of(["-q"], "lose:2:2")
    assert done.stdout.count(b"\n") == 1 and b" breaks --max-leaks 0: " in done.stdout


def test_the_number_of_stacks_can_be_limited(check):
    done = check.of(["-n", "1"], "lose:1:100", "other:1:10", "group")
    assert done.stdout.count(b"\n     main [") == 1 and b"\n3 more (-n 4)\n" in done.stdout
