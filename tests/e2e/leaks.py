# SPDX-License-Identifier: MIT
"""leaks.py -- what is lost, said by the program itself, by seep, by Valgrind's Memcheck and by
LeakSanitizer, in one form.

That form is {function: {class: (bytes, blocks)}}.  The function is the innermost one of the stack
that the program has told about; what none of them made is under OTHERS.
"""
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager

import pytest

from harness import DEADLINE, PLAIN, SEEP, Truth, clean_environment, plain_name
from plain import child_of, start_recorded

LOST = ("definite", "indirect", "possible")
OTHERS = "(others)"
TOOLS = ("seep", "memcheck", "sanitizer")

BUILDS = [(cc, level) for cc in ("gcc", "clang") for level in ("-O0", "-O2")]
every_build = pytest.mark.parametrize("build", BUILDS, ids="".join)
every_tool = pytest.mark.parametrize("tool", TOOLS)

NOT_SEARCHED = (
    "reachable",
    "definite",
    "only data of modules, stacks, registers and thread-local memory are searched, not mappings",
)
CYCLE = (
    None,
    "indirect",
    "in a cycle each block is held by another one: none of them is called a direct leak",
)

# Where a tool differs from the truth: {(tool, function): (the truth, what the tool says of all
# these blocks, why)}.
DIFFERENCES = {
    ("sanitizer", "cycle_block"): CYCLE,
    ("sanitizer", "double_list_node"): CYCLE,
    ("sanitizer", "shared_cycle"): CYCLE,
    ("sanitizer", "lost_list"): CYCLE,  # the first and the last node point to it
    ("sanitizer", "lost_map"): CYCLE,
    ("sanitizer", "lost_contexts"): CYCLE,
    ("sanitizer", "zero_lost"): (
        None,
        {"definite": (1, 1)},
        "a block of no bytes counts as one byte",
    ),
    ("sanitizer", "in_anonymous"): NOT_SEARCHED,
    ("sanitizer", "in_shared"): NOT_SEARCHED,
    ("sanitizer", "in_private_file"): NOT_SEARCHED,
    ("sanitizer", "in_shared_file"): NOT_SEARCHED,
    ("sanitizer", "in_memfd"): NOT_SEARCHED,
    ("sanitizer", "in_moved"): NOT_SEARCHED,
    ("sanitizer", "in_raw_mapping"): NOT_SEARCHED,
    ("sanitizer", "above_guard"): NOT_SEARCHED,
    ("sanitizer", "in_shm"): NOT_SEARCHED,
    ("sanitizer", "in_dontfork"): NOT_SEARCHED,
    ("sanitizer", "in_wipeonfork"): NOT_SEARCHED,
    ("sanitizer", "on_mapped_stack"): NOT_SEARCHED,  # of a signal handler
    ("sanitizer", "on_raw_stack"): NOT_SEARCHED,  # a thread created by clone()
    ("sanitizer", "result_block"): (
        "reachable",
        "definite",
        "results of threads that nobody has joined yet are not searched",
    ),
    ("sanitizer", "in_argument"): (
        "reachable",
        "definite",
        "it starts threads itself and gives libc an argument of its own",
    ),
    ("memcheck", "in_vector_register"): (
        "reachable",
        "definite",
        "vector registers are not searched",
    ),
    ("memcheck", "_dl_allocate_tls"): (
        None,
        "possible",
        "libc keeps a pointer into its table of a thread's variables, not to its start",
    ),
    ("memcheck", "_dl_find_object_update"): (
        None,
        "possible",
        "the loader keeps a pointer into its table of objects, not to its start",
    ),
}

# Memory above 4 GiB: at Valgrind's own low addresses a number (a time, a process) may look like a
# pointer into a large block.
MEMCHECK = [
    "valgrind", "-q", "--aspace-minaddr=0x100000000", "--leak-check=full", "--show-leak-kinds=all",
    "--num-callers=40", "--fair-sched=yes", "--run-libc-freeres=no", "--run-cxx-freeres=no",
    "--xml=yes",
]
MEMCHECK_CLASSES = {
    "Leak_DefinitelyLost": "definite",
    "Leak_IndirectlyLost": "indirect",
    "Leak_PossiblyLost": "possible",
    "Leak_StillReachable": "reachable",
}
MEMCHECK_SUMS = re.compile(
    r"([\d,]+) (?:\(([\d,]+) direct, [\d,]+ indirect\) )?bytes in ([\d,]+) blocks"
)
SANITIZER_RECORD = re.compile(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\) "
                              r"allocated from:\n((?: +#.*\n)*)")
SANITIZER_FRAME = re.compile(r" +#\d+ 0x[0-9a-f]+ in (.+)")


def function_name(text):
    return re.sub(r"\[abi:\w+\]", "", plain_name(text))


class Verdicts(dict):
    """FUNCTIONS are those that the program told about."""

    def __init__(self, functions):
        super().__init__()
        self.functions = {*functions, *(f for _, f in DIFFERENCES)}

    def add(self, stack, kind, size, blocks):
        name = next((f for f in stack if f in self.functions), OTHERS)
        old = self.setdefault(name, {}).get(kind, (0, 0))
        self[name][kind] = (old[0] + size, old[1] + blocks)

    def lost(self):
        sums = {f: {k: v for k, v in kinds.items() if k in LOST} for f, kinds in self.items()}
        return {f: kinds for f, kinds in sums.items() if kinds}

    def about(self, truth):
        """Of the functions in TRUTH everything, of all others what is lost."""
        return {**self.lost(), **{f: kinds for f, kinds in self.items() if f in truth}}


def sum_of(kinds):
    return tuple(sum(column) for column in zip(*kinds.values()))


def expected(tool, truth):
    """What a tool says of this truth: the same, but for what is in the table of differences."""
    wanted = {}
    for function, kinds in truth.items():
        real, said, _ = DIFFERENCES.get((tool, function), (None, kinds, ""))
        assert real is None or set(kinds) == {
            real
        }, f"{function}: the table of differences is not true"
        wanted[function] = {said: sum_of(kinds)} if isinstance(said, str) else said
    if tool != "sanitizer":
        return wanted
    lost = {
        f: {k: v for k, v in kinds.items() if k in ("definite", "indirect")}
        for f, kinds in wanted.items()
    }
    return {f: kinds for f, kinds in lost.items() if kinds}


def check_verdicts(tool, verdicts, truth):
    """What the program made is as it says, and nothing else is lost."""
    found = verdicts.about(truth)
    for function in set(found) - set(truth):
        real, said, _ = DIFFERENCES.get((tool, function), (None, None, ""))
        if set(found[function]) == {said}:
            del found[function]
    assert found == expected(tool, truth)


# ---- Memcheck ----

def memcheck_records(path):
    """(class, bytes of these blocks alone, blocks, frames) of every record in a report; a frame
    is (function, object)."""
    for error in ElementTree.parse(path).getroot().iter("error"):
        kind = MEMCHECK_CLASSES.get(error.findtext("kind"))
        if kind:
            total, direct, blocks = (
                n and int(n.replace(",", ""))
                for n in MEMCHECK_SUMS.match(error.findtext("xwhat/text")).groups()
            )
            frames = [
                (function_name(f.findtext("fn")), f.findtext("obj"))
                for f in error.find("stack").iter("frame")
            ]
            yield kind, total if direct is None else direct, blocks, frames


def memcheck_reports(recorder, *argv, options=(), **how):
    """Run under Memcheck.  Returns (the run, the report of each process)."""
    folder = recorder.folder()
    done = recorder.bare(
        *MEMCHECK, f"--xml-file={folder}/%p.xml", *options, *argv, timeout=180, **how
    )
    return done, sorted(folder.glob("*.xml"))


def memcheck_verdicts(report, functions):
    verdicts = Verdicts(functions)
    for kind, size, blocks, frames in memcheck_records(report):
        verdicts.add([f for f, _ in frames], kind, size, blocks)
    return verdicts


def by_memcheck(recorder, *argv, **how):
    options = ["--child-silent-after-fork=yes", *how.pop("options", ())]
    done, (report,) = memcheck_reports(recorder, *argv, options=options, **how)
    return done, memcheck_verdicts(report, done.truth.leaks)


# ---- LeakSanitizer ----

def sanitizer_verdicts(text, functions):
    """Only what is lost is known; a direct leak is a definite one."""
    verdicts = Verdicts(functions)
    for way, size, blocks, stack in SANITIZER_RECORD.findall(text):
        names = [function_name(name).split()[0] for name in SANITIZER_FRAME.findall(stack)]
        verdicts.add(names, "definite" if way == "Direct" else "indirect", int(size), int(blocks))
    return verdicts


def by_sanitizer(recorder, *argv, options="", env=None, **how):
    """Run a program that was built with -fsanitize=leak."""
    settings = f"exitcode=0:max_leaks=0:fast_unwind_on_malloc=0:{options}"
    done = recorder.bare(*argv, env={"LSAN_OPTIONS": settings, **(env or {})}, timeout=180, **how)
    return done, sanitizer_verdicts(done.stderr.decode(errors="replace"), done.truth.leaks)


# ---- seep ----

def leaks_json(*words, show="all", status=(0, 1)):
    """`seep leaks --json`, of a file or a process."""
    done = subprocess.run(
        [SEEP, "leaks", "--json", f"--show={show}", *map(str, words)],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert (done.returncode in status), (f"seep leaks {words}: status {done.returncode}\n"
                                         f"{done.stderr.decode()}\n{done.stdout.decode()[:4000]}")
    return json.loads(done.stdout)


def told_verdicts(told, functions):
    """The verdicts in the output of `seep leaks --json` or `seep report --json`."""
    assert told["leaks"]["scanned"] is True, told["leaks"]
    verdicts, frames = Verdicts(functions), told["frames"]
    for site in told["sites"]:
        names = [function_name(frames[i]["function"]) for i in site["stack"]]
        for kind, sums in site["leak"].items():
            if sums["blocks"]:
                verdicts.add(names, kind, sums["bytes"], sums["blocks"])
    return verdicts


def seep_verdicts(what, functions, *options):
    """Of a file or a process: what FUNCTIONS made without suppressions, the rest with the
    built-in ones."""
    verdicts = told_verdicts(leaks_json("--no-builtin-suppressions", *options, what), functions)
    others = told_verdicts(leaks_json(*options, what), functions)
    for name in set(verdicts) - set(functions):
        del verdicts[name]
    verdicts.update({f: kinds for f, kinds in others.items() if f not in functions})
    return verdicts


def by_seep(recorder, *argv, options=(), **how):
    done = recorder.record(*argv, options=options, **how)
    return done, seep_verdicts(done.folder / "out.seep", done.truth.leaks)


BY_TOOL = {"seep": by_seep, "memcheck": by_memcheck, "sanitizer": by_sanitizer}


def build_for(tool, compiler, source, build, flags=(), libs=()):
    """BUILD is one of BUILDS."""
    cc, level = build
    if source.endswith(".cpp"):
        cc = {"gcc": "g++", "clang": "clang++"}[cc]
    more = ("-fsanitize=leak",) if tool == "sanitizer" else ()
    return compiler.build(source, cc=cc, flags=(level, *PLAIN[1:], *flags, *more), libs=libs)


def check(tool, recorder, program, *cases, status=0, **how):
    """A tool says of a program what that says itself."""
    if tool == "memcheck" and not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    done, verdicts = BY_TOOL[tool](recorder, program, *cases, **how)
    assert done.status == status, done.stderr.decode(errors="replace")[-3000:]
    assert done.truth.leaks
    check_verdicts(tool, verdicts, done.truth.leaks)


@contextmanager
def waiting(recorder, program, *cases, options=(), env=None):
    """The program under the tool, waiting with its blocks in place.  Gives (it, its number, its
    truth)."""
    with start_recorded(recorder.folder(), program, *cases, "wait", options=options, env=env) as it:
        it.said(b"ready\n")
        yield it, child_of(it), Truth(it.told.read_text()).leaks


def check_running(recorder, program, *cases, options=(), **how):
    """Searched while it waits; then it goes on and ends as if nothing had been."""
    with waiting(recorder, program, *cases, **how) as (it, pid, truth):
        check_verdicts("seep", seep_verdicts(pid, truth, *options), truth)
        done = it.finish()
    assert (done.status, done.stdout) == (0, b"ready\n")
