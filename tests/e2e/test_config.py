# SPDX-License-Identifier: MIT
"""Options of configuration files: which files, which order, and what is refused."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import harness
import pytest


@pytest.fixture
def home(tmp_path):
    made = tmp_path / "home"
    (made / ".config" / "seep").mkdir(parents=True)
    return made


@pytest.fixture
def here(tmp_path):
    made = tmp_path / "here"
    made.mkdir()
    return made


def seep(home, here, *words, env=None):
    clean = harness.clean_environment({"HOME": str(home), **(env or {})})
    if "XDG_CONFIG_HOME" not in (env or {}):
        clean.pop("XDG_CONFIG_HOME", None)
    return subprocess.run(
        [harness.SEEP, *words],
        cwd=here,
        env=clean,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=harness.DEADLINE,
    )


def recordings(here):
    return sorted(p.name for p in here.glob("*.seep"))


def user_file(home, text):
    (home / ".config" / "seep" / "config").write_text(text)


def local_file(here, text, mode=0o644):
    (here / ".seeprc").write_text(text)
    (here / ".seeprc").chmod(mode)


def test_each_place_wins_over_the_ones_before_it(home, here):
    user_file(home, "record -o user.seep\n")
    assert seep(home, here, "echo", "hi").stdout == "hi\n"
    assert recordings(here) == ["user.seep"]
    user_file(home, "record -o user.seep\nreport --color=always\n")
    assert "\x1b[" in seep(home, here, "report").stdout
    local_file(here, "report --color=never")
    assert "\x1b[" not in seep(home, here, "report").stdout
    assert "\x1b[" in seep(home, here, "report", "--color=always").stdout
    environment = {"SEEP_OPTIONS": "-o environment.seep"}
    assert seep(home, here, "echo", "hi", env=environment).returncode == 0
    assert seep(home, here, "-o", "line.seep", "echo", "hi", env=environment).returncode == 0
    assert recordings(here) == ["environment.seep", "line.seep", "user.seep"]


def test_the_directory_of_the_user_file_can_be_chosen(home, here, tmp_path):
    user_file(home, "record -o home.seep\n")
    (tmp_path / "xdg" / "seep").mkdir(parents=True)
    (tmp_path / "xdg" / "seep" / "config").write_text("record -o xdg.seep\n")
    assert (
        seep(home, here, "echo", "hi", env={"XDG_CONFIG_HOME": str(tmp_path / "xdg")}).returncode
        == 0
    )
    assert recordings(here) == ["xdg.seep"]


def test_lines_are_for_their_command_and_split_as_in_a_shell(home, here):
    user_file(home, "# all of this is mine; don't ask\n\n"
                    "   record   --no-summary -o 'two words # no comment.seep'   # it's a comment\n"
                    "report --json\n")
    done = seep(home, here, "echo", "hi")
    assert done.returncode == 0 and done.stderr == ""
    assert recordings(here) == ["two words # no comment.seep"]
    assert seep(home, here, "report").stdout.startswith("{")
    assert not seep(home, here, "info").stdout.startswith("{")


@pytest.mark.parametrize("line, told", [
    ("record --no-such-option", "unknown option --no-such-option"),
    ("record --follow=some", "none, exec or all"),
    ("record echo", "'echo' is not an option"),
    ("record -q --", "'--'"),
    ("record -o 'open", "quote"),
    ("recrod -q", "'recrod' is not a seep command"),
])
def test_a_mistake_is_told_with_its_place(home, here, line, told):
    user_file(home, f"record -q\n\n{line}\n")
    done = seep(home, here, "echo", "hi")
    assert done.returncode == 2 and done.stdout == ""
    assert told in done.stderr and f"{home}/.config/seep/config:3" in done.stderr
    assert all(row.startswith("seep: ") for row in done.stderr.splitlines())


def test_a_value_that_only_the_command_can_judge_is_told_with_the_places(home, here):
    user_file(home, "# depth\nrecord --depth=deep\n")
    done = seep(home, here, "echo", "hi")
    assert (
        done.returncode == 2
        and "deep" in done.stderr
        and f"{home}/.config/seep/config:2" in done.stderr
    )


def test_help_works_whatever_the_files_say(home, here):
    user_file(home, "nonsense\n")
    assert seep(home, here, "help", "record").returncode == 0
    assert seep(home, here, "--version").returncode == 0
    assert seep(home, here, "report").returncode == 2


@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_a_local_file_that_others_can_write_to_is_left_out(home, here, mode):
    local_file(here, "record -o trap.seep", mode)
    done = seep(home, here, "-o", "x.seep", "--no-summary", "echo", "hi")
    assert done.returncode == 0 and done.stdout == "hi\n"
    assert "./.seeprc is ignored" in done.stderr and "chmod go-w" in done.stderr
    assert recordings(here) == ["x.seep"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_local_file_of_another_user_is_left_out(home, here):
    local_file(here, "record -o trap.seep")
    os.chown(here / ".seeprc", 12345, 12345)
    done = seep(home, here, "-o", "x.seep", "echo", "hi")
    assert (
        done.returncode == 0 and "./.seeprc is ignored: it belongs to another user" in done.stderr
    )
    assert recordings(here) == ["x.seep"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_the_home_of_somebody_else_is_not_asked(home):
    user_file(home, "record -o home.seep\n")
    home.chmod(0o700)
    clean = harness.clean_environment({"HOME": str(home)})
    clean.pop("XDG_CONFIG_HOME")
    become = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", harness.SEEP]
    if subprocess.run([*become, "--version"], env=clean, capture_output=True).returncode:
        pytest.skip("another user cannot run the tool where it was built")
    with tempfile.TemporaryDirectory() as here:
        os.chown(here, 12345, 12345)
        done = subprocess.run(
            [*become, "--no-summary", "echo", "hi"],
            cwd=here,
            env=clean,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=harness.DEADLINE,
        )
    assert done.returncode == 0 and (done.stdout, done.stderr) == ("hi\n", "")


# Every option of every command that may stand in the file of a project.  What is new is refused
# until somebody adds it here and there.
HARMLESS = set("""
    abs all all-frames batch blocks callers color csv depth-merge errors flat gen-suppressions
    group-by growth inverted json lifetimes limit
    long memlog memtraq mmleak modules no-header no-pager no-summary quiet resources retained
    schema sizes sort stacks summary symbols
    threads threshold timeline totals tree verbose
    at cost exclude exclude-module hide include interval module new process range show site thread
    allow-unseen max-allocs max-bad-frees max-leaked max-leaks max-live max-peak no-alloc-in
    no-builtin-suppressions no-idioms
    no-leak-scan suppressions unaligned
    depth duration follow free-stacks no-cxx no-mmap sample start-off track-fds wait
    """.split())

COMMANDS = (
    "record report html top leaks why diff snapshot check export sql events info symbolize".split()
)


def options_of(command):
    """Name and a value that will do, of each option in its help."""
    text = subprocess.run(
        [harness.SEEP, "help", command],
        capture_output=True,
        text=True,
        timeout=harness.DEADLINE,
        check=True,
    ).stdout
    for found in re.finditer(r"^  (?:-.,|   ) --([a-z-]+)(\[=\w+\]| [A-Z]\S*)?", text, re.M):
        yield found[1], "" if not found[2] or found[2][0] == "[" else "=1"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_project_s_file_holds_only_what_is_shown_and_selected(home, here, command):
    names = list(options_of(command))
    assert len(names) > 2
    for name, value in names:
        if name in HARMLESS or name == "config":
            continue
        local_file(here, f"{command} --{name}{value}")
        done = seep(home, here, command, *(["echo", "hi"] if command == "record" else []))
        told = [line for line in done.stderr.splitlines() if f"--{name}" in line]
        assert (done.returncode, done.stdout) == (2, ""), name
        # or a value that is wrong before that
        assert told and ("refused" in told[0] or " is " in told[0]), name
        assert "./.seeprc:1" in done.stderr
    assert os.listdir(here) == [".seeprc"]


def test_a_project_s_file_has_no_file_read_but_those_of_the_project(home, here):
    """What is wrong in a file of rules is shown: in the log of a build, say."""
    (home / "secret").write_text("the secret\n")
    (here / "rules").mkdir()
    (here / "rules" / "good").write_text("leak:main\n")
    (here / "link").symlink_to(home / "secret")
    (here / "endless").symlink_to("/dev/zero")
    (here / "folder").symlink_to(home)
    os.mkfifo(here / "pipe")
    assert seep(home, here, "-o", "x.seep", "echo", "hi").returncode == 0
    for rules in (home / "secret", "link", "endless", "folder/secret", "pipe", "../home/secret",
                  "rules/../link", "rules", "/proc/self/environ"):
        for line in (f"leaks --suppressions {rules}", f"leaks --supp={rules}"):
            local_file(here, line)
            done = seep(home, here, "leaks", "x.seep")
            assert done.returncode == 2 and done.stdout == "", rules
            assert "--suppressions" in done.stderr and "refused in a project's file" in done.stderr
            assert "the secret" not in done.stderr
    local_file(here, "leaks --suppressions ./rules/good")
    assert seep(home, here, "leaks", "x.seep").returncode == 0


def test_a_project_s_file_writes_over_nothing(home, here):
    victim = home / ".bashrc"
    victim.write_text("mine\n")
    assert seep(home, here, "-o", "x.seep", "echo", "hi").returncode == 0
    for line in (
        f"report --memlog -f -o {victim}",
        f"report --memlog -fo{victim}",
        f"report --memlog --forc --outp={victim}",
    ):
        local_file(here, line)
        done = seep(home, here, "report", "x.seep")
        assert (
            done.returncode == 2
            and "refused in a project's file" in done.stderr
            and "./.seeprc:1: " in done.stderr
        )
        assert victim.read_text() == "mine\n"
    assert seep(home, here, "report", "x.seep", "--config", "./.seeprc").returncode == 0
    assert victim.read_text() != "mine\n", "a file that the user names is trusted"


def test_what_a_project_s_file_may_hold_works(home, here):
    local_file(here, "record --depth 3 --follow=all --no-summary\nreport --flat -n 1 -x ^x "
                     "--no-pager -q\nleaks --all-frames --json\n"
                     "check --max-leaks 0\ntop --batch 1 --interval 1ms\n")
    done = seep(home, here, "-o", "x.seep", "echo", "hi")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "")
    assert seep(home, here, "report", "x.seep").returncode == 0
    assert seep(home, here, "leaks", "x.seep").stdout.startswith("{")


@pytest.fixture
def shared():
    """A directory where everybody can go, and set-user-id works."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o777)
        if os.geteuid() != 0 or os.statvfs(made).f_flag & os.ST_NOSUID:
            pytest.skip("only root can give its rights away, and not on this file system")
        yield Path(made)


def as_stranger(shared, *words, env):
    become = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    if subprocess.run([*become, "true"], capture_output=True).returncode:
        pytest.skip("nobody else can be become here")
    return subprocess.run(
        [*become, *words],
        cwd=shared,
        env=harness.clean_environment({"HOME": str(shared), **env}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=harness.DEADLINE,
    )


def test_a_tool_with_raised_rights_takes_no_options_of_others(shared):
    tool = shared / "seep"
    shutil.copy(harness.SEEP, tool)
    tool.chmod(0o4755)
    (shared / ".config" / "seep").mkdir(parents=True)
    user_file(shared, "record --nonsense\n")
    os.chown(shared / ".config" / "seep" / "config", 12345, 12345)
    local_file(shared, "record --nonsense\n")
    done = as_stranger(
        shared, tool, "record", "-o", "x.seep", "nowhere",
        env={"SEEP_OPTIONS": "-f -o /nowhere/else"},
    )
    assert "SEEP_OPTIONS is ignored: seep runs with elevated privileges" in done.stderr
    assert "nonsense" not in done.stderr and done.returncode == 127


def test_a_program_with_raised_rights_is_not_recorded_for_others(shared):
    """The library comes in where neither LD_PRELOAD nor the user brought it: linked to the
    program."""
    (shared / "p.c").write_text(
        "#include <stdlib.h>\n#include <stdio.h>\n"
        "int main(void) { char *p = malloc(10); printf(\"%d\\n\", p != 0); free(p); return 0; }\n"
    )
    agent = harness.BUILD / "src" / "agent" / "libseep.so"
    subprocess.run(
        ["cc", "-o", "p", "p.c", "-Wl,--no-as-needed", agent, f"-Wl,-rpath,{agent.parent}"],
        cwd=shared,
        check=True,
        timeout=harness.DEADLINE,
    )
    own = shared / "own"
    own.mkdir()
    assert (
        subprocess.run(
            [shared / "p"],
            cwd=own,
            timeout=harness.DEADLINE,
            capture_output=True,
            env=harness.clean_environment({"SEEP_OPTIONS": f"-o {own}/x.seep"}),
        ).stdout
        == b"1\n"
    )
    harness.wait_until(lambda: (own / "x.seep").exists(), "the recording")
    (shared / "p").chmod(0o4755)
    done = as_stranger(shared, shared / "p", env={"SEEP_OPTIONS": f"-f -o {shared}/trap.seep"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert sorted(os.listdir(shared)) == ["own", "p", "p.c"]


def test_a_local_file_that_leads_elsewhere_is_left_out(home, here):
    (home / "rc").write_text("record -o trap.seep\n")
    (here / ".seeprc").symlink_to(home / "rc")
    done = seep(home, here, "-o", "x.seep", "echo", "hi")
    assert done.returncode == 0 and "./.seeprc is ignored: it is a symbolic link" in done.stderr
    assert recordings(here) == ["x.seep"]


def test_a_local_file_that_is_no_file_is_left_out(home, here):
    os.mkfifo(here / ".seeprc", 0o600)
    done = seep(home, here, "-o", "x.seep", "echo", "hi")
    assert done.returncode == 0 and "./.seeprc is ignored: it is not a regular file" in done.stderr


def test_a_named_file_takes_the_place_of_the_others(home, here, tmp_path):
    user_file(home, "record -o user.seep\n")
    local_file(here, "record -v")
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("record -o one.seep --no-summary\nreport --json\n")
    two.write_text("record -o two.seep\n")
    assert (
        seep(home, here, "--config", str(one), "echo", "--config", "hi").stdout == "--config hi\n"
    )
    assert recordings(here) == ["one.seep"]
    done = seep(home, here, "record", f"--config={one}", "--config", str(two), "--", "echo", "hi")
    assert (done.returncode, done.stderr) == (0, "") and recordings(here) == [
        "one.seep",
        "two.seep",
    ]
    assert (
        seep(home, here, "record", "--config", str(one), "-o", "line.seep", "echo", "hi").returncode
        == 0
    )
    assert (
        seep(
            home, here, "--config", str(one), "echo", env={"SEEP_OPTIONS": "-o environment.seep"}
        ).returncode
        == 0
    )
    assert recordings(here) == ["environment.seep", "line.seep", "one.seep", "two.seep"]
    assert seep(home, here, "report", "one.seep", "--config", str(one)).stdout.startswith("{")


def test_a_named_file_that_is_wrong_is_refused(home, here, tmp_path):
    done = seep(home, here, "record", "--config", "nowhere", "echo", "hi")
    assert (done.returncode, done.stdout) == (
        2,
        "",
    ) and "--config nowhere: No such file" in done.stderr
    assert "--config needs FILE" in seep(home, here, "report", "--config").stderr
    (tmp_path / "nested").write_text("record --config other\n")
    done = seep(home, here, "record", "--config", str(tmp_path / "nested"), "echo", "hi")
    assert (
        done.returncode == 2
        and f"{tmp_path / 'nested'}:1: --config works on the command line only" in done.stderr
    )
    assert recordings(here) == []


def test_the_machine_s_file_comes_first(home, here, tmp_path):
    """In a mount namespace of its own, where the folder of the machine's configuration is
    another one."""
    path = next(
        line.strip()
        for line in seep(home, here, "help", "config").stdout.splitlines()
        if line.strip().endswith("/seep/config")
    )
    etc = os.path.dirname(os.path.dirname(path))
    (tmp_path / "etc" / "seep").mkdir(parents=True)
    (tmp_path / "etc" / "seep" / "config").write_text("record --no-summary -o machine.seep\n")
    inside = [
        "unshare", "-rm", "sh", "-c", f'mount --bind "{tmp_path}/etc" "{etc}" && exec "$@"', "sh",
    ]
    if (
        not os.path.isdir(etc)
        or subprocess.run(
            [*inside, "true"], capture_output=True, timeout=harness.DEADLINE
        ).returncode
    ):
        pytest.skip(f"no mount namespace, or no {etc}: the folder cannot be replaced")
    clean = {**harness.clean_environment({"HOME": str(home)})}
    clean.pop("XDG_CONFIG_HOME", None)
    for more in ([], ["-o", "line.seep"]):
        done = subprocess.run(
            [*inside, harness.SEEP, *more, "echo", "hi"],
            cwd=here,
            env=clean,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=harness.DEADLINE,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "")
    assert recordings(here) == ["line.seep", "machine.seep"]
    user_file(home, "record -o user.seep\n")
    subprocess.run(
        [*inside, harness.SEEP, "echo", "hi"],
        cwd=here,
        env=clean,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=harness.DEADLINE,
        check=True,
    )
    assert recordings(here) == ["line.seep", "machine.seep", "user.seep"]
