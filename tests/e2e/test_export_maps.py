# SPDX-License-Identifier: MIT
"""`seep export --to maps`: addresses of a recording translated without it, as memtraq's scripts
do."""
import re
import subprocess
from collections import Counter

import pytest

from harness import SEEP, ask, clean_environment

LINE = re.compile(r"([0-9a-f]{8,})-([0-9a-f]{8,}) ([r-][w-][x-][ps]) ([0-9a-f]{8,}) "
                  r"([0-9a-f]+):([0-9a-f]+) (\d+)(?: +(.*))?")


def seep(*words):
    return ask(*words).stdout


def parse(text):
    """Lines of /proc/PID/maps: (start, end, rights, offset, device, inode, path)."""
    lines = []
    for line in text.splitlines():
        found = LINE.fullmatch(line.rstrip())
        assert found, line
        start, end, rights, offset, major, minor, inode, path = found.groups()
        lines.append(
            (
                int(start, 16),
                int(end, 16),
                rights,
                int(offset, 16),
                (int(major, 16), int(minor, 16)),
                int(inode),
                path or "",
            )
        )
    return lines


def exported(file):
    lines = parse(seep("export", "--to", "maps", file))
    assert all(a[1] <= b[0] for a, b in zip(lines, lines[1:])), "lines that overlap"
    return lines


def test_code_is_where_the_program_itself_sees_it(recorder):
    told = "import ctypes, sys; sys.stdout.write(open('/proc/self/maps').read())"
    seen = recorder.record("/usr/bin/python3", "-c", told)
    code = [
        line for line in parse(seen.stdout.decode()) if "x" in line[2] and line[-1] != "[vsyscall]"
    ]
    assert len(code) > 3
    missing = set(code) - set(exported(seen.folder / "out.seep"))
    assert not missing


def load_segments(path):
    """Offset, address and size of what is loaded from a file."""
    text = subprocess.run(
        ["readelf", "-lW", path], capture_output=True, text=True, check=True
    ).stdout
    return [
        tuple(int(n, 16) for n in m.groups())
        for m in re.finditer(r"^ *LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", text, flags=re.M)
    ]


def function_at(path, place):
    """By addr2line, from a place in the file."""
    address = next(
        place - offset + vaddr
        for offset, vaddr, size in load_segments(path)
        if offset <= place < offset + size
    )
    out = subprocess.run(
        ["addr2line", "-f", "-e", path, hex(address)], capture_output=True, text=True, check=True
    ).stdout
    return out.splitlines()[0]


@pytest.mark.parametrize(
    "flags",
    [("-pie", "-fPIE"), ("-no-pie", "-fno-pie"), ("-pie", "-fPIE", "-Wl,-z,noseparate-code")],
    ids=["pie", "fixed", "one segment"],
)
def test_addresses_of_memtraq_s_log_translate(compiler, recorder, flags):
    program = compiler.build("steps.c", flags=("-g", "-O0", "-fno-builtin", *flags))
    seen = recorder.record(program, "+red:30:100", "+green:7:70", "-red:10", options=["--events"])
    file = seen.folder / "out.seep"
    lines = exported(file)
    found, names = Counter(), {}
    for line in seep("events", "--memtraq", file).splitlines()[2:]:
        _, _, _, event, one, _, _, *frames = line.split(";")
        if event == "malloc" and one in ("100", "70"):
            caller = int(frames[0], 16) - 1
            start, _, _, offset, _, _, path = next(m for m in lines if m[0] <= caller < m[1])
            assert path == str(program.resolve())
            if caller not in names:
                names[caller] = function_at(path, caller - start + offset)
            found[names[caller], int(one)] += 1
    assert found == {("red", 100): 30, ("green", 70): 7}


def test_a_closed_library_is_there_and_one_that_lost_its_place_is_told(compiler, recorder):
    plugs = [
        compiler.library(
            "plug.c",
            flags=("-g", "-O0", "-fno-builtin", f"-DPLUG={letter}"),
            name=f"plug_{letter}.so",
        )
        for letter in "ab"
    ]
    seen = recorder.record(compiler.build("dl_swap.c"), *plugs, "1")
    file = seen.folder / "out.seep"
    paths = {line[-1] for line in exported(file) if "x" in line[2]}
    told = subprocess.run(
        [SEEP, "export", "--to", "maps", file],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=60,
    ).stderr
    assert str(plugs[1].resolve()) in paths
    assert (str(plugs[0].resolve()) in paths) == (not seen.truth.facts["same"])
    assert ("1 library was unloaded" in told) == bool(seen.truth.facts["same"])
