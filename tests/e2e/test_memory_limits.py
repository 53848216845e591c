# SPDX-License-Identifier: MIT
"""Where memory is limited, seep does not take what the program needs: it says what it did
without."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import DEADLINE, SEEP, clean_environment, run, wait_until

BLOCKS = 1000000  # a search takes more than the program and its ledger together


class Limits:
    """A command in front of another one, which then has so much memory: by a cgroup where we may
    make one, else by a limit on data."""

    def __init__(self):
        self.group = None
        for place in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
            group = Path(place) / f"seep-test-{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            self.file = next(
                (
                    f
                    for f in (group / "memory.max", group / "memory.limit_in_bytes")
                    if os.access(f, os.W_OK)
                ),
                None,
            )
            if self.file:
                self.group = group
                return
            group.rmdir()

    def cgroup(self, mib):
        if not self.group:
            return self.data(mib)
        self.file.write_text(f"{mib << 20}")
        return ["sh", "-c", f'echo $$ > {self.group}/cgroup.procs && exec "$@"', "sh"]

    def data(self, mib):
        return ["sh", "-c", f'ulimit -d {mib << 10} && exec "$@"', "sh"]

    def remove(self):
        if self.group:
            wait_until(
                lambda: not (self.group / "cgroup.procs").read_text(),
                "the processes of the group have ended",
            )
            self.group.rmdir()


@pytest.fixture(scope="module")
def limits():
    limits = Limits()
    yield limits
    limits.remove()


@pytest.fixture
def crammed(compiler):
    return compiler.build("crammed.c", flags=("-O2", "-g"))


def record(folder, limited, *command, options=()):
    return run(
        [
            *limited, SEEP, "record", "-f", "-o",
            folder / "out.seep",
            *options,
            "--",
            *map(str, command),
        ],
        cwd=folder,
    )


def info(folder):
    return json.loads(run([SEEP, "info", "--json", folder / "out.seep"], cwd=folder).stdout)


def check_recorded(done, folder, why):
    """The program came to its own end, all is in the recording, and every form tells why nothing
    was searched."""
    assert (done.status, done.stdout) == (0, f"{BLOCKS} blocks\n".encode())
    facts = info(folder)
    report = json.loads(run([SEEP, "report", "--json", folder / "out.seep"], cwd=folder).stdout)
    assert report["totals"]["live_bytes"] >= BLOCKS * 24 + 1000
    assert report["totals"]["live_blocks"] >= BLOCKS + 1
    said = " ".join(done.stderr.decode().split())
    assert "not searched for leaks" in said and why in said, said
    assert why in facts["leak_search"]["trouble"]
    leaks = run([SEEP, "leaks", folder / "out.seep"], cwd=folder)
    assert why in " ".join((leaks.stdout + leaks.stderr).decode().split())


def test_a_cgroup_too_small_for_the_search_does_not_cost_the_program_its_life(
    crammed, limits, tmp_path
):
    done = record(tmp_path, limits.cgroup(90), crammed, BLOCKS, 24)
    check_recorded(
        done, tmp_path, "the memory limit of the cgroup /" if limits.group else "ulimit -d"
    )


def test_a_limit_on_data_is_kept_to(crammed, limits, tmp_path):
    done = record(tmp_path, limits.data(64), crammed, BLOCKS, 24)
    check_recorded(done, tmp_path, "the limit on data (ulimit -d)")


def test_a_check_that_wants_leaks_fails_when_none_were_looked_for(crammed, limits, tmp_path):
    record(tmp_path, limits.data(64), crammed, BLOCKS, 24)
    done = run([SEEP, "check", "--max-leaks=0", tmp_path / "out.seep"], cwd=tmp_path)
    assert done.status != 0
    assert b"the limit on data (ulimit -d)" in done.stdout + done.stderr


def test_with_enough_memory_the_leak_is_found(crammed, limits, tmp_path):
    done = record(tmp_path, limits.cgroup(900), crammed, 100000, 24)
    assert done.status == 0
    assert b"1 block definitely lost" in done.stderr.replace(b"\n", b" "), done.stderr


def searcher_of(seep):
    """The process that the kernel would end first."""
    children = Path(f"/proc/{seep}/task/{seep}/children")
    for child in children.read_text().split():
        try:
            if Path(f"/proc/{child}/oom_score_adj").read_text() == "1000\n":
                return int(child)
        except OSError:
            continue
    return 0


def killed_search(command, folder, kill):
    """A recorded run whose search for leaks is found while it works, and then ended by KILL."""
    seep = subprocess.Popen(
        command, cwd=folder, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with seep:
        while not (found := searcher_of(seep.pid)) and seep.poll() is None:
            pass
        assert found, "nothing was searched"
        kill(found, seep.pid)
        out, err = seep.communicate(timeout=DEADLINE)
    return type("Done", (), {"status": seep.returncode, "stdout": out, "stderr": err})


def test_a_search_that_the_kernel_ends_for_lack_of_memory_is_told_as_such(
    crammed, limits, tmp_path
):
    """There was room when it began, and then others took it."""
    if not limits.group:
        pytest.skip("no cgroups here")

    def starve(searcher, seep):
        os.kill(searcher, signal.SIGSTOP)  # it is not ready before it is killed
        os.kill(seep, signal.SIGSTOP)      # who then sees that there is memory again
        used = int(
            next(
                f
                for f in (limits.group / "memory.current", limits.group / "memory.usage_in_bytes")
                if f.exists()
            ).read_text()
        )
        # The second victim after the search, and before the program, however little the search had.
        second = ["sh", "-c", 'echo 500 >/proc/self/oom_score_adj && exec "$@"', "sh"]
        subprocess.run(
            [
                *limits.cgroup((used >> 20) + 32),
                *second, sys.executable, "-c", "taken = b'x' * (64 << 20)",
            ],
            check=False,
            timeout=DEADLINE,
        )
        with contextlib.suppress(ProcessLookupError):
            os.kill(searcher, signal.SIGCONT)  # another one was killed
        limits.cgroup(2000)
        os.kill(seep, signal.SIGCONT)

    done = killed_search(
        [
            *limits.cgroup(2000),
            SEEP, "record", "-f", "-o", "out.seep", "--", crammed, str(BLOCKS), "24",
        ],
        tmp_path,
        starve,
    )
    check_recorded(done, tmp_path, "the kernel killed the search for lack of memory")


def test_a_search_that_is_killed_leaves_program_and_recording_whole(crammed, tmp_path):
    done = killed_search(
        [SEEP, "record", "-f", "-o", "out.seep", "--", crammed, str(BLOCKS), "24"],
        tmp_path,
        lambda searcher, _: os.kill(searcher, signal.SIGKILL),
    )
    check_recorded(done, tmp_path, "was killed by SIGKILL")


@pytest.mark.parametrize("options", [(), ("--follow=none",), ("--follow=all",)])
def test_a_forked_child_sees_the_limit_that_its_parent_set(tmp_path, options):
    script = ("ulimit -v 400000; ulimit -v; (ulimit -v; ulimit -v 300000; x=$(echo fork); ulimit "
              "-v; echo $x); ulimit -v")
    bare = run(["sh", "-c", script], cwd=tmp_path)
    seen = run(
        [
            SEEP, "record", "-q", "-f", "-o",
            tmp_path / "out.seep",
            *options, "--", "sh", "-c", script,
        ],
        cwd=tmp_path,
    )
    assert (
        (seen.status, seen.stdout)
        == (bare.status, bare.stdout)
        == (0, b"400000\n400000\n300000\nfork\n400000\n")
    )


STARTED = {
    "execve": '"$@"; nothere; "$@"; :',
    "execvp": "PATH=/nowhere:$PWD:$PATH exec perl -e 'system {\"limited\"} \"limited\", \"space\"'",
    "vfork": 'exec python3 -c "import subprocess, sys; subprocess.call(sys.argv[1:])" "$@"',
    "script": './script "$@"; ./bare "$@"; :',
}


@pytest.mark.parametrize("user", ["own", "nobody"])
@pytest.mark.parametrize("way", STARTED)
def test_a_child_that_is_not_followed_has_the_limit_that_its_parent_has(
    compiler, public_folder, way, user
):
    """Soft and hard limits, set by the program or around all of it; and what a limit lets it
    have."""
    drop = (
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if user == "nobody" and os.geteuid() == 0
        else []
    )
    child = shutil.copy(compiler.build("limited.c"), public_folder)
    for name, first in (("script", "#!/bin/sh\n"), ("bare", "")):
        (public_folder / name).write_text(first + 'ulimit -H -v; "$@"\n')
        (public_folder / name).chmod(0o755)
    public_folder.chmod(0o777)
    recorder = [*drop, SEEP, "record", "-q", "-f", "-o", "out.seep", "--follow=none", "--"]
    for inside, around in (
        ("ulimit -v 400000", ":"),
        ("ulimit -S -v 400000", ":"),
        (":", "ulimit -S -v 400000"),
    ):
        program = ["sh", "-c", f'{inside}; "$@"; {STARTED[way]}', "sh", child, "space"]
        bare, seen = (
            run(["sh", "-c", f'{around}; exec "$@"', "sh", *before, *program], cwd=public_folder)
            for before in (drop, recorder)
        )
        assert bare.status == seen.status
        told, facts = (
            [line.split() for line in done.stdout.decode().splitlines()] for done in (seen, bare)
        )
        assert [line[:3] for line in told] == [line[:3] for line in facts] and len(facts) > 1
        assert all(abs(int(a[3]) - int(b[3])) <= 1 << 20 for a, b in zip(told, facts) if len(b) > 3)


@pytest.mark.parametrize("mib", [64, 1])
def test_a_program_locks_as_much_memory_as_without_us(compiler, tmp_path, mib):
    """The kernel compares all address space with what may be locked, and the ledger's
    reservation is address space."""
    program = [compiler.build("locks.c"), str(mib), "1", "2", "3", "5", "7", "0"]
    bare = run(program, cwd=tmp_path)
    seen = run([SEEP, "record", "-q", "-f", "-o", "out.seep", "--", *program], cwd=tmp_path)
    assert (seen.status, seen.stdout) == (bare.status, bare.stdout) and bare.stdout.count(
        b"mlockall"
    ) == 6


def test_a_program_that_the_kernel_ended_for_lack_of_memory_hears_of_the_ledger(
    crammed, limits, tmp_path
):
    """The ledger is in the program's cgroup, and was too much for it: that is told, with the
    option that bounds it."""
    if not limits.group:
        pytest.skip("no cgroup can be made here")
    done = record(tmp_path, limits.cgroup(90), crammed, 2 * BLOCKS, 24)
    said = " ".join(done.stderr.decode().split())
    assert (
        done.status == 128 + signal.SIGKILL
        and "the kernel killed it for lack of memory" in said
        and "--limit-ledger" in said
    )
    assert any("--limit-ledger" in w for w in info(tmp_path)["warnings"])
    done = record(
        tmp_path, limits.cgroup(90), crammed, 2 * BLOCKS, 24, options=["--limit-ledger=8M"]
    )
    assert (done.status, done.stdout) == (0, f"{2 * BLOCKS} blocks\n".encode())


LIMITED = {
    "data": "-d 9000",
    "soft data": "-S -d 9000",
    "little data": "-d 1000",
    "space": "-v 400000",
    "soft space": "-S -v 400000",
}


@pytest.mark.parametrize("place", ["inside", "around"])
@pytest.mark.parametrize("limit", LIMITED)
def test_limits_of_a_process_leave_the_program_what_it_has(compiler, tmp_path, limit, place):
    """Limits are set by a shell that is recorded too, or around all of it.  What is ours counts
    for the kernel: it must be little, or not noticed."""
    program = [str(compiler.build("limited.c")), limit.split()[-1]]
    limited = ["sh", "-c", f'ulimit {LIMITED[limit]}; exec "$0" "$@"']
    recorder = [SEEP, "record", "-q", "-f", "-o", tmp_path / "out.seep", "--"]
    bare = run([*limited, *program], cwd=tmp_path)
    seen = run(
        [*recorder, *limited, *program] if place == "inside" else [*limited, *recorder, *program],
        cwd=tmp_path,
    )
    assert (
        bare.status,
        seen.status,
        bare.stderr,
        seen.stderr if limit != "little data" else b"",
    ) == (0, 0, b"", b"")
    *facts, had = map(int, bare.stdout.split())
    *told, has = map(int, seen.stdout.split())
    assert told == facts
    if limit == "little data":
        assert has >= had / 2
        return
    # Address space that is limited from outside, and cannot be raised, is shared: half of it stays
    # the program's.
    assert has >= had / 2 if (limit, place) == ("space", "around") else abs(had - has) <= 5 << 18
    assert info(tmp_path)["program"].endswith("limited")
