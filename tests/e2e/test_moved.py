# SPDX-License-Identifier: MIT
"""Functions of aarch64 whose entry is patched: every instruction that depends on its place does
in the trampoline what it did."""
import subprocess

from harness import DEADLINE, MACHINES, ROOT, Compiler

MACHINE = MACHINES["aarch64"]


def test_every_first_instruction_can_be_moved(tmp_path, need):
    need(MACHINE.gcc, MACHINE.qemu)
    source = ROOT / "src"
    program = Compiler(tmp_path, MACHINE).build(
        "moved_aarch64.c",
        more=[
            source / "attach" / "arch" / "patch_aarch64.c",
            source / "attach" / "arch" / "moved_aarch64.c",
            source / "base" / "err.c",
        ],
        flags=("-O1", "-g", "-D_GNU_SOURCE", "-march=armv8.5-a", "-no-pie", f"-I{source}"),
    )
    done = subprocess.run(
        MACHINE.runner([program]), capture_output=True, text=True, timeout=DEADLINE
    )
    assert done.returncode == 0 and " tried, 0 wrong" in done.stdout, done.stdout
