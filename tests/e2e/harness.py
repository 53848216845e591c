# SPDX-License-Identifier: MIT
"""harness.py -- compile target programs, run them bare and recorded, read what they and the tool
say.

The truth comes from the program (descriptor 3, see ../programs/truth.h), never from an earlier
report of the tool.
"""
import contextlib
import copy
import fcntl
import hashlib
import json
import os
import platform
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"
BUILD = Path(os.environ.get("SEEP_BUILD", ROOT / "build"))
SEEP = BUILD / "src" / "seep"
DEADLINE = 240  # for what takes a second, on a machine that has much else to do

GIT_ALONE = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
PLAIN = ("-O0", "-fno-builtin", "-g")
HEAP_COUNTS = (
    "allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes",
    "temporary",
)
TRUTH_NAMES = {
    "allocs": "allocations",
    "frees": "frees",
    "bytes": "bytes_allocated",
    "live_blocks": "live_blocks",
    "live_bytes": "live_bytes",
    "peak": "peak_bytes",
    "temporary": "temporary",
}


def clean_environment(extra=None):
    """What a user has: no perturbed malloc, no options of ours, fixed language."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("SEEP_", "MALLOC_", "GLIBC_TUNABLES", "LD_", "DEBUGINFOD"))}
    env.update({"LC_ALL": "C.UTF-8", "TERM": "dumb", "XDG_CONFIG_HOME": "/dev/null"})
    env.update(extra or {})
    return env


@contextlib.contextmanager
def alone(path):
    """One process of all that run tests now does the work for PATH; the others wait and find it
    done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(path.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def caught(pid):
    """The signals that it has handlers for."""
    return int(re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1], 16)


class Machine:
    """A processor that programs are built for: its compilers, and what runs its programs here."""

    def __init__(
        self, name, triplet, qemu, system, flags=(), tables=True, outermost="_start", handlers=True,
        kernel=None, injected=False,
    ):
        self.name, self.gcc, self.gxx = name, f"{triplet}-gcc", f"{triplet}-g++"
        # None: this machine, of the processor KERNEL, runs its programs itself
        self.qemu, self.emulator = None if kernel == platform.machine() else qemu, qemu
        self.injected = injected  # whether the agent can be written into those that run
        self.root, self.system, self.flags = f"/usr/{triplet}", system, flags
        self.tables = tables  # whether its C library has unwind tables for all functions
        # whether its backtrace() comes back from signal handlers, under qemu
        self.handlers = handlers
        self.outermost = outermost  # the function that all others of the first thread are called by

    def with_musl(self):
        """The same with musl as its C library: packages of Debian's that agents.py unpacks
        (musl_unpack)."""
        other = copy.copy(self)
        other.root = ROOT / "build-agents" / f"musl-{self.system}"
        # Its libgcc asks glibc which atomic instructions there are.
        other.flags = (
            *self.flags,
            "-specs",
            str(other.root) + ".specs",
            *(["-mno-outline-atomics"] if self.name == "aarch64" else []),
        )
        return other

    def musl_unpack(self):
        """Fetch it, and tell the compiler where it is; False: it cannot be fetched."""
        if subprocess.run(
            [ROOT / "packaging" / "foreign-root", self.system, self.root, "musl-dev"],
            stdout=subprocess.DEVNULL,
        ).returncode:
            return False
        specs = next((self.root / "usr" / "lib").glob("*-linux-musl*/musl-gcc.specs")).read_text()
        if not self.qemu:  # which looks for the loader below the root
            specs = specs.replace("-dynamic-linker /lib/", f"-dynamic-linker {self.root}/lib/")
        Path(str(self.root) + ".specs").write_text(
            re.sub(r"(?<=[ L])/usr/(?=lib|include)", f"{self.root}/usr/", specs)
        )
        return True

    def compiler(self, cc):
        if cc == "musl-gcc" and "-specs" in self.flags:
            return self.gcc
        if cc not in ("gcc", "g++"):
            pytest.skip(f"no {cc} for {self.name}")
        return self.gcc if cc == "gcc" else self.gxx

    def runner(self, argv):
        return [self.qemu, "-L", self.root, *map(str, argv)] if self.qemu else list(map(str, argv))


MACHINES = {
    m.name: m
    for m in [
        Machine("aarch64", "aarch64-linux-gnu", "qemu-aarch64", "arm64"),
        Machine(
            "arm", "arm-linux-gnueabihf", "qemu-arm", "armhf", ("-funwind-tables",),
            tables=False,
            kernel="aarch64",
        ),
        # Its compiler makes no unwind tables by itself, and was used so for the C library.
        Machine(
            "riscv64", "riscv64-linux-gnu", "qemu-riscv64", "riscv64",
            ("-fasynchronous-unwind-tables",),
            tables=False,
        ),
        Machine("s390x", "s390x-linux-gnu", "qemu-s390x", "s390x"),
        # which _start jumps to
        Machine(
            "powerpc", "powerpc-linux-gnu", "qemu-ppc", "powerpc",
            outermost="__libc_start_main",
            handlers=False,
        ),
        Machine("i386", "i686-linux-gnu", "qemu-i386", "i386", kernel="x86_64", injected=True),
    ]
}
# That of the other word size, whose programs this machine runs; None: there is none.
NARROW = next((m for m in MACHINES.values() if not m.qemu), None)
# Those that Debian has musl for.
WITH_MUSL = {
    f"{name}-musl": MACHINES[name].with_musl() for name in ("aarch64", "arm", "s390x", "i386")
}
# make check-agents: the programs of all tests are those of this machine.  None: of the one that we
# run on.
MACHINE = {**MACHINES, **WITH_MUSL}.get(os.environ.get("SEEP_TEST_MACHINE"))


class Compiler:
    """Builds programs once per session; a variant is named by its flags."""

    def __init__(self, folder, machine=MACHINE):
        self.folder, self.machine = Path(folder), machine
        self.folder.mkdir(parents=True, exist_ok=True)

    def build(self, source, *, cc=None, flags=PLAIN, more=(), libs=(), name=None):
        sources = [PROGRAMS / s for s in (source, *more)]
        cc = cc or ("g++" if source.endswith(".cpp") else "gcc")
        cc = self.machine.compiler(cc) if self.machine else cc
        flags = (*flags, *(self.machine.flags if self.machine else ()))
        standard = "-std=c++17" if source.endswith(".cpp") else "-std=gnu11"
        command = [
            cc, standard, "-Wall", "-Wextra", f"-I{ROOT / 'include'}", *flags,
            *map(str, sources),
            "-pthread",
            *libs,
        ]
        heads = (
            *PROGRAMS.glob("*.h"),
            ROOT / "include" / "seep.h",
            ROOT / "src" / "ledger" / "ledger.h",
        )
        age = "".join(str(p.stat().st_mtime_ns) for p in sorted((*sources, *heads)))
        digest = hashlib.sha256((" ".join(command) + age).encode()).hexdigest()[:8]
        folder = self.folder / f"{Path(source).stem}-{digest}"
        out = folder / (name or Path(source).stem)
        with alone(folder):
            if not out.exists():
                folder.mkdir(exist_ok=True)
                half = folder / "half-done"
                made = subprocess.run(
                    [*command, "-o", str(half)], capture_output=True, text=True, timeout=DEADLINE
                )
                assert made.returncode == 0, f"{' '.join(command)}\n{made.stderr}"
                half.rename(out)
        return out

    def library(self, source, *, cc="gcc", flags=PLAIN, name):
        return self.build(source, cc=cc, flags=(*flags, "-shared", "-fPIC"), name=name)


def parse_counts(words):
    return {k: int(v) for k, v in (w.split("=", 1) for w in words)}


class Truth:
    """The lines of descriptor 3."""

    def __init__(self, text):
        self.text = text
        self.total, self.sites, self.kinds, self.facts = None, {}, {}, {}
        self.stacks, self.mismatches, self.children = [], [], []
        self.moments, self.since, self.held, self._now = {}, {}, [], {}
        self.leaks, self.graph, self.mapped = {}, [], []
        self.paths, self.types, self.within = {}, {}, {}
        for line in text.splitlines():
            word, *rest = line.split()
            getattr(self, "_" + word)(rest)

    def _total(self, rest):
        self.total = parse_counts(rest)

    def _site(self, rest):
        self.sites[rest[0]] = self._now[rest[0]] = parse_counts(rest[1:])

    def _moment(self, rest):
        self._now = self.moments.setdefault(rest[0], {})

    def _since(self, rest):
        """Made after one tag and alive at another: by site."""
        self.since.setdefault((rest[0], rest[1]), {})[rest[2]] = parse_counts(rest[3:])

    def _held(self, rest):
        """A resource: type, function that acquired it, handle, amount."""
        self.held.append((rest[0], rest[1], int(rest[2]), int(rest[3])))

    def _leak(self, rest):
        """What will become of blocks: class, function that made them, bytes, blocks."""
        self.leaks.setdefault(rest[1], {})[rest[0]] = (int(rest[2]), int(rest[3]))

    def _path(self, rest):
        """What holds a block: name, kind of root, its variable, its line, its function, then
        address/member for each step."""
        name, kind, variable, line, function, *steps = rest
        none = {"-": None}
        self.paths[name] = {
            "kind": none.get(kind, kind),
            "variable": none.get(variable, variable),
            "line": int(line),
            "function": none.get(function, function),
            "steps": [(int(a, 16), none.get(m, m)) for a, m in (s.split("/", 1) for s in steps)],
        }

    def _type(self, rest):
        """Of the block that a path leads to."""
        self.types[rest[0]] = rest[1]

    def _within(self, rest):
        """Size of the blocks of a function, its name with what it stands in."""
        self.within[int(rest[0])] = " ".join(rest[1:])

    def _graph(self, rest):
        self.graph.append(rest)

    def _kind(self, rest):
        self.kinds[rest[0]] = rest[1]

    def _fact(self, rest):
        self.facts.update(parse_counts(rest))

    def _stack(self, rest):
        self.stacks.append((int(rest[0]), rest[1:]))

    def _mapped(self, rest):
        self.mapped.append((int(rest[0]), int(rest[1])))

    def _caller(self, rest):
        self.facts["caller " + rest[0]] = int(rest[1])

    def _mismatch(self, rest):
        self.mismatches.append((rest[0], rest[1], int(rest[2])))

    def _child(self, rest):
        self.children.append(parse_counts(rest))


class Run:
    def __init__(self, status, stdout, stderr, truth):
        self.status, self.stdout, self.stderr, self.truth = status, stdout, stderr, truth


def shell_status(returncode):
    return 128 - returncode if returncode < 0 else returncode


def run(argv, *, env=None, cwd=None, timeout=DEADLINE, stdin=None, folder=None):
    """Run with descriptor 3 open on a file; returns everything it said.  `stdin` is bytes or
    None for /dev/null."""
    folder = Path(folder or cwd)
    told = folder / f"truth-{time.monotonic_ns()}"
    command = ["/bin/sh", "-c", 'exec "$@" 3>"$TRUTH_FILE"', "sh", *map(str, argv)]
    process = subprocess.Popen(
        command,
        env={**clean_environment(env), "TRUTH_FILE": str(told)},
        cwd=cwd,
        start_new_session=True,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        out, err = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the program too, not only the tool that runs it
        process.wait()
        raise
    return Run(shell_status(process.returncode), out, err, Truth(told.read_text()))


def ask(*words, status=0, text=True, **how):
    """A command of the tool, to its end, with this exit status (None: any)."""
    done = subprocess.run(
        [SEEP, *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=text,
        env=clean_environment(),
        timeout=DEADLINE,
        **how,
    )
    assert status is None or done.returncode == status, (words, done)
    return done


def rust(folder, text, *options):
    """The program of TEXT, built in FOLDER with debug information; needs rustc."""
    (folder / "r.rs").write_text(text)
    known = {k: v for k, v in os.environ.items() if k in ("RUSTUP_HOME", "CARGO_HOME")}
    made = subprocess.run(
        ["rustc", "-g", *options, "r.rs"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env=clean_environment({"HOME": os.environ.get("HOME", "/"), **known}),
    )
    assert made.returncode == 0, made.stderr
    return folder / "r"


def plain_name(function):
    """`name(args)` and `name<T>` to name; null to ?."""
    if function is None:
        return "?"
    name = re.sub(r"\(anonymous namespace\)::", "", function)
    return re.split(r"[(<]", name, maxsplit=1)[0] or name


class Profile:
    """`seep report --json` of one file."""

    def __init__(self, path):
        self.path = Path(path)
        done = subprocess.run(
            [SEEP, "report", "--json", str(path)],
            capture_output=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert done.returncode == 0, f"report --json failed: {done.stderr.decode()}"
        self.json = json.loads(done.stdout)
        self.totals = self.json["totals"]
        self.errors = self.json["errors"]

    def frame(self, index):
        return self.json["frames"][index]

    def names(self, stack):
        return [plain_name(self.frame(i)["function"]) for i in stack]

    def heap_sites(self):
        return [s for s in self.json["sites"] if s["kind"] not in ("mmap", "mremap")]

    def sum(self, sites):
        sites = list(sites)
        return {key: sum(s[key] for s in sites) for key in HEAP_COUNTS}

    def innermost(self, site):
        return plain_name(self.frame(site["stack"][0])["function"]) if site["stack"] else "?"

    def by_function(self):
        groups = {}
        for site in self.heap_sites():
            groups.setdefault(self.innermost(site), []).append(site)
        return {name: self.sum(sites) for name, sites in groups.items()}

    def kinds_of(self, function):
        return {s["kind"] for s in self.heap_sites() if self.innermost(s) == function}

    def own(self, *modules):
        """Sum over the allocations made directly by the given programs or libraries."""
        wanted = {str(Path(m).resolve()) for m in modules}
        return self.sum(
            s
            for s in self.heap_sites()
            if s["stack"]
            and str(Path(self.frame(s["stack"][0])["module"] or "?").resolve()) in wanted
        )

    def below(self, function):
        """Sum over the allocations with the function anywhere in the stack."""
        return self.sum(s for s in self.heap_sites() if function in self.names(s["stack"]))


class Recording(Run):
    def __init__(self, done, folder):
        super().__init__(done.status, done.stdout, done.stderr, done.truth)
        self.folder = Path(folder)
        self._main = None

    def files(self):
        """That of the process itself first."""
        return sorted(self.folder.glob("*.seep")) + sorted(self.folder.glob("*.seep.d/*.seep"))

    @property
    def profile(self):
        if self._main is None:
            self._main = Profile(self.folder / "out.seep")
        return self._main

    def profiles(self):
        return [Profile(f) for f in self.files()]


class Recorder:
    """Runs programs under the tool, each recording in a folder of its own."""

    def __init__(self, folder, machine=MACHINE):
        self.base, self.count, self.machine = Path(folder), 0, machine

    def folder(self):
        self.count += 1
        made = self.base / f"run{self.count}"
        made.mkdir()
        return made

    def bare(self, *argv, **how):
        argv = self.machine.runner(argv) if self.machine else argv
        return run(argv, folder=self.folder(), **how)

    def record(self, *argv, options=(), small=("--keep-small",), **how):
        """SMALL: recordings of small children are kept, unless a test wants to see that they are
        not."""
        folder = self.folder()
        done = run(
            [SEEP, "record", "-o", folder / "out.seep", *small, *options, "--", *argv],
            folder=folder,
            **how,
        )
        return Recording(done, folder)


def check_sites(truth, profile, *, peak=True, temporary=True):
    """Every function that told its numbers has exactly these in the report."""
    seen = profile.by_function()
    wanted, found = {}, {}
    for name, counts in truth.sites.items():
        for key, field in TRUTH_NAMES.items():
            if (key == "peak" and not peak) or (key == "temporary" and not temporary):
                continue
            wanted[name, field] = counts[key]
            found[name, field] = seen.get(name, {}).get(field)
    different = {k: (found[k], wanted[k]) for k in wanted if wanted[k] != found[k]}
    assert not different, f"(found, wanted) by function: {different}"


def check_total(truth, counts, *, peak=True, temporary=True):
    wanted = {field: truth.total[key] for key, field in TRUTH_NAMES.items()
              if (peak or key != "peak") and (temporary or key != "temporary")}
    found = {field: counts[field] for field in wanted}
    assert found == wanted


def check_clean(profile):
    """Nothing went wrong, neither in the program nor in the tool.  That children were left alone
    is told, and no fault."""
    totals = profile.totals
    assert profile.errors == []
    assert (totals["unknown_frees"], totals["double_frees"], totals["mismatched"]) == (0, 0, 0)
    assert totals["lost_events"] == 0
    assert profile.json["complete"] is True
    assert profile.json["warnings"] == [w for w in profile.json["unseen"] if " forked child" in w]


def stack_matches(names, wanted):
    """`*` stands for any number of frames.  The stack must begin so; what follows main is the
    libc's."""
    if not wanted:
        return True
    if wanted[0] == "*":
        return any(stack_matches(names[i:], wanted[1:]) for i in range(len(names) + 1))
    if wanted == ["!"]:
        return not names
    return bool(names) and names[0] == wanted[0] and stack_matches(names[1:], wanted[1:])


_reserved = []  # sockets that keep a port from everybody else


def free_port():
    """A port at which nobody listens and which nobody else gets: it stays bound.  A server that
    is to use it sets SO_REUSEPORT."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("127.0.0.1", 0))
    _reserved.append(s)
    return s.getsockname()[1]


def wait_until(condition, what, deadline=DEADLINE, process=None):
    """Poll a condition; the short pause only spares the processor."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        assert (
            process is None or process.poll() is None
        ), f"{what}: the process ended with {process.returncode}"
        assert time.monotonic() < end, f"{what}: not within {deadline} s"
        time.sleep(0.01)


def end_process(process, sig=signal.SIGTERM, deadline=DEADLINE):
    """End one process that the test itself started, by its id."""
    if process.poll() is None:
        process.send_signal(sig)
    try:
        return process.wait(deadline)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
