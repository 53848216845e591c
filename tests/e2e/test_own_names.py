# SPDX-License-Identifier: MIT
"""Programs that define a name that seep intercepts: they call, and libc calls, what is called
without it."""
import re

import pytest
from harness import BUILD, PLAIN, ROOT

HOOKS = ROOT / "src" / "agent" / "hooks.def"
SIZE = "m"  # size_t in names of C++
NAMES = re.findall(
    r'^X\(\w+, "(\w+)"',
    HOOKS.read_text().replace('" ARCH_SIZE "', SIZE).replace('" ARCH_SIZE', f'{SIZE}"'),
    re.M,
)
ALL = f'-DHOOKS="{HOOKS}"'
AGENT = BUILD / "src" / "agent" / "libseep.so"
# A function of the program that stands on another one of libc; seep knows both (Erlang has the
# first).
ON_ANOTHER = {"sigaction": "__sigaction", "nanosleep": "thrd_sleep",
              "getrlimit": "getrlimit64", "setrlimit": "setrlimit64"}


@pytest.fixture(scope="module")
def build(compiler):
    tour = compiler.build("own_tour.c", flags=(*PLAIN, "-c"), name="own_tour.o")

    def link(*flags, libs=("-rdynamic",)):
        return compiler.build(
            "own_name.c",
            flags=(*PLAIN, f'-DARCH_SIZE="{SIZE}"', *flags, str(tour)),
            libs=("-Wl,--no-as-needed", "-lstdc++", *libs),
        )
    return link


def check_same(recorder, program, **how):
    bare = recorder.bare(program)
    seen = recorder.record(program, options=["-q", *how.get("options", ())])
    assert (seen.status, seen.stdout, seen.stderr) == (bare.status, bare.stdout, bare.stderr)
    assert bare.status == 12 and bare.stdout.count(b"\nown ") >= 1
    return bare


@pytest.mark.parametrize("name", NAMES)
def test_one_name_of_the_programs_own(build, recorder, name):
    check_same(recorder, build(f'-DOWN="{name}"'))


@pytest.mark.parametrize("name", ON_ANOTHER)
def test_an_own_function_on_another_of_libc_ends(build, recorder, name):
    check_same(recorder, build(f'-DOWN="{name}"', f'-DTO(i)="{ON_ANOTHER[name]}"'))


@pytest.mark.parametrize(
    "options", [[], ["--follow=all", "--track-fds", "--events"]], ids=["plain", "much"]
)
@pytest.mark.parametrize("export", [("-rdynamic",), ()], ids=["dynamic", "default"])
@pytest.mark.parametrize(
    "form",
    [(), ("-DWEAK",), ("-fvisibility=hidden",), ("-fvisibility=hidden", "-DWEAK")],
    ids=["function", "weak", "hidden", "hidden weak"],
)
def test_all_names_of_the_programs_own(build, recorder, form, export, options):
    bare = check_same(recorder, build(ALL, *form, libs=export), options=options)
    assert bare.stdout.count(b"\nown ") == len(NAMES)


def test_all_names_with_the_library_alone(build, recorder):
    program, folder = build(ALL), recorder.folder()
    bare, seen = recorder.bare(program), recorder.bare(
        program, env={"LD_PRELOAD": str(AGENT)}, cwd=folder
    )
    assert (seen.status, seen.stdout) == (bare.status, bare.stdout)


def test_addresses_of_functions_in_a_program_without_pic(compiler, recorder):
    program = compiler.build("own_address.c", flags=(*PLAIN, "-fno-pic", "-no-pie"))
    bare, folder = recorder.bare(program), recorder.folder()
    seen = recorder.record(program, options=["-q"])
    alone = recorder.bare(program, env={"LD_PRELOAD": str(AGENT), "SEEP_OPTIONS": "-q"}, cwd=folder)
    for run in (seen, alone):
        assert (run.status, run.stdout, run.stderr) == (bare.status, bare.stdout, bare.stderr)
