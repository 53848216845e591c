# SPDX-License-Identifier: MIT
"""The manual says what the tool has, spelt alike; pages are well formed.  usage: manual.py SEEP
PAGE..."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

from lint import ROOT, Tap, text_of

WIDTH = 80
# options in examples that are not ours
OF_OTHERS = {
    "disable-builtin-suppressions", "interpreted-frames-native-stack", "perf-basic-prof", "port",
    "stat", "version", "xml",
}
OF_LIBRARY = {"journal", "overflow"}  # understood by libseep.so alone, in SEEP_OPTIONS


def say(*words):
    return subprocess.run([sys.argv[1], *words], check=True, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL).stdout


def listed(start, end):
    """Names in a part of `seep help`."""
    return re.findall(
        r"^  (?:seep )?(\w+) ", say("help").split(start, 1)[1].split(end, 1)[0], flags=re.M
    )


def spelling(text):
    """`-o, --output FILE` as (letter, name, argument)."""
    found = re.match(r"(?:-(\w)(?:, )?)?(?:--([\w-]+))?(?:(?: |(?=\[=))(\S+))?$", text.strip())
    return found.groups() if found else (None, None, text.strip())


def options_of_tool(command):
    """The left column of each line of the help text that begins with an option, at the place of
    its letter or of its name."""
    lines = re.findall(
        r"^(?: {2}(?=-\w)| {6})(-\S.*?)(?: {2,}.*)?$", say(command, "--help"), flags=re.M
    )
    return {spelling(line) for line in lines}


def options_of_page(text):
    section = re.search(r'^\.SH OPTIONS\n(.*?)(?=^\.SH )', text, flags=re.M | re.S)
    entries = re.findall(r"^\.TP\n(.*)$", section.group(1), flags=re.M) if section else []
    return {spelling(re.sub(r"\\f[BIR]", "", entry).replace("\\-", "-")) for entry in entries}


def show(options):
    return [" ".join(part or "-" for part in option) for option in sorted(options, key=str)]


def too_wide(word):
    return [
        f"seep help {word}: {line}"
        for line in say("help", *word.split()).splitlines()
        if len(line) > WIDTH
    ]


def wrong_usage():
    """The first line of a command's help is made from its place in the list."""
    rows = [line.split("\t") for line in say("help", "--table").splitlines()]
    return [
        f"seep {row[1]}: {row[2]}"
        for row in rows
        if row[0] == "command"
        and say("help", row[1]).splitlines()[0] != f"usage: seep {row[1]} {row[2]}"
    ]


def prose_of_nothing(command, names):
    """Longer texts about options that the command does not have."""
    source = ROOT / "docs" / "man" / f"seep-{command}.in"
    told = (
        re.findall(r"^@option ([\w-]+)@$", text_of(source), flags=re.M) if source.exists() else []
    )
    return [f"{source.name}: --{name}" for name in told if name not in names]


def unknown_options(name, text, known):
    """Options that TEXT names and no command has."""
    named = re.findall(r"(?<![\w-])--([a-z][a-z-]*[a-z])", text.replace("\\-", "-"))
    return [f"{name}: --{option}" for option in sorted(set(named) - known - OF_OTHERS - OF_LIBRARY)]


def macros():
    """What include/seep.h offers: macros with arguments, but for its own means."""
    return [
        m
        for m in re.findall(
            r"^#define (SEEP_\w+)\(", text_of(ROOT / "include" / "seep.h"), flags=re.M
        )
        if m != "SEEP_CALL"
    ]


pages = {Path(p).name: Path(p) for p in sys.argv[2:]}
tap = Tap()
commands, topics = listed("commands:", "examples:"), listed("topics", "\n\n")
tap.claim("the tool has commands and topics", len(commands) < 4 or len(topics) < 4)
tap.claim("no topic has the name of a command", sorted(set(commands) & set(topics)))
tap.claim("each command has a page", [n for n in commands if f"seep-{n}.1" not in pages])
tap.claim(
    "help is not wider than a terminal",
    [line for n in ("", *commands, *topics) for line in too_wide(n)],
)
tap.claim("help and list name the same operands", wrong_usage())
overview = text_of(pages["seep.1"]).replace("\\-", "-")
tap.claim(
    "seep.1 names each command",
    [n for n in commands if not re.search(rf"^\.TP\n\\fB{n}\\fR$", overview, re.M)],
)
tap.claim(
    "seep.1 names each topic",
    [n for n in topics if not re.search(rf"^\.TP\n\\fB{n}\\fR$", overview, re.M)],
)
for name in (n for n in commands if f"seep-{n}.1" in pages):
    tool, page = options_of_tool(name), options_of_page(text_of(pages[f"seep-{name}.1"]))
    tap.claim(f"seep {name} has options", not tool)
    tap.claim(f"seep-{name}.1 lists each option of the tool", show(tool - page))
    tap.claim(f"seep-{name}.1 lists nothing else", show(page - tool))
    tap.claim(
        f"seep-{name}.in is about options that exist", prose_of_nothing(name, {o[1] for o in tool})
    )
everything = {option[1] for name in commands for option in options_of_tool(name)}
documents = {
    p.name: text_of(p)
    for p in (
        ROOT / "README.md",
        ROOT / "docs" / "ARCHITECTURE.md",
        ROOT / "docs" / "GLOSSARY.md",
        *pages.values(),
    )
}
documents |= {f"seep help {t}": say("help", t) for t in topics}
tap.claim(
    "the documents name only options that exist",
    [
        fault
        for name, text in documents.items()
        for fault in unknown_options(name, text, everything)
    ],
)
header = text_of(pages["seep.h.3"])
tap.claim("seep.h has macros", len(macros()) < 8)
tap.claim(
    "seep.h.3 explains each macro",
    [m for m in macros() if not re.search(rf"^\.TP\n\.B[IR]? .*\b{m}\(", header, re.M)],
)
if shutil.which("mandoc"):
    found = subprocess.run(
        ["mandoc", "-T", "lint", *map(str, pages.values())], capture_output=True, text=True
    )
    tap.claim("mandoc finds nothing wrong", (found.stdout + found.stderr).splitlines())
else:
    tap.skip("mandoc finds nothing wrong", "mandoc is not installed")
tap.done()
