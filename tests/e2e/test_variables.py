# SPDX-License-Identifier: MIT
"""Variables by address: names, places and types, from every form that debug information has.

The programs tell the addresses of their own variables, and what is true about them
(../programs/variables.h).
"""
import json
import os
import random
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
        lines = [
            line for line in bench.run(program).stdout.splitlines() if not line.startswith("#")
        ]
        asked = [line.partition(" | ") for line in lines]
        self.true = [
            dict(w.split("=", 1) for w in truth.strip(";").split(";"))
            for _, bar, truth in asked
            if bar
        ]
        self.questions = [question for question, bar, _ in asked if bar]
        said = (
            bench.run("/bin/sh", "-c", '"$0" "$@" < questions', TELL, *paths)
            if self._keep(bench, asked)
            else None
        )
        self.said = [json.loads(line) for line in said.stdout.splitlines()]
        assert len(self.said) == len(self.true) > 5

    @staticmethod
    def _keep(bench, asked):
        return (bench.folder / "questions").write_text(
            "".join(question + "\n" for question, _, _ in asked)
        )

    def wrong(self, keys=None, may_miss=()):
        """Every answer that is not the true one; of kinds in MAY_MISS only those that say
        something else."""
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
    bench.run(
        cc, *flags, "variables.o", "variables_far.o", library, "-Wl,--build-id=sha1", *link, "-o",
        "variables",
    )
    return bench.folder / "variables"


def build_cpp(bench, cc="g++", flags=("-O0", "-g")):
    bench.run(cc, "-std=c++17", *flags, "-c", PROGRAMS / "variables.cpp", "-o", "variables.o")
    bench.run(cc, *flags, "variables.o", "-Wl,--build-id=sha1", "-o", "variables")
    return bench.folder / "variables"


FORMS = [
    ("-gdwarf-4",),
    ("-gdwarf-5",),
    ("-gdwarf-5", "-no-pie", "-fno-pie"),
    ("-gdwarf-4", "-fdebug-types-section"),
    ("-gdwarf-5", "-fdebug-types-section"),
    ("-gdwarf-4", "-gsplit-dwarf"),
    ("-gdwarf-5", "-gsplit-dwarf"),
    ("-gdwarf-5", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"),
]
EVERY_FORM = pytest.mark.parametrize(
    "level, form",
    [*(("-O0", form) for form in FORMS), *(("-O2", form) for form in FORMS[:3])],
    ids=lambda x: x if isinstance(x, str) else " ".join(x),
)


@EVERY_FORM
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_variables_of_c(bench, need, cc, level, form):
    need(cc)
    told = Variables(bench, build_c(bench, cc, (level, "-g", "-w", *form)))
    # describes no variable that is declared only: just the symbol tells
    if cc == "clang" and "-no-pie" in form:
        told.forget("library_copied", SYMBOLS_KNOW)
    assert not told.wrong(may_miss=["frame"] if level == "-O2" else [])


@EVERY_FORM
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


@pytest.mark.parametrize(
    "cc, version",
    [("gcc", "-gdwarf-4"), ("gcc", "-gdwarf-5"), ("clang", "-gdwarf-5"), ("clang", "-gdwarf-4")],
)
def test_split_debug_information_in_a_package(bench, need, cc, version):
    need(cc, "dwp", "llvm-dwp")
    program = build_c(bench, cc, ("-O0", "-g", version, "-gsplit-dwarf"))
    # The dwp of binutils 2.40 crashes on DWARF 5 of gcc 12.
    bench.run(
        "dwp" if (cc, version) == ("gcc", "-gdwarf-4") else "llvm-dwp",
        "-e", "variables", "-o", "variables.dwp",
    )
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
    bench.run(
        "objcopy", "-S", "--keep-symbol=static_table", "--keep-symbol=buffer",
        "--keep-symbol=main", program, "mini",
    )
    bench.run("xz", "mini")
    bench.run("strip", "-s", program)
    bench.run("objcopy", "--add-section", ".gnu_debugdata=mini.xz", program)
    assert {"static_table", "buffer"} <= Variables(bench, program).named()


PARTED = """
struct item { struct item *next; };
static struct { struct item *head; long count; struct item *tail; } queue;
__attribute__((noinline)) void add(struct item *x) { x->next = queue.head; queue.head = x;
    queue.count++; queue.tail = x->next; }
__attribute__((noinline)) struct item *get(void) {
    return queue.count & 1 ? queue.head : queue.tail; }
int main(void) { static struct item one; add(&one); return get() == 0; }
"""


def ask(bench, program, *questions):
    (bench.folder / "questions").write_text(
        "\n".join([f"module {program} 0 0 ffffffff", *questions, ""])
    )
    return [
        json.loads(line)
        for line in bench.run("/bin/sh", "-c", '"$0" < questions', TELL).stdout.splitlines()
    ]


def test_a_structure_that_the_optimiser_took_apart(bench, need):
    need("clang", "nm")
    (bench.folder / "parted.c").write_text(PARTED)
    bench.run("clang", "-O2", "-g", "parted.c", "-o", "parted")
    places = {
        name: address
        for address, _, name in (
            line.split()[-3:]
            for line in bench.run("nm", "--defined-only", "parted").stdout.splitlines()
        )
    }
    assert "queue.2" in places, "clang takes it apart"
    [tail] = ask(bench, bench.folder / "parted", f"data 0 {places['queue.2']} 0")
    assert (tail["name"], tail["line"], tail["path"], tail["left"]) == (
        "queue", 3, ".tail->.next", 0,
    )


def test_damaged_debug_information_is_survived(bench):
    """Every answer may be wrong or missing, but there is one."""
    program = build_cpp(bench)
    whole = program.read_bytes()
    questions = [
        line.partition(" | ")[0]
        for line in bench.run(program).stdout.splitlines()
        if not line.startswith("#")
    ]
    damaged = bench.folder / "damaged"
    (bench.folder / "questions").write_text(
        "".join(q.replace(str(program), str(damaged)) + "\n" for q in questions)
    )
    chance = random.Random(4)
    for _ in range(60):
        parts = bytearray(whole)
        for _ in range(chance.choice([1, 5, 50])):
            parts[chance.randrange(len(whole) // 4, len(whole) - 4096)] = chance.choice(
                [0, 1, 255, chance.randrange(256)]
            )
        damaged.write_bytes(parts)
        said = bench.run("/bin/sh", "-c", '"$0" < questions', TELL)
        assert len(said.stdout.splitlines()) == len(questions) - 1


# Entries of DWARF 4: number, tag, children, attributes with forms.
LOOPS = [(1, 0x11, 1, [(0x13, 0x0b)]),                                     # compile unit: language
         # variable: name, type, location
         (2, 0x34, 0, [(0x03, 0x08), (0x49, 0x13), (0x02, 0x18)]),
         (3, 0x16, 0, [(0x03, 0x08), (0x49, 0x13)]),                       # typedef: name, type
         (4, 0x17, 1, [(0x03, 0x08), (0x0b, 0x0b)]),                       # union: name, size
         # member: name, type, place
         (5, 0x0d, 0, [(0x03, 0x08), (0x49, 0x13), (0x38, 0x0b)]),
         (6, 0x0f, 0, [(0x49, 0x13)]),                                     # pointer: type
         (7, 0x01, 1, [(0x49, 0x13)]),                                     # array: type
         # its dimension: upper bound
         (8, 0x21, 0, [(0x2f, 0x0b)]),
         (9, 0x0b, 1, [])]                                                 # block

LOOPING = r"""
        .data
here:   .skip 64
        .section .debug_abbrev
{abbrev}
        .byte 0
        .section .debug_info
cu:     .long end - start
start:  .short 4
        .long .debug_abbrev
        .byte 8
        .byte 1, 4
{variables}
type0:  .byte 3
        .asciz "to_itself"
        .long type0 - cu
type1:  .byte 4
        .asciz "of_itself"
        .byte 8
{members}
        .byte 0
type2:  .byte 6
        .long type2 - cu
type3:  .byte 7
        .long type3 - cu
        .byte 8, 2
        .byte 0
        .fill 50000, 1, 9
        .fill 50000, 1, 0
        .byte 0
end:
"""


def test_types_that_go_round_in_circles_come_to_an_end(bench, need):
    need("as", "ld")
    abbrev = "\n".join(
        f".byte {n}, {tag}, {children}, " + "".join(f"{a}, {f}, " for a, f in attributes) + "0, 0"
        for n, tag, children, attributes in LOOPS
    )
    variable = ('        .byte 2\n        .asciz "v{0}"\n        .long type{0} - cu\n        .byte '
                '9, 3\n        .quad here + 8 * {0}')
    members = "\n".join(
        f'        .byte 5\n        .asciz "m{i}"\n        .long type1 - cu\n        .byte 0'
        for i in range(3)
    )
    (bench.folder / "loops.s").write_text(
        LOOPING.format(
            abbrev=abbrev,
            members=members,
            variables="\n".join(variable.format(i) for i in range(4)),
        )
    )
    bench.run("as", "loops.s", "-o", "loops.o")
    bench.run("ld", "loops.o", "-e", "0", "-o", "loops")
    [place] = [
        line.split()[0]
        for line in bench.run("nm", "loops").stdout.splitlines()
        if line.endswith(" here")
    ]
    said = ask(
        bench, bench.folder / "loops", *(f"data 0 {int(place, 16) + 8 * i:x} 0 0" for i in range(4))
    )
    assert [answer["name"] for answer in said] == ["v0", "v1", "v2", "v3"]
    assert said[0]["type"] == "to_itself" and said[0]["type_size"] == 0
    assert said[1]["type"] == "of_itself" and said[1]["type_size"] == 8
    assert said[2]["type"] is None and said[3]["type"] is None


RUST = """
// std::hint::black_box is newer than Debian 12's rustc
fn opaque<T>(x: T) -> T { let y = unsafe { std::ptr::read_volatile(&x) }; std::mem::forget(x); y }
pub struct Item { pub id: u64, pub next: Option<Box<Item>> }
mod pool {
    pub static mut ITEMS: Vec<super::Item> = Vec::new();
    pub static mut FIRST: Option<Box<super::Item>> = None;
}
fn place<T>(name: &str, p: *const T, truth: &str) {
    println!("data 0 {:x} {} | {}", p as usize, name, truth); }
fn main() {
    static mut CALLS: u32 = 0;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let exe = std::env::current_exe().unwrap();
    let exe = exe.to_str().unwrap();
    let line = maps.lines().find(|l| l.ends_with(exe)).unwrap();
    let start = line.split('-').next().unwrap().to_string();
    println!("module {} {} {} 7fffffffffff", exe, start, start);
    unsafe {
        place("", std::ptr::addr_of!(pool::ITEMS), "name=r::pool::ITEMS;size=24;type_size=24");
        place("", std::ptr::addr_of!(pool::FIRST),
            "name=r::pool::FIRST;size=8;path=.Some;target=r::Item");
        place("", std::ptr::addr_of!(CALLS), "name=r::main::CALLS;size=4;type=u32;line=12");
        opaque(&pool::ITEMS); CALLS += 1;
        for _ in 0..5 { place("", std::ptr::addr_of!(CALLS), "name=r::main::CALLS"); }
    }
}
"""


def test_statics_of_rust(bench, need):
    need("rustc")
    (bench.folder / "r.rs").write_text(RUST)
    known = {k: v for k, v in os.environ.items() if k.startswith(("RUST", "CARGO"))}
    bench.run(
        "rustc", "-g", "-A", "warnings", "r.rs", env={"HOME": os.environ.get("HOME", "/"), **known}
    )
    assert not Variables(bench, bench.folder / "r").wrong()
    bench.run("strip", "-g", "r")
    assert not Variables(bench, bench.folder / "r").wrong({"name", "size"})
