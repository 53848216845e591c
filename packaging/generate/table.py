# SPDX-License-Identifier: MIT
"""table.py -- the commands, options and topics of the tool, as `seep help --table` prints them.

Lines of fields separated by tabs: `command NAME OPERANDS PURPOSE`, then its `heading TEXT` and
`option LETTER NAME ARGUMENT VALUES HELP` lines; at the end `topic NAME PURPOSE`.
"""
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Option:
    letter: str
    name: str
    argument: str  # "" none; "FILE" needed; "[FILE]" may follow after "="
    choices: str   # "none|exec|all"; "peak|end|..." has others too
    help: str

    @property
    def values(self):
        return [v for v in self.choices.split("|") if v not in ("", "...")]

    @property
    def is_open(self):
        """Values other than those listed are possible."""
        return not self.choices or self.choices.endswith("...")

    @property
    def is_optional(self):
        return self.argument.startswith("[")

    @property
    def metavar(self):
        return self.argument.strip("[]")

    @property
    def spellings(self):
        return [w for w in (self.letter and "-" + self.letter, self.name and "--" + self.name) if w]


@dataclass
class Command:
    name: str
    operands: str
    purpose: str
    entries: list = field(default_factory=list)  # Option, or a heading as text

    @property
    def options(self):
        return [e for e in self.entries if isinstance(e, Option)]


class Table:
    def __init__(self, path):
        self.commands, self.topics = {}, {}
        for line in Path(path).read_text().splitlines():
            kind, *fields = line.split("\t")
            getattr(self, "_" + kind)(*fields)

    def _command(self, name, operands, purpose):
        self._last = self.commands[name] = Command(name, operands, purpose)

    def _heading(self, text):
        self._last.entries.append(text)

    def _option(self, *fields):
        self._last.entries.append(Option(*fields))

    def _topic(self, name, purpose):
        self.topics[name] = purpose
