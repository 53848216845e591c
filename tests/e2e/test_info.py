# SPDX-License-Identifier: MIT
"""`seep info`: what it says for people and for programs."""
import json
import subprocess

import pytest

import format_reader
from harness import DEADLINE, SEEP, ask, clean_environment


def info(*argv, status=0, cwd=None):
    done = subprocess.run(
        [SEEP, "info", *map(str, argv)],
        capture_output=True,
        text=True,
        env=clean_environment(),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
    )
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def program(compiler):
    return compiler.build("known.c")


@pytest.fixture(scope="module")
def recorded(program, tmp_path_factory):
    file = tmp_path_factory.mktemp("info") / "known.seep"
    ask("record", "-q", "-o", file, program)
    return file


def build_id(path):
    """As binutils sees it."""
    told = subprocess.run(
        ["readelf", "-n", path], capture_output=True, text=True, check=True
    ).stdout
    return next(line.split()[-1] for line in told.splitlines() if "Build ID" in line)


def test_it_names_program_and_end(recorded, program):
    text = info(recorded).stdout
    assert str(program) in text and "exit status 0" in text and ", whole" in text.splitlines()[0]


def test_modules_carry_their_build_ids(recorded, program):
    found = {
        m["path"]: m["build_id"] for m in json.loads(info("--json", recorded).stdout)["modules"]
    }
    assert found[str(program)] == build_id(program)


def test_options_may_stand_behind_the_file(recorded):
    assert json.loads(info(recorded, "--json").stdout) == json.loads(
        info("--json", recorded).stdout
    )


def test_symbols_tells_who_has_names_and_lines(recorded, program, compiler, tmp_path):
    modules = {
        m["path"]: m for m in json.loads(info("--json", "--symbols", recorded).stdout)["modules"]
    }
    mine = modules[str(program)]
    assert mine["lines"] is True and mine["frames_named"] == mine["frames_asked"] > 0
    bare = compiler.build("known.c", flags=("-O0", "-fno-builtin", "-s"), name="bare")
    file = tmp_path / "bare.seep"
    done = subprocess.run(
        [SEEP, "record", "-q", "-o", file, bare],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr.decode()
    modules = {
        m["path"]: m for m in json.loads(info("--json", "--symbols", file).stdout)["modules"]
    }
    assert modules[str(bare)]["lines"] is False and modules[str(bare)]["frames_named"] == 0


def test_a_damaged_section_is_pointed_out(recorded, tmp_path):
    data = bytearray(recorded.read_bytes())
    section = next(
        s for s in json.loads(info("--json", recorded).stdout)["sections"] if s["name"] == "sites"
    )
    data[section["offset"] + 32] ^= 0x55
    bad = tmp_path / "bad.seep"
    bad.write_bytes(data)
    text = info(bad, status=1).stdout
    assert "DAMAGED" in text.splitlines()[0]
    assert [
        line for line in text.splitlines() if line.split()[:1] == ["sites"] and "DAMAGED" in line
    ]


def test_strings_of_a_recording_do_not_steer_the_terminal(program, tmp_path):
    file = tmp_path / "arg.seep"
    done = subprocess.run(
        [SEEP, "record", "-q", "-o", file, program, "\x1b[31m1"],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert "\x1b" not in info(file).stdout
    assert json.loads(info("--json", file).stdout)["args"][1] == "\x1b[31m1"


def test_wrong_use_has_status_2(recorded):
    assert "'seep help info'" in info(recorded, recorded, status=2).stderr
    info("--nonsense", recorded, status=2)
    assert info("--help").stdout.startswith("usage: seep info")


# ---- the search for leaks ----

def search_of(file):
    return json.loads(info("--json", file).stdout)["leak_search"]


@pytest.fixture(scope="module")
def losing(compiler, tmp_path_factory):
    """A recording of a program that loses one block with another one on it, and keeps one; sizes
    are in its name."""
    source = tmp_path_factory.mktemp("losing") / "losing.c"
    source.write_text("""
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        static void *volatile kept;
        static void __attribute__((noinline)) lose(void)
        {
                void **head = malloc(1000);
                memset(head, 0, 1000);
                head[5] = malloc(100);
        }
        static void __attribute__((noinline)) forget(void)
        {
                volatile char over[4096];
                memset((void *)over, 0, sizeof over);
        }
        int main(int argc, char **argv)
        {
                kept = malloc(30);
                lose();
                forget();
                if (argc > 1)
                        kill(getpid(), atoi(argv[1]));
                return 0;
        }""".replace("#include <unistd.h>", "#include <unistd.h>\n#include <signal.h>"))
    program = source.with_suffix("")
    subprocess.run(["cc", "-O0", "-fno-builtin", "-g", source, "-o", program], check=True)
    return program


def record_to(file, *argv):
    subprocess.run(
        [SEEP, "record", "-q", "-f", "-o", file, *argv],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    return file


def test_it_tells_when_leaks_were_searched_for_and_what_was_found(losing, tmp_path):
    file = record_to(tmp_path / "a.seep", losing)
    found = search_of(file)
    assert (
        found["when"] == "exit"
        and found["trouble"] is None
        and found["graph"] is True
        and found["copy"] is False
    )
    assert found["classes"]["definite"] == {"blocks": 1, "bytes": 1000}
    assert found["classes"]["indirect"] == {"blocks": 1, "bytes": 100}
    assert found["classes"]["reachable"] == {"blocks": 1, "bytes": 30}
    assert found["heap_bytes"] == 1130 and found["threads"] == 1
    text = info(file).stdout
    assert (
        "leak search  at exit" in text
        and "definitely lost   1000 B in 1 block" in text
        and "all pointers are kept" in text
    )


def test_it_tells_why_no_leaks_were_searched_for(losing, tmp_path):
    killed = record_to(tmp_path / "killed.seep", losing, "9")
    assert [
        line
        for line in info(killed).stdout.splitlines()
        if line.startswith("  leak search  not made:") and "SIGKILL" in line
    ]
    unwanted = record_to(tmp_path / "unwanted.seep", "--no-leak-scan", losing)
    assert search_of(unwanted) is None and "--no-leak-scan" in info(unwanted).stdout


def test_names_are_stored_beside_what_was_found(losing, tmp_path):
    file = record_to(tmp_path / "a.seep", losing)
    before = format_reader.read(file)
    subprocess.run(
        [SEEP, "symbolize", file],
        check=True,
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    after = format_reader.read(file)
    assert len(after.arrays["symbols"]) > len(before.arrays["symbols"])
    assert (
        before.counts["verdicts"] == 3
        and before.counts["pointers"] == 1
        and before.counts["holds"] > 0
    )
    for array in format_reader.ARRAYS[format_reader.ARRAYS.index("scans"):]:
        assert after.arrays[array] == before.arrays[array], array


def test_a_file_without_its_pointers_says_so(losing, tmp_path):
    file = record_to(tmp_path / "a.seep", losing)
    data = bytearray(file.read_bytes())
    section = next(
        s for s in json.loads(info("--json", file).stdout)["sections"] if s["name"] == "pointers"
    )
    data[section["offset"] + 32] ^= 0x55
    file.write_bytes(data)
    text = info(file, status=1).stdout
    assert "some pointers are missing" in text and "definitely lost   1000 B in 1 block" in text


def test_it_names_the_machine(recorded, program):
    """As readelf and getconf see it."""
    told = subprocess.run(
        ["readelf", "-h", program], capture_output=True, text=True, check=True
    ).stdout
    page = int(subprocess.run(["getconf", "PAGESIZE"], capture_output=True, check=True).stdout)
    said = json.loads(info("--json", recorded).stdout)
    assert "X86-64" in told and "ELF64" in told and "little endian" in told
    assert (said["machine"], said["word_bits"], said["byte_order"], said["page_bytes"]) == (
        "x86-64", 64, "little", page,
    )
    assert ", x86-64\n" in info(recorded).stdout
    meta = format_reader.read(recorded).meta
    assert (meta["machine"], meta["byte_order"], meta["page_bytes"]) == (62, 1, page)
