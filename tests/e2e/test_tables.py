# SPDX-License-Identifier: MIT
"""Programs whose unwind tables lie behave as without the tool: nothing is read that is not
there, no unwind goes on without end."""
import os
import subprocess

import pytest

import mutants
from harness import DEADLINE, SEEP, clean_environment

COUNT = int(os.environ.get("SEEP_MUTANTS", "500"))
BATCH = 25
PROGRAMS = {
    "gcc": ("unwound.c", "gcc", ("-O2",)),
    "gcc-no-header": ("unwound.c", "gcc", ("-O2", "-Wl,--no-eh-frame-hdr")),
    "clang": ("unwound.c", "clang", ("-O2", "-fomit-frame-pointer")),
    "clang-frame-pointers": (
        "unwound.c",
        "clang",
        ("-O1", "-fno-omit-frame-pointer", "-mstackrealign"),
    ),
    "exceptions-gcc": ("unwound.cpp", "g++", ("-O2",)),
    "exceptions-clang": ("unwound.cpp", "clang++", ("-O1",)),
}


def program(compiler, variant):
    source, cc, flags = PROGRAMS[variant]
    return compiler.build(source, cc=cc, flags=flags)


@pytest.mark.parametrize("variant", PROGRAMS)
def test_damaged_tables_change_nothing_for_the_program(compiler, tmp_path, variant):
    built = program(compiler, variant)
    wrong = []
    share = -(-COUNT // len(PROGRAMS))
    for first in range(0, share, BATCH):
        paths = mutants.make(built, min(BATCH, share - first), f"{variant}-{first}", tmp_path)
        wrong += mutants.differing(paths)
        for path in tmp_path.iterdir():
            if path.name.startswith(built.name) and not any(
                path.name.startswith(name) for name, _, _ in wrong
            ):
                path.unlink()
    assert not wrong


def damage(built, to, names, filling):
    """A copy of BUILT with these sections overwritten."""
    data = bytearray(built.read_bytes())
    for name in names:
        offset, size = mutants.Elf(data).parts[name]
        data[offset:offset + size] = (filling * size)[:size]
    to.write_bytes(data)
    to.chmod(0o755)
    return to


@pytest.mark.parametrize("names,filling", [
    ((".eh_frame",), b"\xff"), ((".eh_frame",), b"\0"), ((".eh_frame", ".eh_frame_hdr"), b"\x80"),
], ids=["ff", "00", "80"])
def test_stacks_that_cannot_be_followed_are_cut_and_counted(
    compiler, recorder, tmp_path, names, filling
):
    bare = subprocess.run(
        [program(compiler, "gcc")], capture_output=True, check=True, timeout=DEADLINE
    )
    seen = recorder.record(damage(program(compiler, "gcc"), tmp_path / "damaged", names, filling))
    assert seen.status == 0 and seen.stdout == bare.stdout
    assert seen.profile.totals["truncated_stacks"] > 100
    assert any(site.get("truncated") for site in seen.profile.json["sites"])


def test_without_a_usable_header_the_entries_are_found_by_their_section(
    compiler, recorder, tmp_path
):
    whole = recorder.record(program(compiler, "gcc"))
    seen = recorder.record(
        damage(program(compiler, "gcc"), tmp_path / "damaged", (".eh_frame_hdr",), b"\x1b")
    )
    assert seen.status == 0 and seen.stdout == whole.stdout
    assert seen.profile.totals["truncated_stacks"] == whole.profile.totals["truncated_stacks"]


NAMES = [
    "with space", "line\nbreak", "esc\x1b[31mape", "tab\tand\\back", "name (deleted)", "[stack]",
    "r-xp 0 00:00 0", "\udcff\udcfe", "\u202eleft",
    "x" * 200,
]


def test_a_program_may_lie_at_any_path(compiler, tmp_path):
    built = program(compiler, "gcc").read_bytes()
    for name in NAMES:
        folder = tmp_path / name
        folder.mkdir()
        path = folder / name
        path.write_bytes(built)
        path.chmod(0o755)
        bare = subprocess.run(
            [path], capture_output=True, check=False, timeout=DEADLINE, env=clean_environment()
        )
        seen = subprocess.run(
            [SEEP, "record", "-q", "-f", "-o", tmp_path / "out.seep", "--", path],
            capture_output=True,
            check=False,
            timeout=DEADLINE,
            env=clean_environment(),
        )
        assert (
            (seen.returncode, seen.stdout, seen.stderr)
            == (bare.returncode, bare.stdout, bare.stderr)
            == (0, bare.stdout, b"")
        ), name
        shown = subprocess.run(
            [
                SEEP, "report", "--flat", "--recursion", "-n", "1000", "--no-pager",
                "--cost=total",
                tmp_path / "out.seep",
            ],
            capture_output=True,
            check=True,
            timeout=DEADLINE,
            env=clean_environment(),
        )
        # the others are not stored as they are, so their files cannot be found for names
        if name.isprintable():
            assert shown.stdout.count(b"descend") > 500, name
