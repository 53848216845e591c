# SPDX-License-Identifier: MIT
"""applications.py -- short runs of larger applications, for bench/memcheck: interpreters,
compilers, and programs for pictures, sound, documents, databases and the network.

Keeps: as distribution.py.  Not every machine has these programs; what is missing is left out.
"""
import shlex
import shutil
import struct
import subprocess

GRAPH = "digraph g { rankdir=LR; node [shape=box]; " + "".join(
    f"n{i} -> n{i * 7 % 23} [label=\"e{i}\"]; " for i in range(40)
) + "subgraph cluster_a { label=a; n1; n2; n3 } }\n"

PLOT = """set terminal svg size 400,300
set output '{out}/plot.svg'
set title "t"
f(x) = sin(x) / x
plot f(x), [-5:5] cos(x) title "c", '-' using 1:2 with linespoints
1 2
3 4
5 1
e
"""

POSTSCRIPT = "%!PS\n/Helvetica findfont 12 scalefont setfont\n" + "".join(
    f"{20 + n * 3} {700 - n * 12} moveto (line {n}) show\n" for n in range(30)
) + "newpath 100 100 50 0 360 arc stroke\nshowpage\n"

SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='120' height='90'><defs><linearGradient id='g'>"
    "<stop offset='0' stop-color='red'/><stop offset='1' stop-color='blue'/></linearGradient>"
    "</defs><rect width='100' height='60' fill='url(#g)'/><path d='M 10 10 C 20 80 90 10 110 80'"
    " stroke='black' fill='none'/><circle cx='50' cy='50' r='20' opacity='0.5'/></svg>\n"
)

SHEET = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:key name="k" match="*" use="@kind"/>
<xsl:template match="/"><out><xsl:for-each select="//*[@id]"><xsl:sort select="@kind"/>
<i n="{position()}"><xsl:value-of select="concat(@id, '-', name)"/></i></xsl:for-each>
<xsl:value-of select="count(key('k', 'k3'))"/></out></xsl:template></xsl:stylesheet>
"""

GRAMMAR = """%{
#include <stdio.h>
int yylex(void); void yyerror(const char *s);
%}
%token NUM
%left '+' '-'
%left '*' '/'
%right NEG
%%
input: | input line;
line: '\\n' | exp '\\n' { printf("%d\\n", $1); } | error '\\n' { yyerrok; };
exp: NUM | exp '+' exp { $$ = $1 + $3; } | exp '-' exp { $$ = $1 - $3; }
 | exp '*' exp { $$ = $1 * $3; } | exp '/' exp | '-' exp %prec NEG { $$ = -$2; } | '(' exp ')';
%%
"""

LEXER = """%option noyywrap
%x STRING
digit [0-9]
%%
{digit}+(\\.{digit}*)? return 1;
[a-zA-Z_][a-zA-Z_0-9]* return 2;
\\" BEGIN(STRING);
<STRING>[^"\\n]+ return 3;
<STRING>\\" BEGIN(INITIAL);
"if"|"else"|"while" return 4;
[ \\t\\n]+ ;
. return 5;
%%
int main(void) { return yylex(); }
"""

FORTRAN = """program t
  implicit none
  real, allocatable :: a(:,:), b(:,:)
  character(len=:), allocatable :: s
  integer :: i, unit
  allocate(a(20,20), b(20,20))
  do i = 1, 20
    a(:,i) = real(i)
    b(i,:) = 1.0 / i
  end do
  a = matmul(a, b)
  s = 'sum' // repeat('x', 5)
  open(newunit=unit, status='scratch')
  write(unit, *) s, sum(a)
  close(unit)
  print '(a,f10.3)', s, sum(a)
  stop 2
end program
"""

AWK = """{ n[$2] += $1; m[$2][NR % 5] = $0 } END { k = asorti(n, s)
for (i = 1; i <= k; i++) print s[i], n[s[i]], length(m[s[i]])
print gensub(/([a-z]+)/, "<\\\\1>", "g", "a b c"), strftime("%Y", 0, 1) }"""

RUBY = """h = Hash.new { |t, k| t[k] = [] }; 300.times { |i| h[i % 17] << "v#{i}" }
puts h.map { |k, v| v.join(',').length }.sum; puts (1..50).each_slice(7).to_a.length
puts "abc".gsub(/b/) { |m| m.upcase }; S = Struct.new(:a, :b); p S.new(1, [2])
f = Fiber.new { Fiber.yield 1; 2 }; p f.resume, f.resume
"""

PHP = """$t = []; for ($i = 0; $i < 300; $i++) { $t["k".($i % 17)][] = str_repeat('x', $i); }
ksort($t); echo count($t), md5(serialize($t)), preg_replace('/x+/', 'y', 'axxb'), "\\n";
class N { public $o; } $a = new N; $b = new N; $a->o = $b; $b->o = $a; echo json_encode([1, 2]);
"""

LUA = """local t = {} for i = 1, 300 do t[#t + 1] = {i, tostring(i)} end
table.sort(t, function(a, b) return a[2] < b[2] end) print(#t, t[1][2])
local c = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) print(c(), c())
print(string.format("%q", "a\\nb"), ("abc"):gsub("%w", "%0%0")) os.exit(5)
"""

GUILE = """(use-modules (srfi srfi-1)) (define (fib n) (if (< n 2) n
(+ (fib (- n 1)) (fib (- n 2)))))
(display (fib 12)) (newline)
(display (delete-duplicates (map (lambda (x) (modulo x 7)) (iota 50))))
"""

# NAME: COMMAND, as in distribution.py
COMMANDS = """
dot: dot -Tsvg -o {out}/a.svg {in}/text.dot
neato: neato -Tplain {in}/text.dot
gnuplot: gnuplot {in}/text.plot
convert: convert-im6.q16 {in}/text.ppm -resize 50% -rotate 30 -blur 0x1 {out}/a.png
identify: identify-im6.q16 -verbose {in}/text.ppm
ffmpeg: ffmpeg -nostdin -loglevel error -threads 1 -i {in}/text.wav -c:a flac -y {out}/a.flac
ffprobe: ffprobe -loglevel error -show_streams {in}/text.wav
sox: sox {in}/text.wav {out}/a.wav rate 4000 reverb
gs: gs -q -dBATCH -dNOPAUSE -sDEVICE=png16m -r40 -sOutputFile={out}/a.png {in}/text.ps
ps2pdf: gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -sOutputFile={out}/a.pdf {in}/text.ps
pdftotext: pdftotext {in}/text.pdf {out}/a.txt
pdftoppm: pdftoppm -r 40 {in}/text.pdf {out}/a
pdfinfo: pdfinfo {in}/text.pdf
mutool: mutool info {in}/text.pdf
mutool draw: mutool draw -r 40 -o {out}/a.png {in}/text.pdf
rsvg-convert: rsvg-convert -o {out}/a.png {in}/text.svg
pnmtopng: pnmtopng {in}/text.ppm
pnmscale: pnmscale 0.5 {in}/text.ppm
cwebp: cwebp -quiet {in}/text.ppm -o {out}/a.webp
xsltproc: xsltproc {in}/text.xsl {in}/text.xml
bison: bison -o {out}/a.c {in}/text.y
flex: flex -o {out}/a.c {in}/text.l
nasm: nasm -f elf64 -o {out}/a.o {in}/text.nasm
yasm: yasm -f elf64 -o {out}/a.o {in}/text.nasm
f951: {f951} -quiet -O1 {in}/text.f90 -o {out}/a.s
fortran program: {in}/fortran
groff: groff -man -Tps {in}/text.1
eqn: eqn {in}/text.1
cpp: cpp {in}/text.c
clang: clang -cc1 -triple x86_64-pc-linux-gnu -emit-llvm -O1 -o {out}/a.ll {in}/text.i
rsync: rsync -rn --itemize-changes {in}/repository/ {out}/copy/
ssh-keygen list: ssh-keygen -l -f {in}/key.pub
openssl x509: openssl req -x509 -new -key {in}/key.pem -subj /CN=a -days 1
openssl version: openssl version -a
nmap: nmap -n -sL 127.0.0.0/28
dig: dig -v
host: host -V
tcpdump: tcpdump -n -r {in}/text.pcap
tshark: tshark -n -r {in}/text.pcap
exiftool: perl /usr/bin/exiftool {in}/text.pdf
hunspell: hunspell -D
aspell: aspell dump dicts
units: units -t "3 miles" km
rrdtool: rrdtool create {out}/a.rrd --start 1000 --step 60 DS:a:GAUGE:120:U:U RRA:AVERAGE:0.5:1:50
mdb_stat: mdb_stat -V
mariadb: mariadb --no-defaults --help
mysqldump: mariadb-dump --no-defaults --version
psql: /usr/lib/postgresql/15/bin/psql --help
pg_dump: /usr/lib/postgresql/15/bin/pg_dump --version
whois: whois --version
swipl: swipl -g "numlist(1,50,L),sumlist(L,S),writeln(S)" -t halt
octave: octave-cli --norc --eval "a=magic(6); disp(det(a)); s=num2str(a(1,:)); disp(s)"
tic: tic -C {in}/text.ti
tput: tput -T xterm-256color longname
xz decompress: xz -dc {in}/text.xz
bzip2 decompress: bzip2 -dc {in}/text.bz2
cpio: cpio -it -F {in}/text.cpio
join: join -1 1 -2 1 {in}/text {in}/other
awk split: split -l 100 {in}/text {out}/part
pr: pr -2 {in}/text
ptx: ptx {in}/other
factor: factor 12345678901234567890123
expr: expr abcdef : 'a\\(.*\\)f'
date: date -d "2020-01-01 +3 days" +%s
stat: stat {in}/text
comm: comm {in}/text {in}/other
uniq: uniq -c {in}/text
tsort: tsort {in}/text.pairs
shuf: shuf --random-source={in}/text -n 5 {in}/text
sha256sum: sha256sum {in}/text
numfmt: numfmt --to=iec 123456
csplit: csplit -s -f {out}/x {in}/text 100 200
"""


def make_sound():
    samples = b"".join(struct.pack("<h", (n * 37 % 801 - 400) * 20) for n in range(8000))
    head = b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt "
    form = struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    return head + form + b"data" + struct.pack("<I", len(samples)) + samples


def make_packets():
    """Twenty datagrams of UDP, some of them questions to a name server."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for n in range(20):
        name = b"\x03www\x07example\x03org\x00\x00\x01\x00\x01"
        asked = struct.pack(">HHHHHH", n, 0x100, 1, 0, 0, 0) + name if n % 2 else b"x" * n
        udp = struct.pack(">HHHH", 4000 + n, 53 if n % 2 else 9, 8 + len(asked), 0) + asked
        ip = struct.pack(">BBHHHBBH4s4s", 69, 0, 20 + len(udp), n, 0, 64, 17, 0, b"\x0a\0\0\1",
                         b"\x0a\0\0\2") + udp
        frame = b"\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0" + ip
        out += struct.pack("<IIII", 1600000000 + n, 0, len(frame), len(frame)) + frame
    return out


FILES = {
    "text.dot": GRAPH,
    "text.plot": PLOT,
    "text.ps": POSTSCRIPT,
    "text.svg": SVG,
    "text.xsl": SHEET,
    "text.y": GRAMMAR,
    "text.l": LEXER,
    "text.f90": FORTRAN,
    "text.nasm": "section .text\nglobal f\nf:\n%macro m 1\n mov eax, %1\n%endmacro\n"
                 + "".join(f"l{n}: m {n}\n jmp l{n * 7 % 20}\n" for n in range(20)),
    "text.ti": "t|a terminal,\n\tam, cols#80, bel=^G, cr=\\r, clear=\\E[H\\E[J,\n",
    "text.pairs": "".join(f"a{n} a{n + 1 + n % 5}\n" for n in range(60)),
    "text.ppm": b"P6\n60 40\n255\n" + bytes(n * 7 % 256 for n in range(60 * 40 * 3)),
    "text.wav": make_sound(),
    "text.pcap": make_packets(),
}

# what is made of these by programs: (program that must be there, command)
MADE = [
    ("gs", "gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -sOutputFile=text.pdf text.ps"),
    ("gfortran", "gfortran -g -O1 -o fortran text.f90"),
    ("openssl", "openssl genpkey -algorithm ed25519 -out key.pem"),
    ("ssh-keygen", "ssh-keygen -q -t ed25519 -N '' -f key"),
    ("xz", "xz -k text"),
    ("bzip2", "bzip2 -k text"),
    ("cpio", "sh -c 'ls text other text.c | cpio -o --quiet -F text.cpio'"),
]

# NAME: (PROGRAM and arguments, input, environment)
SCRIPTS = {
    "gawk": (["gawk", AWK, "{in}/text"], b"", {}),
    "dc": (["dc"], b"20k 2 v p [la 1 + d sa p 9 >x] sx 0 sa lx x 16 o 255 p q\n", {}),
    "lua": (["lua5.4", "-e", LUA], b"", {}),
    "guile": (["guile", "--no-auto-compile", "-c", GUILE], b"", {}),
    "ruby": (["ruby", "--disable-gems", "-e", RUBY], b"", {}),
    "php": (["php", "-n", "-r", PHP], b"", {}),
    "ocaml": (["ocaml", "-noinit"], b"let rec f n = if n < 2 then n else f (n-1) + f (n-2);; "
              b"List.map f [5; 10];; exit 3;;\n", {}),
    "sqlite3 file": (["sqlite3", "{out}/a.db"], b"CREATE TABLE t(a, b); INSERT INTO t VALUES(1,2);"
                     b"CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES('a b c');"
                     b"SELECT * FROM f WHERE f MATCH 'b'; EXPLAIN QUERY PLAN SELECT * FROM t;"
                     b".dump\n", {}),
    "gdb script": (["gdb", "-nx", "-batch", "-ex", "info line main", "-ex", "ptype struct node",
                    "-ex", "disassemble main", "{in}/program"], b"", {}),
    "ld --gc-sections": (["ld.bfd", "-r", "--gc-sections", "-u", "main", "{in}/text.o", "-o",
                          "{out}/a.o"], b"", {}),
    "ed": (["ed", "-s", "{in}/text"], b"1,5p\ng/fox/s//cat/\n,n\nq\nq\n", {}),
    "vim": (["vim", "-u", "NONE", "-es", "-c", "%s/fox/cat/g | wq! {out}/a", "{in}/text"], b"", {}),
}


def make_files(folder):
    for name, content in FILES.items():
        if isinstance(content, str):
            content = content.encode()
        (folder / name).write_bytes(content)
    for program, command in MADE:
        if shutil.which(program):
            subprocess.run(shlex.split(command), cwd=folder, check=True)
