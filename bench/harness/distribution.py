# SPDX-License-Identifier: MIT
"""distribution.py -- short runs of programs that every distribution has, for bench/memcheck.

Keeps: a run is the same each time (fixed inputs, fixed seeds of hashes), ends by itself, and takes
a few seconds under Memcheck.
"""
import shlex
import subprocess
from dataclasses import dataclass, field

from harness import applications


@dataclass
class Run:
    name: str
    argv: list  # {out}: the folder of this run
    stdin: bytes = b""
    env: dict = field(default_factory=dict)


TEXT = "".join(
    f"{n * 7919 % 1009:04d} word{n % 37} the quick brown fox {n} jumps\n" for n in range(600)
)

SOURCE = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char name[24]; int number; };
static struct node *push(struct node *head, const char *name, int number)
{
        struct node *n = malloc(sizeof *n);
        n->next = head; n->number = number; strncpy(n->name, name, sizeof n->name - 1);
        n->name[sizeof n->name - 1] = 0;
        return n;
}
static int sum(const struct node *n) { int s = 0; for (; n;
n = n->next) s += n->number * (int)strlen(n->name); return s; }
int main(int argc, char **argv)
{
        struct node *head = NULL;
        for (int i = 0; i < argc; i++) head = push(head, argv[i], i);
        switch (sum(head) % 5) { case 0: puts("zero"); break; case 1: puts("one"); break;
        default: printf("%d\\n", sum(head)); }
        return 0;
}
"""

TEMPLATES = """template <int N> struct fib {
static constexpr long value = fib<N - 1>::value + fib<N - 2>::value; };
template <> struct fib<0> { static constexpr long value = 0; }; template <> struct fib<1> {
static constexpr long value = 1; };
template <class T> class list { struct node { T v; node *next; }; node *head = nullptr; public:
  void push(T v) { head = new node{v, head}; } ~list() { while (head) { node *n = head->next;
  delete head; head = n; } } };
struct base { virtual int f() const { return 1; } virtual ~base() {} }; struct derived : base {
int f() const override { return 2; } };
long work() { list<long> a; list<const base *> b; derived d; b.push(&d); a.push(fib<40>::value);
return d.f() + fib<30>::value; }
"""

DOCUMENT = (
    "<?xml version='1.0'?><!DOCTYPE r [<!ENTITY e 'text'>]><r xmlns:x='urn:x'>"
    + "".join(
        f"<x:item id='{n}' kind='k{n % 7}'><name>n{n} &e;</name><v>{n * 3}</v></x:item>"
        for n in range(150)
    )
    + "</r>"
)

JSON = (
    "["
    + ",".join(
        f'{{"id":{n},"group":"g{n % 9}","tags":["t{n % 5}","u"],"value":{n * 0.5}}}'
        for n in range(200)
    )
    + "]"
)

SQL = b"""CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL); CREATE INDEX i ON t(name);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
INSERT INTO t SELECT i, printf('%05d', i * 7919 % 20011), i * 0.5 FROM n;
SELECT count(*), sum(value) FROM t;
SELECT json_group_array(name) FROM (SELECT name FROM t ORDER BY id LIMIT 20);
"""

PYTHON = """import json, re
table = {str(i): [i] * 3 for i in range(300)}
text = json.dumps(table)
print(len(text), len(re.findall(r"[0-9]+", text)), sum(len(x) for x in json.loads(text).values()))
class Node: pass
a, b = Node(), Node(); a.other, b.other = b, a
"""

PERL = """use strict; my %h; for my $i (1..500) { push @{$h{$i % 101}}, "v$i"; } my $t = 0;
for my $k (sort { $a <=> $b } keys %h) { $t += length join ",", @{$h{$k}}; } print "$t\\n";
my $loop = {}; $loop->{self} = $loop; my @w = map { s/1(.)/$1x/r } 1..300; print "@w[0..20]\\n";
exit 3
"""

BASH = """f() { local -a a; for i in {1..50}; do a[i]=$((i*i)); done; echo "${a[@]:3:4}"; }
declare -A m; for w in a b c; do m[$w]=$w$w; done; f; shopt -s extglob;
[[ abc == +([a-c]) ]] && printf '%q\\n' "it's"
case $x in *) eval 'z=${PATH//:/ }';; esac; unset m; exit 4
"""

TCL = b"""proc fib n { if {$n < 2} {return $n};
expr {[fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
set l {}; for {set i 0} {$i < 100} {incr i} { lappend l "item $i";
dict set d $i [string repeat x $i] }
puts [fib 12]; puts [llength [lsort $l]]; puts [regexp -all -inline {[0-9]+} $l]
"""

M4 = (b"define(`for',`ifelse($#,0,``$0'',eval($2<=$3),1,`pushdef(`$1',`$2')$4`'popdef(`$1')$0(`$1',"
      b"incr($2),$3,`$4')')')for(`i',1,60,`i ')\n")

TROFF = ".TH T 1\n.SH NAME\nt \\- a page\n" + "".join(
    f".SH S{n}\n.TP\n\\fB\\-o{n}\\fR\nSome \\fItext\\fR of option {n}.\n" for n in range(20)
)

MAKEFILE = ("all: a b c\n" + "".join(f"{t}: $(wildcard *.c) {t}.in\n\t@echo $(sort $(foreach x,1 2 "
                                     f"3,{t}$(x)))\n{t}.in:\n\t@touch $@\n" for t in "abc"))

NINJA = "rule cc\n command = cc -c $in -o $out\n" + "".join(
    f"build o{n}.o: cc text.c\n" for n in range(50)
)

PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n' + "".join(
    f'\nmsgid "m{n}"\nmsgstr "t{n}"\n' for n in range(80)
)


def make_inputs(folder):
    """A folder with everything that the runs read."""
    folder.mkdir()
    files = {
        "text": TEXT,
        "other": TEXT.replace("fox", "dog", 50),
        "text.c": SOURCE,
        "text.cpp": TEMPLATES,
        "text.xml": DOCUMENT,
        "text.json": JSON,
        "text.1": TROFF,
        "Makefile": MAKEFILE,
        "build.ninja": NINJA,
        "text.po": PO,
        "text.pod": "=head1 A\n\n" + "Some B<text>.\n\n" * 40,
        "text.cmake": "foreach(i RANGE 50)\n list(APPEND l ${i})\n string(REGEX REPLACE 1 x y "
        "\"${l}\")\nendforeach()\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    subprocess.run(["cc", "-E", "-P", "text.c", "-o", "text.i"], cwd=folder, check=True)
    subprocess.run(["cc", "-g", "-O1", "-S", "text.c", "-o", "text.s"], cwd=folder, check=True)
    subprocess.run(["cc", "-g", "-O1", "-c", "text.c", "-o", "text.o"], cwd=folder, check=True)
    subprocess.run(["cc", "-g", "text.o", "-o", "program"], cwd=folder, check=True)
    subprocess.run(["ar", "rcs", "text.a", "text.o"], cwd=folder, check=True)
    subprocess.run(
        ["tar", "cf", "text.tar", "text", "other", "text.c", "text.o"], cwd=folder, check=True
    )
    make_repository(folder / "repository")
    applications.make_files(folder)


def make_repository(folder):
    env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": "/usr/bin:/bin"}
    stream = []
    for i in range(40):
        body = "".join(f"line {n * (i + 3) % 211}\n" for n in range(60)).encode()
        stream.append((b"commit refs/heads/main\nmark :%d\ncommitter a <a@example.org> %d +0000\n"
                       b"data 8\nround%3d\n") % (i + 1, 1600000000 + i * 60, i))
        stream.append(b"M 100644 inline file%d.txt\ndata %d\n%s\n" % (i % 9, len(body), body))
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True, env=env)
    subprocess.run(
        ["git", "-C", str(folder), "fast-import", "--quiet"],
        input=b"".join(stream),
        check=True,
        env=env,
    )


GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}

# NAME: COMMAND, as for a shell.  {in} is the folder of the inputs.
COMMANDS = """
git log: git -C {in}/repository log --stat -n 10
git blame: git -C {in}/repository blame main -- file3.txt
git grep: git -C {in}/repository grep -n 17 main
git diff: git -C {in}/repository diff main~3 main
git shortlog: git -C {in}/repository shortlog -s main
git fsck: git -C {in}/repository fsck
xmllint format: xmllint --format {in}/text.xml
xmllint xpath: xmllint --xpath 'count(//name)' {in}/text.xml
jq: jq 'group_by(.group) | map({g: .[0].group, n: length})' {in}/text.json
as: as {in}/text.s -o {out}/text.o
ld: ld -r {in}/text.o {in}/text.a -o {out}/all.o
ld.gold: ld.gold -r {in}/text.o -o {out}/all.o
objdump: objdump -d -S {in}/text.o
readelf: readelf -a -wi {in}/program
nm: nm -a -l {in}/program
size: size -A {in}/program
strings: strings {in}/program
strip: strip -o {out}/program {in}/program
objcopy: objcopy --only-keep-debug {in}/program {out}/program.debug
ar: ar tv {in}/text.a
addr2line: addr2line -f -e {in}/program 0x1139 0x1180
c++filt: c++filt _ZN4listIlE4pushEl _ZNSt6vectorIiSaIiEE9push_backERKi
dwz: dwz -o {out}/program {in}/program
sed: sed -E 's/([a-z]+)([0-9]+)/\\2-\\1/g; /fox/!d' {in}/text
mawk: mawk '{n[$2] += $1} END {for (k in n) print k, n[k]}' {in}/text
grep: grep -E -n -o '(word1[0-9]|[5-9]+ the|x+y*z?)' {in}/text
tar create: tar cf {out}/a.tar -C {in} text other text.c Makefile
tar list: tar tvf {in}/text.tar
gzip: gzip -c {in}/text
xz: xz -1 -c {in}/text
zstd: zstd -c -q {in}/text
bzip2: bzip2 -c {in}/text
lz4: lz4 -c -q {in}/text
zip: zip -q {out}/a.zip {in}/text {in}/other
unzip: unzip -v
openssl ciphers: openssl ciphers -v
openssl asn1parse: openssl asn1parse -genstr UTF8:word
openssl prime: openssl prime -hex 1F
curl: curl --version
wget: wget --version
ssh: ssh -V
ssh-keygen: ssh-keygen -q -t ed25519 -N '' -f {out}/key
make: make -n -C {in}
cmake: cmake -P {in}/text.cmake
ninja: ninja -C {in} -t targets all
find: find {in} -name '*.c' -o -size +10k
sort: sort -k2,2 -k1n {in}/text
diff: diff -u {in}/text {in}/other
file: file {in}/program {in}/text {in}/text.c {in}/text.tar
patch: patch --version
troff: troff -man {in}/text.1
mandoc: mandoc {in}/text.1
msgfmt: msgfmt -o {out}/text.mo {in}/text.po
iconv: iconv -f UTF-8 -t UTF-16 {in}/text
locale: locale -a
infocmp: infocmp xterm
getent: getent passwd root
dpkg-query: dpkg-query -W libc6
dpkg-deb: dpkg-deb --help
apt-config: apt-config dump
ps: ps ax
ls: ls -lR {in}
du: du -a {in}/repository
df: df
id: id
ip: ip addr
lscpu: lscpu
findmnt: findmnt
mke2fs: mke2fs -n -F {in}/text.tar 1024
gpg: gpg --version
dbus: dbus-send --help
ccache: ccache --version
pkg-config: pkg-config --list-all
strace: strace -V
nginx: nginx -V
tmux: tmux -V
hexdump: hexdump -C {in}/text.o
gdb: gdb -nx -batch -ex 'info functions' {in}/program
"""


def languages(place, folder):
    """Runs with a program of their own, an input, or an environment."""
    python, text = place.debian_python(), TEXT.encode()
    return [
        Run("python3", [python, "-c", PYTHON], env={"PYTHONHASHSEED": "0"}),
        Run(
            "python3 malloc",
            [python, "-c", PYTHON],
            env={"PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"},
        ),
        Run("perl", ["perl", "-e", PERL], env={"PERL_HASH_SEED": "0"}),
        Run(
            "perl pod2man",
            ["perl", "/usr/bin/pod2man", str(folder / "text.pod")],
            env={"PERL_HASH_SEED": "0"},
        ),
        Run("bash", ["bash", "-c", BASH]),
        Run(
            "dash",
            [
                "dash",
                "-c",
                "f() { for i in a b c; do echo $i$1; done; }; x=$(f 1); for n "
                "in $x; do echo ${n%1}; done; trap 'echo e' EXIT",
            ],
        ),
        Run("sqlite3", ["sqlite3", ":memory:"], SQL),
        Run("tclsh", ["tclsh"], TCL),
        Run("m4", ["m4"], M4),
        Run(
            "bc",
            ["bc", "-l"],
            b"define f(n) { if (n < 2) return n; return f(n-1) + f(n-2); }\n"
            b"f(12)\nscale=30\ne(1)\n",
        ),
        Run("openssl dgst", ["openssl", "dgst", "-sha256", "-hmac", "key"], text),
        Run(
            "openssl enc",
            [
                "openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-S", "0123456789abcdef", "-pass",
                "pass:word",
            ],
            text,
        ),
        Run(
            "cc1", [compiler("cc1"), "-quiet", "-O1", str(folder / "text.i"), "-o", "{out}/text.s"]
        ),
        Run(
            "cc1plus",
            [compiler("cc1plus"), "-quiet", "-O1", str(folder / "text.cpp"), "-o", "{out}/text.s"],
        ),
    ]


def compiler(name):
    return subprocess.run(
        ["gcc", f"-print-prog-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()


def commands(lines, folder, env):
    for line in lines.strip().split("\n"):
        name, command = line.split(": ", 1)
        command = command.replace("{f951}", compiler("f951")).replace("{in}", str(folder))
        yield Run(name, shlex.split(command), env=env)


def scripts(folder):
    for name, (argv, stdin, env) in applications.SCRIPTS.items():
        yield Run(name, [a.replace("{in}", str(folder)) for a in argv], stdin, env)


def runs(place):
    folder = place.cached("distribution", make_inputs)
    found = [
        *languages(place, folder),
        *commands(COMMANDS, folder, GIT),
        *commands(applications.COMMANDS, folder, {}),
        *scripts(folder),
    ]
    for run in found:
        try:
            run.argv[0] = place.need(run.argv[0])
            yield run
        except place.Unavailable as why:
            place.say(f"bench: {run.name} is left out: {why}")
