# SPDX-License-Identifier: MIT
"""Other users of the same machine: what they put in the way of files that seep writes, and who may
speak to a session.

The tests run as root, with another user as the attacker; docs/SECURITY.md says what each of them is
about.
"""
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

import harness

STRANGER = 12345
BECOME = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
MINE = "what is mine stays mine"


def can_become():
    return (
        os.geteuid() == 0
        and shutil.which("setpriv")
        and subprocess.run([*BECOME, "true"], capture_output=True).returncode == 0
    )


pytestmark = pytest.mark.skipif(not can_become(), reason="only root can become another user")


def stranger(*words, **how):
    done = subprocess.run(
        [*BECOME, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=harness.DEADLINE,
        stdin=subprocess.DEVNULL,
        **how,
    )
    assert done.returncode == 0, done.stderr
    return done


def seep(*words, cwd, status=0, env=None):
    done = subprocess.run(
        [harness.SEEP, *map(str, words)],
        cwd=cwd,
        env=harness.clean_environment(env),
        capture_output=True,
        text=True,
        timeout=harness.DEADLINE,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture
def shared():
    """A directory of the attacker's, where everybody can write."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o777)
        os.chown(made, STRANGER, STRANGER)
        yield Path(made)
        os.chown(made, 0, 0)


@pytest.fixture
def victim():
    """A file of the victim's, where the attacker cannot go."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "victim"
        path.write_text(MINE)
        yield path
        assert path.read_text() == MINE and not path.is_symlink()
        assert [p.name for p in path.parent.iterdir()] == ["victim"]


def plant(shared, victim, *names):
    script = (
        "import os, sys\nfor name in sys.argv[2:]:\n    if os.path.lexists(name): os.unlink(name)\n"
        "    os.symlink(sys.argv[1], name)\n"
    )
    stranger("/usr/bin/python3", "-Sc", script, victim, *names, cwd=shared)


def is_recording(path):
    return (
        not path.is_symlink()
        and path.read_bytes()[:4] not in (b"", MINE.encode()[:4])
        and harness.Profile(path).json["complete"]
    )


@pytest.mark.parametrize("sticky", [0o1777, 0o777])
def test_links_in_the_place_of_recordings_are_passed_over(steps, shared, victim, sticky):
    """Names that were made up: by the pattern, and for children."""
    shared.chmod(sticky)
    plant(shared, victim, "1-steps.seep", "2-steps.seep", "2-steps.2.seep")
    seep(
        "record", "-q", "--follow=all", "-o", "%n-%e.seep", "--", steps, "+red:1:10", "fork",
        "+red:2:10",
        cwd=shared,
    )
    assert (shared / "1-steps.seep").is_symlink() and (shared / "2-steps.seep").is_symlink()
    assert is_recording(shared / "1-steps.2.seep") and is_recording(shared / "2-steps.3.seep")
    seep("record", "-q", "-f", "-o", "%n-%e.seep", "--", steps, "+red:1:10", cwd=shared)
    assert (shared / "1-steps.seep").is_symlink() and is_recording(shared / "1-steps.2.seep")


@pytest.mark.parametrize("how", ["link", "folder"])
@pytest.mark.parametrize("options", [[], ["-f"]])
def test_what_is_planted_in_the_place_of_the_childrens_folder_is_left_alone(
    steps, shared, tmp_path, how, options
):
    """A link to a directory of the victim's, and a folder of the attacker's own: nothing is
    written into them or removed there.  Without -f it looks like one of an earlier run, and
    nothing is recorded."""
    private = tmp_path / "private" if how == "link" else shared / "out.seep.d"
    private.mkdir(mode=0o777)
    (private / "old.1.seep").write_bytes(b"SEEPfile of the victim's own")
    before = {p.name: p.read_bytes() for p in private.iterdir()}
    if how == "link":
        (shared / "out.seep.d").symlink_to(private)
        os.lchown(shared / "out.seep.d", STRANGER, STRANGER)
    else:
        os.chown(private, STRANGER, STRANGER)
    seep(
        "record", "-q", "--follow=all", *options, "-o", "out.seep", "--", steps, "+red:1:10",
        "fork", "+red:2:10",
        cwd=shared,
        status=0 if options else 2,
    )
    assert not options or is_recording(shared / "out.seep")
    assert (shared / "out.seep.d").is_symlink() == (how == "link")
    assert {p.name: p.read_bytes() for p in private.iterdir()} == before


def test_a_link_in_the_place_of_the_default_name_is_passed_over(steps, shared, victim):
    """Numbers of processes can be guessed."""
    for _ in range(20):
        last = int(Path("/proc/loadavg").read_text().split()[-1])
        plant(shared, victim, *(f"steps.{last + i}.seep" for i in range(1, 1500)))
        seep("record", "-q", "--", steps, "+red:1:10", cwd=shared)
        made = [p for p in shared.glob("steps.*.seep") if not p.is_symlink()]
        assert len(made) == 1 and is_recording(made[0])
        if made[0].name.endswith(".2.seep"):
            return
        made[0].unlink()
    pytest.skip("the number was never guessed")


def test_the_name_that_the_user_wrote_is_no_trap(steps, shared, victim):
    plant(shared, victim, "out.seep")
    done = seep("record", "-q", "-o", "out.seep", "--", steps, cwd=shared, status=2)
    assert "out.seep exists; -f replaces it" in done.stderr
    done = seep("record", "-q", "-f", "-o", "out.seep", "--", steps, cwd=shared, status=2)
    assert "a link that another user left" in done.stderr


def test_a_link_of_the_users_own_is_followed(steps, shared, tmp_path):
    there = tmp_path / "there.seep"
    (shared / "out.seep").symlink_to(there)
    seep("record", "-q", "-f", "-o", "out.seep", "--", steps, "+red:1:10", cwd=shared)
    assert (shared / "out.seep").is_symlink() and is_recording(there)


def test_a_link_in_the_place_of_a_directory_is_not_followed(steps, shared, victim, tmp_path):
    """Nor one further up the path, nor behind a link of root's own; links of root's own are."""
    plant(shared, victim.parent, "folder")
    (shared / "own").symlink_to("folder")
    (tmp_path / "there").mkdir()
    (shared / "good").symlink_to(tmp_path)
    for path in (
        "folder/victim", "own/victim", "folder/new", f"folder/../{victim.parent.name}/victim",
    ):
        done = seep(
            "record", "-q", "-f", "-o", path, "--", steps, "+red:1:10", cwd=shared, status=2
        )
        assert (
            "a link that another user left" in done.stderr or "symbolic links" in done.stderr
        ), done.stderr
    seep("record", "-q", "-o", "good/there/a.seep", "--", steps, "+red:1:10", cwd=shared)
    assert is_recording(tmp_path / "there" / "a.seep")
    done = seep(
        "html", "-f", "-o", "folder/victim", tmp_path / "there" / "a.seep", cwd=shared, status=2
    )
    assert not done.stdout


class Waiting:
    """A recorded program that waits, so that something can be done meanwhile."""

    def __init__(self, steps, shared, out, *options, after=("+red:1:10",)):
        self.process = subprocess.Popen(
            [
                harness.SEEP, "record", "-v", "-o", out, *options, "--", steps, "+red:1:10",
                "ready", "wait", *after,
            ],
            cwd=shared,
            env=harness.clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"
        while "recording " not in self.process.stderr.readline():  # -v: the name is given
            assert self.process.poll() is None

    def end(self):
        out, err = self.process.communicate("go\n", timeout=harness.DEADLINE)
        assert self.process.returncode == 0, err
        return out, err


@pytest.mark.parametrize("options", [(), ("--events",), ("-f",)])
def test_a_link_that_is_planted_while_the_program_runs_is_not_followed(
    steps, shared, victim, options
):
    running = Waiting(steps, shared, "out.seep", *options)
    if options == ("--events",):
        harness.wait_until(
            (shared / ".out.seep.events").exists, "the log is there", process=running.process
        )
    plant(shared, victim, "out.seep", *((".out.seep.events",) if options == ("--events",) else ()))
    err = running.end()[1]
    assert ("cannot write out.seep: something else was put there in the meantime; this recording "
            "is in out.2.seep" in err)
    assert is_recording(shared / "out.2.seep") and (shared / "out.seep").is_symlink()


def test_another_directory_in_the_place_of_the_first_does_not_matter(steps, shared, victim):
    sub = shared / "sub"
    sub.mkdir()
    running = Waiting(
        steps, shared, "sub/victim", "-f", "--events",
        after=("+red:1:10", "snapshot:now", "+red:1:10"),
    )
    stranger("sh", "-c", f"mv sub moved && ln -s {victim.parent} sub", cwd=shared)
    running.end()
    moved = shared / "moved"
    assert is_recording(moved / "victim")
    assert len(list(moved.glob("steps-*.memlog"))) == 1
    assert {p.suffix for p in moved.iterdir()} == {"", ".memlog"}


def test_links_in_the_place_of_reports_are_passed_over(steps, shared, victim):
    running = Waiting(steps, shared, "out.seep", after=("snapshot:a",))
    pid = int(
        Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
        .read_text()
        .split()[0]
    )
    plant(shared, victim, f"steps-{pid}-1.memlog")
    running.end()
    assert (shared / f"steps-{pid}-1.memlog").is_symlink()
    assert "red" in (shared / f"steps-{pid}-2.memlog").read_text()


def test_links_in_the_place_of_what_commands_write_are_refused(steps, shared, victim, tmp_path):
    seep("record", "-q", "-o", tmp_path / "run.seep", "--", steps, "+red:1:10", cwd=tmp_path)
    shutil.copy(tmp_path / "run.seep", shared)
    plant(shared, victim, "out", "run.html")
    seep("html", "run.seep", cwd=shared, status=2)
    done = seep("html", "-f", "run.seep", cwd=shared, status=2)
    assert "another user" in done.stderr
    for command, *words in (
        ("report", "run.seep"),
        ("leaks", "run.seep"),
        ("export", "--to", "pprof", "run.seep"),
        ("html", "run.seep"),
        ("export", "--to", "sqlite", "run.seep"),
        ("symbolize", "run.seep"),
        ("sql", "run.seep", "select 1"),
        ("diff", "run.seep", "run.seep"),
        ("events", "run.seep"),
    ):
        for force in ((), ("-f",)):
            done = seep(command, "-o", "out", *force, *words, cwd=shared, status=2)
            assert "left in a shared directory" in done.stderr, (command, done.stderr)
    for option in ("--sarif", "--junit", "--valgrind-xml", "--write-baseline"):
        done = seep("check", option, "out", "-f", "run.seep", cwd=shared, status=2)
        assert "left in a shared directory" in done.stderr, (option, done.stderr)


def test_the_summary_of_a_job_is_no_trap(steps, shared, victim, tmp_path):
    """GitHub's runner writes its name; a link of the user's own is followed."""
    seep("record", "-q", "-o", tmp_path / "run.seep", "--", steps, "+red:1:10", cwd=tmp_path)
    plant(shared, victim, "summary")
    (shared / "own").symlink_to(tmp_path / "there")
    words = ("check", "--annotate", "github", tmp_path / "run.seep")
    done = seep(*words, cwd=shared, status=2, env={"GITHUB_STEP_SUMMARY": "summary"})
    assert "left in a shared directory" in done.stderr
    for _ in range(2):
        seep(*words, cwd=shared, env={"GITHUB_STEP_SUMMARY": "own"})
    assert (shared / "own").is_symlink()
    assert (tmp_path / "there").read_text().count("### seep check") == 2


@pytest.mark.parametrize("to", [">", ">!", ">>"])
def test_links_in_the_place_of_results_of_the_shell_are_refused(
    steps, shared, victim, tmp_path, to
):
    seep("record", "-q", "-o", tmp_path / "run.seep", "--", steps, "+red:1:10", cwd=tmp_path)
    plant(shared, victim, "out")
    done = seep("shell", tmp_path / "run.seep", "-c", f"report {to} out", cwd=shared, status=2)
    assert "left in a shared directory" in done.stderr


def test_a_target_removes_nothing_that_others_planted(steps, tmp_path):
    """A link to a directory of the victim's that has a file of the name that sockets of targets
    have, and the same as a folder of the stranger's."""
    file = tmp_path / "private" / "hello"
    file.parent.mkdir()
    file.write_text(MINE)
    link, folder = (Path(f"/tmp/seep-target-{what}{os.getpid()}") for what in ("link", "folder"))
    stranger("ln", "-s", file.parent, link)
    stranger("mkdir", folder)
    stranger("touch", folder / "hello")
    try:
        for path in (file, file.parent, folder):
            os.utime(path, (0, 0))
        subprocess.run(
            [
                harness.BUILD / "src/target/seep-target",
                "--hold",
                "0",
                "--listen",
                tmp_path / "socket",
                "--",
                steps,
            ],
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=harness.DEADLINE,
            env=harness.clean_environment(),
        )
        assert file.read_text() == MINE and link.is_symlink() and (folder / "hello").exists()
    finally:
        link.unlink()
        shutil.rmtree(folder)


def test_plain_preload_passes_links_over(steps, shared, victim):
    agent = harness.BUILD / "src" / "agent" / "libseep.so"
    plant(shared, victim, "1-steps.seep")
    subprocess.run(
        [steps, "+red:1:10"],
        cwd=shared,
        timeout=harness.DEADLINE,
        check=True,
        env=harness.clean_environment({"LD_PRELOAD": str(agent), "SEEP_OPTIONS": "-o %n-%e.seep"}),
    )
    assert (shared / "1-steps.seep").is_symlink()
    made = shared / "1-steps.2.seep"
    harness.wait_until(lambda: made.exists() and made.stat().st_size, "the recording is written")
    assert is_recording(made)


def test_a_directory_that_everybody_can_change_is_told_about(steps, shared, tmp_path):
    text = "it is not sticky: others can replace"
    assert text in seep("record", "-o", "a.seep", "--", steps, cwd=shared).stderr
    assert text not in seep("record", "-q", "-o", "b.seep", "--", steps, cwd=shared).stderr
    assert text in seep("html", "a.seep", cwd=shared).stderr
    assert text in seep("report", "-o", "a.txt", "a.seep", cwd=shared).stderr
    shared.chmod(0o1777)
    assert text not in seep("record", "-o", "c.seep", "--", steps, cwd=shared).stderr
    assert text not in seep("record", "-o", "c.seep", "--", steps, cwd=tmp_path).stderr


# ---- the session's socket ----


def program_of(tool):
    """The recorded program, as soon as it is one."""
    children = Path(f"/proc/{tool.pid}/task/{tool.pid}/children")
    return harness.wait_until(
        lambda: next((int(p) for p in children.read_text().split() if session_of(int(p))), None),
        "the program starts",
        process=tool,
    )


def session_of(pid):
    for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if entry.startswith(b"SEEP_SESSION="):
            return entry.decode().split("=", 1)[1]
    return None


@pytest.fixture
def library(shared):
    """The agent, where everybody can read it."""
    copy = shared / "libseep.so"
    shutil.copy(harness.BUILD / "src" / "agent" / "libseep.so", copy)
    copy.chmod(0o755)
    return copy


@pytest.fixture
def everybodys(steps, shared):
    """The program, where everybody can run it."""
    copy = shared / "steps"
    shutil.copy(steps, copy)
    copy.chmod(0o755)
    return copy


def test_a_process_of_another_user_is_not_recorded(everybodys, library, tmp_path):
    """Not even with the whole of the session's environment."""
    private = tmp_path / "private"
    private.mkdir(0o700)
    running = Waiting(everybodys, private, "out.seep", "--follow=all")
    session = session_of(program_of(running.process))
    words = ("+red:3:10", "fork", "+green:1:10", "exit:7")
    done = subprocess.run(
        [*BECOME, "env", f"SEEP_SESSION={session}", f"LD_PRELOAD={library}", everybodys, *words],
        capture_output=True,
        text=True,
        timeout=harness.DEADLINE,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "child: status 7\n", "")
    err = running.end()[1]
    assert [p.name for p in private.iterdir()] == ["out.seep"]
    assert (
        "of another user (12345) is not recorded: this program did not start it" in err
        and err.count("is not recorded") == 1
    )


def test_the_name_of_the_socket_is_told_to_the_program_only(steps, shared, tmp_path):
    running = Waiting(steps, tmp_path, "out.seep")
    path = Path("/" + session_of(program_of(running.process)).split(":/", 1)[1])
    assert path.is_socket() and path.parent.stat().st_mode & 0o777 == 0o711
    assert path.name not in Path("/proc/net/unix").read_text()
    listed = subprocess.run([*BECOME, "ls", path.parent], capture_output=True, text=True)
    assert listed.returncode != 0 and path.name not in listed.stdout
    running.end()
    assert not path.parent.exists()


def test_programs_of_the_tree_are_recorded_whoever_they_become(everybodys, tmp_path):
    """By a parent that stays, and by one that is gone when they start."""
    script = (f"setpriv --reuid={STRANGER} {everybodys} +red:1:10; setpriv --reuid={STRANGER} sh "
              f"-c '{everybodys} +blue:1:10 &'")
    seep("record", "-q", "--follow=all", "-o", "%n.seep", "--", "sh", "-c", script, cwd=tmp_path)
    functions = set()
    for path in tmp_path.glob("*.seep"):
        functions |= set(harness.Profile(path).by_function())
    assert {"red", "blue"} <= functions


def connect(path):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(harness.DEADLINE)
    one.connect(str(path))
    return one


def test_silent_connections_are_dropped_and_hold_nobody_up(steps, tmp_path):
    running = Waiting(
        steps, tmp_path, "out.seep", "--follow=all", "--keep-small",
        after=("fork", "fork", "+red:1:10"),
    )
    path = "/" + session_of(program_of(running.process)).split(":/", 1)[1]
    silent = [connect(path) for _ in range(300)]
    running.end()
    assert len(list(tmp_path.rglob("*.seep"))) == 3
    assert all(one.recv(1) == b"" for one in silent)  # all of them have been closed
    for one in silent:
        one.close()


def test_a_silent_connection_is_dropped_while_the_program_runs(steps, tmp_path):
    running = Waiting(steps, tmp_path, "out.seep")
    one = connect("/" + session_of(program_of(running.process)).split(":/", 1)[1])
    assert one.recv(1) == b"" and running.process.poll() is None
    one.close()
    running.end()


FLOOD = """
import os, socket, sys
address = sys.argv[1] if sys.argv[1].startswith("/") else "\\0" + sys.argv[1]
print("ready", flush=True)
while True:
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.setblocking(False)
    try:
        one.connect(address)
    except BlockingIOError:
        pass
    except OSError:
        break
    one.close()
"""


@pytest.mark.parametrize("door", ["session", "door of commands"])
def test_a_flood_of_connections_holds_nobody_up(steps, tmp_path, door):
    """Processes that start meanwhile are all recorded, and the flood ends with the session."""
    running = Waiting(
        steps, tmp_path, "out.seep", "--follow=all", "--keep-small",
        after=("fork",) * 10 + ("+red:1:10",),
    )
    pid = program_of(running.process)
    address = "/" + session_of(pid).split(":/", 1)[1] if door == "session" else f"seep-{pid}"
    with subprocess.Popen(
        [*BECOME, "/usr/bin/python3", "-Sc", FLOOD, address],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    ) as flood:
        try:
            assert flood.stdout.readline() == b"ready\n"
            running.end()
            assert flood.wait(harness.DEADLINE) == 0
        finally:
            harness.end_process(flood)
    assert len(list(tmp_path.rglob("*.seep"))) == 11


def test_another_user_may_not_ask(steps, tmp_path):
    running = Waiting(steps, tmp_path, "out.seep")
    pid = program_of(running.process)
    address = "/" + session_of(pid).split(":/", 1)[1]
    ask = ("import socket, struct, sys\n"
           "one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
           "one.connect(sys.argv[1] if sys.argv[1][0] == '/' else '\\0' + sys.argv[1])\n"
           "try:\n"
           "    one.send(struct.pack('=QIIII128s', 0x6b7341, int(sys.argv[3]), int(sys.argv[2]), "
           "0, 0, b'x'))\n"
           "except BrokenPipeError:\n"
           "    pass  # answered already\n"
           "print(one.recv(4096)[32:].split(b'\\0')[0].decode())\n")
    for where in (address, f"seep-{pid}"):
        for kind in (1, 2, 3, 4):  # snapshot, scan, look, processes
            said = stranger("/usr/bin/python3", "-Sc", ask, where, pid, kind).stdout
            assert "recorded by another user; only that user and root have access" in said
    running.end()
    assert not list(tmp_path.glob("*.memlog"))


def test_another_user_may_not_attach(shared):
    """Nor search its memory: seep has no rights that its user does not have."""
    if (
        subprocess.run(
            [*BECOME, harness.SEEP, "--version"], capture_output=True, timeout=harness.DEADLINE
        ).returncode
        != 0
    ):
        pytest.skip("seep is where other users cannot run it")
    other = subprocess.Popen(["sleep", "1000"])
    try:
        for words in (["attach", "-o", "x.seep"], ["leaks"], ["why"], ["report", "--blocks"]):
            command = [
                *BECOME, harness.SEEP, *words, str(other.pid),
                *(["0x1000"] if words == ["why"] else []),
            ]
            done = subprocess.run(
                command,
                cwd=shared,
                capture_output=True,
                text=True,
                timeout=harness.DEADLINE,
                stdin=subprocess.DEVNULL,
                env=harness.clean_environment(),
            )
            assert done.returncode == 3 and done.stderr.startswith("seep: "), done
            assert not done.stdout
        assert "seep" not in Path(f"/proc/{other.pid}/maps").read_text()
        assert not list(shared.iterdir()) and other.poll() is None
    finally:
        other.kill()
        other.wait()


# ---- who may read what ----


def test_the_ledger_has_neither_a_name_nor_a_descriptor_in_the_program(steps, tmp_path):
    """It is shared between the program and its observer, and nobody else can open it there."""
    running = Waiting(steps, tmp_path, "out.seep")
    pid = program_of(running.process)
    assert "memfd" in Path(f"/proc/{pid}/maps").read_text()
    assert not any("memfd" in os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir())
    for folder in (f"/proc/{pid}/fd", f"/proc/{pid}/map_files", f"/proc/{running.process.pid}/fd"):
        assert subprocess.run([*BECOME, "ls", folder], capture_output=True).returncode != 0
    running.end()


def test_the_cache_of_names_is_the_users_own(steps, tmp_path):
    seep("record", "-q", "-o", "out.seep", "--", steps, "+red:1:10", cwd=tmp_path)
    cache = tmp_path / "cache"
    seep("report", "out.seep", cwd=tmp_path, env={"XDG_CACHE_HOME": str(cache)})
    found = list(cache.rglob("*"))
    assert any(p.is_file() for p in found)
    assert {p.stat().st_mode & 0o777 for p in found if p.is_file()} == {0o600}
    assert {p.stat().st_mode & 0o777 for p in [cache, *found] if p.is_dir()} == {0o700}


def test_a_recording_is_as_private_as_umask_says(steps, tmp_path):
    for mask in (0o077, 0o022):
        with_mask = ["sh", "-c", f'umask {mask:o}; exec "$@"', "sh"]
        subprocess.run(
            [
                *with_mask, harness.SEEP, "record", "-q", "--events", "-o", f"{mask:o}.seep", "--",
                steps, "snapshot:a",
            ],
            check=True,
            cwd=tmp_path,
            env=harness.clean_environment(),
            timeout=harness.DEADLINE,
        )
        subprocess.run(
            [*with_mask, harness.SEEP, "html", "-q", "-o", f"{mask:o}.html", f"{mask:o}.seep"],
            check=True,
            cwd=tmp_path,
            env=harness.clean_environment(),
            timeout=harness.DEADLINE,
        )
        made = [
            tmp_path / f"{mask:o}.seep",
            tmp_path / f"{mask:o}.html",
            max(tmp_path.glob("*.memlog"), key=lambda p: p.stat().st_mtime_ns),
        ]
        assert {p.stat().st_mode & 0o777 for p in made} == {0o666 & ~mask}
