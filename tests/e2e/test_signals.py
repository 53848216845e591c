# SPDX-License-Identifier: MIT
"""The signal that asks for a report belongs to the program first."""
import signal

import pytest

from harness import run, wait_until
from plain import Started, find_reports, preloaded, run_plain, sum_of

USR1_KILLS = 128 + signal.SIGUSR1


@pytest.fixture
def signalling(compiler):
    return compiler.build("signalling.c")


def mentions(stderr, word=b"SIGUSR1"):
    return [line for line in stderr.splitlines() if line.startswith(b"seep: ") and word in line]


def check_same(program, recorder, *steps, **how):
    """As without the tool, plain and recorded; returns the plain run and its reports."""
    bare = run([program, *steps], folder=recorder.folder(), **how)
    folder = recorder.folder()
    seen = run_plain(folder, program, *steps, **how)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    recorded = recorder.record(program, *steps, options=["-q"], **how)
    assert (recorded.stdout, recorded.status) == (bare.stdout, bare.status)
    return seen, find_reports(folder)


HANDLERS = ["sigaction", "siginfo", "signal", "sysv", "bsd"]


@pytest.mark.parametrize("how", HANDLERS)
@pytest.mark.parametrize("sent", ["self", "raise", "queue", "thread"])
def test_a_handler_of_the_program_runs_and_that_is_said_once(signalling, recorder, how, sent):
    seen, reports = check_same(signalling, recorder, "keep", how, "query", sent, "until:1", "query")
    assert len(mentions(seen.stderr)) == 1, seen.stderr
    assert [m.seq for m in reports] == [1]  # that of the exit


def test_a_handler_that_comes_late_takes_over(signalling, recorder):
    with Started(
        recorder.folder(), signalling, "keep", "ready", "wait", "sigaction", "ready", "until:2",
        "keep",
    ) as program:
        program.said(b"ready\n")
        program.signal(signal.SIGUSR1)
        first = program.report(1)
        program.say()
        program.said(b"ready\n", 2)
        for _ in (1, 2):
            program.signal(signal.SIGUSR1)
            wait_until(
                lambda: program.process.poll() is not None or signal_taken(program),
                "the signal is taken",
            )
        done = program.finish()
        second = program.report(2)
    assert (done.status, done.stdout) == (
        0,
        b"ready\nbefore: default\nready\nhandled: 2, wrong: 0\n",
    )
    assert first.by_function() == {"keep": 1000} and second.by_function() == {"keep": 1000}
    assert len(mentions(done.stderr)) == 1


def signal_taken(program):
    """No SIGUSR1 is waiting: the next one cannot be merged with it."""
    status = (line.split() for line in open(f"/proc/{program.pid}/status"))
    return not any(
        int(words[1], 16) >> (signal.SIGUSR1 - 1) & 1
        for words in status
        if words[0] in ("SigPnd:", "ShdPnd:")
    )


def test_a_handler_that_goes_gives_the_signal_back(signalling, recorder):
    steps = ("sigaction", "self", "until:1", "default", "query", "keep", "ready", "wait")
    with Started(recorder.folder(), signalling, *steps) as program:
        program.said(b"ready\n")
        program.signal(signal.SIGUSR1)
        assert program.report(1).by_function() == {"keep": 1000}
        program.say()
        assert program.finish().status == 0


def test_a_program_that_ignores_it_is_left_alone(signalling, recorder):
    seen, reports = check_same(
        signalling, recorder, "ignore", "query", "self", "raise", "thread", "query"
    )
    assert len(mentions(seen.stderr)) == 1 and len(reports) <= 1


def test_a_signal_ignored_from_the_start_is_left_alone(signalling, recorder):
    ignoring = ["/bin/sh", "-c", 'trap "" USR1; exec "$@"', "sh"]
    bare = run([*ignoring, signalling, "query", "self", "query"], folder=recorder.folder())
    folder = recorder.folder()
    seen = run(
        [*ignoring, *preloaded([signalling, "query", "self", "query"])], cwd=folder, folder=folder
    )
    assert (
        (seen.stdout, seen.status)
        == (bare.stdout, bare.status)
        == (b"ignored, flags 0, open\n" * 2, 0)
    )
    assert len(mentions(seen.stderr)) == 1


def test_nothing_of_ours_shows_in_dispositions_and_masks(signalling, recorder):
    check_same(
        signalling, recorder, "query", "ask:signal", "query", "pending", "fork", "query",
        "pending", "ask:signal", "query",
    )


@pytest.mark.parametrize("how", ["sigwait", "signalfd"])
def test_a_program_that_takes_it_without_a_handler_gets_it(signalling, recorder, how):
    with Started(recorder.folder(), signalling, how, library=None) as program:
        program.said(b"ready\n")
        program.signal(signal.SIGUSR1)
        bare = program.finish()
    with Started(recorder.folder(), signalling, how) as program:
        program.said(b"ready\n")
        program.signal(signal.SIGUSR1)
        seen = program.finish()
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status) == (b"ready\ntook it\n", 0)


def test_sigsuspend_gets_the_handler_it_waits_for(signalling, recorder):
    with Started(recorder.folder(), signalling, "sigaction", "suspend") as program:
        program.said(b"ready\n")
        program.signal(signal.SIGUSR1)
        seen = program.finish()
    assert (seen.stdout, seen.status) == (b"before: default\nready\ntook it\n", 0)


@pytest.mark.parametrize("sent", ["self", "raise", "queue", "thread"])
def test_however_it_is_sent_it_gives_a_report(signalling, recorder, sent):
    folder = recorder.folder()
    seen = run_plain(folder, signalling, "keep", sent, "keep")
    assert (seen.status, seen.stdout) == (0, b"")
    found = find_reports(folder)
    assert [m.seq for m in found] == [1, 2] and sum_of(m.by_function() for m in found)[
        "keep"
    ] == 2000
    assert found[0].by_function()["keep"] >= 1000


@pytest.mark.parametrize(
    "steps",
    [
        ("fork", "self"),
        ("fork", "raise"),
        ("fork", "sigaction", "self", "until:1"),
        ("fork", "query", "thread"),
    ],
    ids=lambda s: "-".join(s),
)
def test_a_forked_child_has_the_signal_for_itself(signalling, recorder, steps):
    check_same(signalling, recorder, *steps)


def test_under_record_the_signal_is_the_programs_own(signalling, recorder):
    """Only the library alone takes it without having been asked to."""
    script = 'kill -USR1 $$; exit 5'
    assert recorder.record("/bin/sh", "-c", script, options=["-q"]).status == 128 + signal.SIGUSR1
    assert recorder.record("/bin/sh", "-c", script, options=["-q", "--signal=USR1"]).status == 5
    assert run_plain(recorder.folder(), "/bin/sh", "-c", script).status == 5


def test_a_child_with_a_clean_environment_dies_of_it(signalling, recorder):
    script = recorder.folder() / "dies"
    script.write_text("#!/bin/sh\nkill -USR1 $$\nexit 5\n")
    script.chmod(0o755)
    seen, _ = check_same(signalling, recorder, f"spawn:{script}")
    assert seen.stdout == b"child: signal 10\n"


def test_a_child_that_is_not_followed_dies_of_it(signalling, recorder):
    folder = recorder.folder()
    seen = run_plain(
        folder, "/bin/sh", "-c", 'sh -c "kill -USR1 \\$\\$; exit 5"; echo $?',
        env={"SEEP_OPTIONS": "--follow=none"},
    )
    recorded = recorder.record(
        "/bin/sh",
        "-c",
        'sh -c "kill -USR1 \\$\\$; exit 5"; echo $?',
        options=["-q", "--follow=none"],
    )
    assert (seen.stdout, recorded.stdout) == (b"138\n", b"138\n")


@pytest.mark.parametrize(
    "name,number",
    [
        ("RTMIN+3", signal.SIGRTMIN + 3),
        ("USR2", signal.SIGUSR2),
        ("SIGUSR2", signal.SIGUSR2),
        ("RTMAX-1", signal.SIGRTMAX - 1),
        ("SIGHUP", signal.SIGHUP),
        (str(int(signal.SIGWINCH)), signal.SIGWINCH),
    ],
)
def test_another_signal_can_be_chosen(signalling, recorder, name, number):
    with Started(
        recorder.folder(), signalling, "keep", "ready", "wait",
        env={"SEEP_OPTIONS": f"--signal={name}"},
    ) as program:
        program.said(b"ready\n")
        program.signal(number)
        assert program.report(1).by_function() == {"keep": 1000}
        program.signal(signal.SIGUSR1)
        assert program.finish().status == USR1_KILLS


def test_without_a_signal_it_kills_as_ever_and_the_report_is_that_of_the_death(
    signalling, recorder
):
    with Started(
        recorder.folder(), signalling, "keep", "ready", "wait",
        env={"SEEP_OPTIONS": "--signal=none"},
    ) as program:
        program.said(b"ready\n")
        program.signal(signal.SIGUSR1)
        assert program.finish().status == USR1_KILLS
        assert program.report(1).by_function() == {"keep": 1000}


@pytest.mark.parametrize("name", ["NOSUCH", "RTMIN+99", "0", "-1", "KILL", "STOP", "65", ""])
def test_a_signal_that_cannot_be_is_refused(signalling, recorder, name):
    seen = recorder.record(signalling, "query", options=[f"--signal={name}"])
    assert seen.status == 2 and seen.stdout == b"" and b"--signal" in seen.stderr
    plain = run_plain(
        recorder.folder(), signalling, "query", env={"SEEP_OPTIONS": f"--signal={name}"}
    )
    assert (
        plain.status == 0
        and plain.stdout == b"default, flags 0, open\n"
        and b"--signal" in plain.stderr
    )


PYTHON = ("import signal, os\n"
          "for s in (signal.SIGUSR1, signal.SIGUSR2): print(signal.getsignal(s))\n"
          "print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending())\n"
          "got = []\n"
          "signal.signal(signal.SIGUSR1, lambda n, f: got.append(n))\n"
          "os.kill(os.getpid(), signal.SIGUSR1)\n"
          "print(got)\n"
          "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
          "os.kill(os.getpid(), signal.SIGUSR1)\n"
          "print(signal.sigpending(), signal.sigwait([signal.SIGUSR1]))\n"
          "print(signal.signal(signal.SIGUSR1, signal.SIG_IGN) is not None, "
          "signal.getsignal(signal.SIGUSR1))\n")


def test_python_sees_and_uses_its_signals(recorder):
    check_same("/usr/bin/python3", recorder, "-c", PYTHON)


PERL = ('$SIG{USR1} = sub { print "usr1\\n" }; $| = 1; kill USR1 => $$; sleep 0; $SIG{ALRM} = sub '
        '{ die "alarm\\n" };'
        'eval { alarm 1; select undef, undef, undef, 20; }; print $@; $SIG{USR1} = "DEFAULT"; my '
        '$gone; $SIG{CHLD} = sub { wait; print "child ", $? >> 8, "\\n"; $gone = 1 };'
        'if (!(my $p = fork)) { exit 6 } sleep 1 until $gone; print "end\\n"; exit 3')


def test_perl_handlers_run(recorder, need):
    need("perl")
    check_same("perl", recorder, "-e", PERL)


BASH = ('trap "echo usr1" USR1; trap "echo term" TERM; trap "echo bye" EXIT; kill -USR1 $$; kill '
        '-TERM $$; set -m; (trap "echo inner; exit 4" USR1; kill -USR1 $BASHPID; exit 9) & wait '
        '$!; echo $?; bash -c "kill -USR1 \\$\\$"; echo $?; trap - USR1; (kill -USR1 $BASHPID; '
        'echo alive); echo $?; jobs; cat /dev/zero | head -c 5 | wc -c; exit 7')


def test_bash_traps_and_job_control_work(recorder, need):
    need("bash")
    bare = run(["bash", "-c", BASH], folder=recorder.folder())
    seen = recorder.record("bash", "-c", BASH, options=["-q"])
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    assert bare.status == 7


def test_a_recorded_program_says_that_it_has_its_own_handler(signalling, recorder):
    seen = recorder.record(signalling, "sigaction", "self", "until:1", options=["--signal=USR1"])
    assert len(mentions(seen.stderr)) == 1
    quiet = recorder.record(signalling, "keep", options=["--signal=USR1"])
    assert mentions(quiet.stderr) == []
    other = recorder.record(signalling, "sigaction", "self", "until:1", options=["--signal=none"])
    assert (
        mentions(other.stderr)
        == mentions(recorder.record(signalling, "sigaction", "self", "until:1").stderr)
        == []
    )
