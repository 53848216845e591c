# SPDX-License-Identifier: MIT
"""`seep info`: what it says for people and for programs."""
import json
import subprocess

import pytest

from harness import DEADLINE, SEEP, clean_environment


def info(*argv, status=0, cwd=None):
    done = subprocess.run([SEEP, "info", *map(str, argv)], capture_output=True, text=True, env=clean_environment(),
                          cwd=cwd, stdin=subprocess.DEVNULL, timeout=DEADLINE)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def program(compiler):
    return compiler.build("known.c")


@pytest.fixture(scope="module")
def recorded(program, tmp_path_factory):
    file = tmp_path_factory.mktemp("info") / "known.seep"
    done = subprocess.run([SEEP, "record", "-q", "-o", file, program], capture_output=True, env=clean_environment(),
                          timeout=DEADLINE)
    assert done.returncode == 0, done.stderr.decode()
    return file


def build_id(path):
    """As binutils sees it."""
    told = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return next(line.split()[-1] for line in told.splitlines() if "Build ID" in line)


def test_it_names_program_and_end(recorded, program):
    text = info(recorded).stdout
    assert str(program) in text and "exit status 0" in text and ", whole" in text.splitlines()[0]


def test_modules_carry_their_build_ids(recorded, program):
    found = {m["path"]: m["build_id"] for m in json.loads(info("--json", recorded).stdout)["modules"]}
    assert found[str(program)] == build_id(program)


def test_options_may_stand_behind_the_file(recorded):
    assert json.loads(info(recorded, "--json").stdout) == json.loads(info("--json", recorded).stdout)


def test_symbols_tells_who_has_names_and_lines(recorded, program, compiler, tmp_path):
    modules = {m["path"]: m for m in json.loads(info("--json", "--symbols", recorded).stdout)["modules"]}
    mine = modules[str(program)]
    assert mine["lines"] is True and mine["frames_named"] == mine["frames_asked"] > 0
    bare = compiler.build("known.c", flags=("-O0", "-fno-builtin", "-s"), name="bare")
    file = tmp_path / "bare.seep"
    done = subprocess.run([SEEP, "record", "-q", "-o", file, bare], capture_output=True, env=clean_environment(),
                          timeout=DEADLINE)
    assert done.returncode == 0, done.stderr.decode()
    modules = {m["path"]: m for m in json.loads(info("--json", "--symbols", file).stdout)["modules"]}
    assert modules[str(bare)]["lines"] is False and modules[str(bare)]["frames_named"] == 0


def test_a_damaged_section_is_pointed_out(recorded, tmp_path):
    data = bytearray(recorded.read_bytes())
    section = next(s for s in json.loads(info("--json", recorded).stdout)["sections"] if s["name"] == "sites")
    data[section["offset"] + 32] ^= 0x55
    bad = tmp_path / "bad.seep"
    bad.write_bytes(data)
    text = info(bad, status=1).stdout
    assert "NOT WHOLE" in text.splitlines()[0]
    assert [line for line in text.splitlines() if line.split()[:1] == ["sites"] and "DAMAGED" in line]


def test_strings_of_a_recording_do_not_steer_the_terminal(program, tmp_path):
    file = tmp_path / "arg.seep"
    done = subprocess.run([SEEP, "record", "-q", "-o", file, program, "\x1b[31m1"], capture_output=True,
                          env=clean_environment(), timeout=DEADLINE)
    assert done.returncode == 0, done.stderr.decode()
    assert "\x1b" not in info(file).stdout
    assert json.loads(info("--json", file).stdout)["args"][1] == "\x1b[31m1"


def test_wrong_use_has_status_2(recorded):
    assert "'seep help info'" in info(recorded, recorded, status=2).stderr
    info("--nonsense", recorded, status=2)
    assert info("--help").stdout.startswith("usage: seep info")
