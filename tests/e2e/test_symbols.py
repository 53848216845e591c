# SPDX-License-Identifier: MIT
"""Names and lines from every form that debug information has."""
import os
import shutil

import pytest

from bench import OPTIMISED, Bench, near
from harness import PROGRAMS


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize(
    "flags",
    [("-gdwarf-4",), ("-gdwarf-5",), ("-gz",), ("-gdwarf-4", "-gz"), ("-no-pie",)],
    ids=" ".join,
)
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
    bench.run(
        cc, "-w", "-O2", "-g",
        *version.split(),
        "-gsplit-dwarf", "-c", PROGRAMS / "lines.c", "-o", "lines.o",
        cwd=cwd,
    )
    bench.run(cc, "lines.o", "-Wl,--build-id=sha1", "-o", "lines", "-pthread", cwd=cwd)
    return (cwd or bench.folder) / "lines"


FORMS = [("gcc", "-gdwarf-5"), ("gcc", "-gdwarf-4"), ("clang", "-gdwarf-5"), ("clang", "-gdwarf-4")]
SPLIT = pytest.mark.parametrize(
    "cc, version", [*FORMS, ("gcc", "-gdwarf-4 -gz"), ("clang", "-gdwarf-5 -gz")]
)


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


@pytest.mark.parametrize("cc, version", FORMS)
def test_split_debug_information_in_a_package(bench, need, cc, version):
    need(cc, "dwp", "llvm-dwp")
    program = split(bench, cc, version)
    # The dwp of binutils 2.40 crashes on DWARF 5 of gcc 12.
    bench.run(
        "dwp" if (cc, version) == ("gcc", "-gdwarf-4") else "llvm-dwp",
        "-e", "lines", "-o", "lines.dwp",
    )
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
        # std::hint::black_box is newer than Debian 12's rustc
        "fn opaque<T>(x: T) -> T { let y = unsafe { std::ptr::read_volatile(&x) }; "
        "std::mem::forget(x); y }\n"
        "mod pool {\n"
        "    #[inline(never)]\n"
        "    pub fn fill(n: usize) -> Vec<u8> {\n"
        "        let v = Vec::<u8>::with_capacity(n);\n"
        "        v\n"
        "    }\n"
        "}\n"
        "fn main() {\n"
        "    let v = opaque(pool::fill(opaque(60001)));\n"
        "    println!(\"{}\", v.capacity());\n"
        "}\n")
    bench.run("rustc", "-g", "-O", "r.rs", env={"HOME": os.environ.get("HOME", "/"), **{
        k: v for k, v in os.environ.items() if k.startswith(("RUST", "CARGO"))}})
    bench.seep("record", "-q", "-o", "out.seep", "--", "./r")
    stack = bench.stack(60001)
    assert ("r::pool::fill", 5, False) in stack, stack
    assert ("r::main", 10, False) in stack, stack
