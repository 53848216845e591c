# SPDX-License-Identifier: MIT
"""What the shells offer after `seep`: asked from real shells, compared with what the tool itself
says."""
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import harness
import pytest
from harness import wait_until
from plain import child_of, start_recorded

SCRIPTS = harness.BUILD / "packaging"


def rows():
    told = subprocess.run(
        [harness.SEEP, "help", "--table"], capture_output=True, text=True, check=True
    ).stdout
    return [line.split("\t") for line in told.splitlines()]


def table():
    """{command: {option: values}} as the tool tells it."""
    commands = {}
    for kind, *fields in rows():
        if kind == "command":
            options = commands[fields[0]] = {}
        elif kind == "option" and fields[1]:
            options["--" + fields[1]] = [v for v in fields[3].split("|") if v not in ("", "...")]
    return commands


def optional():
    """(command, option) of those whose value may be left out."""
    command, found = None, set()
    for kind, *fields in rows():
        command = fields[0] if kind == "command" else command
        if kind == "option" and fields[2].startswith("["):
            found.add((command, "--" + fields[1]))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working directory with a recording, a program and something else."""
    made = tmp_path_factory.mktemp("shell")
    (made / "run.seep").touch()
    (made / "runner").write_text("#!/bin/sh\n")
    (made / "runner").chmod(0o755)
    (made / "run.txt").touch()
    (made / "runs").mkdir()
    return made


@pytest.fixture
def recorded(tmp_path):
    """A process that is being recorded."""
    with start_recorded(tmp_path, "/bin/sh", "-c", "read line") as program:
        pid = child_of(program)
        maps = Path(f"/proc/{pid}/maps")
        wait_until(lambda: "seep-ledger" in maps.read_text(), "it is recorded")
        yield pid


def shell(folder, *command):
    home = folder / "home"
    home.mkdir(exist_ok=True)
    path = f"{harness.SEEP.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env=harness.clean_environment(
            {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "PATH": path}
        ),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=harness.DEADLINE,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def bash_offers(folder, *words, before=""):
    """COMP_WORDS are split as readline does it: an equals sign is a word of its own."""
    code = (f'{before} source "{SCRIPTS}/seep"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _seep; '
            f'printf "%s\\n" "${{COMPREPLY[@]}}"')
    return shell(folder, "bash", "-c", code, "bash", *words).split()


def fish_offers(folder, line, before=""):
    out = shell(
        folder, "fish", "-c", f'{before} source "{SCRIPTS}/seep.fish"; complete -C "{line}"'
    )
    return [row.split("\t")[0] for row in out.splitlines()]


def zsh_completes(folder, line, wanted):
    """Type the line and TAB into a zsh at a terminal of its own until WANTED is on the screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(
            "zsh",
            ["zsh", "-f", "-i"],
            harness.clean_environment({"TERM": "vt100", "COLUMNS": "200"}),
        )
    try:
        os.write(terminal, (f"PS1=; fpath=('{SCRIPTS}' $fpath); autoload -Uz compinit; compinit -D "
                            f"-u; echo rea''dy\n").encode())
        read_until(terminal, r"ready\r")
        os.write(terminal, line.encode() + b"\t")
        return read_until(terminal, wanted)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def read_until(terminal, wanted):
    seen, end = "", time.monotonic() + harness.DEADLINE
    while not re.search(wanted, seen):
        assert time.monotonic() < end, f"no {wanted!r} in {seen!r}"
        if select.select([terminal], [], [], 0.1)[0]:
            seen = re.sub(
                r"\x1b\[[\d;]*m|[\x00\x07]",
                "",
                seen + os.read(terminal, 4096).decode(errors="replace"),
            )
    return seen


def test_bash_offers_every_command_and_option(folder, need):
    need("bash")
    commands = table()
    assert set(commands) == set(bash_offers(folder, "seep", ""))
    for command, options in commands.items():
        assert set(options) <= set(bash_offers(folder, "seep", command, "-")), command


def test_bash_offers_the_values_of_an_option(folder, need):
    need("bash")
    checked = 0
    for command, options in table().items():
        for option, values in ((o, v) for o, v in options.items() if v):
            assert bash_offers(folder, "seep", command, option, "=") == values
            if (command, option) not in optional():  # there a word apart is the next operand
                assert bash_offers(folder, "seep", command, option, "") == values
            assert values[0] in bash_offers(folder, "seep", command, option, "=", values[0][:2])
            checked += 1
    assert checked > 3


def test_bash_offers_files_that_fit(folder, need):
    need("bash")
    assert set(bash_offers(folder, "seep", "report", "run")) == {"run.seep", "runs"}
    assert {w for w in bash_offers(folder, "seep", "run") if (folder / w).exists()} == {
        "./runner",
        "runs",
    }
    assert set(bash_offers(folder, "seep", "record", "./ru")) == {"./runner", "./runs"}
    assert set(bash_offers(folder, "seep", "record", "")) == {"./runner", "runs", "home"}
    assert "env" in bash_offers(folder, "seep", "en")
    assert "peak" in bash_offers(folder, "seep", "help", "pea")
    assert "run.txt" in bash_offers(folder, "seep", "report", "-o", "run")
    assert bash_offers(folder, "seep", "--signal", "=", "USR") == ["USR1", "USR2"]


def test_bash_offers_recorded_processes_else_all(folder, need, recorded):
    need("bash")
    assert str(recorded) in bash_offers(folder, "seep", "snapshot", "")
    assert str(os.getpid()) not in bash_offers(folder, "seep", "snapshot", "")
    nobody = "grep() { return 1; };"
    assert str(os.getpid()) in bash_offers(
        folder, "seep", "snapshot", str(os.getpid())[:1], before=nobody
    )


def test_bash_leaves_the_arguments_of_the_program_to_it(folder, need):
    need("bash")
    assert bash_offers(folder, "seep", "./runner", "-") == []
    assert bash_offers(folder, "seep", "--follow", "all", "./runner", "--fol") == []
    assert bash_offers(folder, "seep", "--follow", "=", "all", "--fol") == ["--follow"]
    assert bash_offers(folder, "seep", "check", "--", "./runner", "--max") == []
    assert "--max-peak" in bash_offers(folder, "seep", "check", "run.seep", "--max")
    assert {"run.seep", "./runner"} <= set(bash_offers(folder, "seep", "check", "run"))


def test_fish_offers_every_command_option_and_value(folder, need):
    need("fish")
    commands = table()
    assert set(commands) == set(fish_offers(folder, "seep "))
    for command, options in commands.items():
        assert set(options) <= set(fish_offers(folder, f"seep {command} --")), command
        for option, values in ((o, v) for o, v in options.items() if v):
            assert set(values) == set(fish_offers(folder, f"seep {command} {option} ")), option


def test_fish_offers_words_that_fit(folder, need):
    need("fish")
    offers = fish_offers(folder, "seep rep")  # programs of the machine may begin like that, too
    assert "report" in offers and "record" not in offers
    assert "--follow" in fish_offers(folder, "seep --fol")
    assert fish_offers(folder, "seep report ru")[0] == "run.seep"
    assert fish_offers(folder, "seep help pea") == ["peak"]
    assert fish_offers(folder, "seep record ") == []
    assert set(fish_offers(folder, "seep record ./")) == {"./runner", "./runs/", "./home/"}
    assert fish_offers(folder, "seep --signal=USR") == ["--signal=USR1", "--signal=USR2"]
    assert fish_offers(folder, "seep ./runner --fol") == []
    assert "./runner" in fish_offers(folder, "seep -o x ./run")
    assert fish_offers(folder, "seep check -- ./runner --max") == []
    assert "--max-peak" in fish_offers(folder, "seep check run.seep --max")


def test_fish_offers_recorded_processes_else_all(folder, need, recorded):
    need("fish")
    assert str(recorded) in fish_offers(folder, "seep snapshot ")
    assert str(os.getpid()) not in fish_offers(folder, "seep snapshot ")
    nobody = "function grep; false; end;"
    assert str(os.getpid()) in fish_offers(
        folder, f"seep snapshot {str(os.getpid())[:1]}", before=nobody
    )


@pytest.mark.parametrize("line, wanted", [
    ("seep repo", "seep report"),
    ("seep report --thres", "--threshold"),
    ("seep report --group-by=fun", "--group-by=function"),
    ("seep --foll", "--follow"),
    ("seep record --follow=no", "--follow=none"),
    ("seep report ./run.", r"run\.seep"),
    ("seep help pea", "peak"),
    ("seep check ./run.s", r"run\.seep"),
    ("seep check --max-pe", "--max-peak"),
])
def test_zsh_completes(folder, need, line, wanted):
    need("zsh")
    zsh_completes(folder, line, wanted)


def test_zsh_completes_the_recorded_process(folder, need, recorded):
    need("zsh")
    zsh_completes(folder, f"seep snapshot {str(recorded)[:-1]}", rf"\b{recorded}\b")


def test_the_shells_accept_their_scripts(folder, need):
    for name, file in (("bash", "seep"), ("zsh", "_seep"), ("fish", "seep.fish")):
        need(name)
        shell(folder, name, "-n", str(SCRIPTS / file))


def test_the_tool_takes_every_value_that_it_lists(folder):
    """What is listed is what the command itself knows."""
    for command, options in table().items():
        for option, values in ((o, v) for o, v in options.items() if v):
            for value in values:
                shell(folder, harness.SEEP, command, f"{option}={value}", "--help")
