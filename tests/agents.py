#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make check-agents: tests of recording, each with programs of another processor that qemu runs.

usage: agents.py [NAME...]     SEEP_BUILD names the build that has the tool; NAME: aarch64, ..., or
aarch64-musl, ...: with musl as its C library
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from harness import BUILD, MACHINES, WITH_MUSL  # noqa: E402

# What is about this machine: limits and numbers of a process that is qemu, too, children that the
# C library does not know of (qemu wipes nothing), and programs that run for minutes there.
# Of processes, by the lines below: those that other tests run below (STARTING); shells of this
# machine that the program starts, for which an agent of another processor has no library; memory of
# a process that is qemu; tests without any program of ours; and those in which a shell of this
# machine starts the program.  Its agent takes itself out of what it gives to a program of another
# processor, and puts no other in its place: what the kernel starts then is qemu, a program of this
# machine, whose loader would say on the program's stderr that it cannot preload that library.
LEFT_OUT = {
    "agents": None,
    "light_machines": None,
    "entry_points": "clang",
    "lifetimes": "same_address or limits or without_standard or under_stress",
    "processes": "executed or exec_in_place or that_was_started or "
                 "system or shells or "
                 "raw-clone or behind_the or not_touched or "
                 "named_pipe or busiest or others_are or helpers or peak_of_resident or "
                 "last_program or next_program or with_a_fault or a_place_for_each or "
                 "all_processes_together or ended_by_a_signal or loses_memory",
}
# Programs of that processor that start others of it, where the kernel can be told who runs them.
STARTING = {
    "processes": "executed or exec_in_place or that_was_started or not_followed",
    "environment": "not musl and not fexecve and (execv or execl)",
}
# Calls whose limit is kept by a hook; others are not begun again on every processor, and the alarm
# of a program does not end sigtimedwait() of musl.
LIMITS = "ppoll or select or nanosleep or semtimedop or sigtimedwait"
# Of one whose programs this machine runs: what has code of x86-64 in it, or takes minutes without
# fast capture; sizes that are those of words of 8 bytes, libraries of other allocators, and what
# asks Valgrind or a sanitizer, which Debian has for its own words only.
NATIVE = {
    "agents": None,
    "attach": None,
    "attach_programs": "musl",
    "attach_several": None,
    "light_machines": None,
    "entry_points": "clang",
    "environment": "sanitizer or loaders_tables",
    "idle": f"not ({LIMITS}) or alarm",
    "lifetimes": "under_stress",
    "processes": "loses_memory",
    "unrecorded": "musl or of_other or whatever_other or another_allocator or alignment or "
                  "name_the_variable or thread_local or there_are_no_stacks or "
                  "by_their_class or traced_already or recording_has",
    "core": "of_another or memcheck or refused",
}
# ... and, where the C library has no unwind tables, stacks that lead through it.
THROUGH_LIBC = {"entry_points": "sample_of_every"}


def kernel_rule(machine):
    """How the kernel knows a program of MACHINE (binfmt_misc): by the head of its ELF file, of
    which the C library is an example.  The type is 2 or 3."""
    head = bytearray((Path(machine.root) / "lib" / "libc.so.6").read_bytes()[:20])
    mask = bytearray(7 * b"\xff" + 9 * b"\0" + 4 * b"\xff")
    mask[16 if head[5] == 1 else 17] = 0xfe
    head, mask = ("".join(f"\\x{byte:02x}" for byte in part) for part in (head, mask))
    return f":{machine.qemu}:M::{head}:{mask}:{shutil.which(machine.qemu)}:P"


def told_kernel(machine):
    """The words in front of a command that runs where the kernel knows who runs programs of
    MACHINE: a user namespace has rules of its own.  None, and why, where there are no such."""
    script = (
        "mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && "
        'printf %s "$0" >/proc/sys/fs/binfmt_misc/register && exec "$@"'
    )
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    words.append(kernel_rule(machine))
    tried = subprocess.run([*words, "true"], capture_output=True, text=True)
    if not tried.returncode:
        return words
    print(f"left out, programs that start others (Linux 6.7, user namespaces): {tried.stderr}")
    return None


def run(name, file, chosen, through=(), **more):
    return (
        subprocess.run(
            [
                *through, sys.executable, "-m", "pytest", "-q",
                ROOT / "tests" / "e2e" / f"test_{file}.py",
                *(["-k", chosen] if chosen else []),
            ],
            env={**os.environ, "SEEP_TEST_MACHINE": name, **more},
        ).returncode
        == 0
    )


def check_musl(name):
    """The agent is the one for glibc: it needs no C library."""
    machine = WITH_MUSL[name]
    return (
        subprocess.run([ROOT / "packaging" / "agents", BUILD, machine.name]).returncode == 0
        and machine.musl_unpack()
        and run(name, "allocators", "musl and not exec", QEMU_LD_PREFIX=str(machine.root))
        and (machine.qemu or run(name, "environment", "musl"))
        and (machine.qemu or run(name, "idle", f"({LIMITS}) and not alarm"))
        and run(name, "core", "of_another_processor")
    )


def check(name):
    print(f"== {name}", flush=True)
    if name in WITH_MUSL:
        return check_musl(name)
    if subprocess.run([ROOT / "packaging" / "agents", BUILD, name]).returncode:
        return False
    good = True
    for file, left_out in (LEFT_OUT if MACHINES[name].qemu else NATIVE).items():
        if file.startswith("attach") and not MACHINES[name].injected:
            continue
        if file in THROUGH_LIBC and not MACHINES[name].tables:
            left_out += f" or {THROUGH_LIBC[file]}"
        good &= run(name, file, f"not ({left_out})" if left_out else "")
    machine = MACHINES[name]
    through = told_kernel(machine) if machine.qemu else None
    for file, chosen in STARTING.items() if through else ():
        good &= run(name, file, chosen, through, QEMU_LD_PREFIX=str(machine.root))
    return good


def main(names):
    known = [*MACHINES, *WITH_MUSL]
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"agents.py: no such processor: {' '.join(unknown)} (there are {' '.join(known)})")
    wrong = [name for name in names or known if not check(name)]
    print(f"wrong: {' '.join(wrong)}" if wrong else "all as on this machine")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1:]))
