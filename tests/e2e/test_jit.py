# SPDX-License-Identifier: MIT
"""Code without a file: what a compiler made while the program ran, named from the map it writes
for perf."""
import os
import subprocess
from pathlib import Path

import pytest

from bench import Bench
from harness import DEADLINE, PLAIN, SEEP, wait_until


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.fixture
def maps():
    """Maps that programs left in /tmp are removed, by the process ids told here."""
    pids = []
    yield pids
    for pid in pids:
        Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)


@pytest.mark.parametrize("flags", [(), ("-DMEMFD",)], ids=["anonymous", "memfd"])
def test_generated_code_has_the_names_of_its_map(bench, maps, flags):
    program = bench.compile(*PLAIN, *flags, source="jit_map.c", out="jit_map")
    maps.append(bench.record(program)["map"])
    expected = ["made_?allocator", "made_caller in script.js:7", "main"]
    assert bench.names(4001)[:3] == expected
    Path(f"/tmp/perf-{maps[0]}.map").unlink()
    assert bench.names(4001)[:3] == expected, "the names are in the recording"
    bench.seep("symbolize", "out.seep")
    assert bench.names(4001)[:3] == expected
    assert "made_caller" in bench.seep("report", "--cost", "live", "out.seep").stdout


@pytest.mark.parametrize(
    "change, believed",
    [
        ("true", True),
        ("touch -d 2001-01-01 $map", False),
        ("chown 12345 $map", False),
        ("mv $map x; ln -s $PWD/x $map", False),
    ],
    ids=["own", "old", "foreign", "link"],
)
def test_only_a_map_of_this_process_and_user_is_believed(bench, maps, change, believed):
    """The map lies there before the program starts: a shell of the same process number made it."""
    if "chown" in change and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    bench.compile(*PLAIN, "-DNO_MAP", source="jit_map.c", out="jit_map")
    script = bench.folder / "start"
    script.write_text(
        f'#!/bin/sh\nmap=/tmp/perf-$$.map\necho "1 7fffffffffff everything" > $map\n{change}\n'
        "exec ./jit_map\n"
    )
    script.chmod(0o755)
    maps.append(bench.record("./start")["map"])
    assert bench.names(4001)[2] == "main"
    assert ("everything" in bench.names(4001)) == believed


def is_reading_a_map(pid):
    folder = Path(f"/proc/{pid}/fd")
    return any("/perf-" in os.readlink(link) for link in folder.iterdir() if os.path.lexists(link))


def test_a_program_that_sees_itself_as_another_process(bench, need, maps):
    """In a namespace of its own it is process 1, and so its map is named."""
    need("unshare")
    if os.geteuid() != 0:
        pytest.skip("only root can make namespaces everywhere")
    bench.compile(*PLAIN, source="jit_map.c", out="jit_map")
    maps.append(1)
    command = [
        "/bin/sh", "-c", 'exec "$@" 3>truth', "sh", SEEP, "record", "-q", "--", "unshare", "-p",
        "-f", "./jit_map", "wait",
    ]
    process = subprocess.Popen(
        command, cwd=bench.folder, env=bench.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: is_reading_a_map(process.pid), "the map was found", process=process)
        Path("/tmp/perf-1.map").unlink()
    finally:
        process.stdin.close()
        assert process.wait(DEADLINE) == 0
    assert "fact map=1\n" in (bench.folder / "truth").read_text()
    [file] = bench.folder.glob("*.seep.d/jit_map.*.seep")
    assert bench.names(4001, file=file.relative_to(bench.folder))[:2] == [
        "made_?allocator",
        "made_caller in script.js:7",
    ]


def test_functions_of_node(bench, need, maps):
    need("node")
    (bench.folder / "grow.js").write_text(
        "function growing(n) { const a = []; for (let i = 0; i < n; i++) "
        "a.push(Buffer.allocUnsafeSlow(77777)); return a; }\n"
        "const keep = []; for (let i = 0; i < 200; i++) keep.push(growing(10));\n"
        "console.log(process.pid);\n")
    done = bench.seep(
        "record", "-q", "-o", "out.seep", "--", "node", "--perf-basic-prof", "grow.js"
    )
    maps.append(int(done.stdout))
    report = bench.report()
    stacks = [
        [report["frames"][i]["function"] or "" for i in site["stack"]]
        for site in report["sites"]
        if site["bytes_allocated"] and site["bytes_allocated"] % 77777 == 0
    ]
    assert stacks
    assert any(any("growing" in name and "grow.js" in name for name in stack) for stack in stacks)
    # What no script asked for is told by what node did, not by its outermost function.
    summary = bench.seep("report", "--summary", "out.seep").stdout
    assert "NOT FREED" in summary and "node::Start" not in summary, summary
