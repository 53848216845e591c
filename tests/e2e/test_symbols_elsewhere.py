# SPDX-License-Identifier: MIT
"""Names when programs and debug files are not where they were: other directories, other
machines, servers, the file itself."""
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest

from bench import OPTIMISED, Bench, far, near
from harness import DEADLINE, SEEP, end_process, free_port, wait_until


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.fixture
def recorded(bench):
    """lines, recorded, then taken away to `kept`; the facts it told."""
    facts = bench.record(bench.compile(*OPTIMISED))
    (bench.folder / "lines").rename(bench.folder / "kept")
    return facts


def put(bench, *parts):
    """A copy of the program at a path below the folder."""
    place = bench.folder.joinpath(*parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(bench.folder / "kept", place)
    return place


def build_id_of(bench, file):
    [line] = [x for x in bench.run("readelf", "-n", file).stdout.splitlines() if "Build ID:" in x]
    return line.split()[-1]


# ---- directories ----

def where(bench):
    """The recorded path of the program, without its first slash."""
    return str(bench.folder / "lines")[1:]


@pytest.mark.parametrize("strip", [0, 1, 2, "all"])
@pytest.mark.parametrize("suffix", ["", ".debug"])
def test_debug_path_with_leading_directories_stripped_one_by_one(bench, recorded, strip, suffix):
    parts = where(bench).split("/")
    parts = parts[-1:] if strip == "all" else parts[strip:]
    parts[-1] += suffix
    put(bench, "symbols", *parts)
    assert bench.stack(6001)[0][0] is None
    assert bench.stack(6001, "--debug-path", bench.folder / "symbols")[:4] == near(recorded)


def test_debug_path_may_be_repeated_and_the_first_with_lines_is_taken(bench, recorded):
    stripped = put(bench, "one", "lines")
    bench.run("strip", "-g", stripped)
    put(bench, "two", "lines")
    paths = ("--debug-path", bench.folder / "one", "--debug-path", bench.folder / "two")
    assert bench.stack(6001, *paths)[:4] == near(recorded)
    bench.forget()
    assert bench.stack(6001, *paths[:2])[0] == ("near_outer", None, False)


def test_debug_path_by_build_id_whatever_the_name(bench, recorded):
    put(bench, "symbols", "any", "where", "something-else")
    assert bench.stack(6001, "--debug-path", bench.folder / "symbols")[:4] == near(recorded)


def test_debug_path_with_a_directory_of_build_ids(bench, recorded):
    build_id = build_id_of(bench, "kept")
    put(bench, "symbols", ".build-id", build_id[:2], build_id[2:] + ".debug")
    assert bench.stack(6001, "--debug-path", bench.folder / "symbols")[:4] == near(recorded)


def test_a_file_of_another_build_is_not_used_and_told_once(bench, recorded):
    bench.compile(*OPTIMISED, "-DANOTHER", "-O1", out="rebuilt")
    other = bench.folder / "symbols" / "lines"
    other.parent.mkdir()
    shutil.move(bench.folder / "rebuilt", other)
    done = bench.seep("report", "--flat", "--debug-path", other.parent, "out.seep")
    assert (
        done.stderr.count(f"{other} has a different build id than the recorded file: not used") == 1
    )
    assert "near_" not in done.stdout
    put(bench, "symbols", "right")
    done = bench.seep("report", "--flat", "--debug-path", other.parent, "out.seep")
    assert "different build id" not in done.stderr
    assert "near_inner" in done.stdout


def test_a_program_without_a_build_id_that_was_changed_later_is_told(bench):
    flags = ("-O2", "-g", "-Wl,--build-id=none")
    bench.record(bench.compile(*flags))
    assert bench.seep("report", "--flat", "out.seep").stderr == ""
    bench.compile(*flags, "-DANOTHER")
    done = bench.seep("report", "--flat", "out.seep")
    assert (done.stderr.count("lines was changed after the recording, and the recorded file has no "
                              "build id: names may be wrong") == 1)



def test_sysroot_in_front_of_the_whole_path(bench, recorded):
    root = bench.folder / "root"
    put(bench, "root", where(bench))
    assert bench.stack(6001, "--sysroot", root)[:4] == near(recorded)


@pytest.mark.parametrize("option", ["--debug-path", "--sysroot"])
def test_a_mistyped_directory_is_told(bench, recorded, option):
    assert (
        "no names from nowhere: No such file"
        in bench.seep("report", option, "nowhere", "out.seep").stderr
    )
    assert (
        "no names from kept: it is not a directory"
        in bench.seep("report", option, "kept", "out.seep").stderr
    )


def test_missing_names_are_told_with_what_to_do(bench, recorded):
    done = bench.seep("report", "--flat", "out.seep")
    hints = [line for line in done.stderr.splitlines() if "have no name" in line]
    assert len(hints) == 1 and "--debug-path" in hints[0] and "lines (build id " in hints[0]
    assert bench.seep("report", "-q", "--flat", "out.seep").stderr == ""
    done = bench.seep(
        "report", "--flat", "--debug-path", put(bench, "symbols", "lines").parent, "out.seep"
    )
    assert done.stderr == ""


# ---- the cache ----

def test_the_cache_does_not_hide_debug_files_that_come_later(bench):
    program = bench.compile(*OPTIMISED)
    bench.run("objcopy", "--only-keep-debug", program, "whole")
    bench.run("strip", "-g", program)
    facts = bench.record(program)
    symbols = bench.folder / "symbols"
    symbols.mkdir()
    assert bench.stack(6001)[0] == ("near_outer", None, False)
    assert bench.stack(6001, "--debug-path", symbols)[0] == ("near_outer", None, False)
    shutil.move(bench.folder / "whole", symbols / "whole")
    assert bench.stack(6001, "--debug-path", symbols)[:4] == near(facts)
    assert bench.stack(6001)[:4] == near(facts), "what was found once is known by build id"


@pytest.mark.parametrize("place", ["other.debug", ".debug/other.debug"])
def test_the_cache_does_not_hide_a_debug_file_that_a_link_names(bench, place):
    program = bench.compile(*OPTIMISED)
    bench.run("objcopy", "--only-keep-debug", program, "other.debug")
    bench.run("strip", "-g", program)
    bench.run("objcopy", "--add-gnu-debuglink=other.debug", program)
    facts = bench.record(program)
    (bench.folder / "other.debug").rename(bench.folder / "kept")
    assert bench.stack(6001)[0] == ("near_outer", None, False)
    put(bench, place)
    assert bench.stack(6001)[:4] == near(facts)


@pytest.mark.parametrize(
    "variable,made", [("HOME", [".cache", ".cache/seep"]), ("XDG_CACHE_HOME", ["seep"])]
)
def test_the_cache_is_made_below_a_home_that_is_there_only(bench, variable, made):
    program = bench.compile("-g")
    place = bench.folder / "users" / "home"
    env = {"HOME": "", "XDG_CACHE_HOME": "", variable: str(place)}
    for command in (("record", "-f", "-o", "out.seep", "--", program), ("report", "out.seep")):
        assert bench.seep(*command, env=env).stderr.count("cannot") == 0
        assert not place.parent.exists()
    place.mkdir(parents=True)
    bench.seep("report", "out.seep", env=env)
    found = sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_dir())
    assert found == made and list(place.rglob("*.names"))


# ---- stored names ----

def test_stored_names_need_no_other_file(bench, recorded):
    symbols = put(bench, "symbols", "lines").parent
    expected = bench.report("--debug-path", symbols)
    bench.forget()
    done = bench.seep("symbolize", "--debug-path", symbols, "-o", "named.seep", "out.seep")
    assert "addresses have names" in done.stdout
    shutil.rmtree(symbols)
    (bench.folder / "kept").unlink()
    bench.forget()
    assert bench.stack(6001)[0][0] is None
    assert bench.report(file="named.seep") == expected
    assert bench.stack(6001, file="named.seep")[:4] == near(recorded)


def test_every_command_reads_stored_names_and_the_event_log_stays(bench):
    """What each command says is the same before, with all files there, and after, with none."""
    program = bench.compile(*OPTIMISED)
    bench.record(program, "--events")
    shutil.copy(bench.folder / "out.seep", bench.folder / "copy.seep")
    commands = [
        ("report", "--flat"),
        ("report", "--tree"),
        ("report", "--memlog"),
        ("report", "--blocks"),
        ("report", "--summary"),
        ("events",),
        ("events", "--csv"),
    ]
    before = [bench.seep(*command, "out.seep").stdout for command in commands]
    difference = bench.seep("diff", "out.seep", "copy.seep").stdout
    assert "near_inner" in before[0] and "near_inner" in before[5]
    for name in ("out.seep", "copy.seep"):
        bench.seep("symbolize", name)
    program.unlink()
    bench.forget()
    assert [bench.seep(*command, "out.seep").stdout for command in commands] == before
    assert bench.seep("diff", "out.seep", "copy.seep").stdout == difference


def test_symbolize_in_place_and_again_with_better_files(bench):
    program = bench.compile(*OPTIMISED)
    facts = bench.record(program)
    shutil.copy(program, bench.folder / "whole")
    bench.run("strip", "-g", program)
    bench.seep("symbolize", "out.seep")
    program.unlink()
    bench.forget()
    assert bench.stack(6001)[0] == ("near_outer", None, False)
    (bench.folder / "symbols").mkdir()
    shutil.move(bench.folder / "whole", bench.folder / "symbols" / "lines")
    bench.seep("symbolize", "--debug-path", bench.folder / "symbols", "out.seep")
    shutil.rmtree(bench.folder / "symbols")
    bench.forget()
    assert bench.stack(6001)[:4] == near(facts)
    assert bench.seep("info", "out.seep").stdout.splitlines()[0].endswith("whole")


def test_symbolize_names_the_modules_that_lack_something(bench, recorded):
    done = bench.seep("symbolize", "out.seep")
    [line] = [x for x in done.stdout.splitlines() if str(bench.folder / "lines") in x]
    asked, named, lines = map(int, line.split()[:3])
    assert asked >= 2 and named == 0 and lines == 0
    assert len(line.split("build id ")[1]) == 40


def test_symbolize_overwrites_only_what_it_may(bench, recorded):
    (bench.folder / "there").write_text("precious")
    done = bench.seep("symbolize", "-o", "there", "out.seep", status=2)
    assert "-f replaces it" in done.stderr
    assert (bench.folder / "there").read_text() == "precious"
    bench.seep("symbolize", "-f", "-o", "there", "out.seep")
    whole = (bench.folder / "out.seep").read_bytes()
    (bench.folder / "cut.seep").write_bytes(whole[:-40])
    done = bench.seep("symbolize", "cut.seep", status=4)
    assert "-o OUT" in done.stderr
    assert (bench.folder / "cut.seep").read_bytes() == whole[:-40]
    bench.seep("symbolize", status=2)
    bench.seep("symbolize", "missing.seep", status=4)


def test_a_recording_from_a_machine_with_stripped_files(bench, tmp_path_factory):
    """Program and library are stripped where they run; the whole ones lie in a tree on the
    machine that reads."""
    tree = bench.folder / "tree" / "app"
    tree.mkdir(parents=True)
    bench.compile(*OPTIMISED, "-shared", "-fPIC", source="lines_far.c", out="libfar.so")
    bench.compile(*OPTIMISED, "-DFAR", libs=("-L.", "-lfar", "-Wl,-rpath,$ORIGIN"))
    for name in ("lines", "libfar.so"):
        shutil.copy(bench.folder / name, tree / name)
        bench.run("strip", "-s", name)
    facts = bench.record(bench.folder / "lines")
    host = Bench(tmp_path_factory.mktemp("host"))
    shutil.copy(bench.folder / "out.seep", host.folder)
    shutil.move(bench.folder / "tree", host.folder / "tree")
    shutil.rmtree(bench.folder)
    assert host.names(6001)[:2] == [None, None]
    done = host.seep("symbolize", "--debug-path", host.folder / "tree", "out.seep")
    assert " addresses have names" in done.stdout
    third = Bench(tmp_path_factory.mktemp("third"))
    shutil.move(host.folder / "out.seep", third.folder / "out.seep")
    shutil.rmtree(host.folder)
    assert third.stack(6001)[:4] == near(facts)
    assert third.stack(7001)[:4] == far(facts)
    text = third.seep("report", "--flat", "out.seep").stdout
    assert "far_middle" in text and "lines.h:" in text


# ---- one address, two libraries ----

def stacks_in(text):
    """Lists of function names, from a flat report."""
    blocks = re.split(r"\n\s*\d+\. ", text)[1:]
    return [re.findall(r"^ {8}(\w+) \[", block, re.M) for block in blocks]


@pytest.mark.parametrize(
    "options",
    [(), ("--cost", "total", "--range", "0s..10h"), ("--at", "end")],
    ids=["whole", "range", "moment"],
)
@pytest.mark.parametrize("stored", [False, True], ids=["found", "stored"])
def test_libraries_that_follow_each_other_at_one_address(bench, compiler, plugs, options, stored):
    program = compiler.build("dl_swap.c")
    done = bench.run(
        "/bin/sh", "-c", 'exec "$@" 3>truth', "sh", SEEP, "record", "-q", "-o", "out.seep", "--",
        program, *plugs, "20",
    )
    assert done.stderr == ""
    assert (
        "fact same=20\n" in (bench.folder / "truth").read_text()
    ), "the loader did not reuse the address"
    if stored:
        bench.seep("symbolize", "out.seep")
        bench.forget()
    text = bench.seep("report", "--flat", *options, "-i", "^inner_", "out.seep").stdout
    found = stacks_in(text)
    assert {tuple(stack[:4]) for stack in found} == {
        (f"inner_{x}", f"outer_{x}", "use", "main") for x in "ab"
    }


# ---- debuginfod ----

STATUS = """
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=10).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""


def asked(world, url):
    """The status of a request from inside that network; "" while nobody listens."""
    return subprocess.run(
        [*world, sys.executable, "-c", STATUS, url],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    ).stdout.strip()


@pytest.fixture
def stripped(bench):
    """lines, stripped and recorded; its debug file in `served`; its build id; the facts."""
    program = bench.compile(*OPTIMISED)
    (bench.folder / "served").mkdir()
    bench.run("objcopy", "--only-keep-debug", program, "served/lines.debug")
    bench.run("strip", "-s", program)
    return build_id_of(bench, program), bench.record(program)


@pytest.fixture
def server(bench, stripped, need):
    """It listens on all addresses there are, so it gets a network that has one only."""
    need("debuginfod")
    url = "http://127.0.0.1:8002"
    alone, inside = ([], []) if os.geteuid() == 0 else (["-r"], ["-U", "--preserve-credentials"])
    process = subprocess.Popen(
        [
            "unshare", *alone, "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
            "debuginfod", "-F", "-p", "8002", "-d", str(bench.folder / "index"), "served",
        ],
        cwd=bench.folder,
        env=bench.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    world = ["nsenter", *inside, "-t", str(process.pid), "-n"]
    try:
        wait_until(lambda: asked(world, f"{url}/buildid/{stripped[0]}/debuginfo") == "200",
                   "the server has read its files", process=process)
        bench.world = world
        yield url
    finally:
        bench.world = ()
        end_process(process)


def ask(bench, url, **more):
    return {
        "DEBUGINFOD_URLS": url,
        "DEBUGINFOD_CACHE_PATH": str(bench.folder / "downloads"),
        **more,
    }


def test_debug_files_from_a_server(bench, stripped, server):
    assert bench.stack(6001)[0][0] is None
    assert bench.stack(6001, env=ask(bench, ""))[0][0] is None
    assert bench.stack(6001, "--no-debuginfod", env=ask(bench, server))[0][0] is None
    assert bench.stack(6001, env=ask(bench, server))[:4] == near(stripped[1])
    (bench.folder / "lines").unlink()
    bench.forget()
    assert bench.stack(6001, env=ask(bench, server))[:4] == near(
        stripped[1]
    ), "without the program itself"


def test_a_server_is_not_asked_while_recording(bench, stripped):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0)
        bench.run(SEEP, "record", "-f", "-o", "again.seep", "--", "./lines", env=ask(
            bench, f"http://127.0.0.1:{listener.getsockname()[1]}"))
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_dead_server_is_told_once(bench, stripped):
    env = ask(bench, f"http://127.0.0.1:{free_port()}")
    done = bench.seep("report", "--flat", "out.seep", env=env)
    assert done.stderr.count("debuginfod servers") == 1
    assert "do not answer" in done.stderr
    assert "lines+f_" in done.stdout


def test_a_silent_server_is_not_waited_for_again_and_again(bench, stripped):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        done = bench.seep(
            "report", "--flat", "out.seep", env=ask(bench, url, DEBUGINFOD_TIMEOUT="2")
        )
    assert done.stderr.count("debuginfod servers") == 1
    assert "continuing without them" in done.stderr
    assert "lines+f_" in done.stdout


def test_ctrl_c_ends_the_download_and_not_the_report(bench, stripped):
    master, slave = pty.openpty()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(DEADLINE)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        process = subprocess.Popen(
            [SEEP, "report", "--flat", "out.seep"],
            cwd=bench.folder,
            stderr=slave,
            env={**bench.env, **ask(bench, url)},
            stdout=subprocess.PIPE,
        )
        os.close(slave)
        connection, _ = listener.accept()
        shown = b""
        while b"Ctrl-C: continue without" not in shown:
            shown += os.read(master, 4096)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=DEADLINE)
        connection.close()
    rest = os.read(master, 65536)
    os.close(master)
    assert process.returncode == 0
    assert b"download cancelled" in rest and b"lines: asking" in shown
    assert b"lines+f_" in out
