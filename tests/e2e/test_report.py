# SPDX-License-Identifier: MIT
"""The views and filters of the report, over a program whose numbers are known."""
import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, SEEP, Profile, ask, clean_environment

FUNCTIONS = {  # function: allocations, bytes, live blocks, live bytes, peak bytes, temporary
    "parse_big": (10, 100000, 10, 100000, 100000, 0),
    "parse_small": (100, 1000, 100, 1000, 1000, 0),
    "churn": (1000, 500000, 0, 0, 0, 1000),
    "peak_holder": (1, 2000000, 0, 0, 2000000, 1),
    "worker": (5, 3885, 5, 3885, 0, 0),
}
PEAK = 2101000


def report(file, *argv, env=None):
    done = subprocess.run(
        [SEEP, "report", *map(str, argv), str(file)],
        capture_output=True,
        text=True,
        env=clean_environment(env),
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def functions_in(text):
    return {name for name in FUNCTIONS if re.search(rf"\b{name}\b", text)}


@pytest.fixture(scope="module")
def recording(compiler, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    ask("record", "-q", "-o", folder / "known.seep", compiler.build("known.c"))
    return folder / "known.seep"


def test_json_has_every_number_of_every_function(recording):
    found = Profile(recording).by_function()
    for name, (allocs, total, blocks, live, peak, temporary) in FUNCTIONS.items():
        assert found[name] == {
            "allocations": allocs,
            "frees": allocs - blocks,
            "bytes_allocated": total,
            "live_blocks": blocks,
            "live_bytes": live,
            "peak_bytes": peak,
            "temporary": temporary,
        }
    assert Profile(recording).totals["peak_bytes"] == PEAK


TYPES = {
    "seep": int,
    "program": str,
    "args": list,
    "pid": int,
    "duration_ms": int,
    "complete": bool,
    "warnings": list,
    "exit": dict,
    "totals": dict,
    "leaks": dict,
    "sites": list,
    "frames": list,
    "threads": list,
    "snapshots": list,
    "errors": list,
}
TOTALS = [
    "allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes",
    "peak_blocks", "peak_ms", "peak_error_bytes", "temporary", "unknown_frees", "double_frees",
    "mismatched", "mmap_live_bytes", "rss_peak_bytes",
]
SITE = [
    "id", "allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes",
    "temporary", "leaked_blocks", "leaked_bytes", "leak", "kind", "stack",
]
FRAME = ["function", "file", "line", "module", "address", "inlined"]
THREAD = ["tid", "name", "allocations", "bytes_allocated", "live_bytes"]


def test_json_has_the_promised_shape(recording):
    data = Profile(recording).json
    assert {k: type(data.get(k)) for k in TYPES} == TYPES
    assert data["seep"] == 1
    assert all(isinstance(data["totals"][k], int) for k in TOTALS)
    assert data["exit"] == {"code": 0, "signal": None}
    assert all(k in s for s in data["sites"] for k in SITE)
    assert all(k in f for f in data["frames"] for k in FRAME)
    assert all(k in t for t in data["threads"] for k in THREAD)
    assert all(re.fullmatch(r"0x[0-9a-f]+", f["address"]) for f in data["frames"])
    assert all(0 <= i < len(data["frames"]) for s in data["sites"] for i in s["stack"])
    assert set(data["leaks"]) >= {"scanned", "definite", "indirect", "possible", "reachable"}


def test_sites_add_up_to_the_totals(recording):
    profile = Profile(recording)
    sums = profile.sum(profile.heap_sites())
    assert {k: profile.totals[k] for k in sums} == sums


def test_json_names_the_source_line(recording):
    profile = Profile(recording)
    (site,) = [s for s in profile.heap_sites() if profile.innermost(s) == "peak_holder"]
    frame = profile.frame(site["stack"][0])
    source = Path(frame["file"]).read_text().splitlines() if os.path.isabs(frame["file"]) else None
    assert frame["file"].endswith("known.c")
    assert source is None or "malloc(2000000)" in source[frame["line"] - 1]


def test_the_summary_names_peak_and_its_owner(recording):
    text = report(recording, "--summary")
    assert "peak_holder" in text and "2.0 MiB" in text
    assert len(text.splitlines()) <= 24


def test_the_tree_of_the_peak_shows_shares(recording):
    text = report(recording, "--tree", "--cost=peak")
    share = re.search(r"([\d.]+) ?%.*\bpeak_holder\b", text)
    assert share and abs(float(share.group(1)) - 100 * 2000000 / PEAK) < 0.1, text
    assert re.search(r"([\d.]+) ?%.*\bparse_big\b", text), text


def test_small_shares_are_summed_below_the_threshold(recording):
    text = report(recording, "--tree", "--cost=peak")
    assert "parse_small" not in text
    assert "parse_small" in report(recording, "--tree", "--cost=peak", "--threshold=0")


@pytest.mark.parametrize("cost,shown,hidden", [
    ("live", {"parse_big"}, {"churn", "peak_holder"}),
    ("total", {"churn", "peak_holder", "parse_big"}, {"parse_small"}),
    ("temporary", {"churn"}, {"parse_big", "worker"}),
    ("peak", {"peak_holder", "parse_big"}, {"churn", "worker"}),
])
def test_each_cost_shows_its_own_functions(recording, cost, shown, hidden):
    found = functions_in(report(recording, "--tree", f"--cost={cost}"))
    assert shown <= found and not hidden & found


def test_flat_lists_stacks_largest_first(recording):
    text = report(recording, "--flat", "--cost=live", "--threshold=0")
    assert text.index("parse_big") < text.index("worker") < text.index("parse_small")


def test_blocks_lists_each_live_block(recording):
    text = report(recording, "--blocks")
    assert len(re.findall(r"0x[0-9a-f]{6,}", text)) >= 115
    assert len(re.findall(r"\b777 B", text)) >= 5


def test_threads_are_named(recording):
    assert "seep-worker" in report(recording, "--threads")


@pytest.mark.parametrize("options,wanted", [
    (["-i", "parse"], {"parse_big", "parse_small"}),
    (["-i", "^load$"], {"parse_big", "parse_small"}),
    (["-x", "load"], {"churn", "peak_holder", "worker"}),
    (["-i", "parse", "-x", "small"], {"parse_big"}),
    (["--thread", "seep-worker"], {"worker"}),
    (["--module", "known"], set(FUNCTIONS)),
], ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_filters_choose_stacks(recording, options, wanted):
    assert (
        functions_in(report(recording, "--flat", "--cost=total", "--threshold=0", *options))
        == wanted
    )


def test_filters_apply_to_json_too(recording):
    data = json.loads(report(recording, "--json", "-i", "parse_big"))
    assert [s["bytes_allocated"] for s in data["sites"]] == [100000]


def test_limit_keeps_the_largest(recording):
    assert functions_in(report(recording, "--flat", "--cost=total", "-n", "1")) == {"peak_holder"}


def test_no_colour_and_no_pager_in_a_pipe(recording):
    assert "\x1b" not in report(
        recording, env={"TERM": "xterm-256color", "SEEP_PAGER": "false", "PAGER": "false"}
    )


def on_terminal(folder, argv, env):
    """Run on a terminal of its own and return all it wrote there."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(argv[0], argv, clean_environment(env))
    text = b""
    while True:
        try:
            more = os.read(terminal, 4096)
        except OSError:
            break
        if not more:
            break
        text += more
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), text


def test_colour_on_a_terminal_unless_refused(recording, tmp_path):
    argv = [str(SEEP), "report", "--no-pager", str(recording)]
    status, text = on_terminal(tmp_path, argv, {"TERM": "xterm-256color"})
    assert status == 0 and b"\x1b[" in text
    status, text = on_terminal(tmp_path, argv, {"TERM": "xterm-256color", "NO_COLOR": "1"})
    assert status == 0 and b"\x1b[" not in text


NAMES = r"""
#include <map>
#include <string>
#include <vector>

int main()
{
        auto *kept = new std::map<std::string, std::vector<std::string>>;

        for (int i = 0; i < 10; i++)
                (*kept)[std::to_string(i)].push_back(
                    "a text that is too long to be stored in the string");
        return 0;
}
"""


def test_names_fit_a_terminal_and_are_whole_elsewhere(compiler, tmp_path):
    (tmp_path / "names.cpp").write_text(NAMES)
    file = tmp_path / "names.seep"
    subprocess.run(
        [SEEP, "record", "-q", "-o", file, compiler.build(str(tmp_path / "names.cpp"))],
        check=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    views = [
        ["report", "-q", *view, "--all-frames", "--no-pager", "names.seep"]
        for view in (
            ["--cost=live"],
            ["--cost=live", "--inverted"],
            ["--flat", "--cost=live"],
            ["--blocks"],
            ["--group-by=function", "--cost=live"],
        )
    ]
    for view in [*views, ["diff", "-q", "--all-frames", "--no-pager", "names.seep@start", "@end"]]:
        status, text = on_terminal(tmp_path, [str(SEEP), *view], {"TERM": "dumb"})
        assert status == 0, text
        lines = text.decode().splitlines()
        assert max(map(len, lines)) <= 80, view
        named = "::allocate(" if "--group-by=function" in view else "::operator[]("
        assert any("std::" in line and "<" in line and named in line for line in lines), view
        whole = subprocess.run(
            [SEEP, *view],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert max(map(len, whole.stdout.splitlines())) > 120, view


def test_a_pager_on_a_terminal(recording, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\n")
    pager.chmod(0o755)
    status, _ = on_terminal(
        tmp_path, [str(SEEP), "report", str(recording)], {"SEEP_PAGER": str(pager), "TERM": "xterm"}
    )
    assert status == 0 and "peak_holder" in (tmp_path / "paged").read_text()


@pytest.fixture(scope="module")
def phases(compiler, tmp_path_factory):
    folder = tmp_path_factory.mktemp("phases")
    ask("record", "-q", "-o", folder / "phases.seep", compiler.build("known.c"), "600")
    return folder / "phases.seep"


def times_of(file):
    """When 3 MB and when 1 MB are held: times as words."""
    rows = subprocess.run([SEEP, "sql", "--json", file,
                           "SELECT t.ms FROM mark JOIN timeline t USING (slice) WHERE label = "
                           "'held' ORDER BY slice"],
                          capture_output=True, env=clean_environment(), timeout=DEADLINE)
    return [f"{row['ms']}ms" for row in json.loads(rows.stdout)]


@pytest.mark.parametrize(
    "at,held", [("first", 3000000), ("second", 1000000), ("peak", 3000000), ("end", 0)]
)
def test_any_moment_can_be_looked_at(phases, at, held):
    at = dict(zip(("first", "second"), times_of(phases))).get(at, at)
    text = report(phases, "--flat", "--cost=live", f"--at={at}", "--threshold=0")
    assert ("hold [" in text) == (held > 0)
    data = json.loads(report(phases, "--json", f"--at={at}"))
    profile = Profile(phases)
    live = [
        s["live_bytes"]
        for s in data["sites"]
        if "hold" in [data["frames"][i]["function"] for i in s["stack"][:1]]
    ]
    assert sorted(live)[-1] == held
    assert profile.by_function()["hold"]["live_bytes"] == 0


def test_a_range_shows_what_was_allocated_in_it(phases):
    text = report(
        phases, "--flat", "--cost=live", "--range=" + "..".join(times_of(phases)), "--threshold=0"
    )
    assert "hold [" in text and "parse_big" not in text


def answer(file, *argv):
    return subprocess.run(
        [SEEP, "report", *argv, str(file)],
        capture_output=True,
        text=True,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
    )


def test_a_range_shows_also_a_stack_that_only_freed(phases):
    text = report(phases, "--flat", "--range=" + "..".join(times_of(phases)))
    assert re.search(r"change -\d[^\n]*\n +hold \[", text), text


def test_a_moment_has_its_own_words(phases):
    text = report(phases, "--flat", "--at=" + times_of(phases)[0])
    assert (
        re.search(r"live at [\d.]+ m?s\b", text) and "not freed" not in text and "peak" not in text
    )


@pytest.mark.parametrize(
    "views",
    [
        "--json --flat", "--flat --tree", "--blocks --at=1ms", "--threads --range=1ms..2ms",
        "--summary --at=peak", "--group-by=function --json", "--inverted --flat",
        "--at=1ms --range=1ms..2ms", "--at=300ms --sort=age",
    ],
)
def test_options_that_contradict_are_refused(phases, views):
    done = answer(phases, *views.split())
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(
        "seep: "
    ), done.stderr


def test_an_empty_result_is_explained(phases):
    done = answer(phases, "-i", "no_such_function")
    assert done.returncode == 0 and done.stderr == "seep: no stack matches -i 'no_such_function'\n"
    done = answer(phases, "--at=1h")
    assert done.returncode == 0 and re.fullmatch(
        r"seep: the recording ends at [^\n]+; showing the end\n", done.stderr
    )


def test_a_view_that_the_truncated_file_does_not_hold_is_told(recording, tmp_path):
    whole, cut, seen = recording.read_bytes(), tmp_path / "cut.seep", set()
    for size in range(len(whole) // 40, len(whole), len(whole) // 40):
        cut.write_bytes(whole[:size])
        done = answer(cut, "--tree")
        seen.add(done.returncode)
        assert done.returncode in (0, 4) and (done.returncode == 0) == ("main" in done.stdout), (
            size,
            done.stderr,
        )
    assert seen == {0, 4}


def test_each_line_of_a_function_is_a_line_of_the_tree(compiler, tmp_path):
    source = tmp_path / "lines.c"
    source.write_text("""#include <stdlib.h>
        static void *volatile kept[3];
        __attribute__((noinline)) static void *inner(size_t n) { return kept[2] = malloc(n); }
        __attribute__((noinline)) static void work(void)
        {
                kept[0] = malloc(1000);
                kept[1] = inner(3000);
        }
        int main(void) { work(); return 0; }
        """)
    subprocess.run(["gcc", "-g", "-O0", source, "-o", tmp_path / "lines"], check=True)
    subprocess.run(
        [SEEP, "record", "-q", "-o", tmp_path / "l.seep", tmp_path / "lines"],
        check=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    tree = [
        re.sub(r"[ |]*-> |\[.*/", "", line)
        for line in report(tmp_path / "l.seep", "--cost=live").splitlines()[1:]
    ]
    assert [line for line in tree if "x): " in line] == [
        "100.00% (4,000B, 2x): main lines.c:9]", "75.00% (3,000B, 1x): work lines.c:7]",
        "75.00% (3,000B, 1x): inner lines.c:3]", "25.00% (1,000B, 1x): work lines.c:6]"]


@pytest.mark.parametrize(
    "words",
    [
        "help", "help help", "help report", "help info", "help peak", "help rss", "help symbols",
        "help classes", "help roots", "help suppressions", "help ci", "help leaks", "help formats",
        "help filters",
    ],
)
def test_help_fits_a_terminal(words):
    text = subprocess.run(
        [SEEP, *words.split()], capture_output=True, text=True, check=True, timeout=DEADLINE
    ).stdout
    assert text and max(map(len, text.splitlines())) <= 80


def test_tables_fit_a_terminal(recording):
    lines = report(recording, "--threads").splitlines()
    lines += [
        line
        for line in report(recording, "--flat").splitlines()
        if " freed" in line or line.startswith("heap:")
    ]
    assert len(lines) > 4 and max(map(len, lines)) <= 80


def test_merging_depth_joins_stacks(recording, compiler, tmp_path):
    done = subprocess.run(
        [SEEP, "record", "-q", "-o", tmp_path / "d.seep", compiler.build("depth8.c"), "4096"],
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 0
    merged = report(
        tmp_path / "d.seep", "--flat", "--cost=live", "--threshold=0", "--depth-merge=1"
    )
    assert len(re.findall(r"\bleaf\b", merged)) == 1


def test_info_tells_what_the_file_holds(recording):
    done = subprocess.run(
        [SEEP, "info", recording],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "known" in done.stdout


def test_a_line_of_the_summary_has_all_stacks_that_it_names(compiler, recorder):
    seen = recorder.record(compiler.build("descent.c"))
    text = report(seen.folder / "out.seep", "--summary")
    assert re.search(r"60 % of it: leaf descent.c:\d+ <- down descent.c:\d+", text), text
    lines = [line for line in text.splitlines() if re.match(r" +\d\. ", line)]
    assert [re.split(r"  +", line.strip())[1:3] for line in lines] == [
        ["58.6 KiB", "10 blocks"],
        ["39.1 KiB", "1 block"],
    ], text


def test_stacks_that_look_the_same_are_one_entry(compiler, recorder):
    file = recorder.record(compiler.build("descent.c")).folder / "out.seep"
    entries = re.split(r"\n\n", report(file, "--flat").strip())[1:]
    stacks = [re.findall(r"^ {8}(\w+)", entry, re.M) for entry in entries]
    assert stacks == [["leaf", "down", "main"], ["single", "main"]]
    assert "58.6 KiB" in entries[0] and "(10 stacks)" in entries[0] and "10 blocks" in entries[0]
    assert report(file, "--flat", "--all-frames").count("leaf [") == 10


def test_what_leads_to_the_programs_own_code_is_not_shown(compiler, recorder):
    file = recorder.record(compiler.build("hired.cpp")).folder / "out.seep"
    entries = [e for e in re.split(r"\n\n", report(file, "--flat").strip()) if "Worker::run" in e]
    stacks = sorted(re.findall(r"^ {8}([^[]*) \[", entry, re.M) for entry in entries)
    assert (
        len(stacks) == 2
        and stacks[0] == ["Worker::run()"]
        and stacks[1][0] == "Worker::run()"
        and "lambda" in stacks[1][1]
        and len(stacks[1]) == 2
    ), stacks
    tree = report(file, "--cost=live", "--threshold=0")
    assert "_M_run" not in tree and "__invoke" not in tree, tree
    assert "_M_run" in report(file, "--cost=live", "--threshold=0", "--all-frames")
