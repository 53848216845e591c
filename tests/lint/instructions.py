# SPDX-License-Identifier: MIT
"""A malloc+free pair takes the agent no more instructions than bench/instructions.expected says, by
up to 5 %.

usage: instructions.py SEEP COMPILER [write]      COMPILER as meson names it, with version and
processor: gcc-12-x86_64

Short runs of loops and programs under callgrind and seep at once (bench/harness/callgrind.py): the
load of the machine
does not show in them.  Numbers belong to a compiler; one that the file does not have is skipped.
`write` writes those of COMPILER anew: whoever makes an event dearer on purpose, or cheaper, does so
and says why (bench/README.md).
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lint import ROOT, Tap, text_of

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench"))
from harness import callgrind

EXPECTED = ROOT / "bench" / "instructions.expected"
TOLERANCE = 1.05

PERL = r"""
my (%h, @a);
for my $i (1 .. 1500) {
    my @w = map { "w" . ($i * $_ % 97) } 1 .. 5;
    $h{$_} .= "$i," for @w;
    push @a, { name => join("-", @w), at => [ @w ] } if $i % 3 == 0;
}
my @sorted = sort { $a->{name} cmp $b->{name} || $a->{at}[0] cmp $b->{at}[0] } @a;
my $text = join "\n", map { sprintf "%s %s", $_->{name}, scalar @{ $_->{at} } } @sorted;
$text =~ s/w(\d+)/length($1) . $1/ge;
"""

SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
insert into t select i, 'name' || (i * 7919 % 1000), i / 3.0 from n;
create index tb on t(b);
select count(*), sum(length(x)) from (select group_concat(b, '-') as x from t group by a % 50);
update t set b = upper(b) || a where a % 3 = 0;
select b, json_object('a', a, 'c', round(c, 2)) from t where b like 'N%' order by c desc limit 200;
"""

PYTHON = """
import json
made = [{"a": i, "b": [str(j) for j in range(i % 20)]} for i in range(500)]
read = json.loads(json.dumps(made, indent=1))
print(sorted(str(z) for z in read)[0])
"""

SETTINGS = {"PERL_HASH_SEED": "0", "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
LOOP_PAIRS = (5000, 25000)  # what the start takes is in both


def measured(seep, argv):
    with tempfile.TemporaryDirectory() as directory:
        costs, pairs = callgrind.measure(
            seep, shutil.which("valgrind"), argv, Path(directory), SETTINGS
        )
    return sum(costs.values()), pairs


def of_loop(seep, loop, depth, sites):
    few, many = (measured(seep, [loop, depth, sites, str(pairs)]) for pairs in LOOP_PAIRS)
    return (many[0] - few[0]) / (many[1] - few[1])


def of_program(seep, argv):
    if not shutil.which(argv[0]):
        return None
    costs, pairs = measured(seep, argv)
    return costs / pairs


def numbers(seep):
    """(name, instructions per pair); None: the program is not here."""
    with tempfile.TemporaryDirectory() as directory:
        loop = f"{directory}/loop"
        subprocess.run(
            [
                "cc", "-O2", "-g", "-fno-optimize-sibling-calls", ROOT / "bench/programs/loop.c",
                "-o", loop,
            ],
            check=True,
        )
        yield "loop-d10-s1", of_loop(seep, loop, "10", "1")
        yield "loop-d60-s2", of_loop(seep, loop, "60", "2")
    yield "sqlite3", of_program(seep, ["sqlite3", "-batch", ":memory:", SQL])
    yield "perl", of_program(seep, ["perl", "-e", PERL])
    yield "python3", of_program(seep, ["/usr/bin/python3", "-S", "-c", PYTHON])


def expected():
    """(compiler, name) -> number"""
    lines = (line.split("#")[0].split() for line in text_of(EXPECTED).splitlines())
    return {(words[0], words[1]): float(words[2]) for words in lines if words}


def write(seep, compiler):
    head = [line for line in text_of(EXPECTED).splitlines() if line.startswith("#")]
    known = {key: number for key, number in expected().items() if key[0] != compiler}
    known.update({(compiler, name): number for name, number in numbers(seep) if number})
    rows = [f"{key[0]:16} {key[1]:12} {number:7.1f}" for key, number in sorted(known.items())]
    EXPECTED.write_text("\n".join(head + rows) + "\n", encoding="utf-8")


def check(seep, compiler):
    tap, known = Tap(), expected()
    missing = None if shutil.which("valgrind") else "there is no valgrind here"
    if not any(key[0] == compiler for key in known):
        missing = f"there are no numbers for {compiler}"
    if missing:
        tap.skip("instructions per malloc+free pair", missing)
        tap.done()
    for name, number in numbers(seep):
        claim = f"instructions per malloc+free pair, {name}"
        limit = known.get((compiler, name))
        if not limit or not number:
            tap.skip(claim, "there is no number" if number else "the program is not here")
            continue
        print(f"# {name}: {number:.1f}, expected {limit:.1f}")
        tap.claim(
            claim,
            [f"{name}: {number:.1f}, and {EXPECTED.name} has {limit:.1f}"]
            if number > limit * TOLERANCE
            else [],
        )
    tap.done()


for variable in ("SEEP_OPTIONS", "LD_PRELOAD", "MALLOC_PERTURB_"):
    os.environ.pop(variable, None)
(write if sys.argv[3:] == ["write"] else check)(Path(sys.argv[1]).resolve(), sys.argv[2])
