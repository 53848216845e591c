#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""completion.py -- what a shell offers after `seep`, from the table of options that the tool itself has.

usage: completion.py bash|zsh|fish TEMPLATE TABLE OUT

The template has the shell's own code; lines @NAME@ in it become lists made by the functions NAME_SHELL below.
"""
import re
import sys
from pathlib import Path

from table import Table

# What kind of word an argument or operand is, by its name in the table.
KINDS = {"FILE": "file", "OUT": "file", "DIR": "folder", "PID": "process", "USER": "user", "SIG": "signal", "SIGNAL": "signal",
         "PROGRAM": "program",
         "COMMAND": "topic"}
OPERANDS = {**KINDS, "FILE": "recording", "OLD": "recording", "NEW": "recording"}


def argument_kind(option):
    return "user" if option.name == "user" else KINDS.get(option.metavar, "")


def operand_kinds(command):
    words = re.findall(r"[A-Z]+", command.operands.replace("[OPTIONS]", ""))
    return list(dict.fromkeys(OPERANDS[w] for w in words if w in OPERANDS))


def single(text):
    return text.replace("'", "'\\''")


# ---- bash: case branches that print words ----

def commands_bash(table):
    return ["_seep_commands='" + " ".join(table.commands) + "'", "_seep_topics='" + " ".join(table.topics) + "'"]


def options_bash(table):
    return [f"\t{c.name}) echo '{' '.join(w for o in c.options for w in o.spellings)}' ;;" for c in table.commands.values()]


def arguments_bash(table):
    """COMMAND:OPTION of those that take a word: the words, or @ and the kind of it; - when nothing is known about it."""
    lines = []
    for command in table.commands.values():
        for option in (o for o in command.options if o.argument):
            words = " ".join(option.values) or (argument_kind(option) and "@" + argument_kind(option)) or "-"
            patterns = " | ".join(f"{command.name}:{w}" for w in option.spellings)
            lines.append(f"\t{patterns}) echo '{'=' if option.is_optional else ''}{words}' ;;")
    return lines


def operands_bash(table):
    return [f"\t{c.name}) echo '{' '.join(operand_kinds(c))}' ;;" for c in table.commands.values()]


# ---- zsh: specifications for _arguments ----

ZSH_KINDS = {"file": "_files", "folder": "_files -/", "process": "_seep_processes", "user": "_users", "signal": "_signals",
             "recording": "_files -g '*.seep'", "topic": "_seep_topics", "program": "_seep_programs"}


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def zsh_argument(option):
    if not option.argument:
        return ""
    action = f"({' '.join(option.values)})" if option.values else ZSH_KINDS.get(argument_kind(option), " ")
    return f"{'::' if option.is_optional else ':'}{zsh_text(option.metavar)}:{action}"


def zsh_option(option):
    ending = {"": ("", ""), "FILE": ("+", "=")}["FILE" if option.argument else ""]
    if option.is_optional:
        ending = ("", "=-")
    forms = [w + ending[w.startswith("--")] for w in option.spellings]
    return [f"\t\t'*{form}[{single(zsh_text(option.help))}]{single(zsh_argument(option))}'" for form in forms]


def zsh_operands(command):
    kinds = operand_kinds(command)
    if kinds == ["program"]:
        return ["\t\t'(-)1:program:_seep_programs'", "\t\t'*::arguments:_normal'"]
    actions = [ZSH_KINDS[k] for k in kinds]
    if not actions:
        return []
    action = actions[0] if len(actions) == 1 else "_alternative " + " ".join(
        f"'{k}:{k}:{single(ZSH_KINDS[k])}'" for k in kinds)
    return [f"\t\t'*:{kinds[0]}:{single(action)}'"]


def commands_zsh(table):
    return [f"\t'{c.name}:{single(c.purpose)}'" for c in table.commands.values()]


def topics_zsh(table):
    return [f"\t'{name}:{single(purpose)}'" for name, purpose in table.topics.items()]


def options_zsh(table):
    lines = []
    for command in table.commands.values():
        specs = [s for o in command.options for s in zsh_option(o)] + zsh_operands(command)
        lines += [f"\t{command.name})", "\t\tspecs=(", *("\t" + s for s in specs), "\t\t) ;;"]
    return lines


# ---- fish: one `complete` per command and option ----

FISH_KINDS = {"file": "-r -F", "folder": "-x -a '(__fish_complete_directories)'", "process": "-x -a '(__seep_processes)'",
              "user": "-x -a '(__fish_complete_users)'", "signal": "-x -a '(__seep_signals)'",
              "recording": "-k -x -a '(__fish_complete_suffix .seep)'", "topic": "-x -a '(__seep_topics)'",
              "program": "-x -a '(__seep_program)'"}


def fish_text(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_option(command, option):
    line = f"complete -c seep -n '__seep_at {command.name}'"
    line += f" -s {option.letter}" if option.letter else ""
    line += f" -l {option.name}" if option.name else ""
    if option.argument and option.values:
        line += f" -x -a {fish_text(' '.join(option.values))}"
    elif option.argument and not option.is_optional:
        line += " " + FISH_KINDS.get(argument_kind(option), "-x")
    return f"{line} -d {fish_text(option.help)}"


def commands_fish(table):
    return [f"complete -c seep -n __seep_first -a {c.name} -d {fish_text(c.purpose)}" for c in table.commands.values()]


def words_fish(table):
    return ["set -g __seep_commands " + " ".join(table.commands), "set -g __seep_topic_list " + " ".join(table.topics)]


def options_fish(table):
    lines = []
    for command in table.commands.values():
        lines += [f"complete -c seep -n '__seep_at {command.name}' {FISH_KINDS[k]}" for k in operand_kinds(command)]
        lines += [fish_option(command, o) for o in command.options]
    return lines


def arguments_fish(table):
    """Options whose argument is the next word, as COMMAND:OPTION."""
    return ["set -g __seep_with_argument " + " ".join(
        f"{c.name}:{w}" for c in table.commands.values() for o in c.options if o.argument and not o.is_optional
        for w in o.spellings)]


def main(shell, template, table, out):
    table = Table(table)
    lines = []
    for line in Path(template).read_text().splitlines():
        found = re.fullmatch(r"\s*@(\w+)@", line)
        lines += globals()[f"{found.group(1)}_{shell}"](table) if found else [line]
    Path(out).write_text("\n".join(lines) + "\n")


main(*sys.argv[1:])
