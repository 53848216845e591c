# SPDX-License-Identifier: MIT
"""Variables by address: names, places and types, from every form that debug information has.

The programs tell the addresses of their own variables, and what is true about them (../programs/variables.h).
"""
import json
import os
import shutil

import pytest

from bench import Bench
from harness import BUILD, PROGRAMS

TELL = BUILD / "tests" / "unit" / "tell_variables"
SYMBOLS_KNOW = {"name", "size", "static"}


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


class Variables:
    """Questions of a program with the true answers, and what the tool says."""

    def __init__(self, bench, program, *paths):
        assert TELL.exists(), f"{TELL} is not built"
        lines = [line for line in bench.run(program).stdout.splitlines() if not line.startswith("#")]
        asked = [line.partition(" | ") for line in lines]
        self.true = [dict(w.split("=", 1) for w in truth.strip(";").split(";")) for _, bar, truth in asked if bar]
        self.questions = [question for question, bar, _ in asked if bar]
        said = bench.run("/bin/sh", "-c", '"$0" "$@" < questions', TELL, *paths) if self._keep(bench, asked) else None
        self.said = [json.loads(line) for line in said.stdout.splitlines()]
        assert len(self.said) == len(self.true) > 5

    @staticmethod
    def _keep(bench, asked):
        return (bench.folder / "questions").write_text("".join(question + "\n" for question, _, _ in asked))

    def wrong(self, keys=None, may_miss=()):
        """Every answer that is not the true one; of kinds in MAY_MISS only those that say something else."""
        found = []
        for question, true, said in zip(self.questions, self.true, self.said):
            if question.split()[0] in may_miss and said is None:
                continue
            for key, value in true.items():
                if keys and key not in keys:
                    continue
                answer = str(said and said.get(key))
                if answer != value and not (key == "function" and answer.endswith(value)):
                    found.append((question, key, value, said))
        return found

    def forget(self, name, but):
        for true in self.true:
            if true.get("name") == name:
                for key in set(true) - but:
                    del true[key]

    def named(self):
        return {said["name"] for said in self.said if said and said.get("name")}


def build_c(bench, cc="gcc", flags=("-O0", "-g"), link=()):
    library = bench.folder / "libvariables.so"
    bench.run(cc, *flags, "-shared", "-fPIC", PROGRAMS / "variables_library.c", "-o", library)
    for part in ("variables", "variables_far"):
        bench.run(cc, *flags, "-c", PROGRAMS / f"{part}.c", "-o", f"{part}.o")
    bench.run(cc, *flags, "variables.o", "variables_far.o", library, "-Wl,--build-id=sha1", *link, "-o", "variables")
    return bench.folder / "variables"


def build_cpp(bench, cc="g++", flags=("-O0", "-g")):
    bench.run(cc, "-std=c++17", *flags, "-c", PROGRAMS / "variables.cpp", "-o", "variables.o")
    bench.run(cc, *flags, "variables.o", "-Wl,--build-id=sha1", "-o", "variables")
    return bench.folder / "variables"


FORMS = [("-gdwarf-4",), ("-gdwarf-5",), ("-gdwarf-5", "-no-pie", "-fno-pie"), ("-gdwarf-4", "-fdebug-types-section"),
         ("-gdwarf-5", "-fdebug-types-section"), ("-gdwarf-4", "-gsplit-dwarf"), ("-gdwarf-5", "-gsplit-dwarf"),
         ("-gdwarf-5", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")]
EVERY_FORM = pytest.mark.parametrize("form", FORMS, ids=" ".join)
EVERY_LEVEL = pytest.mark.parametrize("level", ["-O0", "-O2"])


@EVERY_FORM
@EVERY_LEVEL
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_variables_of_c(bench, need, cc, level, form):
    need(cc)
    told = Variables(bench, build_c(bench, cc, (level, "-g", "-w", *form)))
    if cc == "clang" and "-no-pie" in form:  # describes no variable that is declared only: just the symbol tells
        told.forget("library_copied", SYMBOLS_KNOW)
    assert not told.wrong(may_miss=["frame"] if level == "-O2" else [])


@EVERY_FORM
@EVERY_LEVEL
@pytest.mark.parametrize("cc", ["g++", "clang++"])
def test_variables_of_cpp(bench, need, cc, level, form):
    need(cc)
    told = Variables(bench, build_cpp(bench, cc, (level, "-g", "-w", *form)))
    assert not told.wrong()


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_symbols_where_there_is_no_debug_information(bench, need, cc):
    need(cc)
    told = Variables(bench, build_c(bench, cc, ("-O0",)))
    assert not told.wrong(SYMBOLS_KNOW, may_miss=["frame"])
    assert {"cached", "thread_static", "library_copied", "library_static"} <= told.named()


@pytest.mark.parametrize("cc", ["g++", "clang++"])
def test_symbols_of_cpp_where_there_is_no_debug_information(bench, need, cc):
    need(cc)
    told = Variables(bench, build_cpp(bench, cc, ("-O0",)))
    assert not told.wrong(SYMBOLS_KNOW | {"class", "function"})


def test_names_that_a_stripped_program_still_has(bench, need):
    need("strip")
    program = build_c(bench, link=("-rdynamic",))
    bench.run("strip", program)
    told = Variables(bench, program)
    assert {"global_list", "tail", "thread_global", "library_copied"} <= told.named()
    assert "static_table" not in told.named()
    assert not [w for w in told.wrong({"name"}) if w[3]], "what is said is true"


@pytest.mark.parametrize("build", [build_c, build_cpp])
def test_debug_information_in_a_file_of_its_own(bench, need, build):
    need("objcopy", "strip")
    program = build(bench)
    bench.run("objcopy", "--only-keep-debug", program, "kept.debug")
    bench.run("strip", program)
    bench.run("objcopy", "--add-gnu-debuglink=kept.debug", program)
    assert not Variables(bench, program).wrong()
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()
    shutil.move(bench.folder / "kept.debug", elsewhere / "other-name")
    assert not Variables(bench, program, elsewhere).wrong()


@pytest.mark.parametrize("cc, version", [("gcc", "-gdwarf-4"), ("gcc", "-gdwarf-5"), ("clang", "-gdwarf-5"), ("clang", "-gdwarf-4")])
def test_split_debug_information_in_a_package(bench, need, cc, version):
    need(cc, "dwp", "llvm-dwp")
    program = build_c(bench, cc, ("-O0", "-g", version, "-gsplit-dwarf"))
    # The dwp of binutils 2.40 crashes on DWARF 5 of gcc 12.
    bench.run("dwp" if (cc, version) == ("gcc", "-gdwarf-4") else "llvm-dwp", "-e", "variables", "-o", "variables.dwp")
    for part in bench.folder.glob("variables*.dwo"):
        if "library" not in part.name:
            part.unlink()
    assert not Variables(bench, program).wrong()


@pytest.mark.parametrize("build", [build_c, build_cpp])
def test_what_dwz_moved_to_a_file_of_its_own(bench, need, build):
    need("dwz")
    program = build(bench)
    shutil.copy(program, bench.folder / "another")
    bench.run("dwz", "-m", "common.debug", program, "another")
    assert (bench.folder / "common.debug").exists()
    assert not Variables(bench, program).wrong()


def test_names_from_a_packed_symbol_table(bench, need):
    need("xz", "objcopy")
    program = build_c(bench)
    bench.run("objcopy", "-S", "--keep-symbol=static_table", "--keep-symbol=buffer", "--keep-symbol=main", program, "mini")
    bench.run("xz", "mini")
    bench.run("strip", "-s", program)
    bench.run("objcopy", "--add-section", ".gnu_debugdata=mini.xz", program)
    assert {"static_table", "buffer"} <= Variables(bench, program).named()


def test_damaged_debug_information_is_survived(bench):
    """Every answer may be wrong or missing, but there is one."""
    program = build_cpp(bench)
    whole = program.read_bytes()
    questions = [line for line in bench.run(program).stdout.splitlines() if " | " in line or line.startswith("module")]
    damaged = bench.folder / "damaged"
    (bench.folder / "questions").write_text("".join(q.partition(" | ")[0].replace(str(program), str(damaged)) + "\n" for q in questions))
    start = whole.index(b"GNU C++")
    state = 12345
    for _ in range(60):
        parts = bytearray(whole)
        for _ in range(40):
            state = (state * 1103515245 + 12345) % 2**31
            at = len(whole) // 4 + state % (len(whole) - len(whole) // 4 - 4096)
            parts[at] = state >> 16 & 255
        damaged.write_bytes(parts)
        said = bench.run("/bin/sh", "-c", '"$0" < questions', TELL)
        assert len(said.stdout.splitlines()) == sum(q.startswith(("data", "thread", "class")) for q in questions)
    assert start


RUST = """
use std::hint::black_box;
pub struct Item { pub id: u64, pub next: Option<Box<Item>> }
mod pool {
    pub static mut ITEMS: Vec<super::Item> = Vec::new();
    pub static mut FIRST: Option<Box<super::Item>> = None;
}
fn place<T>(name: &str, p: *const T, truth: &str) { println!("data 0 {:x} {} | {}", p as usize, name, truth); }
fn main() {
    static mut CALLS: u32 = 0;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let exe = std::env::current_exe().unwrap();
    let exe = exe.to_str().unwrap();
    let start = maps.lines().find(|l| l.ends_with(exe)).unwrap().split('-').next().unwrap().to_string();
    println!("module {} {} {} 7fffffffffff", exe, start, start);
    unsafe {
        place("", std::ptr::addr_of!(pool::ITEMS), "name=r::pool::ITEMS;size=24;type_size=24");
        place("", std::ptr::addr_of!(pool::FIRST), "name=r::pool::FIRST;size=8;path=.Some;target=r::Item");
        place("", std::ptr::addr_of!(CALLS), "name=r::main::CALLS;size=4;type=u32;line=10");
        black_box(&pool::ITEMS); CALLS += 1;
        for _ in 0..5 { place("", std::ptr::addr_of!(CALLS), "name=r::main::CALLS"); }
    }
}
"""


def test_statics_of_rust(bench, need):
    need("rustc")
    (bench.folder / "r.rs").write_text(RUST)
    known = {k: v for k, v in os.environ.items() if k.startswith(("RUST", "CARGO"))}
    bench.run("rustc", "-g", "-A", "warnings", "r.rs", env={"HOME": os.environ.get("HOME", "/"), **known})
    assert not Variables(bench, bench.folder / "r").wrong()
    bench.run("strip", "-g", "r")
    assert not Variables(bench, bench.folder / "r").wrong({"name", "size"})
