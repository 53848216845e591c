# SPDX-License-Identifier: MIT
"""leaks.py -- what is lost, said by the program itself, by seep, by Valgrind's Memcheck and by LeakSanitizer, in one form.

That form is {function: {class: (bytes, blocks)}}.  The function is the innermost one of the stack that the program has told
about; what none of them made is under OTHERS.
"""
import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from harness import DEADLINE, PLAIN, SEEP, clean_environment, plain_name

CLASSES = ("definite", "indirect", "possible", "reachable")
LOST = CLASSES[:3]
OTHERS = "(others)"
BUILDS = [(cc, level) for cc in ("gcc", "clang") for level in ("-O0", "-O2")]

MEMCHECK = ["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=40", "--xml=yes",
            "--run-libc-freeres=no", "--run-cxx-freeres=no"]
MEMCHECK_CLASSES = {"Leak_DefinitelyLost": "definite", "Leak_IndirectlyLost": "indirect", "Leak_PossiblyLost": "possible",
                    "Leak_StillReachable": "reachable"}
MEMCHECK_BYTES = re.compile(r"([\d,]+) (?:\(([\d,]+) direct, [\d,]+ indirect\) )?bytes in ([\d,]+) blocks")
SANITIZER_RECORD = re.compile(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\) allocated from:\n((?: +#.*\n)*)")
SANITIZER_FRAME = re.compile(r" +#\d+ 0x[0-9a-f]+ in (.+)")


def flags_of(level, *more):
    return (level, *PLAIN[1:], *more)


class Verdicts(dict):
    """FUNCTIONS are those that the program told about."""

    def __init__(self, functions):
        super().__init__()
        self.functions = set(functions)

    def add(self, stack, kind, size, blocks):
        name = next((f for f in stack if f in self.functions), OTHERS)
        old = self.setdefault(name, {}).get(kind, (0, 0))
        self[name][kind] = (old[0] + size, old[1] + blocks)

    def lost(self):
        """Without what is reachable, as LeakSanitizer tells it."""
        sums = {f: {k: v for k, v in kinds.items() if k in LOST} for f, kinds in self.items()}
        return {f: kinds for f, kinds in sums.items() if kinds}


def number(text):
    return int(text.replace(",", ""))


def memcheck_errors(path):
    """(class, bytes of these blocks alone, blocks, frames) of every record in a report; a frame is (function, object)."""
    for error in ElementTree.parse(path).getroot().iter("error"):
        kind = MEMCHECK_CLASSES.get(error.findtext("kind"))
        if kind:
            total, direct, blocks = MEMCHECK_BYTES.match(error.findtext("xwhat/text")).groups()
            frames = [(plain_name(f.findtext("fn")), f.findtext("obj")) for f in error.find("stack").iter("frame")]
            yield kind, number(direct or total), number(blocks), frames


def by_memcheck(recorder, functions, *argv, options=(), **how):
    """Run under Memcheck.  Returns (the run, the verdicts)."""
    report = recorder.folder() / "memcheck.xml"
    done = recorder.bare(*MEMCHECK, f"--xml-file={report}", *options, *argv, timeout=180, **how)
    verdicts = Verdicts(functions or done.truth.leaks)
    for kind, size, blocks, frames in memcheck_errors(report):
        verdicts.add([f for f, _ in frames], kind, size, blocks)
    return done, verdicts


def by_sanitizer(recorder, functions, *argv, options="", **how):
    """Run a program that was built with -fsanitize=leak.  Only what is lost is known: Direct is definite."""
    env = {"LSAN_OPTIONS": f"exitcode=0:max_leaks=0:fast_unwind_on_malloc=0:{options}", **how.pop("env", {})}
    done = recorder.bare(*argv, env=env, timeout=180, **how)
    text = done.stderr.decode(errors="replace")
    verdicts = Verdicts(functions or done.truth.leaks)
    for way, size, blocks, stack in SANITIZER_RECORD.findall(text):
        names = [plain_name(name).split()[0] for name in SANITIZER_FRAME.findall(stack)]
        verdicts.add(names, "definite" if way == "Direct" else "indirect", int(size), int(blocks))
    return done, verdicts


def leaks_json(*what, status=(0, 1)):
    """`seep leaks --json`, of a file or a process."""
    done = subprocess.run([SEEP, "leaks", "--json", *map(str, what)], capture_output=True, env=clean_environment(), timeout=DEADLINE)
    assert done.returncode in status, f"seep leaks {what}: status {done.returncode}\n{done.stderr.decode()}"
    return json.loads(done.stdout)


def seep_verdicts(told, functions):
    """The verdicts in the output of `seep leaks --json` or `seep report --json`."""
    assert told["leaks"]["scanned"] is True, told
    verdicts, frames = Verdicts(functions), told["frames"]
    for site in told["sites"]:
        names = [plain_name(frames[i]["function"]) for i in site["stack"]]
        for kind, sums in site["leak"].items():
            if sums["blocks"]:
                verdicts.add(names, kind, sums["bytes"], sums["blocks"])
    return verdicts


def by_seep(recorder, functions, *argv, options=(), **how):
    done = recorder.record(*argv, options=options, **how)
    return done, seep_verdicts(leaks_json(done.folder / "out.seep"), functions or done.truth.leaks)
