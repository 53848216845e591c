# SPDX-License-Identifier: MIT
"""Names and lines, from every form that debug information has and from every place where it may lie.

The program tells the lines of its calls itself (lines.h); what a report says must be these.
"""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, PLAIN, PROGRAMS, SEEP, clean_environment

OPTIMISED = ("-O2", "-g", "-Wl,--build-id=sha1")


class Bench:
    """A folder with a cache of its own, in which programs are made, recorded and moved about."""

    def __init__(self, folder):
        self.folder = folder
        self.env = clean_environment({"XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)})

    def run(self, *argv, cwd=None, env=None, status=0):
        done = subprocess.run([str(a) for a in argv], cwd=cwd or self.folder, env={**self.env, **(env or {})},
                              capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode == status, f"{argv}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def seep(self, *argv, **how):
        return self.run(SEEP, *argv, **how)

    def compile(self, *flags, cc="gcc", source="lines.c", out="lines", cwd=None):
        self.run(cc, "-w", *flags, PROGRAMS / source, "-o", out, "-pthread", cwd=cwd)
        return (cwd or self.folder) / out

    def record(self, program, *options):
        """Facts that the program told; the recording is out.seep."""
        told = self.folder / "truth"
        self.run("/bin/sh", "-c", 'exec "$@" 3>truth', "sh", SEEP, "record", "-q", "-f", "-o", "out.seep", *options,
                 "--", program, cwd=self.folder)
        facts = dict(line[5:].split("=") for line in told.read_text().splitlines())
        return {name: int(value) for name, value in facts.items()}

    def forget(self):
        shutil.rmtree(self.folder / "cache", ignore_errors=True)

    def report(self, *options, file="out.seep", **how):
        return json.loads(self.seep("report", "--json", *options, file, **how).stdout)

    def stack(self, size, *options, **how):
        """(function, line, inlined) of the one allocation of that size, innermost first."""
        report = self.report(*options, **how)
        [site] = [s for s in report["sites"] if s["bytes_allocated"] == size and s["kind"] == "malloc"]
        frames = [report["frames"][i] for i in site["stack"]]
        return [(f["function"], f["line"], f["inlined"]) for f in frames]


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def near(facts):
    return [("near_inner", facts["near_inner"], True), ("near_middle", facts["near_middle"], True),
            ("near_outer", facts["near_outer"], False), ("main", facts["near_main"], False)]


def far(facts):
    return [("far_inner", facts["far_inner"], True), ("far_middle", facts["far_middle"], True),
            ("far_outer", facts["far_outer"], False), ("main", facts["near_main_far"], False)]


# ---- forms ----

@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("flags", [("-gdwarf-4",), ("-gdwarf-5",), ("-gz",), ("-gdwarf-4", "-gz"), ("-no-pie",)], ids=" ".join)
def test_lines_from_what_compilers_write(bench, need, cc, flags):
    need(cc)
    program = bench.compile(*OPTIMISED, *flags, cc=cc)
    facts = bench.record(program)
    assert bench.stack(6001)[:4] == near(facts)


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("packing", ["zlib", "zlib-gnu", "zstd"])
def test_lines_from_packed_sections(bench, need, cc, packing):
    need(cc, "objcopy")
    program = bench.compile(*OPTIMISED, cc=cc)
    bench.run("objcopy", f"--compress-debug-sections={packing}", program)
    facts = bench.record(program)
    assert bench.stack(6001)[:4] == near(facts)


def split(bench, cc, version, cwd=None):
    """Compiled and linked in two steps, as -gsplit-dwarf is used: lines.o, lines.dwo, lines."""
    bench.run(cc, "-w", "-O2", "-g", version, "-gsplit-dwarf", "-c", PROGRAMS / "lines.c", "-o", "lines.o", cwd=cwd)
    bench.run(cc, "lines.o", "-Wl,--build-id=sha1", "-o", "lines", "-pthread", cwd=cwd)
    return (cwd or bench.folder) / "lines"


SPLIT = pytest.mark.parametrize("cc, version", [("gcc", "-gdwarf-5"), ("gcc", "-gdwarf-4"), ("clang", "-gdwarf-5"),
                                                ("clang", "-gdwarf-4")])


@SPLIT
def test_split_debug_information_beside_the_object(bench, need, cc, version):
    need(cc)
    program = split(bench, cc, version)
    assert (bench.folder / "lines.dwo").exists()
    facts = bench.record(program)
    assert bench.stack(6001)[:4] == near(facts)


@SPLIT
def test_split_debug_information_in_another_directory(bench, need, cc, version):
    need(cc)
    build = bench.folder / "build"
    build.mkdir()
    program = split(bench, cc, version, cwd=build)
    facts = bench.record(program)
    store = bench.folder / "store" / "deep"
    store.mkdir(parents=True)
    shutil.move(build / "lines.dwo", store / "lines.dwo")
    assert bench.stack(6001)[0][0] == "near_outer", "without its .dwo file only the lines are known"
    assert bench.stack(6001, "--debug-path", store)[:4] == near(facts)
    assert bench.stack(6001)[:4] == near(facts), "found once, kept by build id"


@SPLIT
def test_split_debug_information_in_a_package(bench, need, cc, version):
    need(cc, "dwp", "llvm-dwp")
    program = split(bench, cc, version)
    # The dwp of binutils 2.40 crashes on DWARF 5 of gcc 12.
    bench.run("dwp" if (cc, version) == ("gcc", "-gdwarf-4") else "llvm-dwp", "-e", "lines", "-o", "lines.dwp")
    (bench.folder / "lines.dwo").unlink()
    facts = bench.record(program)
    assert bench.stack(6001)[:4] == near(facts)


def test_what_dwz_moved_to_a_file_of_its_own(bench, need):
    need("dwz")
    for name in ("one", "two"):
        bench.compile(*OPTIMISED, f"-DDWZ_{name}", out=name)
    bench.run("dwz", "-m", "common.debug", "one", "two")
    facts = bench.record(bench.folder / "one")
    assert bench.stack(6001)[:4] == near(facts)
    bench.forget()
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()
    shutil.move(bench.folder / "common.debug", elsewhere / "renamed")
    bench.stack(6001)
    assert bench.stack(6001, "--debug-path", elsewhere)[:4] == near(facts)


def test_names_from_a_packed_symbol_table(bench, need):
    need("xz", "objcopy")
    program = bench.compile(*OPTIMISED, "-Dnear_outer=near_hidden")
    bench.run("objcopy", "-S", "--keep-symbol=near_hidden", "--keep-symbol=main", program, "mini")
    bench.run("xz", "mini")
    bench.run("strip", "-s", program)
    bench.run("objcopy", "--add-section", ".gnu_debugdata=mini.xz", program)
    bench.record(program)
    assert [f[:2] for f in bench.stack(6001)[:2]] == [("near_hidden", None), ("main", None)]


def test_names_of_rust(bench, need):
    need("rustc")
    (bench.folder / "r.rs").write_text(
        "use std::hint::black_box;\n"
        "mod pool {\n"
        "    #[inline(never)]\n"
        "    pub fn fill(n: usize) -> Vec<u8> {\n"
        "        let v = Vec::<u8>::with_capacity(n);\n"
        "        v\n"
        "    }\n"
        "}\n"
        "fn main() {\n"
        "    let v = black_box(pool::fill(black_box(60001)));\n"
        "    println!(\"{}\", v.capacity());\n"
        "}\n")
    bench.run("rustc", "-g", "-O", "r.rs", env={"HOME": os.environ.get("HOME", "/"), **{
        k: v for k, v in os.environ.items() if k.startswith(("RUST", "CARGO"))}})
    bench.seep("record", "-q", "-o", "out.seep", "--", "./r")
    stack = bench.stack(60001)
    assert ("r::pool::fill", 5, False) in stack, stack
    assert ("r::main", 10, False) in stack, stack
