#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""man.py -- a manual page from its prose and from the table of options that the tool itself has.

usage: man.py --version V --date D --table TABLE PROSE OUT

PROSE is docs/man/NAME.in, the page after NAME and SYNOPSIS.  Lines of it that stand for something:

    @options@            the options of the command, in the order and under the headings of the table
    @option NAME@        below @options@: what follows, up to the next such line or .SH, is said about --NAME instead of its
                         line in the table (tests/lint/manual.py checks that there is such an option)
    @commands@ @topics@ @pages@   in seep.in: the lists
    @file NAME@          the lines of a file beside PROSE, as an example
"""
import argparse
import re
import sys
import textwrap
from pathlib import Path

from table import Option, Table


def escaped(text):
    """Plain text as the text of a page."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def sentence(text, values=()):
    """A line of help as a sentence, with options in bold.  A value keeps its letters."""
    first = re.match(r"[a-z]+\b(?![-(.=])", text)
    text = text[0].upper() + text[1:] if first and first[0] not in values else text
    text = escaped(text)
    text = re.sub(r"(?<![\w-])(\\-\\-[a-z][a-z\\-]*[a-z]|\\-[a-zA-Z])(?!\w)", r"\\fB\1\\fR", text)
    return text if text.endswith((".", ":")) else text + "."


def option_head(option):
    words = ", ".join(bold(w) for w in option.spellings)
    if not option.argument:
        return words
    return words + (f"[={italic(option.metavar)}]" if option.is_optional else f" {italic(option.metavar)}")


def option_values(option, told):
    """Values that the text does not name."""
    if all(re.search(rf"(?<![\w-]){re.escape(v)}(?![\w-])", told.replace("\\-", "-")) for v in option.values):
        return []
    return ["Values: " + ", ".join(bold(v) for v in option.values) + "."]


def option_list(command, prose):
    lines = []
    for entry in command.entries:
        if not isinstance(entry, Option):
            head = entry.rstrip(":")
            lines.append(f'.SS "{escaped(head[0].upper() + head[1:])}"')
            continue
        told = prose.get(entry.name) or [sentence("list the options" if entry.name == "help" else entry.help, entry.values)]
        lines += [".TP", option_head(entry), *told, *option_values(entry, "\n".join(told))]
    return lines


def synopsis(command):
    """`[OPTIONS] [--] PROGRAM [ARG...]`: words in capitals are variables."""
    word = re.sub(r"[A-Z]+", lambda m: f"\\fI{m.group()}\\fR", escaped(command.operands))
    name = "[\\fBrecord\\fR]" if command.name == "record" else bold(command.name)
    return f"\\fBseep\\fR {name} {word}".rstrip()


def overview_synopsis(table):
    lines = [line for c in table.commands.values() for line in (synopsis(c), ".br")]
    return [*lines, "\\fBseep\\fR \\fB\\-\\-version\\fR"]


def pages(table, own):
    names = ["seep(1)", *(f"seep-{c}(1)" for c in table.commands), "seep.h(3)"]
    names = [n for n in names if n != own]
    return [f'.BR {escaped(n[:-3])} {n[-3:]}{"," if n != names[-1] else ""}' for n in names]


def take_prose(lines):
    """The @option@ blocks at the front of LINES, removed from it."""
    prose, name = {}, None
    while lines and not lines[0].startswith(".SH"):
        line = lines.pop(0)
        found = re.fullmatch(r"@option ([\w-]+)@", line)
        if found:
            name = found.group(1)
            prose[name] = []
        elif name is None:
            sys.exit(f"man.py: below @options@ stands {line!r}, not an @option@")
        else:
            prose[name].append(line)
    return prose


def body(lines, table, command, folder, own):
    out = []
    while lines:
        line = lines.pop(0)
        file = re.fullmatch(r"@file ([\w.]+)@", line)
        if line == "@options@":
            out += option_list(command, take_prose(lines))
        elif line == "@commands@":
            out += [x for c in table.commands.values() for x in (".TP", bold(c.name), sentence(c.purpose))]
        elif line == "@topics@":
            out += [x for name, purpose in table.topics.items() for x in (".TP", bold(name), sentence(purpose))]
        elif line == "@pages@":
            out += pages(table, own)
        elif file:
            code = (folder / file.group(1)).read_text().splitlines()
            out += [".EX", *(escaped_code(x) for x in code if "SPDX" not in x), ".EE"]
        else:
            out.append(line)
    return out


def escaped_code(line):
    return escaped(line) or "\\&"


def head(name, section, args):
    manual = "User commands" if section == "1" else "Library functions"
    return ['.\\" SPDX-License-Identifier: MIT', f'.\\" Made from {args.prose.name} and the tables of the tool.',
            f'.TH {escaped(name).upper()} {section} "{args.date}" "seep {args.version}" "{manual}"']


def page(args):
    table, name = Table(args.table), args.prose.stem
    lines = [x for x in args.prose.read_text().splitlines() if not x.startswith('.\\"')]
    section = args.out.suffix[1:]
    out = head(name, section, args)
    command = table.commands.get(name.removeprefix("seep-")) if name.startswith("seep-") else None
    if command:
        out += [".SH NAME", f"{escaped(name)} \\- {escaped(command.purpose)}", ".SH SYNOPSIS", synopsis(command)]
    elif name == "seep":
        out += [".SH NAME", "seep \\- tell where the memory of a program goes", ".SH SYNOPSIS", *overview_synopsis(table)]
    elif name.startswith("seep-"):
        sys.exit(f"man.py: the tool has no command for {args.prose.name}")
    return out + body(lines, table, command, args.prose.parent, f"{name}({section})")


def wrapped(lines):
    """No line of text is longer than 80 bytes; what is shown as it stands keeps its lines."""
    as_it_stands = False
    for line in lines:
        if line in (".EX", ".nf", ".EE", ".fi"):
            as_it_stands = line in (".EX", ".nf")
        if as_it_stands or line.startswith("."):
            yield line
            continue
        for part in textwrap.wrap(line, 80, break_long_words=False, break_on_hyphens=False):
            yield "\\&" + part if part.startswith((".", "'")) else part


def main():
    parser = argparse.ArgumentParser()
    for option in ("--version", "--date", "--table"):
        parser.add_argument(option, required=True)
    parser.add_argument("prose", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    args.out.write_text("\n".join(wrapped(page(args))) + "\n")


main()
