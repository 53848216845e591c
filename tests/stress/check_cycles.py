# SPDX-License-Identifier: MIT
"""seep comes and goes a thousand times (CYCLES=) while a process works: nothing is lost or
counted twice, and the process never notices."""
import os
import re
import signal
import statistics
import struct
import subprocess
from pathlib import Path

from harness import DEADLINE, SEEP, Profile, clean_environment, wait_until
from run import Skip

CYCLES = int(os.environ.get("CYCLES", "1000"))
ROUNDS = 50  # of each worker while it is recorded
ACCOUNT = struct.Struct("4Q")
WORKERS = 4
PAUSE = re.compile(r"(?:threads stopped|left process \d+: stopped) for ([0-9.]+) ms")


class Target:
    """A running cycles.c, what it did, and what must stay as it is."""

    def __init__(self, program, folder, modes):
        self.file, self.errors = folder / "accounts", folder / "said"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [program, str(self.file), *modes],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=clean_environment(),
            )
        self.pid, self.churns = self.process.pid, {"forks", "vfork", "threads", "loads"} & set(
            modes
        )
        assert self.process.stdout.readline() == b"done\n"
        self.batch()
        wait_until(lambda: "waits" not in modes or self.row(WORKERS)[0] == 4, "waiting threads")
        self.before = self.state()

    def batch(self):
        self.process.stdin.write(b"batch %d\n" % ROUNDS)
        self.process.stdin.flush()
        if self.process.stdout.readline() != b"done\n":
            raise AssertionError(
                f"the process ended with {self.process.wait(DEADLINE)}: {self.errors.read_text()}"
            )

    def row(self, number):
        return ACCOUNT.unpack_from(self.file.read_bytes(), number * ACCOUNT.size)

    def account(self):
        return [sum(column) for column in zip(*map(self.row, range(WORKERS)))][:3]

    def state(self):
        """Descriptors, children, what it does about signals: of a thread that is alive."""
        task = Path(f"/proc/{self.pid}/task")
        tid = next(
            t
            for t in sorted(os.listdir(task), key=int)
            if "Z (" not in (task / t / "status").read_text()
        )
        status = dict(
            line.split(":\t", 1)
            for line in (task / tid / "status").read_text().splitlines()
            if ":\t" in line
        )
        children = [] if self.churns else (task / tid / "children").read_text().split()
        return (
            {key: status[key] for key in ("SigIgn", "SigCgt", "SigBlk", "TracerPid")},
            children,
            None if "loads" in self.churns else len(os.listdir(task / tid / "fd")),
        )

    def end(self):
        assert self.state() == self.before, (self.state(), self.before)
        self.process.stdin.close()
        status = self.process.wait(DEADLINE)
        assert status == 0, (status, self.errors.read_text())


class Attachment:
    def __init__(self, target, folder):
        self.path, self.errors = folder / "out.seep", folder / "errors"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [
                    SEEP, "attach", "-v", "-f", "--no-leak-scan", "--no-summary", "-o",
                    str(self.path), str(target.pid),
                ],
                stderr=errors,
                env=clean_environment(),
            )
        wait_until(
            lambda: " by inject, to " in self.said() or self.process.poll() is not None, "attach"
        )
        assert self.process.poll() is None, self.said()

    def said(self):
        return self.errors.read_text(errors="replace")

    def leave(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(DEADLINE) == 0, self.said()
        return Profile(self.path)


def seen_of_workers(profile, alone):
    """What the workers did.  Where others allocate, too: by their function."""
    totals = profile.totals
    assert profile.errors == [] and totals["lost_events"] == 0, profile.errors
    assert (totals["unknown_frees"], totals["double_frees"], totals["mismatched"]) == (0, 0, 0)
    if alone:
        return [totals["allocations"], totals["bytes_allocated"], totals["frees"] + totals["older"]]
    made = profile.by_function()["one_round"]
    return [made["allocations"], made["bytes_allocated"], None]


def nothing(target):
    pass


def cycle(target, folder, first, then):
    first(target)
    attachment = Attachment(target, folder)
    then(target)
    start = target.account()
    target.batch()
    truth = [after - before for after, before in zip(target.account(), start)]
    profile = attachment.leave()
    seen = seen_of_workers(profile, not target.churns)
    assert [t for t, s in zip(truth, seen) if s is not None] == [
        s for s in seen if s is not None
    ], (truth, seen)
    return [float(ms) for ms in PAUSE.findall(attachment.said())]


def run(stage, modes=(), first=nothing, then=nothing, **how):
    program = stage.compiler.build("cycles.c", libs=how.pop("libs", ("-lpthread", "-ldl")), **how)
    folder = stage.recorder.folder()
    target = Target(program, folder, modes)
    pauses = []
    try:
        for number in range(CYCLES):
            try:
                pauses += cycle(target, folder, first, then)
            except AssertionError as error:
                raise AssertionError(f"cycle {number + 1}: {error}") from error
        target.end()
    finally:
        if target.process.poll() is None:
            target.process.kill()
        target.process.wait(DEADLINE)
    pauses.sort()
    stage.say(f"{CYCLES} cycles, {2 * CYCLES} pauses: median {statistics.median(pauses):.2f} ms, "
              f"99 % {pauses[len(pauses) * 99 // 100]:.2f} ms, most {pauses[-1]:.2f} ms; "
              f"{CYCLES * WORKERS * ROUNDS} allocations, each seen once")


def check_cycles_glibc(stage):
    run(stage, ["waits"])


def check_cycles_musl(stage):
    run(stage, ["waits"], name="cycles-musl", cc="musl-gcc", libs=())


def check_cycles_static(stage):
    run(stage, ["waits"], name="cycles-static", flags=("-O1", "-g", "-fno-builtin", "-static"))


def check_cycles_static_pie(stage):
    run(
        stage,
        ["waits"],
        name="cycles-static-pie",
        flags=("-O1", "-g", "-fno-builtin", "-static-pie"),
    )


def check_cycles_jemalloc_linked_in(stage):
    library = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.a")
    if not library.exists():
        raise Skip("libjemalloc.a is not installed")
    run(
        stage,
        ["waits"],
        name="cycles-jemalloc",
        libs=(str(library), "-lm", "-lpthread", "-ldl", "-lstdc++"),
    )


def check_cycles_threads(stage):
    run(stage, ["waits", "threads"])


def check_cycles_forks(stage):
    run(stage, ["waits", "forks"])


def check_cycles_signals(stage):
    run(stage, ["waits", "signals"])


def check_cycles_dlopen(stage):
    run(stage, ["waits", "loads"])


def check_cycles_storm(stage):
    run(stage, ["waits", "threads", "forks", "signals", "loads"])


def check_cycles_first_thread_ended(stage):
    run(stage, ["waits", "headless"])


def check_cycles_vfork(stage):
    run(stage, ["waits", "vfork"])


def check_cycles_seccomp(stage):
    if os.geteuid():
        raise Skip("only root may read the filters of a process")
    run(stage, ["waits", "walled"])


def check_cycles_uninterruptible(stage):
    run(stage, ["waits", "sleeps"])


def check_cycles_stopped(stage):
    """It is stopped by SIGSTOP when seep comes, and still is when seep is there."""
    def stop(target):
        os.kill(target.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, target.pid, os.WSTOPPED)

    def go_on(target):
        wait_until(
            lambda: Path(f"/proc/{target.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            == "T",
            "still stopped",
        )
        os.kill(target.pid, signal.SIGCONT)

    run(stage, ["waits"], first=stop, then=go_on)


def check_cycles_under_a_debugger(stage):
    """Refused by its cause, each time, and the debugger's process goes on."""
    folder = stage.recorder.folder()
    program = stage.compiler.build("cycles.c", libs=("-lpthread", "-ldl"))
    target = Target(program, folder, [])  # strace itself makes waits end early
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-e", "trace=none", "-o", "/dev/null", "-p", str(target.pid)]
    )
    try:
        wait_until(lambda: target.state()[0]["TracerPid"] == str(tracer.pid), "strace")
        for _ in range(CYCLES):
            done = subprocess.run(
                [SEEP, "attach", str(target.pid)],
                capture_output=True,
                text=True,
                env=clean_environment(),
                cwd=folder,
                timeout=DEADLINE,
            )
            assert (
                done.returncode == 3 and f"already traced by strace ({tracer.pid})" in done.stderr
            ), done
        target.batch()
        tracer.send_signal(signal.SIGINT)
        tracer.wait(DEADLINE)
        target.end()
    finally:
        for process in (tracer, target.process):
            if process.poll() is None:
                process.kill()
            process.wait(DEADLINE)
    stage.say(f"{CYCLES} refusals")
