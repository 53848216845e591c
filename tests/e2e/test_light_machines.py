# SPDX-License-Identifier: MIT
"""seep-target of every processor: what it sends from there comes to the report of a local recording
here, whatever the word size and
the byte order.  qemu runs it, and the qemu that it starts runs the program.  `make check-agents`
does all of this for each."""
import json
import os
import shutil
import signal
import subprocess

import pytest

from harness import BUILD, DEADLINE, MACHINE, MACHINES, PLAIN, SEEP, check_sites, clean_environment
from plain import seep
from remote import Light
from test_agents import compiler, machine, recorder  # noqa: F401 (fixtures)
from test_journal import check_same

NAMES = (
    [MACHINE.name]
    if MACHINE
    else [name for name in ("aarch64", "arm", "powerpc", "s390x") if name in MACHINES]
)
of_each = pytest.mark.parametrize("machine", NAMES, indirect=True, scope="module")


def target_of(machine):
    return BUILD / "src" / "agent" / machine.name / "seep-target"


@pytest.fixture
def light(machine):
    """A target with a program of its machine; the kernel here need not know either."""
    def start(folder, program, *arguments, **how):
        command = [machine.qemu, target_of(machine)] if machine.qemu else [target_of(machine)]
        argv = (
            [shutil.which(machine.qemu), "-L", machine.root, program] if machine.qemu else [program]
        )
        return Light(folder, *argv, *arguments, command=command, **how)
    return start


@pytest.mark.parametrize(
    "machine", [MACHINE.name] if MACHINE else list(MACHINES), indirect=True, scope="module"
)
def test_it_is_a_small_file_that_needs_no_other(machine):
    head = subprocess.run(
        ["readelf", "-ldW", target_of(machine)], capture_output=True, text=True, check=True
    ).stdout
    assert target_of(machine).stat().st_size <= 300 << 10
    assert "INTERP" not in head and "NEEDED" not in head and "There is no dynamic section" in head


@of_each
@pytest.mark.parametrize(
    "source", ["known.c", "mappings.c", *(["lifecycle.cpp"] if MACHINE else [])]
)
def test_a_host_comes_to_the_report_of_a_local_recording(
    compiler, recorder, light, machine, source
):
    program = compiler.build(source)
    local = recorder.record(program, options=["--no-leak-scan"])
    folder = recorder.folder()
    with light(folder, program, options=["--wait"]) as target:
        (remote,) = target.fetch(folder).values()
        done = target.finish()
    assert (done.status, done.stdout) == (local.status, local.stdout)
    check_same(local.profile, remote)
    (file,) = folder.glob("out.*.seep")
    assert machine.name in seep("info", file).stdout.decode()


@of_each
def test_a_late_host_is_told_the_state_and_a_killed_program_is_whole(
    compiler, recorder, light, machine
):
    folder, pairs = recorder.folder(), 5000
    with light(folder, compiler.build("journalled.c"), "pause", 2 * pairs) as target:
        target.said(b"worked")
        told = target.report()
        pid = told.json["pid"]
        os.kill(pid, signal.SIGTERM)
        last = target.fetch(folder)[pid]
        done = target.finish()
    for seen in told, last:
        check_sites(done.truth, seen, peak=False)
        assert seen.by_function()["churn"]["frees"] == pairs and seen.totals["lost_events"] == 0
    maps = seep("export", "--to", "maps", folder / f"out.{pid}.seep").stdout.decode()
    assert "journalled" in maps and "libc.so.6" in maps


@of_each
def test_names_of_a_stripped_program_come_from_the_sysroot(compiler, recorder, light, machine):
    program, folder = compiler.build("known.c", flags=(*PLAIN, "-Wl,--build-id")), recorder.folder()
    bare = folder / "known"
    strip = machine.gcc.removesuffix("gcc") + "strip"
    subprocess.run([strip, "-o", bare, program], check=True)
    with light(folder, bare, options=["--wait"]) as target:
        target.fetch(folder)
        target.finish()
    (file,) = folder.glob("out.*.seep")
    root = folder / "root"
    (root / str(bare.parent)[1:]).mkdir(parents=True)
    shutil.copy(program, root / str(bare)[1:])

    def functions(*options):
        """With a cache of names of its own: it goes by build id."""
        done = subprocess.run(
            [SEEP, "report", "--json", *options, file],
            capture_output=True,
            check=True,
            timeout=DEADLINE,
            env=clean_environment({"XDG_CACHE_HOME": str(recorder.folder())}),
        )
        return {f["function"] for f in json.loads(done.stdout)["frames"]}
    assert "peak_holder" not in functions() and "peak_holder" in functions("--sysroot", root)
