# SPDX-License-Identifier: MIT
"""include/seep.h: compiles alone and strictly wherever it is used, does nothing without seep,
and its example works."""
import itertools
import subprocess

import harness
import pytest

INCLUDE = harness.ROOT / "include"
EXAMPLE = harness.ROOT / "docs" / "man" / "example.c"
STRICT = (
    "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-aliasing=2", "-Werror", "-O2",
    f"-I{INCLUDE}",
)
LANGUAGES = {
    "c99": ("gcc", "clang"),
    "c11": ("gcc",),
    "c++11": ("g++", "clang++"),
    "c++20": ("g++",),
}
POSITIONS = {"pie": ("-fPIE", "-pie"), "no-pie": ("-fno-pie", "-no-pie")}

EVERY_MACRO = """
int main(int argc, char **argv)
{
        char block[64];

        if (argc > 5)
                SEEP_TAG(argv[1]);
        else
                SEEP_SNAPSHOT("label");
        SEEP_DISABLE();
        SEEP_ENABLE();
        SEEP_ALLOC(block, sizeof block);
        SEEP_RESOURCE_ACQUIRE("number", 17, 4096);
        SEEP_RESOURCE_ACQUIRE("pointer", block, 1);
        SEEP_RESOURCE_RELEASE("pointer", block);
        SEEP_RESOURCE_RELEASE("number", 17);
        SEEP_FREE(block);
        SEEP_IGNORE(block);
        SEEP_ROOT(block, sizeof block);
        return SEEP_LEAK_CHECK() != 0;
}
"""

COMPILERS = [(c, s) for s, compilers in LANGUAGES.items() for c in compilers]


def compile_text(text, compiler, standard, out, *flags):
    source = out.with_suffix(".cc" if "+" in standard else ".c")
    source.write_text(text)
    done = subprocess.run(
        [compiler, f"-std={standard}", *STRICT, *flags, str(source), "-o", str(out)],
        capture_output=True,
        text=True,
        timeout=harness.DEADLINE,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return out


@pytest.mark.parametrize("compiler, standard", COMPILERS)
@pytest.mark.parametrize("position", POSITIONS)
def test_the_header_compiles_alone_and_does_nothing_without_seep(
    tmp_path, need, compiler, standard, position
):
    need(compiler)
    text = '#include "seep.h"\n#include "seep.h"\n' + EVERY_MACRO
    program = compile_text(text, compiler, standard, tmp_path / "every", *POSITIONS[position])
    assert subprocess.run([program], timeout=harness.DEADLINE, cwd=tmp_path).returncode == 0
    assert not list(tmp_path.glob("*.memlog"))


@pytest.mark.parametrize("compiler, standard", COMPILERS)
def test_the_header_gets_on_with_others(tmp_path, need, compiler, standard):
    """In either order, in programs and in libraries."""
    need(compiler)
    places = {**POSITIONS, "library": ("-fPIC", "-shared")}
    for number, (first, place) in enumerate(itertools.product((True, False), places)):
        headers = [
            "#include <seep.h>",
            "#define _GNU_SOURCE 1" if "+" not in standard else "",
            "#include <dlfcn.h>",
            "#include <stdlib.h>",
        ]
        text = "\n".join(headers if first else headers[1:] + headers[:1]) + "\n" + EVERY_MACRO
        compile_text(text, compiler, standard, tmp_path / f"with{number}", *places[place])


@pytest.mark.parametrize("position", POSITIONS)
def test_the_example_of_the_manual_works(compiler, recorder, position):
    program = compiler.build(
        str(EXAMPLE), flags=("-O0", "-g", f"-I{INCLUDE}", *POSITIONS[position])
    )
    assert recorder.bare(program).status == 0
    done = recorder.record(program)
    assert done.status == 0, done.stderr
    pool = done.profile.sum(s for s in done.profile.heap_sites() if s["kind"] == "pool")
    assert (pool["allocations"], pool["frees"], pool["live_bytes"]) == (2, 1, 100)
    assert done.profile.by_function()["pool_take"] == pool
    arena = done.profile.by_function()["main"]
    assert arena["live_bytes"] == (1 << 20) - 100
    assert [s["label"] for s in done.profile.json["snapshots"] if s["label"] == "one request"] == [
        "one request"
    ]
