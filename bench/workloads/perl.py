# SPDX-License-Identifier: MIT
"""perl.py -- perl formats a large manual written in POD."""
import random
import subprocess

from harness import place
from .workload import Command, long_and_short

SECTIONS, SHORT_SECTIONS = 400, 230


def _paragraph(chance, words):
    text = chance.choices(words, k=chance.randint(25, 70))
    for mark in "BICFLE":
        where = chance.randrange(len(text))
        text[where] = f"{mark}<{'gt' if mark == 'E' else text[where]}>"
    return " ".join(text) + "\n\n"


def _section(chance, words, number):
    items = "".join(f"=item B<--{chance.choice(words)}> I<{chance.choice(words)}>\n\n"
                    f"{_paragraph(chance, words)}"
                    for _ in range(4))
    code = "".join(
        f"    my ${chance.choice(words)} = {n} * $x; # {chance.choice(words)}\n" for n in range(5)
    )
    return (f"=head1 {chance.choice(words).upper()} {number}\n\n{_paragraph(chance, words)}=over "
            f"4\n\n{items}=back\n\n"
            f"=head2 Example\n\n{code}\n{_paragraph(chance, words)}")


def _make(path, sections):
    chance = random.Random(13)
    words = [
        "".join(chance.choice("abcdefghijklmnoprstuw") for _ in range(chance.randint(2, 10)))
        for _ in range(2000)
    ]
    path.write_text(
        "=encoding utf8\n\n"
        + "".join(_section(chance, words, n) for n in range(sections))
        + "=cut\n"
    )


def _command(short):
    perl = place.need("perl")
    if subprocess.run([perl, "-MPod::Man", "-e", "1"], capture_output=True, check=False).returncode:
        raise place.Unavailable("perl has no Pod::Man")
    if short:
        source = place.cached("manual-short.pod", lambda path: _make(path, SHORT_SECTIONS))
    else:
        source = place.cached("manual.pod", lambda path: _make(path, SECTIONS))
    script = ("my $p = Pod::Man->new(date => '2020-01-01', release => '1', name => 'MANUAL'); "
              "$p->parse_from_file(@ARGV)")
    return Command([perl, "-MPod::Man", "-e", script, str(source), "manual.1"],
                   env={"PERL_HASH_SEED": "0"}, product="manual.1")


WORKLOADS = long_and_short("perl", "Pod::Man on a large manual", _command, 1.2)
