# SPDX-License-Identifier: MIT
"""Core files: the blocks that the program said it had, the classes that Memcheck finds, and
stacks where there is a recording."""
import csv
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import (
    DEADLINE, MACHINES, PLAIN, SEEP, WITH_MUSL, Compiler, clean_environment, wait_until,
)
from test_unrecorded import THREAD_DATA, seep

PATTERN = Path("/proc/sys/kernel/core_pattern").read_text().strip()
plain_pattern = pytest.mark.skipif(PATTERN != "core", reason=f"core files go elsewhere ({PATTERN})")
with_gcore = pytest.mark.skipif(not shutil.which("gcore"), reason="gcore is not here")


def start(folder, argv):
    """A program that may leave a core in FOLDER, and its blocks: address to usable size."""
    def prepare():
        os.dup2(out, 3)
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    truth, out = os.pipe()
    process = subprocess.Popen(
        list(map(str, argv)),
        stdin=subprocess.PIPE,
        pass_fds=(3,),
        preexec_fn=prepare,
        cwd=folder,
        env=clean_environment(),
        stderr=subprocess.DEVNULL,
    )
    os.close(out)
    blocks = {}
    with os.fdopen(truth) as lines:
        for line in lines:
            if line == "ready\n":
                return process, blocks
            address, size = line.split()
            blocks[int(address, 16)] = int(size)
    raise AssertionError("the program ended early")


def core_of(folder):
    for name in os.listdir(folder):
        if re.fullmatch(r"core(\.\d+)?", name):
            return folder / name
    raise AssertionError("no core file")


def crash(folder, program, *ways):
    process, truth = start(folder, (program, *ways))
    process.send_signal(signal.SIGSEGV)
    process.wait(timeout=DEADLINE)
    return core_of(folder), truth


def listed(core):
    status, out, err = seep("report", "--blocks", "--csv", "-q", core)
    assert (status, err) == (0, "")
    return {int(row[0], 16): int(row[1]) for row in list(csv.reader(io.StringIO(out)))[1:]}


def smallest(blocks, asked):
    """The block that was asked for with ASKED bytes: malloc may give some more."""
    return min((size, address) for address, size in blocks.items() if size >= asked)[1]


def check_listed(core, truth):
    found = listed(core)
    assert {a: found.get(a) for a in truth} == truth
    assert [
        size for address, size in found.items() if address not in truth and size not in THREAD_DATA
    ] == []


@plain_pattern
@pytest.mark.parametrize(
    "ways", [("plain", "trim", "align", "foreign", "holes"), ("threads",)], ids=" ".join
)
def test_a_core_of_the_kernel_has_every_block(compiler, tmp_path, ways):
    core, truth = crash(tmp_path, compiler.build("heap_walk.c"), *ways)
    check_listed(core, truth)
    core.unlink()


# make check-agents runs these with another C library, too.
NAMED = os.environ.get("SEEP_TEST_MACHINE")
FOREIGN = [NAMED] if NAMED else ["aarch64", "arm", "i386", "powerpc", "riscv64", "s390x"]


def core_of_another_machine(folder, name, *ways):
    """A program of machine NAME, which qemu runs and which writes its own core: the core, its
    program, and the program's blocks."""
    machine = {**MACHINES, **WITH_MUSL}[name]
    missing = [tool for tool in (machine.gcc, machine.qemu) if tool and not shutil.which(tool)]
    if missing:
        pytest.skip(f"{' '.join(missing)} not installed (packaging/install-deps test)")
    if not machine.qemu:  # the kernel runs it, and writes its core
        program = Compiler(folder, machine).build("heap_walk.c")
        core, truth = crash(folder, program, *ways)
        return core, program, truth
    program = Compiler(folder, machine).build("heap_walk.c", flags=(*PLAIN, "-DOWN_CORE"))
    process, truth = start(folder, (machine.qemu, "-L", machine.root, program, *ways))
    process.stdin.close()
    assert process.wait(timeout=DEADLINE) == 0
    return core_of(folder), program, truth


@plain_pattern
@pytest.mark.parametrize("name", FOREIGN)
def test_a_core_of_another_processor_has_every_block(tmp_path, name):
    core, _, truth = core_of_another_machine(tmp_path, name, "plain", "threads", "align", "mapped")
    check_listed(core, truth)


@plain_pattern
@pytest.mark.parametrize("name", FOREIGN)
def test_leaks_and_why_work_on_a_core_of_another_processor(tmp_path, name):
    core, program, _ = core_of_another_machine(tmp_path, name, "lost")
    status, out, _ = seep("leaks", "--json", core)
    leaks = json.loads(out)
    assert status == 1 and leaks["exit"] == {"code": None, "signal": 11}
    assert [leaks["leaks"][c]["blocks"] for c in ("definite", "indirect", "possible")] == [1, 1, 0]
    blocks, holders = listed(core), {}
    for address, size in blocks.items():
        status, out, err = seep("why", "--json", core, hex(address))
        assert status in (0, 1), err  # 1: nothing holds it
        root = json.loads(out).get("root")
        holders[size] = root and (root["variable"]["name"] if "variable" in root else root["kind"])
    # malloc may give some bytes more
    global_, thread = (min(size for size in holders if size >= asked) for asked in (200, 400))
    # The kernel of arm does not write where the thread-local storage of a thread is; musl has that
    # of the first thread in its own data.
    by_thread = "data" if name.endswith("musl") else "memory" if name == "arm" else "held_by_thread"
    assert (holders[global_], holders[thread]) == ("held_by_global", by_thread)
    program.rename(tmp_path / "kept")
    _, out, _ = seep(
        "why",
        "--json",
        "--exe",
        tmp_path / "kept",
        core,
        hex([a for a, size in blocks.items() if size == global_][0]),
    )
    assert json.loads(out)["root"]["variable"]["name"] == "held_by_global"


@with_gcore
def test_a_core_of_gdb_has_every_block_and_the_program_goes_on(compiler, tmp_path):
    process, truth = start(tmp_path, (compiler.build("heap_walk.c"), "plain", "align", "mapped"))
    subprocess.run(
        ["gcore", "-o", "core", str(process.pid)],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=DEADLINE,
    )
    process.stdin.close()
    assert process.wait(timeout=DEADLINE) == 0
    check_listed(core_of(tmp_path), truth)


@plain_pattern
def test_a_core_where_it_cannot_be_read_leads_to_what_reads_it(compiler, tmp_path):
    core, _ = crash(tmp_path, compiler.build("heap_walk.c"), "lost")
    for words in (["html", "-o", "-"], ["info"], ["top"], ["check"], ["sql"], ["export", "pprof"]):
        status, _, err = seep(*words, core)
        assert status == 4 and "but a core file: 'seep leaks', 'seep why'" in err, (words, err)
    status, _, err = seep(core)
    assert status == 2 and f"did you mean 'seep leaks {core}'?" in err, err
    status, out, _ = seep("doctor", core)
    assert "a core file: 'seep leaks', 'seep why'" in out and "NO   record" not in out, out


HELD_BY_A_STACK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
        void *volatile held = malloc(5000);
        dprintf(3, "ready\n");
        pause();
        free(held);
}
"""


@plain_pattern
def test_a_thread_of_a_core_has_a_number_and_no_empty_name(compiler, tmp_path):
    (tmp_path / "held.c").write_text(HELD_BY_A_STACK)
    core, _ = crash(tmp_path, compiler.build(str(tmp_path / "held.c")))
    status, out, err = seep("why", core, hex(smallest(listed(core), 5000)))
    assert status == 0 and re.search(r" of thread \d+$", out, re.M), out + err


@plain_pattern
def test_leaks_and_why_work_on_a_core(compiler, tmp_path):
    core, _ = crash(tmp_path, compiler.build("heap_walk.c"), "lost")
    status, out, err = seep("leaks", "--json", core)
    leaks = json.loads(out)
    assert (
        status == 1
        and "was not recorded" in err
        and leaks["recorded"] is False
        and leaks["exit"] == {"code": None, "signal": 11}
    )
    assert leaks["leaks"]["scan"]["when"] == "core"
    assert [leaks["leaks"][c]["blocks"] for c in ("definite", "indirect", "possible")] == [1, 1, 0]
    address = hex(smallest(listed(core), 200))
    status, out, err = seep("why", "--json", core, address)
    assert status == 0 and json.loads(out)["root"]["variable"]["name"] == "held_by_global", err


@plain_pattern
def test_a_program_that_has_moved_is_named_with_exe_and_another_one_is_not_believed(
    compiler, tmp_path
):
    program = tmp_path / "moved"
    shutil.copy(compiler.build("heap_walk.c"), program)
    core, _ = crash(tmp_path, program, "lost")
    program.rename(tmp_path / "kept")
    address = hex(smallest(listed(core), 200))
    _, out, _ = seep("why", "--json", "--exe", tmp_path / "kept", core, address)
    assert json.loads(out)["root"]["variable"]["name"] == "held_by_global"
    _, _, err = seep("leaks", "--exe", "/bin/true", core)
    assert "/bin/true is not the file that the program used" in err
    (tmp_path / "root" / tmp_path.relative_to("/")).mkdir(parents=True)
    (tmp_path / "kept").rename(tmp_path / "root" / program.relative_to("/"))
    _, out, _ = seep("why", "--json", "--sysroot", tmp_path / "root", core, address)
    assert json.loads(out)["root"]["variable"]["name"] == "held_by_global"


@plain_pattern
def test_a_program_that_has_moved_is_named_where_a_core_has_no_headers(compiler, tmp_path):
    """ulimit and coredump_filter decide what the kernel writes."""
    program = tmp_path / "moved"
    shutil.copy(compiler.build("heap_walk.c"), program)
    wrapper = 'echo 0x23 >/proc/self/coredump_filter && exec "$0" "$@"'
    core, _ = crash(tmp_path, "/bin/sh", "-c", wrapper, program, "lost")
    program.rename(tmp_path / "kept")
    address = hex(smallest(listed(core), 200))
    status, out, err = seep("why", "--json", "--exe", tmp_path / "kept", core, address)
    assert status == 0 and json.loads(out)["root"]["variable"]["name"] == "held_by_global", err


@plain_pattern
def test_with_its_recording_a_core_has_stacks_and_the_classes_of_memcheck(compiler, tmp_path):
    program = compiler.build("heap_walk.c")
    process, _ = start(
        tmp_path, (SEEP, "record", "--no-leak-scan", "-q", "-o", "run.seep", "--", program, "lost")
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(lambda: children.read_text(), "the program runs")
    os.kill(int(children.read_text().split()[0]), signal.SIGSEGV)
    process.wait(timeout=DEADLINE)
    core, recording = core_of(tmp_path), tmp_path / "run.seep"
    status, out, err = seep("leaks", "--json", "--core", core, recording)
    leaks = json.loads(out)
    assert (status, err) == (1, "") and leaks["recorded"] is True
    frames = leaks["frames"]
    for site in leaks["sites"]:
        assert [frames[f]["function"] for f in site["stack"]][:2] == ["lost", "do_it"]
    found = {
        c: (leaks["leaks"][c]["bytes"], leaks["leaks"][c]["blocks"])
        for c in ("definite", "indirect", "possible")
    }
    assert found == memcheck(program)
    status, _, err = seep("leaks", "--core", recording, recording)
    assert status == 4 and "is not a core file" in err


def memcheck(program):
    read, out = os.pipe()
    process = subprocess.Popen(
        ["valgrind", "--leak-check=full", str(program), "lost"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(3,),
        preexec_fn=lambda: os.dup2(out, 3),
        env=clean_environment(),
    )
    os.close(out)
    _, err = process.communicate(timeout=DEADLINE)
    os.close(read)
    numbers = {}
    for words, name in (
        ("definitely lost", "definite"),
        ("indirectly lost", "indirect"),
        ("possibly lost", "possible"),
    ):
        size, blocks = re.search(words + r": ([\d,]+) bytes in ([\d,]+) blocks", err).groups()
        numbers[name] = int(size.replace(",", "")), int(blocks.replace(",", ""))
    return numbers


@plain_pattern
def test_what_is_no_core_of_ours_is_refused_by_name(compiler, tmp_path):
    program = compiler.build("heap_walk.c")
    core, _ = crash(tmp_path, program, "lost")
    data = core.read_bytes()
    for name, change, status, told in (
        ("other", lambda d: d[:18] + b"\x02\x01" + d[20:], 3, "64-bit LoongArch"),
        (
            "big",
            lambda d: d[:5] + b"\x02" + d[6:16] + b"\x00\x04\x00\x2b" + d[20:],
            3,
            "64-bit SPARC",
        ),
        ("short", lambda d: d[:200], 4, "cut off"),
        ("half", lambda d: d[: len(d) // 3], None, ""),
    ):
        path = tmp_path / name
        path.write_bytes(change(data))
        done, out, err = seep("leaks", path)
        assert (done == status if status else done in (0, 1, 3)) and told in err, err
        assert done == 3 or status or "cut off" in err
    done, _, err = seep("leaks", "--exe", program, str(tmp_path / "nothing"))
    assert done == 2 and "--exe" in err
    assert seep("leaks", "--core", core, os.getpid())[0] == 2


@plain_pattern
def test_a_recording_of_another_process_is_refused(compiler, tmp_path):
    program = compiler.build("heap_walk.c")
    core, _ = crash(tmp_path, program, "lost")
    subprocess.run(
        [SEEP, "record", "-q", "-o", tmp_path / "other.seep", "--", "/bin/true"],
        env=clean_environment(),
        timeout=DEADLINE,
    )
    status, _, err = seep("leaks", "--core", core, tmp_path / "other.seep")
    assert status == 2 and "is not a core of the process that was recorded" in err
