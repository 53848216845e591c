# SPDX-License-Identifier: MIT
"""Suppressions: files of LeakSanitizer and Valgrind mean here what they mean there, and rules
that we write hide just what they are for."""
import re
import subprocess

import pytest

from harness import DEADLINE, SEEP, Recorder, ask, clean_environment
from leaks import LOST, by_memcheck, by_sanitizer, leaks_json, told_verdicts

CASES = ("baskets", "receipts", "shelf", "worker", "deep")
ALL = {"shop::fill_basket", "shop::new_item", "print_receipt", "put_on_shelf", "work", "dig"}


@pytest.fixture(scope="module")
def program(compiler):
    return compiler.build("losses.cpp")


@pytest.fixture(scope="module")
def sanitized(compiler):
    return compiler.build("losses.cpp", flags=("-O0", "-fno-builtin", "-g", "-fsanitize=leak"))


@pytest.fixture(scope="module")
def recording(program, tmp_path_factory):
    return Recorder(tmp_path_factory.mktemp("losses")).record(program, *CASES)


def leaks(*words):
    return ask("leaks", *words, status=None)


def file_of(recording):
    return recording.folder / "out.seep"


def left(recording, *files):
    """The functions whose blocks are still reported."""
    told = leaks_json(*(f"--suppressions={f}" for f in files), file_of(recording))
    return set(told_verdicts(told, recording.truth.leaks).lost())


@pytest.fixture
def rules(tmp_path):
    def write(text, name="my.supp"):
        path = tmp_path / name
        path.write_text(text)
        return path
    return write


# ---- LeakSanitizer's ----

LSAN = {
    "leak:print_receipt": {"print_receipt"},
    "leak:^print_rec": {"print_receipt"},
    "leak:^print_receipt$": set(),  # the name has parameters
    "leak:^print_receipt(int)$": {"print_receipt"},
    "leak:shop::*basket": {"shop::fill_basket", "shop::new_item"},
    "leak:fill_basket\nleak:dig": {"shop::fill_basket", "shop::new_item", "dig"},
    "leak:new_item": {"shop::new_item"},
    "leak:losses.cpp": ALL,
    "leak:nothing": set(),
    "# only a comment\n": set(),
    "leak:leak_run": ALL - {"work"},
}


@pytest.mark.parametrize("text", LSAN)
def test_lsan_rules(recording, rules, text):
    assert left(recording, rules(text)) == ALL - LSAN[text]


@pytest.mark.parametrize("text", LSAN)
def test_lsan_rules_mean_there_what_they_mean_here(recorder, recording, sanitized, rules, text):
    """LeakSanitizer knows no possibly lost blocks, and drops what hangs on blocks that it does
    not tell."""
    _, verdicts = by_sanitizer(recorder, sanitized, *CASES, options=f"suppressions={rules(text)}")
    assert set(verdicts.lost()) == left(recording, rules(text)) - {"put_on_shelf"}


# ---- Valgrind's ----

def block(*lines, kind="Memcheck:Leak", name="a rule"):
    return "{\n   " + "\n   ".join([name, kind, *lines]) + "\n}\n"


VALGRIND = {
    block("fun:malloc", "fun:_Z13print_receipti"): {"print_receipt"},
    block("fun:malloc", "fun:*print_receipt*"): {"print_receipt"},
    block("match-leak-kinds: definite", "fun:malloc", "...", "fun:main"): {"print_receipt", "dig"},
    block("match-leak-kinds: possible", "...", "fun:main"): {"put_on_shelf"},
    block("match-leak-kinds: definite,possible", "fun:mall?c", "..."): {
        "print_receipt", "dig", "put_on_shelf", "work",
    },
    block("fun:_Znwm", "fun:_ZN4shop*basketEi"): {"shop::fill_basket", "shop::new_item"},
    block("fun:_Znam", "..."): {"shop::new_item"},
    block("...", "fun:_Z4worker*"): set(),
    block("...", "obj:*/losses"): ALL,
    block("obj:*/losses"): set(),  # the innermost frame is malloc
    block("fun:malloc", "src:losses.cpp"): {"print_receipt", "put_on_shelf", "work", "dig"},
    block("fun:malloc", "fun:nothing"): set(),
    block("fun:malloc", "...", kind="Memcheck:Cond"): set(),
    block("a(b)", "fun:malloc", kind="Memcheck:Param")
    + block("fun:malloc", "fun:_Z3digi"): {"dig"},
    "# a comment\n"
    + block("fun:malloc", "fun:_Z3digi", kind="DRD,Memcheck:Leak")
    + block("fun:malloc", "fun:*work*", name="b"): {"dig", "work"},
}


@pytest.mark.parametrize("text", VALGRIND)
def test_valgrind_rules(recording, rules, text):
    assert left(recording, rules(text)) == ALL - VALGRIND[text]


@pytest.mark.parametrize("text", VALGRIND)
def test_valgrind_rules_mean_there_what_they_mean_here(
    recorder, recording, program, rules, need, text
):
    """Memcheck goes on to tell what hangs on a block that it does not tell."""
    need("valgrind")
    _, verdicts = by_memcheck(recorder, program, *CASES, options=[f"--suppressions={rules(text)}"])
    found = left(recording, rules(text))
    hanging = {"shop::new_item"} if "shop::fill_basket" not in found else set()
    assert set(verdicts.lost()) - {"_dl_allocate_tls"} - hanging == found - hanging


def test_readable_names_match_too(recording, rules):
    assert left(recording, rules(block("fun:operator new*", "fun:shop::fill_basket*"))) == ALL - {
        "shop::fill_basket",
        "shop::new_item",
    }
    assert left(recording, rules(block("fun:malloc", "fun:print_receipt(int)"))) == ALL - {
        "print_receipt"
    }
    assert left(recording, rules(block("fun:malloc", "src:losses.cpp:1"))) == ALL


# ---- sums, words, status ----

def test_what_is_suppressed_is_summed_and_told(recording, rules):
    file = rules(
        "leak:print_receipt\nleak:nobody_of_this_name\n"
        + block("fun:malloc", "fun:*dig*", name="deep, known")
    )
    done = leaks(f"--suppressions={file}", file_of(recording))
    assert re.search(
        r"^  suppressed +1\.1 KiB in 6 blocks +by 2 of 3 rules \(-v: which\)$", done.stdout, re.M
    )
    assert f"unused suppression: {file}:2: leak:nobody_of_this_name\n" in done.stdout
    assert done.stdout.count("unused suppression") == 1
    shown = leaks("-v", f"--suppressions={file}", file_of(recording)).stdout
    assert f"suppressed: 200 B in 5 blocks by 'leak:print_receipt' ({file}:1)\n" in shown
    assert f"suppressed: 900 B in 1 block by 'deep, known' ({file}:3)\n" in shown
    told = leaks_json(f"--suppressions={file}", file_of(recording))
    assert told["leaks"]["suppressed"] == {"blocks": 6, "bytes": 1100}
    assert [(r["name"], r["line"], r["blocks"]) for r in told["suppressions"]] == [
        ("leak:print_receipt", 1, 5), ("leak:nobody_of_this_name", 2, 0), ("deep, known", 3, 1)]


def test_the_status_is_that_of_what_is_left(recording, rules):
    one, two = rules("leak:^main$\n", "one"), rules(block("fun:malloc", "fun:_Z4workPv"), "two")
    assert leaks(f"--suppressions={one}", file_of(recording)).returncode == 1
    assert (
        leaks(f"--suppressions={one}", f"--suppressions={two}", file_of(recording)).returncode == 0
    )


def test_the_summary_of_record_follows_them(recorder, program, rules):
    done = recorder.record(
        program, "receipts", "deep", options=[f"--suppressions={rules('leak:print_receipt')}"]
    )
    text = done.stderr.decode()
    assert (
        "LEAKS: 900 B in 1 block definitely lost\n" in text
        and "  suppressed 200 B in 5 blocks\n" in text
    )
    assert "print_receipt" not in text
    done = recorder.record(
        program, "receipts", options=[f"--suppressions={rules('leak:print_receipt')}"]
    )
    assert "LEAKS:" not in done.stderr.decode()


@pytest.mark.parametrize("command", [["leaks"], ["record", "true"]])
@pytest.mark.parametrize(
    "text,told",
    [
        ("leak:a\nlaek:b\n", ":2: 'laek:b'; leak:PATTERN"),
        (block("fan:a"), ":4: 'fan:a'; fun:NAME"),
        (block("match-leak-kinds: lost", "fun:a"), ":4: 'lost'; definite"),
        ("{\n", ":1: the file ends here"),
    ],
)
def test_what_is_wrong_in_a_file_is_pointed_at(rules, command, text, told):
    file = rules(text)
    done = subprocess.run(
        [SEEP, command[0], f"--suppressions={file}", *command[1:]],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(
        f"seep: {file}{told}"
    ), done.stderr


def test_a_file_that_is_not_there(tmp_path):
    done = leaks(f"--suppressions={tmp_path}/none", "1")
    assert done.returncode == 2 and "No such file" in done.stderr


def test_wrong_releases_have_rules_too(recorder, program, rules):
    done = recorder.record(program, "mismatch")
    assert leaks(file_of(done)).returncode == 1
    hidden = leaks(
        f"--suppressions={rules(block('fun:free', 'fun:_Z10throw_awayPv', kind='Memcheck:Free'))}",
        file_of(done),
    )
    assert hidden.returncode == 0 and "invalid frees" not in hidden.stdout
    wrong = rules(block("fun:_ZdlPv", "fun:_Z10throw_awayPv", kind="Memcheck:Free"))
    other = leaks(f"--suppressions={wrong}", file_of(done))
    assert other.returncode == 1


# ---- the program's own ----

@pytest.mark.parametrize("cc", ["g++", "clang++"])
@pytest.mark.parametrize("own", ["RULES", "rules_variable"])
def test_rules_in_the_program_hold(compiler, recorder, own, cc):
    done = recorder.record(
        compiler.build(
            "losses.cpp",
            cc=cc,
            flags=("-O0", "-fno-builtin", "-g", f"-DOWN_RULES={own}", "-rdynamic"),
        ),
        *CASES,
    )
    assert left(done) == ALL - {"print_receipt"}
    assert "print_receipt" not in done.stderr.decode()
    shown = leaks("-v", file_of(done)).stdout
    assert (
        "suppressed: 200 B in 5 blocks by 'leak:print_receipt' (__lsan_default_suppressions():2)\n"
        in shown
    )
    report = told_verdicts(done.profile.json, done.truth.leaks)
    assert set(report.lost()) == ALL - {"print_receipt"}


# ---- rules that we write ----

def generated(recording, form, *words):
    done = leaks(f"--gen-suppressions={form}", *words, file_of(recording))
    assert done.stderr == "", done.stderr
    return done.stdout


@pytest.mark.parametrize("form", ["lsan", "valgrind"])
def test_generated_rules_fed_back_hide_everything(recording, rules, form):
    file = rules(generated(recording, form))
    assert left(recording, file) == set()
    done = leaks(f"--suppressions={file}", file_of(recording))
    assert done.returncode == 0 and "unused suppression" not in done.stdout


@pytest.mark.parametrize(
    "function", ["dig", "print_receipt", "work", "put_on_shelf", "shop::fill_basket"]
)
@pytest.mark.parametrize("form", ["lsan", "valgrind"])
def test_a_generated_rule_hides_just_that(recording, rules, form, function):
    text = generated(
        recording, form, "-i", rf"^{re.escape(function)}\b", "--show=definite,possible"
    )
    hanging = {"shop::new_item"} if function == "shop::fill_basket" else set()
    assert left(recording, rules(text)) == ALL - {function} - hanging


def test_valgrind_takes_the_generated_rules(recorder, recording, program, rules, need):
    need("valgrind")
    text = generated(recording, "valgrind", "--show=all", "--no-builtin-suppressions")
    _, verdicts = by_memcheck(
        recorder, program, *CASES, options=[f"--suppressions={rules(text)}", "--num-callers=12"]
    )
    assert set(verdicts.lost()) - {"_dl_allocate_tls"} <= {"shop::new_item"}


def test_the_sanitizer_takes_the_generated_rules(recorder, recording, sanitized, rules):
    _, verdicts = by_sanitizer(
        recorder, sanitized, *CASES, options=f"suppressions={rules(generated(recording, 'lsan'))}"
    )
    assert not verdicts.lost()


def test_generated_rules_have_no_lines_and_no_addresses(recording):
    for form in ("lsan", "valgrind"):
        assert not re.search(r"0x|:\d|losses\.cpp", generated(recording, form))


# ---- built-in ones ----

def test_runtimes_are_forgiven(recorder, need):
    need("python3")
    done = recorder.record(
        "python3", "-c", "import threading; t = threading.Thread(target=print); t.start(); t.join()"
    )
    told, without = (
        leaks_json(*words, file_of(done)) for words in ((), ("--no-builtin-suppressions",))
    )
    assert told["leaks"]["suppressed"]["blocks"] == sum(
        without["leaks"][k]["blocks"] - told["leaks"][k]["blocks"] for k in LOST
    )
    assert without["leaks"]["suppressed"]["blocks"] == 0
    for rule in told["suppressions"]:
        assert rule["file"] is None and rule["times"] > 0
