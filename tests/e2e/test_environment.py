# SPDX-License-Identifier: MIT
"""The program's environment is what it would be without the tool, for itself and for what it
starts; and its numbers are."""
import os
import re
import shutil
import subprocess

import pytest

from harness import PLAIN, SEEP, Profile, check_clean
from plain import preloaded
from test_valgrind import VALGRIND, valgrind_totals

INTO_OTHERS = ["execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve",
               "other", "nothing", "many", "changes", "cleared"]
CHILDREN = ["spawn", "spawnp", "vfork", "fork"]
SHELLS = ["system", "popen", "wordexp", "cleared-system", "changed-system"]
OWN = {"none": {}, "empty": {"LD_PRELOAD": ""}, "one": {"LD_PRELOAD": "libm.so.6"},
       "several": {"LD_PRELOAD": "libm.so.6 libdl.so.2:"},
       "many": {f"VARIABLE_{i}": str(i) for i in range(64)}}


@pytest.fixture(params=["gcc", "musl-gcc"])
def program(request, compiler, need):
    need(request.param)
    return compiler.build(
        "surroundings.c", cc=request.param, flags=(*PLAIN, "-Wno-missing-field-initializers")
    )


def told(run):
    """stdout without what the harness puts into the environment, and its shell."""
    return re.sub(rb"^_=.*\n|[^'\n]*/truth-[0-9]+", b"", run.stdout, flags=re.M)


def compare(recorder, *argv, options=(), **how):
    bare, seen = recorder.bare(*argv, **how), recorder.record(*argv, options=options, **how)
    assert (told(seen), seen.status) == (told(bare), bare.status)
    return bare, seen


def programs(seen):
    return [p.json["pid"] for p in seen.profiles()]


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("follow", ["none", "exec", "all"])
def test_a_program_sees_its_own_environment(program, recorder, own, follow):
    bare, seen = compare(recorder, program, "show", options=[f"--follow={follow}"], env=OWN[own])
    assert (
        bare.stdout.count(b"PATH=") >= 4
        and b"SEEP" not in seen.stdout
        and b"auxiliary 6 1\n" in seen.stdout
    )
    assert seen.truth.facts["agent"] == 1 and seen.truth.facts["variables"] == 1
    check_clean(seen.profile)


@pytest.mark.parametrize("follow", ["exec", "all"])
@pytest.mark.parametrize("way", INTO_OTHERS + CHILDREN + SHELLS)
def test_what_it_starts_is_followed_and_sees_its_own_too(program, recorder, way, follow):
    _, seen = compare(recorder, program, way, options=[f"--follow={follow}"])
    assert b"SEEP" not in seen.stdout
    assert seen.truth.facts["agent"] == 1
    assert seen.truth.facts["shown"] in programs(seen)
    assert len(seen.files()) >= 2


@pytest.mark.parametrize("way", INTO_OTHERS)
def test_without_children_the_next_program_of_the_process_is_recorded(program, recorder, way):
    _, seen = compare(recorder, program, way, options=["--follow=none"])
    assert seen.truth.facts["agent"] == 1
    assert programs(seen) == [seen.truth.facts["shown"]] * 2


@pytest.mark.parametrize("way", CHILDREN + SHELLS)
def test_children_that_are_not_followed_have_nothing_of_ours(program, recorder, way):
    _, seen = compare(recorder, program, way, options=["--follow=none"])
    assert (seen.truth.facts["agent"], seen.truth.facts["variables"]) == (0, 0)
    assert len(seen.files()) == 1


def test_a_program_that_makes_its_own_system_calls_as_go_does_is_followed(compiler, recorder):
    """Nothing but the environment that it was started with leads to what it starts: there it
    must be."""
    program = compiler.build("surroundings.c", flags=(*PLAIN, "-DAS_GO"))
    seen = recorder.record(program, "call")
    assert seen.truth.facts["agent"] == 1
    assert programs(seen) == [seen.truth.facts["shown"]] * 2


def test_other_system_calls_of_its_own_lead_out_of_the_recording(program, recorder):
    _, seen = compare(recorder, program, "call")
    assert (seen.truth.facts["agent"], seen.truth.facts["variables"]) == (0, 0)


@pytest.mark.parametrize("follow", ["none", "exec", "all"])
def test_an_environment_that_cannot_be_read_is_refused_as_ever(program, recorder, follow):
    """By the kernel, with EFAULT, in a program that goes on."""
    bare, _ = compare(recorder, program, "unreadable", options=[f"--follow={follow}"])
    assert bare.status == 0 and bare.stdout.count(b"execve -1 14\n") == 10


@pytest.mark.parametrize("argv", [
    ["/usr/bin/env"], ["bash", "-c", "declare -x; env; (env); exec env"], ["sh", "-c", "env; exec "
                                                                                       "env"],
    ["python3", "-c", "import os, subprocess; print(os.environ, flush=True); "
                      "subprocess.run(['env']); os.system('env')"],
    ["perl", "-e", "print map { \"$_=$ENV{$_}\\n\" } sort keys %ENV; system('env'); print `env`;"],
    ["env", "-i", "A=1", "env"], ["env", "-u", "PATH", "LD_PRELOAD=libm.so.6", "/usr/bin/env"],
], ids=lambda argv: "-".join(argv[:2]).replace("/", ""))
@pytest.mark.parametrize("follow", ["none", "exec", "all"])
def test_real_programs_print_the_same_environment(recorder, need, argv, follow):
    need(argv[0])
    compare(
        recorder,
        *argv,
        options=[f"--follow={follow}"],
        env={"SHLVL": "3", "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_plain_preload_leaves_what_the_user_set(recorder, tmp_path):
    env = {"SEEP_OPTIONS": "--follow=none"}
    seen = recorder.bare(*preloaded(["sh", "-c", "env; exec env"]), env=env, cwd=tmp_path)
    assert seen.stdout.count(b"LD_PRELOAD=") == 2 and seen.stdout.count(b"SEEP_OPTIONS=") == 2
    assert b"SEEP_SESSION" not in seen.stdout


def test_a_recording_inside_a_recording_is_the_inner_ones(recorder, compiler, tmp_path):
    program = compiler.build("surroundings.c")
    inner = tmp_path / "inner.seep"
    seen = recorder.record(SEEP, "record", "-q", "-o", inner, "--", program, "show")
    assert inner.exists() and b"SEEP" not in seen.stdout
    assert seen.truth.facts["shown"] not in programs(seen)


LAUNCHERS = {
    "vfork": ["dash", "-c", "{path} show; exit $?"],
    "fork": ["bash", "-c", "{name} show; exit $?"],
    "exec": ["env", "{name}", "show"],
    "spawn": [
        "python3",
        "-c",
        "import subprocess; print(subprocess.run(['{path}', 'show'], close_fds=False).returncode)",
    ],
}


@pytest.mark.parametrize("sanitizer", ["address", "leak", "thread"])
@pytest.mark.parametrize("way", LAUNCHERS)
def test_a_program_with_a_sanitizer_is_started_without_us(compiler, recorder, need, way, sanitizer):
    """Its runtime must be the first library, or nobody's memory may be asked for before it is
    ready: with us it would end at its start."""
    need(LAUNCHERS[way][0])
    program = compiler.build("surroundings.c", flags=(*PLAIN, f"-fsanitize={sanitizer}"))
    argv = [word.format(path=program, name=program.name) for word in LAUNCHERS[way]]
    env = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "SHLVL": "3",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    bare, seen = compare(
        recorder,
        *argv,
        options=["--follow=all", "--quarantine", "1M", "--fill", "--keep-going"],
        env=env,
    )
    assert b"PATH=" in bare.stdout and seen.truth.facts["agent"] == 0


# ---- numbers: Valgrind puts variables into the environment, but nothing thread-local into the
# program

def run_alone(*argv, env):
    """Without the harness, whose variables have another length in each run."""
    return subprocess.run([*map(str, argv)], env=env, capture_output=True, timeout=180, check=True)


def valgrind_environment(env):
    """What a program sees under Valgrind that is started with ENV."""
    text = run_alone(*VALGRIND, "-q", shutil.which("env"), env=env).stdout.decode()
    return dict(line.split("=", 1) for line in text.splitlines())


# As under the tool: the number of the parent is a new one, too, and as long as the program's own.
CHILD_OF_A_CHILD = ["timeout", "--foreground", "180"]


def same_totals(folder, *argv):
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "XDG_CONFIG_HOME": "/dev/null",
    }
    checked, under = run_alone(*CHILD_OF_A_CHILD, *VALGRIND, *argv, env=env), valgrind_environment(
        env
    )
    for follow in ("none", "exec", "all"):
        file = folder / f"{follow}.seep"
        for _ in range(50):
            seen = run_alone(
                SEEP, "record", "-q", "-f", "-o", file, f"--follow={follow}", "--", *argv, env=under
            )
            if seen.stdout == checked.stdout:
                break
            # numbers of processes of another length
            checked = run_alone(*CHILD_OF_A_CHILD, *VALGRIND, *argv, env=env)
        assert seen.stdout == checked.stdout
        wanted, totals = valgrind_totals(checked.stderr.decode()), Profile(file).totals
        assert {key: totals[key] for key in wanted} == wanted


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_shell_allocates_as_much_as_without_us(tmp_path, need, shell):
    need("valgrind", shell)
    same_totals(tmp_path, shutil.which(shell), "-c",
                "x=1; for i in a b c; do x=$x$i; done; echo $x ${#$} ${#PPID}; export -p")


@pytest.mark.parametrize("libraries", [0, 5, 20, 60])
def test_the_loaders_tables_are_as_large_as_without_us(tmp_path, compiler, need, libraries):
    """One for each thread; with many libraries they are made larger."""
    need("valgrind")
    library = compiler.library("variables_library.c", name="libvariables.so")
    copies = [shutil.copy(library, tmp_path / f"copy{i}.so") for i in range(libraries)]
    same_totals(tmp_path, compiler.build("tables.c"), *copies)
