# SPDX-License-Identifier: MIT
"""record --push: what the server gets is what the program did, and no server can disturb the
program."""
import base64
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, SEEP, Profile, end_process, free_port, run, shell_status, wait_until
from ingest import Server
from plain import Started
from readers import ask, pprof

SAMPLE_TYPES = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
EVERY = ("--every", "1s", "--sample=0")  # every block, so that numbers are exact


@pytest.fixture
def push(recorder):
    """Start a program that is pushed to a server; returns the running `seep record`."""
    def start(server, *argv, options=(), env=None):
        folder = recorder.folder()
        url = server if isinstance(server, str) else server.url
        return Started(
            folder, SEEP, "record", "-o",
            folder / "out.seep",
            "--push", url, *EVERY, *options, "--", *argv,
            library=None,
            env={"no_proxy": "127.0.0.1", **(env or {})},
        )
    return start


def children_of(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def sender_of(seep):
    """The first child; those that make recordings of a moment come and go."""
    return children_of(seep.pid)[0]


def pushed(server, count):
    wait_until(lambda: len(server.of()) >= count, f"{count} profiles arrive")


def sums(pushes):
    """By function: allocations summed over all, what is in use from the last."""
    total = {}
    for p in pushes:
        for function, values in p.pprof.by_function().items():
            mine = total.setdefault(function, dict.fromkeys(SAMPLE_TYPES, 0))
            mine["alloc_objects"] += values["alloc_objects"]
            mine["alloc_space"] += values["alloc_space"]
    for function, values in pushes[-1].pprof.by_function().items():
        for name in SAMPLE_TYPES[2:]:
            total[function][name] = values[name]
    return total


def check_truth(pushes, sites):
    found = sums(pushes)
    for name, site in sites.items():
        if site["allocs"]:
            assert found[name] == {
                "alloc_objects": site["allocs"],
                "alloc_space": site["bytes"],
                "inuse_objects": site["live_blocks"],
                "inuse_space": site["live_bytes"],
            }, name


def check_continuity(pushes):
    """Each interval begins where the one before ended, and the profile in it says so too."""
    for one in pushes:
        assert one.start < one.end
        assert (
            one.pprof.time_ns == one.start * 10**9
            and one.pprof.duration_ns == (one.end - one.start) * 10**9
        )
    for one, other in zip(pushes, pushes[1:]):
        assert one.end == other.start


def test_the_server_gets_the_form_that_it_knows(push, steps):
    with Server() as server, push(server, steps, "+red:3:100") as seep:
        done = seep.finish()
        assert done.status == 0
        [only] = server.of()
    assert only.path == "/ingest" and only.headers["User-Agent"].startswith("seep/")
    assert (
        only.name == "steps"
        and only.query["spyName"] == "seep"
        and only.query["sampleRate"].isdigit()
    )
    assert "format" not in only.query  # with it, Pyroscope takes the whole form for the profile
    assert (
        only.labels["program"] == "steps"
        and only.labels["hostname"] == socket.gethostname()
        and int(only.labels["pid"]) > 1
    )
    assert {name: file for name, (file, _) in only.form.items()} == {
        "profile": "profile.pprof",
        "sample_type_config": "sample_type_config.json",
    }
    assert only.pprof.types == SAMPLE_TYPES and only.pprof.units == ["count", "bytes"] * 2
    assert list(only.config) == SAMPLE_TYPES
    for name, how in only.config.items():
        assert how == {
            "units": "bytes" if name.endswith("space") else "objects",
            "aggregation": "sum" if name.startswith("alloc") else "average",
            "display-name": name,
            "sampled": False,
            "cumulative": False,
        }
    check_continuity([only])
    check_truth([only], done.truth.sites)


def test_intervals_follow_each_other_and_add_up_to_the_truth(push, steps):
    words = [
        "+red:100:10", "+green:3:1000", "ready", "wait", "+red:50:10", "-green:1", "spin:100",
        "ready", "wait", "-red:120", "+blue:1:7",
    ]
    with Server() as server, push(server, steps, *words) as seep:
        seep.said(b"ready")
        pushed(server, 2)
        seep.say()
        seep.said(b"ready", 2)
        pushed(server, len(server.of()) + 2)  # one of them has seen everything until now
        quiet = server.of()[-1]
        seep.say()
        done = seep.finish()
        all_of_them = server.of()
    assert done.status == 0 and b"push" not in done.stderr, done.stderr
    check_continuity(all_of_them)
    check_truth(all_of_them, done.truth.sites)
    assert quiet.pprof.by_function()["red"] == {
        "alloc_objects": 0,
        "alloc_space": 0,
        "inuse_objects": 150,
        "inuse_space": 1500,
    }


def test_every_process_has_its_own(push, steps):
    with Server() as server, push(
        server, steps, "+red:3:10", "fork", "+green:5:100", "exit:4", options=["--follow=all"]
    ) as seep:
        done = seep.finish()
        parts = {p.labels["pid"]: p for p in server.of()}
    assert done.status == 4
    child = parts[str(done.truth.facts["child"])]
    assert child.pprof.by_function()["green"]["alloc_space"] == 500
    [parent] = [p for pid, p in parts.items() if p is not child]
    assert (
        parent.pprof.by_function()["red"]["inuse_objects"] == 3
        and "green" not in parent.pprof.by_function()
    )


def test_many_processes_lose_nothing_when_the_server_is_fine(push, steps):
    forks = 40  # more than may wait for a server that is not there
    with Server() as server, push(
        server, steps, "+red:3:10", *["fork"] * forks, "ready", "wait", options=["--follow=all"]
    ) as seep:
        seep.said(b"ready")
        wait_until(
            lambda: len({p.labels["pid"] for p in server.of()}) > forks, "a profile of each arrives"
        )
        most = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{sender_of(seep)}/status").read_text())
        seep.say()
        done = seep.finish()
        by_process = {}
        for p in server.of():
            by_process.setdefault(p.labels["pid"], []).append(p)
    assert done.status == 0 and b"not delivered" not in done.stderr
    assert len(by_process) == forks + 1
    assert int(most[1]) < 60 << 10  # names are looked up once, not in each process
    for pushes in by_process.values():
        check_continuity(pushes)
        assert pushes[-1].pprof.by_function()["red"]["inuse_space"] == 30


def test_a_program_that_becomes_another_begins_again(push, steps, compiler):
    other = compiler.build("known.c")
    with Server() as server, push(server, steps, "+red:3:10", f"exec:{other}") as seep:
        assert seep.finish().status == 0
        first, second = server.of()
    assert first.labels["pid"] == second.labels["pid"]
    assert (
        first.labels["program"] == "steps"
        and first.pprof.by_function()["red"]["alloc_objects"] == 3
    )
    assert second.labels["program"] == "known" and "red" not in second.pprof.by_function()


@pytest.mark.parametrize(
    "way, status", [("exit:3", 3), ("_exit:5", 5), ("abort", 134), ("kill", 137)]
)
def test_the_last_interval_is_sent_whatever_the_end(push, steps, way, status):
    with Server() as server, push(server, steps, "+green:7:70", way) as seep:
        done = seep.finish()
        assert done.status == status
        check_truth(server.of(), done.truth.sites)


def test_name_labels_path_and_password_come_from_the_command_line(push, steps):
    with Server() as server:
        url = (
            server.url.replace("http://", "http://me:s3cret%40@")
            + "/base/?name=my.app%7Bzone%3Da%7D&format=pprof"
        )
        with push(
            url, steps, "+red:1:1", options=["--label", "env=prod", "--label", "odd=a,b={c}"]
        ) as seep:
            assert seep.finish().status == 0
            assert b"s3cret" not in seep.stderr()
        [only] = server.of()
    assert only.path == "/base/ingest" and only.query["format"] == "pprof"
    assert only.headers["Authorization"] == "Basic " + base64.b64encode(b"me:s3cret@").decode()
    assert only.name == "my.app"
    assert {k: only.labels[k] for k in ("zone", "env", "odd", "program")} == {
        "zone": "a",
        "env": "prod",
        "odd": "a_b__c_",
        "program": "steps",
    }


def test_sampled_profiles_add_up_to_the_sampled_recording(push, compiler):
    with Server() as server, push(
        server, compiler.build("sampled.c"), options=["--sample=16K"]
    ) as seep:
        assert seep.finish().status == 0
        found = sums(server.of())
    recorded = {
        name: site
        for name, site in Profile(seep.folder / "out.seep").by_function().items()
        if site["bytes_allocated"]
    }
    assert len(recorded) > 2
    for name, site in recorded.items():
        assert found[name] == {
            "alloc_objects": site["allocations"],
            "alloc_space": site["bytes_allocated"],
            "inuse_objects": site["live_blocks"],
            "inuse_space": site["live_bytes"],
        }, name


def test_pprof_of_go_reads_it(push, steps, tmp_path):
    if not pprof():
        pytest.skip("pprof of Go is not installed")
    with Server() as server, push(server, steps, "+red:3:1000") as seep:
        assert seep.finish().status == 0
        [only] = server.of()
    (tmp_path / "profile.pprof").write_bytes(only.form["profile"][1])
    said = ask(
        [pprof(), "-top", "-sample_index=alloc_space", "-unit=B", tmp_path / "profile.pprof"],
        cwd=tmp_path,
    )
    assert "3000B" in next(line for line in said.splitlines() if line.endswith(" red"))


# ---- servers that do not take it ----

@pytest.mark.parametrize(
    "answer", [(500, {}, "oops"), (503, {}, ""), (429, {"Retry-After": "1"}, "slow down")]
)
def test_what_was_not_taken_is_sent_again_in_order(push, steps, answer):
    with Server([answer] * 2) as server, push(
        server, steps, "+red:10:10", "ready", "wait", "+red:5:10"
    ) as seep:
        seep.said(b"ready")
        pushed(server, 2)
        seep.say()
        done = seep.finish()
        assert [p.query["from"] for p in server.tried[:3]] == [server.tried[0].query["from"]] * 3
        check_continuity(server.of())
        check_truth(server.of(), done.truth.sites)
    assert (
        done.status == 0
        and done.stderr.count(b"accepts no profiles now") == 1
        and str(answer[0]).encode() in done.stderr
    )


def test_what_is_refused_is_dropped_and_told_once(push, steps):
    answers = [(401, {}, "no <b>token</b>\n\x1b[31m")] * 2
    with Server(answers) as server, push(server, steps, "+red:10:10", "ready", "wait") as seep:
        seep.said(b"ready")
        pushed(server, 1)
        seep.say()
        done = seep.finish()
        starts = [p.start for p in server.tried]
    assert starts == sorted(set(starts))  # nothing was sent twice
    told = [line for line in done.stderr.splitlines() if b"status 401" in line]
    assert len(told) == 1 and b"no <b>token</b> [31m" in told[0] and b"\x1b" not in done.stderr
    assert b"2 profiles were not delivered" in done.stderr


def test_a_server_that_is_not_there_costs_a_message(push, steps):
    url = f"http://127.0.0.1:{free_port()}"
    with push(url, steps, "+red:10:10", "spin:1500", "exit:9") as seep:
        done = seep.finish()
    assert done.status == 9 and done.truth.sites["red"]["allocs"] == 10
    ours = [line for line in done.stderr.decode().splitlines() if url in line]
    assert (
        len(ours) == 2
        and "cannot push" in ours[0]
        and "not delivered" in ours[1]
        and all(line.startswith("seep: ") for line in ours)
    )


def test_a_server_that_comes_later_gets_everything(push, steps):
    port = free_port()
    with push(
        f"http://127.0.0.1:{port}", steps, "+red:10:10", "ready", "wait", "+green:1:1"
    ) as seep:
        seep.said(b"ready")
        wait_until(lambda: b"cannot push" in seep.stderr(), "the first try failed")
        with Server(port=port) as server:
            pushed(server, 2)
            seep.say()
            done = seep.finish()
            check_continuity(server.of())
            check_truth(server.of(), done.truth.sites)
    assert done.status == 0


def test_a_server_that_never_answers_holds_nobody_up(push, steps):
    with Server(hang=True) as server, push(
        server, steps, "+red:10:10", "ready", "wait", "exit:2"
    ) as seep:
        seep.said(b"ready")
        wait_until(lambda: server.tried, "a profile is on its way")
        seep.say()
        done = seep.finish()
        assert done.status == 2 and done.truth.sites["red"]["allocs"] == 10
    assert b"not delivered" in done.stderr


# ---- begin and end ----

def test_the_library_alone_pushes_too_and_writes_no_recording(steps, tmp_path):
    with Server() as server:
        env = {
            "SEEP_OPTIONS": f"--push {server.url} --every 1s --sample=0",
            "no_proxy": "127.0.0.1",
        }
        with Started(
            tmp_path, steps, "+red:10:10", "ready", "wait", "+green:3:7", env=env
        ) as program:
            program.said(b"ready")
            pushed(server, 1)
            program.say()
            done = program.finish()
        wait_until(lambda: "green" in sums(server.of()), "the last interval arrives")
        check_continuity(server.of())
        check_truth(server.of(), done.truth.sites)
    assert done.status == 0 and done.stderr == b"" and not list(tmp_path.glob("*.seep"))


def test_a_wrong_url_in_the_environment_is_told_and_the_program_runs(steps, tmp_path):
    with Started(
        tmp_path, steps, "+red:1:1", "exit:3", env={"SEEP_OPTIONS": "--push ftp://x"}
    ) as program:
        done = program.finish()
    assert done.status == 3
    assert (done.stderr == b"seep: 'ftp://x' is not a URL to push to: http://HOST:PORT or "
                           b"https://HOST:PORT is expected\nseep: nothing is recorded\n")


def test_what_cannot_work_is_told_before_the_program_starts(recorder, steps, compiler, tmp_path):
    empty = tmp_path / "nothing.c"
    empty.write_text("int nothing;")
    subprocess.run(
        ["gcc", "-shared", "-o", tmp_path / "libcurl.so.4", empty], check=True, timeout=DEADLINE
    )
    for options, env, status, word in (
            (["--push", "ftp://x"], None, 2, b"ftp://x"),
            (["--push", "nowhere"], None, 2, b"nowhere"),
            (["--push", "http://x", "--every", "10ms"], None, 2, b"10ms"),
            (["--push", "http://x", "--label", "wrong"], None, 2, b"'wrong'"),
            (["--push", "http://x"], {"LD_LIBRARY_PATH": str(tmp_path)}, 3, b"libcurl")):
        done = run(
            [SEEP, "record", *options, "--", steps, "+red:1:1"],
            env=env,
            cwd=tmp_path,
            folder=recorder.folder(),
        )
        assert done.status == status and word in done.stderr and done.truth.text == "", (
            options,
            done.stderr,
        )
        assert done.stderr.startswith(b"seep: ")


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_who_sends_ends_with_the_observer(push, steps):
    with Server() as server, push(server, steps, "ready", "wait") as seep:
        seep.said(b"ready")
        sender = sender_of(seep)
        program = next(
            pid
            for pid in children_of(seep.pid)
            if os.readlink(f"/proc/{pid}/exe") != str(SEEP.resolve())
        )
        try:
            end_process(seep.process, signal.SIGKILL)
            wait_until(lambda: is_gone(sender), "who sends has ended")
        finally:
            os.kill(program, signal.SIGKILL)


@pytest.mark.parametrize("sent", [signal.SIGSTOP, signal.SIGKILL])
def test_who_sends_and_cannot_is_told_of_and_not_waited_for(push, steps, sent):
    with Server() as server, push(server, steps, "+red:4:40", "ready", "wait", "exit:6") as seep:
        seep.said(b"ready")
        sender = sender_of(seep)
        os.kill(sender, sent)
        seep.say()
        done = seep.finish()
    assert done.status == 6 and done.stderr.count(b"not all profiles were pushed") == 1
    assert (
        is_gone(sender)
        and Profile(seep.folder / "out.seep").by_function()["red"]["allocations"] == 4
    )


def test_interrupting_the_program_loses_no_interval(push, steps):
    with Server() as server, push(server, steps, "+red:4:40", "ready", "wait") as seep:
        seep.said(b"ready")
        for pid in (*children_of(seep.pid), seep.pid):  # as a terminal does it
            os.kill(pid, signal.SIGINT)
        assert shell_status(seep.process.wait(DEADLINE)) == 130
        assert sums(server.of())["red"]["alloc_space"] == 160
