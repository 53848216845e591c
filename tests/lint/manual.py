# SPDX-License-Identifier: MIT
"""The manual lists the options that the tool has, spelt alike; `seep.1` names each command.  usage: manual.py SEEP"""
import re
import subprocess
import sys

from lint import ROOT, Tap, text_of


def say(*words):
    return subprocess.run([sys.argv[1], *words], check=True, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL).stdout


def commands():
    listing = say("help").split("commands:", 1)[1].split("examples:", 1)[0]
    return re.findall(r"^  seep (\w+) ", listing, flags=re.M)


def spelling(text):
    """`-o, --output FILE` as (letter, name, argument)."""
    found = re.match(r"(?:-(\w)(?:, )?)?(?:--([\w-]+))?(?:(?: |(?=\[=))(\S+))?$", text.strip())
    return found.groups() if found else (None, None, text.strip())


def options_of_tool(command):
    """The left column of each line of the help text that begins with an option."""
    lines = re.findall(r"^ {2,6}(-\S.*?)(?: {2,}.*)?$", say(command, "--help"), flags=re.M)
    return {spelling(line) for line in lines}


def options_of_page(command):
    text = text_of(ROOT / "docs" / f"seep-{command}.1")
    section = re.search(r'^\.SH OPTIONS\n(.*?)(?=^\.SH (?!OPTIONS)|\Z)', text, flags=re.M | re.S)
    entries = re.findall(r"^\.TP\n\.\w+ (.*)$", section.group(1), flags=re.M) if section else []
    return {spelling(plain(entry)) for entry in entries if plain(entry).startswith("-")}


def plain(entry):
    """Text of a font macro's line: words are joined, quotes and font changes go."""
    entry = entry.replace("\\-", "-").replace("\\fI", "").replace("\\fR", "").replace("\\fB", "")
    return "".join(quoted if quoted else bare for quoted, bare in re.findall(r'"([^"]*)"|([^\s"]+)', entry))


def show(options):
    return [" ".join(part or "-" for part in option) for option in sorted(options, key=str)]


tap = Tap()
overview = text_of(ROOT / "docs" / "seep.1").replace("\\-", "-")
names = commands()
tap.claim("the tool has commands", len(names) < 4)
tap.claim("seep.1 names each command", [n for n in names if not re.search(rf"^\.B seep {n}|RB \[ {n} \]", overview, re.M)])
for name in (n for n in names if n != "help"):
    tool, page = options_of_tool(name), options_of_page(name)
    tap.claim(f"seep {name} has options", not tool)
    tap.claim(f"seep-{name}.1 lists each option of the tool", show(tool - page))
    tap.claim(f"seep-{name}.1 lists nothing else", show(page - tool))
tap.done()
