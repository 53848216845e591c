# SPDX-License-Identifier: MIT
"""What the command says and returns when things are not as hoped, and what it leaves behind."""
import os
import pty
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import time

import pytest

from harness import DEADLINE, ROOT, SEEP, Profile, Truth, clean_environment, end_process, wait_until


def seep(*argv, cwd=None, env=None, timeout=DEADLINE):
    return subprocess.run(
        [SEEP, *map(str, argv)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean_environment(env),
        stdin=subprocess.DEVNULL,
        timeout=timeout,
    )


def check_refusal(done, status, *words):
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines and all(line.startswith("seep: ") for line in lines), done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


# ---- wrong use ----

def test_an_unknown_command_gets_a_suggestion(tmp_path):
    check_refusal(seep("reprot", cwd=tmp_path), 2, "did you mean", "report")


def test_an_unknown_option_gets_a_suggestion(tmp_path):
    check_refusal(seep("report", "--jsno", cwd=tmp_path), 2, "did you mean --json")


def test_record_without_a_program_is_wrong_use(tmp_path):
    check_refusal(seep("record", cwd=tmp_path), 2)


@pytest.mark.parametrize(
    "bad", [["--follow=sometimes"], ["-d", "many"], ["--no-such-thing"]], ids=lambda b: b[0]
)
def test_a_wrong_option_value_is_wrong_use(tmp_path, bad):
    done = seep("record", *bad, "true", cwd=tmp_path)
    check_refusal(done, 2)
    assert list(tmp_path.iterdir()) == []


def listed_commands():
    return re.findall(r"^  seep (\w+) +\S", seep("help").stdout.partition("examples:")[0], re.M)


def test_every_command_has_help_that_names_each_thing_once():
    commands = listed_commands()
    assert {"record", "report", "info", "help"} < set(commands)
    for command in commands:
        done = seep(command, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"usage: seep {command}")
        headings = re.findall(r"^[a-z].*:$", done.stdout.partition("Exit status")[0], re.M)
        options = re.findall(r"^  ..  --([a-z-]+)", done.stdout, re.M)
        assert len(headings) == len(set(headings)), (command, headings)
        assert len(options) == len(set(options)), (command, sorted(options))
        assert "\n\n\n" not in done.stdout, command


def test_the_topic_of_formats_names_every_format_of_export():
    names = re.findall(r"^(?:  )?([a-z][a-z0-9-]+) +(?:NAME|callgrind)", seep(
        "export", "--to", "list"
    ).stdout, re.M)
    assert {"pprof", "svg", "maps"} < set(names)
    told = re.findall(r"[a-z0-9-]+", seep("help", "formats").stdout)
    assert set(names) <= set(told), set(names) - set(told)


def test_help_and_version_go_to_stdout():
    for argv in (["help"], ["--help"], ["help", "record"], ["help", "peak"]):
        done = seep(*argv)
        assert (done.returncode, done.stderr) == (0, "") and len(done.stdout) > 100
    assert re.fullmatch(r"seep \d+\.\d+\S*\n", seep("--version").stdout)


# ---- programs that cannot be recorded ----

def test_a_missing_program_is_127(tmp_path):
    check_refusal(seep("record", "./no-such-program", cwd=tmp_path), 127, "./no-such-program")
    check_refusal(
        seep("record", "no-such-program-in-path", cwd=tmp_path), 127, "no-such-program-in-path"
    )


def test_a_file_without_permission_is_126(tmp_path):
    (tmp_path / "data").write_text("not a program\n")
    check_refusal(seep("record", "./data", cwd=tmp_path), 126, "not executable")
    check_refusal(seep("record", "./", cwd=tmp_path), 126, "directory")


def test_a_static_program_is_refused_with_the_reason(tmp_path):
    (tmp_path / "s.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(
        ["gcc", "-static", "s.c", "-o", "static"], cwd=tmp_path, check=True, timeout=DEADLINE
    )
    check_refusal(
        seep("record", "--engine=preload", "./static", cwd=tmp_path), 3, "statically linked"
    )


def test_a_program_with_raised_rights_is_refused_with_the_reason(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can make a file that raises rights to another user")
    os.chmod(tmp_path, 0o755)
    copy = tmp_path / "raised"
    shutil.copy("/bin/true", copy)
    os.chown(copy, 65534, 65534)
    os.chmod(copy, 0o4755)
    check_refusal(seep("record", "./raised", cwd=tmp_path), 3, "privileges")


def test_a_program_for_another_machine_is_refused_with_the_reason(tmp_path):
    program = tmp_path / "foreign"
    header = (
        b"\x7fELF\x01\x01\x01"
        + bytes(9)
        + struct.pack("<HHIIIIIHHHHHH", 2, 8, 1, 0x10000, 52, 0, 0, 52, 32, 0, 40, 0, 0)
    )
    program.write_bytes(header + bytes(200))
    program.chmod(0o755)
    check_refusal(seep("record", "./foreign", cwd=tmp_path), 3, "MIPS")


def test_a_sanitized_program_is_refused_with_the_reason(tmp_path):
    (tmp_path / "s.c").write_text("int main(void) { return 0; }\n")
    made = subprocess.run(
        ["gcc", "-fsanitize=address", "s.c", "-o", "asan"], cwd=tmp_path, timeout=DEADLINE
    )
    if made.returncode:
        pytest.skip("the compiler has no address sanitizer here")
    check_refusal(seep("record", "./asan", cwd=tmp_path), 3, "Sanitizer")


def test_a_script_is_recorded_through_its_interpreter(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho from the script \"$1\"\nexit 4\n")
    script.chmod(0o755)
    done = seep("record", "-o", "out.seep", "./script", "argument", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "from the script argument\n")
    assert Profile(tmp_path / "out.seep").json["exit"]["code"] == 4


@pytest.mark.parametrize("typed", ["./script", "script"])
def test_the_command_line_of_a_script_is_shown_as_typed(typed, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh -e\nexit 0\n")
    script.chmod(0o755)
    done = seep(
        "record", "-o", "out.seep", typed, "one", "script",
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert done.returncode == 0 and f"\n  {typed} one script (pid " in "\n" + done.stderr


# ---- files ----

@pytest.fixture
def known(compiler):
    return compiler.build("known.c")


def test_the_command_may_be_left_out_and_the_file_is_named_after_the_program(known, tmp_path):
    done = seep(known, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "known\n")
    (file,) = tmp_path.iterdir()
    assert re.fullmatch(r"known\.\d+\.seep", file.name)
    assert Profile(file).json["program"].endswith("known")


def test_the_newest_recording_here_is_the_default(known, tmp_path):
    assert seep("record", "-o", "first.seep", "true", cwd=tmp_path).returncode == 0
    assert seep("record", "-o", "second.seep", known, cwd=tmp_path).returncode == 0
    os.utime(tmp_path / "first.seep", (1, 1))
    done = seep("report", cwd=tmp_path)
    assert done.returncode == 0 and "parse_big" in done.stdout


def test_an_existing_file_is_not_overwritten_and_the_program_not_run(known, tmp_path):
    (tmp_path / "out.seep").write_text("precious\n")
    done = seep("record", "-o", "out.seep", known, cwd=tmp_path)
    check_refusal(done, 2, "out.seep", "-f")
    assert (tmp_path / "out.seep").read_text() == "precious\n"
    assert seep("record", "-f", "-o", "out.seep", known, cwd=tmp_path).returncode == 0
    assert Profile(tmp_path / "out.seep").json["complete"] is True


def written_elsewhere(done, folder):
    """The path of the recording that went to the fallback folder, which the message must name."""
    (file,) = folder.glob("*.seep")
    assert str(folder) in done.stderr
    return file


def test_an_unwritable_folder_is_told_at_the_start_and_costs_nothing(known, tmp_path):
    done = seep(
        "record", "-o", "/proc/out.seep", known, cwd=tmp_path, env={"TMPDIR": str(tmp_path)}
    )
    assert (done.returncode, done.stdout) == (0, "known\n")
    assert "/proc" in done.stderr
    assert Profile(written_elsewhere(done, tmp_path)).totals["allocations"] >= 1116


def test_a_full_disk_does_not_cost_the_recording(known, tmp_path):
    small, other = tmp_path / "small", tmp_path / "other"
    small.mkdir()
    other.mkdir()
    script = (
        'mount -t tmpfs -o size=1m tmpfs "$1" || exit 77; '
        'dd if=/dev/zero of="$1/filler" bs=4096 2>/dev/null; exec "$2" record -o "$1/out.seep" "$3"'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", small, SEEP, known],
        capture_output=True,
        text=True,
        env=clean_environment({"TMPDIR": str(other)}),
        timeout=DEADLINE,
    )
    if done.returncode in (1, 77) and ("unshare" in done.stderr or "mount" in done.stderr):
        pytest.skip(f"no private mounts here: {done.stderr.strip()}")
    assert (done.returncode, done.stdout) == (0, "known\n"), done.stderr
    assert Profile(written_elsewhere(done, other)).totals["allocations"] >= 1116


def test_a_file_that_is_not_ours_is_4(tmp_path):
    (tmp_path / "x.seep").write_text("hello\n" * 1000)
    check_refusal(seep("report", "x.seep", cwd=tmp_path), 4, "x.seep")
    check_refusal(seep("info", "x.seep", cwd=tmp_path), 4, "x.seep")
    (tmp_path / "empty.seep").write_bytes(b"")
    check_refusal(seep("report", "empty.seep", cwd=tmp_path), 4, "empty.seep")


def test_a_missing_file_is_told_by_name(tmp_path):
    done = seep("report", "nowhere.seep", cwd=tmp_path)
    assert done.returncode in (2, 4) and "nowhere.seep" in done.stderr and done.stdout == ""
    done = seep("report", cwd=tmp_path)
    assert done.returncode in (2, 4) and done.stderr.startswith("seep: ")


def test_a_truncated_file_is_read_as_far_as_it_is_whole(known, tmp_path):
    assert seep("record", "-o", "out.seep", known, cwd=tmp_path).returncode == 0
    whole = (tmp_path / "out.seep").read_bytes()
    readable = 0
    for part in range(1, 20):
        cut = tmp_path / "cut.seep"
        cut.write_bytes(whole[:len(whole) * part // 20])
        done = seep("report", "--summary", cut)
        assert done.returncode in (0, 1, 4), (part, done.stderr)
        assert done.stderr.startswith("seep: "), part
        readable += done.returncode != 4
    assert readable > 0, "no truncated file could be read at all"


def test_a_damaged_byte_is_noticed(known, tmp_path):
    assert seep("record", "-o", "out.seep", known, cwd=tmp_path).returncode == 0
    whole = bytearray((tmp_path / "out.seep").read_bytes())
    right = seep("report", "--json", "out.seep", cwd=tmp_path).stdout
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x55
        (tmp_path / "bad.seep").write_bytes(damaged)
        done = seep("report", "--json", "bad.seep", cwd=tmp_path)
        assert done.returncode in (0, 4), (at, done.stderr)
        assert done.returncode == 4 or done.stderr or done.stdout == right, at


# ---- while it runs ----

def read_until(fd, wanted, deadline=DEADLINE):
    text, end = b"", time.monotonic() + deadline
    while wanted not in text:
        left = end - time.monotonic()
        assert left > 0, f"{wanted!r} did not come: {text!r}"
        if select.select([fd], [], [], left)[0]:
            try:
                more = os.read(fd, 4096)
            except OSError:
                more = b""
            assert more, f"{wanted!r} did not come: {text!r}"
            text += more
    return text


def test_ctrl_c_ends_the_program_and_still_reports(compiler, tmp_path):
    program = compiler.build("patient.c")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(SEEP, ["seep", "record", "-o", "out.seep", str(program)], clean_environment())
    try:
        read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        read_until(terminal, b"out.seep")
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGINT
    profile = Profile(tmp_path / "out.seep")
    assert profile.totals["live_blocks"] == 100
    assert profile.json["exit"]["signal"] == signal.SIGINT


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_tool_reaches_the_program(compiler, tmp_path, sig):
    program = compiler.build("patient.c")
    tool = subprocess.Popen(
        [SEEP, "record", "-o", "out.seep", program],
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        read_until(tool.stdout.fileno(), b"ready")
        tool.send_signal(sig)
        assert tool.wait(DEADLINE) == -sig
    finally:
        end_process(tool)
    assert Profile(tmp_path / "out.seep").json["exit"]["signal"] == sig


def wait_status(*argv, cwd):
    """As a parent sees it, with the bit for a core file; cores are allowed."""
    unlimited = (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, unlimited),
    )
    said = process.stderr.read()
    process.stderr.close()
    _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return status, said


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE,
        signal.SIGUSR1, signal.SIGRTMIN, signal.SIGRTMAX,
    ],
)
def test_the_tool_ends_by_the_signal_that_killed_the_program(tmp_path, number):
    program = ["/bin/sh", "-c", f"kill -{int(number)} $$"]
    bare, _ = wait_status(*program, cwd=tmp_path)
    status, said = wait_status(SEEP, "record", "-o", "out.seep", *program, cwd=tmp_path)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == os.WTERMSIG(bare) == number
    assert not os.WCOREDUMP(status)
    assert b"seep report out.seep" in said
    assert Profile(tmp_path / "out.seep").json["exit"]["signal"] == number


def test_the_tool_exits_with_a_number_when_asked(tmp_path):
    program = ["/bin/sh", "-c", "kill -9 $$"]
    for words in (["record", "-q", "--exit-code"], ["check", "--allow-unseen", "--max-peak", "1G"]):
        status, _ = wait_status(SEEP, *words, "--", *program, cwd=tmp_path)
        assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGKILL


def test_when_the_tool_is_killed_the_program_goes_on_to_its_end(compiler, tmp_path):
    program = compiler.build("patient.c")
    told = tmp_path / "told"
    tool = subprocess.Popen(
        ["/bin/sh", "-c", 'exec "$1" record -o out.seep "$2" 3>told', "sh", SEEP, program],
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        read_until(tool.stdout.fileno(), b"ready")
        tool.kill()
        assert tool.wait(DEADLINE) == -signal.SIGKILL
        tool.stdin.write(b"\n")
        tool.stdin.flush()
        read_until(tool.stdout.fileno(), b"finished")
    finally:
        end_process(tool)
    wait_until(lambda: Truth(told.read_text()).total, "the program tells its truth")
    assert Truth(told.read_text()).total["allocs"] == 300


def test_input_and_output_pass_through_untouched(tmp_path):
    data = os.urandom(300000)
    done = subprocess.run(
        [SEEP, "record", "-q", "-o", "out.seep", "--", "cat"],
        input=data,
        capture_output=True,
        cwd=tmp_path,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, data, b"")


def test_options_behind_the_program_are_the_programs(tmp_path):
    done = seep("record", "-o", "out.seep", "echo", "-n", "--json", "-o", "x", cwd=tmp_path)
    assert done.stdout == "--json -o x"


def test_options_can_come_from_the_environment(known, tmp_path):
    done = seep(known, cwd=tmp_path, env={"SEEP_OPTIONS": "-o chosen.seep"})
    assert done.returncode == 0 and (tmp_path / "chosen.seep").exists()


def test_the_environment_of_the_program_keeps_its_own_preload(known, tmp_path):
    done = seep("record", "-q", "-o", "out.seep", "env", cwd=tmp_path, env={"MARK": "kept"})
    assert "MARK=kept" in done.stdout.splitlines()


def test_depth_limits_the_stored_frames(known, tmp_path):
    assert seep("record", "-d", "2", "-o", "two.seep", known, cwd=tmp_path).returncode == 0
    profile = Profile(tmp_path / "two.seep")
    stacks = [s["stack"] for s in profile.heap_sites()]
    assert ["parse_big", "load"] in [profile.names(s) for s in stacks]
    assert max(sum(not profile.frame(i)["inlined"] for i in s) for s in stacks) == 2


def test_nothing_is_left_in_the_temporary_folder(known, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {"TMPDIR": str(scratch), "XDG_RUNTIME_DIR": str(scratch)}
    assert seep("record", "-o", "out.seep", known, cwd=tmp_path, env=env).returncode == 0
    assert list(scratch.iterdir()) == []


def test_the_project_has_no_recording_of_a_test_lying_around():
    assert list(ROOT.glob("*.seep")) == []


# ---- the summary ----

def test_the_summary_names_what_counts(known, tmp_path):
    done = seep("record", "-o", "out.seep", known, cwd=tmp_path)
    assert done.returncode == 0
    for word in ("peak", "allocations", "out.seep", "peak_holder"):
        assert word in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) <= 30


def test_quiet_is_quiet(known, tmp_path):
    done = seep("record", "-q", "-o", "out.seep", known, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "known\n", "")


# ---- places and people ----

def test_an_agent_below_a_strange_path_is_loaded(known, tmp_path):
    """The loader splits LD_PRELOAD at blanks and colons."""
    place = tmp_path / "a b:c"
    (place / "agent").mkdir(parents=True)
    shutil.copy(SEEP, place)
    shutil.copy(SEEP.parent / "agent" / "libseep.so", place / "agent")
    done = subprocess.run(
        [place / "seep", "record", "-q", "-o", "out.seep", known],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "known\n", "")
    assert Profile(tmp_path / "out.seep").totals["allocations"] >= 1116


def test_root_can_record_as_another_user(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root may run a program as another user")
    done = seep(
        "record", "-q", "--user", "nobody", "-o", "out.seep", "/usr/bin/id", "-un", cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "nobody\n", "")
    assert Profile(tmp_path / "out.seep").totals["allocations"] > 0


def test_the_tool_can_record_itself_recording(known, tmp_path):
    done = seep(
        "record", "-q", "-o", "outer.seep", SEEP, "record", "-q", "-o", "inner.seep", known,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, "known\n")
    assert Profile(tmp_path / "inner.seep").totals["allocations"] >= 1116
    assert Profile(tmp_path / "outer.seep").json["program"].endswith("seep")


def shell_with_one_job(argv, folder):
    """What a shell does with a job in the foreground; never returns.  Says STOPPED when it is,
    then lets it go on."""
    os.chdir(folder)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgid(0))
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execve(argv[0], argv, clean_environment())
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        os._exit(100)
    os.write(1, b"STOPPED")
    os.killpg(job, signal.SIGCONT)
    _, status = os.waitpid(job, 0)
    os._exit(os.waitstatus_to_exitcode(status))


def test_ctrl_z_stops_the_tool_too_and_both_go_on(compiler, tmp_path):
    program = compiler.build("patient.c")
    pid, terminal = pty.fork()
    if pid == 0:
        shell_with_one_job([str(SEEP), "record", "-q", "-o", "out.seep", str(program)], tmp_path)
    try:
        read_until(terminal, b"ready")
        os.write(terminal, b"\x1a")
        read_until(terminal, b"STOPPED", deadline=20)
        os.write(terminal, b"\n")
        read_until(terminal, b"finished")
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 9
    assert Profile(tmp_path / "out.seep").totals["live_blocks"] == 300


def test_a_checkpoint_survives_the_death_of_the_tool(compiler, tmp_path):
    """The first one is written after four seconds, and from then on another one every four."""
    program = compiler.build("patient.c")
    tool = subprocess.Popen(
        [SEEP, "record", "-q", "-o", "out.seep", program],
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        read_until(tool.stdout.fileno(), b"ready")
        wait_until((tmp_path / "out.seep").exists, "a checkpoint is written", process=tool)
        first = Profile(tmp_path / "out.seep").json["duration_ms"]
        wait_until(
            lambda: Profile(tmp_path / "out.seep").json["duration_ms"] > first,
            "another one is",
            process=tool,
        )
        tool.kill()
        tool.wait(DEADLINE)
    finally:
        end_process(tool)
    tool.stdin.close()
    profile = Profile(tmp_path / "out.seep")
    assert profile.totals["live_blocks"] == 100
    assert profile.json["complete"] is False


def test_a_limit_on_file_sizes_is_told_before_the_start(tmp_path):
    """ulimit -f 0: no file can take the recording anywhere, and the program is not started for
    nothing."""
    touched = tmp_path / "touched"
    seen = subprocess.run(
        ["sh", "-c", f'ulimit -f 0; exec "$0" record -o {tmp_path}/out.seep touch {touched}', SEEP],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert seen.returncode == 3
    assert (
        "File too large" in seen.stderr
        and "the size of files is limited (ulimit -f)" in seen.stderr
    )
    assert not touched.exists()
