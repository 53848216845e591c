# SPDX-License-Identifier: MIT
"""From words to a command: what `seep` does with each first word, and what it says to a wrong
one."""
import gzip
import json
import re
import shutil
import subprocess

import harness
import pytest


def seep(*words, cwd=None, env=None, stdout=subprocess.PIPE):
    return subprocess.run(
        [str(harness.SEEP), *map(str, words)],
        cwd=cwd,
        env=harness.clean_environment(env),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=harness.DEADLINE,
    )


def recordings(folder):
    return sorted(p.name for p in folder.glob("*.seep"))


def test_alone_it_gives_five_lines():
    done = seep()
    assert done.returncode == 0 and done.stderr == ""
    assert len(done.stdout.splitlines()) == 5


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_the_version_is_a_number(word):
    done = seep(word)
    assert done.returncode == 0 and re.fullmatch(r"seep \d+\.\d+\.\d+\n", done.stdout)


def commands():
    return re.findall(r"^  seep (\w+) ", seep("help").stdout.split("examples:")[0], flags=re.M)


def test_every_listed_command_explains_itself():
    names = commands()
    assert {"record", "report", "info", "help"} <= set(names)
    for name in names:
        by_help, by_option = seep("help", name), seep(name, "--help")
        assert by_help.returncode == by_option.returncode == 0, name
        assert (
            re.search(rf"^usage: seep \[?{name}\b", by_option.stdout)
            and "--help" in by_option.stdout
        )
        assert by_option.stderr == "" and (by_help.stdout == by_option.stdout or name == "help")


def test_every_topic_has_a_text():
    topics = re.findall(r"^  (\w+) ", seep("help").stdout.split("topics")[1], flags=re.M)
    assert {
        "peak", "rss", "symbols", "classes", "roots", "suppressions", "ci", "formats", "filters",
    } <= set(topics)
    for topic in topics:
        done = seep("help", topic)
        assert done.returncode == 0 and len(done.stdout.splitlines()) > 5, topic


def test_topics_name_only_options_that_exist():
    # of SEEP_OPTIONS alone, and of node
    known = (
        "".join(seep(name, "--help").stdout for name in commands())
        + "--journal --overflow --perf-basic-prof --interpreted-frames-native-stack"
    )
    topics = re.findall(r"^  (\w+) ", seep("help").stdout.split("topics")[1], flags=re.M)
    for topic in topics:
        for option in re.findall(r"--[a-z][a-z-]*", seep("help", topic).stdout):
            assert re.search(rf"{option}\b", known), f"help {topic} names {option}"


@pytest.mark.parametrize(
    "typed, meant", [("reprot", "report"), ("recrod", "record"), ("inof", "info"), ("hlep", "help")]
)
def test_a_slip_is_understood_and_refused(typed, meant):
    done = seep(typed)
    assert done.returncode == 2 and done.stdout == ""
    assert f"did you mean 'seep {meant}'?" in done.stderr
    assert all(line.startswith("seep: ") for line in done.stderr.splitlines())


def test_a_strange_word_is_refused_without_a_guess():
    done = seep("xyzzy-no-such-program")
    assert done.returncode == 127 and "did you mean" not in done.stderr and "xyzzy" in done.stderr


def test_a_program_here_is_named_with_its_path(tmp_path):
    shutil.copy("/bin/true", tmp_path / "own-program")
    done = seep("own-program", cwd=tmp_path)
    assert done.returncode == 127 and "did you mean ./own-program?" in done.stderr


@pytest.mark.parametrize(
    "words, meant",
    [
        (["old.seep"], "'seep report old.seep'"),
        (["./old.seep"], "'seep report ./old.seep'"),
        (["A=1", "ls"], "seep env A=1 "),
        (["A_2=/tmp", "ls"], "seep env A_2=/tmp "),
    ],
)
def test_a_word_for_another_place_is_explained(words, meant, tmp_path):
    (tmp_path / "old.seep").write_text("whatever")
    done = seep(*words, cwd=tmp_path)
    assert done.returncode == 2 and meant in done.stderr and done.stdout == ""
    assert recordings(tmp_path) == ["old.seep"]


def test_a_program_may_have_the_name_of_a_recording(tmp_path):
    shutil.copy("/bin/echo", tmp_path / "echo.seep")
    done = seep("-o", "out.seep", "./echo.seep", "hi", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "hi\n"
    done = seep("./echo.seep", "hi", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "hi\n"


@pytest.mark.parametrize(
    "place, said",
    [
        ("-", "name a file"),
        ("/dev/null", "name a file"),
        ("no/such/x.seep", "no directory no/such"),
    ],
)
def test_a_place_that_is_a_mistake_is_refused_before_the_start(place, said, tmp_path):
    done = seep("-f", "-o", place, "echo", "hi", cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and done.stdout == ""


def test_a_path_that_does_not_exist_gives_127(tmp_path):
    done = seep("./nothing-here", cwd=tmp_path)
    assert done.returncode == 127 and "nothing-here" in done.stderr


def test_a_wrong_option_names_the_right_one():
    done = seep("report", "--treshold", "5")
    assert done.returncode == 2 and "--threshold" in done.stderr


@pytest.mark.parametrize(
    "words", [["/bin/echo", "hi"], ["echo", "hi"], ["record", "echo", "hi"], ["--", "echo", "hi"]]
)
def test_a_program_is_recorded_with_and_without_the_word(words, tmp_path):
    done = seep(*words, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "hi\n"
    assert len(recordings(tmp_path)) == 1


def test_options_of_the_environment_come_first(tmp_path):
    env = {"SEEP_OPTIONS": "-o 'from environment.seep'"}
    assert seep("echo", "hi", cwd=tmp_path, env=env).returncode == 0
    assert recordings(tmp_path) == ["from environment.seep"]
    assert seep("-o", "line.seep", "echo", "hi", cwd=tmp_path, env=env).returncode == 0
    assert recordings(tmp_path) == ["from environment.seep", "line.seep"]


@pytest.mark.parametrize("options", ["-o 'open", "echo"])
def test_wrong_options_of_the_environment_are_refused(options, tmp_path):
    done = seep("echo", "hi", cwd=tmp_path, env={"SEEP_OPTIONS": options})
    assert done.returncode == 2 and "SEEP_OPTIONS" in done.stderr and done.stdout == ""


def test_a_result_that_cannot_be_written_is_an_error():
    with open("/dev/full", "w", encoding="ascii") as full:
        done = seep("help", stdout=full)
    assert done.returncode == 1 and "No space left" in done.stderr


# ---- options first, and words of other tools ----

@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    assert seep("record", "-q", "-o", "x.seep", "--", "true", cwd=folder).returncode == 0
    return folder


def test_options_may_stand_before_the_command(recorded):
    """... and then no program of the command's name is recorded."""
    after, before = seep("report", "-q", "--summary", "x.seep", cwd=recorded), seep(
        "-q", "--summary", "report", "x.seep", cwd=recorded
    )
    assert after.returncode == 0 and (before.returncode, before.stdout) == (0, after.stdout)
    assert (
        seep("-q", "diff", "x.seep", "x.seep", cwd=recorded).stdout
        == seep("diff", "-q", "x.seep", "x.seep", cwd=recorded).stdout
    )
    done = seep("-o", "y.seep", "--no-cxx", "diff", "x.seep", "x.seep", cwd=recorded)
    assert (
        done.returncode == 2
        and "'diff' is a seep command, which has no option --no-cxx" in done.stderr
    )
    assert recordings(recorded) == ["x.seep"]
    assert (
        seep("-q", "-o", "z.seep", "--", "diff", "x.seep", "x.seep", cwd=recorded).returncode == 0
    )
    assert recordings(recorded) == ["x.seep", "z.seep"]
    (recorded / "z.seep").unlink()


@pytest.mark.parametrize(
    "words,ours",
    [
        (["run", "./program"], "seep record ./program"),
        (["flamegraph", "x.seep"], "seep html x.seep"),
        (["tree", "x.seep"], "seep report --tree x.seep"),
        (["table", "x.seep"], "seep report --flat x.seep"),
        (["summary", "x.seep"], "seep report --summary x.seep"),
        (["live", "1"], "seep top 1"),
        (["view", "x.seep"], "seep html x.seep"),
        (["analyze", "x.seep"], "seep report x.seep"),
        (["memcheck", "./program"], "seep check -- ./program"),
        (["--leak-check=full", "./program"], "--leak-check: every run is searched for leaks, and "
                                             "'seep leaks' shows them"),
        (["--tool=massif", "./program"], "'seep report' for massif"),
        (["--num-callers=40", "./program"], "--num-callers: that is --depth here"),
        (["--trace-children=yes", "./program"], "that is --follow here"),
        (["record", "--error-exitcode=1", "./program"], "that is seep check --error-exitcode here"),
        (["check", "--max-leak", "0"], "did you mean --max-leaks?"),
        (["report", "--live", "x.seep"], "that is --cost live here"),
        (["report", "--leaks", "x.seep"], "that is seep leaks here"),
        (["export", "--format", "pprof"], "that is --to here"),
        (["export", "--to", "folded", "x.seep"], "did you mean collapsed?"),
        (["export", "--to", "flamegraph", "x.seep"], "did you mean svg?"),
        (["report", "x.seep", "x.seep"], "seep diff x.seep x.seep"),
    ],
)
def test_words_of_other_tools_lead_to_ours(recorded, words, ours):
    done = seep(*words, cwd=recorded, env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 2 and ours in " ".join(done.stderr.split()), done.stderr


def test_a_format_may_stand_before_the_file_and_names_in_gz_are_packed(recorded):
    plain = seep("export", "collapsed", "-q", "-o", "-", "x.seep", cwd=recorded)
    assert (
        plain.returncode == 0
        and plain.stdout
        == seep("export", "-q", "--to", "collapsed", "-o", "-", "x.seep", cwd=recorded).stdout
    )
    assert (
        seep(
            "export", "-q", "--to", "json", "-f", "-o", "x.json.gz", "x.seep", cwd=recorded
        ).returncode
        == 0
    )
    packed = gzip.decompress((recorded / "x.json.gz").read_bytes()).decode()
    assert json.loads(packed) == json.loads(
        seep("export", "-q", "--to", "json", "-o", "-", "x.seep", cwd=recorded).stdout
    )
    assert seep("html", "-f", "-o", "x.html", "x.seep", cwd=recorded).returncode == 0
    done = seep("html", "-f", "-o", "x.html.gz", "x.seep", cwd=recorded)
    assert done.returncode == 0 and "unpack it" in done.stderr
    packed = gzip.decompress((recorded / "x.html.gz").read_bytes())
    assert packed == (recorded / "x.html").read_bytes()


def test_empty_arguments_at_the_end_are_no_spaces_in_the_summary(tmp_path):
    """A process that shows what it does there, as redis, leaves a row of them."""
    done = seep("-o", "x.seep", "sh", "-c", "true", "a", "", "", cwd=tmp_path)
    assert re.search(r"^  sh -c true a \(pid \d+\)", done.stderr, re.M), done.stderr
