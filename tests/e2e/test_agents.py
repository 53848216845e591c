# SPDX-License-Identifier: MIT
"""Programs of other processors, run by qemu with the agent that is made for them: their
recordings are as exact as those of this machine, and read here.  `make check-agents` runs more
of the other tests with such programs."""
import contextlib
import csv
import errno
import json
import re
import shutil
import sqlite3
import subprocess

import pytest

from exporter import Exporter
from harness import (
    BUILD, DEADLINE, HEAP_COUNTS, MACHINE, MACHINES, PLAIN, ROOT, SEEP, Compiler, Profile,
    Recorder, Recording, check_clean, check_sites, check_total, clean_environment, run, wait_until,
)
from leaks import BUILDS, build_for, check
from pages import page_of
from plain import child_of, seep, start_recorded
from test_api import PAIRS, check_between, held, truly_held
from attached import SLOTS, Attachment, check_batch, check_no_fault, target
from test_control import control, live_of
from event_logs import Replay
from test_idle import check_limit
from test_sandbox import numbers

# In make check some tests are for one of those that qemu runs only; make check-agents runs each
# with all.
NAMES = [MACHINE.name] if MACHINE else list(MACHINES)
once = pytest.mark.parametrize(
    "machine",
    [name for name in NAMES if name == NAMES[0] or not MACHINES[name].qemu],
    indirect=True,
    scope="module",
)
each_order = pytest.mark.parametrize(
    "machine", NAMES if MACHINE else ["aarch64", "s390x"], indirect=True, scope="module"
)
# Whose programs this machine's kernel runs.
native = pytest.mark.parametrize(
    "machine", [name for name in NAMES if not MACHINES[name].qemu], indirect=True, scope="module"
)
# ... and whose seep can write the agent into those that run, or not.
injected = pytest.mark.parametrize(
    "machine",
    [name for name in NAMES if not MACHINES[name].qemu and MACHINES[name].injected],
    indirect=True,
    scope="module",
)
from_the_start = pytest.mark.parametrize(
    "machine",
    [name for name in NAMES if not MACHINES[name].qemu and not MACHINES[name].injected],
    indirect=True,
    scope="module",
)
# Whose programs qemu runs here.
emulated = pytest.mark.parametrize(
    "machine",
    [name for name in (NAMES if MACHINE else ["aarch64", "s390x"]) if MACHINES[name].qemu],
    indirect=True,
    scope="module",
)
# Words of 8 and of 4 bytes.
each_word = pytest.mark.parametrize(
    "machine", NAMES if MACHINE else ["aarch64", "s390x", "i386"], indirect=True, scope="module"
)


@pytest.fixture(scope="module", params=NAMES)
def machine(request):
    found = MACHINES[request.param]
    missing = [
        tool for tool in (found.gcc, found.gxx, found.qemu) if tool and not shutil.which(tool)
    ]
    if missing:
        pytest.skip(f"{' '.join(missing)} not installed (packaging/install-deps test)")
    if (ROOT / "packaging").exists():  # else (tests/arm64) it has been made elsewhere
        made = subprocess.run(
            [ROOT / "packaging" / "agents", BUILD, found.name],
            capture_output=True,
            text=True,
            timeout=3 * DEADLINE,
        )
        assert made.returncode == 0, made.stderr
    return found


@pytest.fixture(scope="module")
def compiler(machine, tmp_path_factory):
    return Compiler(tmp_path_factory.mktemp(machine.name), machine)


@pytest.fixture
def recorder(machine, tmp_path):
    return Recorder(tmp_path, machine)


@pytest.fixture(scope="module")
def plugs(compiler):
    return [
        compiler.library("plug.c", flags=(*PLAIN, f"-DPLUG={x}"), name=f"libplug_{x}.so")
        for x in "ab"
    ]


@pytest.mark.parametrize("source", ["entry_points.c", "operators.cpp"])
def test_every_function_is_counted_with_its_kind_for_its_caller(compiler, recorder, source):
    program = compiler.build(source)
    bare, seen = recorder.bare(program), recorder.record(program)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    check_sites(seen.truth, seen.profile)
    check_total(seen.truth, seen.profile.own(program))
    assert seen.truth.kinds
    assert {f: seen.profile.kinds_of(f) for f in seen.truth.kinds} == {
        f: {k} for f, k in seen.truth.kinds.items()
    }
    check_clean(seen.profile)


def test_every_stack_equals_that_of_backtrace(compiler, recorder, plugs, machine):
    """Threads, exceptions, jumps, signals on both stacks, coroutines, libraries that come and
    go."""
    program = compiler.build(
        "stress.cpp", flags=("-O2", "-g", *([] if machine.handlers else ["-DWITHOUT_SIGNALS"]))
    )
    rounds = 800 if machine.name == NAMES[0] else 200
    seen = recorder.record(program, rounds, 2, *plugs, env={"SEEP_TEST_VERIFY": "1"})
    totals = seen.profile.totals
    assert (seen.stdout, seen.status) == (b"done\n", 0)
    assert (
        totals["verify_differences"],
        totals["verify_backtrace_differences"],
        totals["lost_events"],
    ) == (0, 0, 0)
    assert totals["verify_captures"] > rounds and totals["verify_backtraces"] > rounds // 80
    # Where a signal came between two instructions; and where x86 leaves a stack that makecontext()
    # made.
    made = sum(
        s["allocations"]
        for s in seen.profile.json["sites"]
        if s.get("truncated") and "away_body" in seen.profile.names(s["stack"])
    )
    assert (
        not machine.tables or totals["truncated_stacks"] - made <= totals["verify_captures"] // 200
    )


def test_system_calls_get_all_their_arguments(compiler, recorder):
    """The last of them is in a register that a hook may change, or on the stack."""
    seen = recorder.record(compiler.build("six_arguments.c"))
    assert (seen.status, seen.stdout) == (0, b"same 100, others 100\n"), seen.stderr


def test_what_signal_handlers_do_is_exact(compiler, recorder, machine):
    seen = recorder.record(compiler.build("signals.c"))
    assert seen.status == 0
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    made = [
        s
        for s in seen.profile.json["sites"]
        if s["kind"] == "mmap" and "handler_mapping" in seen.profile.names(s["stack"])
    ]
    assert sum(s["live_bytes"] for s in made) == seen.truth.facts["mapped"]
    if machine.tables:  # else a signal may come where no stack leads out of the C library
        cut = [s for s in made if seen.profile.names(s["stack"])[-1] != machine.outermost]
        assert len(cut) < len(made) / 4 and all(s["truncated"] for s in cut)
        assert not cut or machine.name in ("aarch64", "powerpc", "s390x")  # whose PLT has no tables
    check_clean(seen.profile)


@pytest.mark.parametrize(
    "machine",
    ["powerpc"] if not MACHINE or MACHINE.name == "powerpc" else [],
    indirect=True,
    scope="module",
)
def test_words_of_64_bits_change_in_one_step(compiler, machine):
    """... where the processor has steps of 32 bits only."""
    program = compiler.build(
        "wide_words.c",
        more=[ROOT / "src" / "agent" / "arch" / f"support_{machine.name}.c"],
        flags=("-O2", f"-I{ROOT / 'src'}", "-D_GNU_SOURCE"),
    )
    done = subprocess.run(machine.runner([program]), capture_output=True, timeout=DEADLINE)
    assert (done.stdout, done.returncode) == (b"1 1 1 1 1 1 0\n", 0), done.stderr


@once
@pytest.mark.parametrize("follow", ["exec", "all"])
def test_a_forked_child_is_left_alone_or_has_a_recording_of_its_own(compiler, recorder, follow):
    seen = recorder.record(compiler.build("children.c"), "fork", options=[f"--follow={follow}"])
    check_sites(seen.truth, seen.profile)
    check_clean(seen.profile)
    found = {p.json["pid"] for p in seen.profiles()}
    assert found == {
        seen.profile.json["pid"],
        *({c["pid"] for c in seen.truth.children} if follow == "all" else ()),
    }


@once
@pytest.mark.parametrize("way", ["kill", "segv", "thread_exit"])
def test_however_it_ends_the_recording_is_complete(compiler, recorder, way):
    program = compiler.build("endings.c")
    bare, seen = recorder.bare(program, way), recorder.record(program, way)
    assert seen.status == bare.status
    check_sites(seen.truth, seen.profile)


@native
def test_programs_of_both_word_sizes_start_each_other(compiler, recorder):
    """A shell of this machine becomes a program of the other word size, which starts shells of
    this machine."""
    children = compiler.build("children.c")
    bare, seen = recorder.bare("/bin/sh", "-c", 'exec "$0" system', children), recorder.record(
        "/bin/sh", "-c", 'exec "$0" system', children
    )
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status) and b"ld.so" not in seen.stderr
    check_sites(seen.truth, seen.profile)
    assert seen.profile.json["program"] == str(children)
    assert len(seen.files()) == 5


WIDE_TIMES = ("-D_FILE_OFFSET_BITS=64", "-D_TIME_BITS=64")


@native
@pytest.mark.parametrize(
    "call",
    [
        "ppoll", "select", "pselect", "semtimedop", "sigtimedwait", "nanosleep", "clock_nanosleep",
        "clock_nanosleep_until", "recv_timeout", "select_alarm", "clock_nanosleep_alarm",
    ],
)
def test_a_limit_of_64_bits_is_kept_with_words_of_32(compiler, machine, recorder, call):
    """The C library has these calls by other names."""
    check_limit(
        compiler.build("idle.c", flags=(*PLAIN, *WIDE_TIMES), libs=["-lrt"]),
        recorder, call, BUILD / "src" / "agent" / machine.name / "libseep.so",
    )


@native
def test_descriptors_of_programs_with_times_of_64_bits(compiler, recorder):
    program = compiler.build("fds.c", flags=(*PLAIN, *WIDE_TIMES))
    seen = recorder.record(program, "all", options=["--track-fds"], cwd=recorder.folder())
    assert (seen.stdout, seen.status) == (b"done\n", 0)
    assert held(seen.profile) == truly_held(seen.truth)


@native
def test_the_loaders_table_of_a_thread_is_as_large_as_without_us(compiler, recorder):
    """All that the program allocates are the tables of its threads."""
    program = compiler.build("tables.c")
    teller = compiler.library("calloc_teller.c", name="libcalloc_teller.so")
    bare, seen = recorder.bare(program, env={"LD_PRELOAD": str(teller)}), recorder.record(program)
    totals = seen.profile.totals
    assert (bare.status, seen.status, totals["allocations"]) == (0, 0, 6)
    assert totals["bytes_allocated"] == 6 * bare.truth.facts["calloc"]


def test_the_recording_tells_its_machine_and_its_words(compiler, machine, recorder):
    seen = recorder.record(compiler.build("realloc_forms.c"))
    says = seep("info", seen.folder / "out.seep").stdout.decode()
    assert re.search(rf"^  process .*, {machine.name}$", says, re.M), says


@once
def test_the_heap_of_the_emulator_is_not_the_program_s(machine, compiler, recorder):
    seen = recorder.record(compiler.build("realloc_forms.c"))
    maps = seep("export", "--to", "maps", seen.folder / "out.seep").stdout.decode()
    assert ("[heap of the emulator]" in maps, "[heap]" in maps) == (
        (True, False) if machine.qemu else (False, True)
    ), maps


@pytest.mark.parametrize(
    "machine", [name for name in NAMES if MACHINES[name].qemu][:1], indirect=True, scope="module"
)
def test_who_records_the_emulator_is_told_so(machine, compiler, recorder):
    program, folder = compiler.build("depth8.c"), recorder.folder()
    done = seep(
        "record", "--no-summary", "-o", folder / "q.seep", machine.qemu, "-L", machine.root,
        program, "64",
    )
    assert f"not the program of {machine.name} that it runs: 'seep {program}'" in (
        done.stderr.decode()
    )


def run_alone(machine, folder, argv, env=None):
    """With the library, without the tool."""
    agent = BUILD / "src" / "agent" / machine.name / "libseep.so"
    by_kernel = {} if machine.qemu else {"LD_PRELOAD": str(agent)}
    by_qemu = [machine.qemu, "-L", machine.root, "-E", f"LD_PRELOAD={agent}"]
    done = subprocess.run(
        [*(by_qemu if machine.qemu else ()), *argv],
        cwd=folder,
        timeout=DEADLINE,
        env={**clean_environment(env), **by_kernel},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr


@once
def test_the_library_alone_writes_its_report(compiler, machine, recorder):
    """As a user of qemu would do it, without seep record."""
    folder = recorder.folder()
    run_alone(machine, folder, [compiler.build("depth8.c"), "64"])
    (log,) = wait_until(lambda: list(folder.glob("*.memlog")), "a report")
    assert re.search(r"depth8\.c:\d+", log.read_text())


def test_doctor_knows_the_agent(machine, compiler):
    done = seep("doctor", "--json", compiler.build("realloc_forms.c"))
    checks = {c["check"]: c for c in json.loads(done.stdout)["checks"]}
    assert (
        checks["record"]["good"]
        and (machine.qemu or "this machine runs") in checks["record"]["says"]
    )
    checks = {c["check"]: c for c in json.loads(seep("doctor", "--json").stdout)["checks"]}
    assert machine.name in checks["agents"]["says"]


@injected
@pytest.mark.parametrize(
    "how",
    [(), ("-O1", "-g", "-static"), ("-O1", "-g", "-static-pie")],
    ids=["dynamic", "static", "static-pie"],
)
def test_a_running_program_of_the_other_word_size_is_recorded(compiler, tmp_path, how):
    """With code that is moved away from the beginnings of its functions, and put back."""
    with target(compiler, tmp_path, 4, **({"flags": how} if how else {})) as t:
        t.do("run")
        check_no_fault(Attachment(t.pid, tmp_path, "--no-leak-scan").leave())
        t.do("stop")
        attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
        assert "calls are not seen" not in attachment.said()
        totals = check_batch(t, attachment, 300)
        assert 0 < totals["older"] <= 4 * SLOTS and not totals["truncated_stacks"]
        seen = Profile(tmp_path / "out.seep")
        assert all({"one_round", "work"} & set(seen.names(s["stack"])) for s in seen.heap_sites())
        assert t.end() == 0


@contextlib.contextmanager
def waiting(compiler):
    process = subprocess.Popen(
        [compiler.build("steps.c"), "ready", "wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(),
        env=clean_environment(),
    )
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@injected
def test_a_running_program_of_the_other_word_size_needs_the_agent_for_it(compiler, tmp_path):
    env = clean_environment({"SEEP_AGENT_DIR": str(tmp_path)})
    for name in "libseep.so", "libseep-inject.so":
        (tmp_path / name).symlink_to(BUILD / "src" / "agent" / name)
    with waiting(compiler) as process:
        for env, good in (env, False), (clean_environment(), True):
            done = subprocess.run(
                [SEEP, "doctor", "--json", str(process.pid)],
                env=env,
                capture_output=True,
                text=True,
                timeout=DEADLINE,
            )
            attach = next(c for c in json.loads(done.stdout)["checks"] if c["check"] == "attach")
            assert (
                attach["good"] == good and ("package seep-agent-i386," in attach["says"]) != good
            ), attach
        none = subprocess.run(
            [SEEP, "attach", str(process.pid)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            env=clean_environment({"SEEP_AGENT_DIR": str(tmp_path)}),
        )
        assert none.returncode == 3 and "package seep-agent-i386," in none.stderr


@from_the_start
def test_a_running_program_whose_code_cannot_be_patched_is_refused(compiler, tmp_path):
    """Searched for leaks it is all the same."""
    with waiting(compiler) as process:
        attached = subprocess.run(
            [SEEP, "attach", str(process.pid)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            env=clean_environment(),
        )
        assert attached.returncode == 3 and "record it from its start: seep record" in (
            attached.stderr
        )
        done = seep("doctor", "--json", process.pid)
        checks = {c["check"]: c["good"] for c in json.loads(done.stdout)["checks"]}
        assert checks["leaks"] and not checks["attach"], done.stdout
        assert b"searched in a copy" in seep("leaks", "-v", process.pid).stdout
        assert process.poll() is None


@from_the_start
def test_a_program_that_the_kernel_does_not_run_needs_qemu(compiler, recorder, tmp_path):
    program = compiler.build("steps.c")
    try:
        subprocess.run([program], stdout=subprocess.DEVNULL, timeout=DEADLINE)
        pytest.skip("this machine runs programs of arm")
    except OSError as refused:
        assert refused.errno == errno.ENOEXEC
    env = clean_environment({"PATH": str(tmp_path)})
    none = subprocess.run([SEEP, "record", program], env=env, capture_output=True, text=True)
    assert none.returncode == 3
    assert "this processor or its kernel does not run" in none.stderr
    assert "install the package qemu-user" in none.stderr
    if not shutil.which(MACHINES["arm"].emulator):
        return
    seen = recorder.record(program, "+red:5:100")
    check_sites(seen.truth, seen.profile)
    maps = seep("export", "--to", "maps", seen.folder / "out.seep").stdout.decode()
    assert "[heap of the emulator]" in maps, maps


@native
def test_a_program_of_the_other_word_size_is_searched_in_a_copy(compiler, recorder):
    """It goes on meanwhile."""
    with start_recorded(
        recorder.folder(), compiler.build("steps.c"), "+red:5:100", "ready", "wait"
    ) as program:
        program.said(b"ready\n")
        said = seep("leaks", "-v", child_of(program)).stdout.decode()
        assert "searched in a copy" in said and re.search(
            r"still reachable +[\d.]+ (B|KiB) in \d+ blocks", said
        ), said
        program.say()
        program.finish()


@once
def test_what_is_missing_is_named(machine, compiler, tmp_path):
    program = compiler.build("realloc_forms.c")
    env = clean_environment()
    (tmp_path / "libseep.so").symlink_to(BUILD / "src" / "agent" / "libseep.so")
    none = subprocess.run(
        [SEEP, "record", program],
        env={**env, "SEEP_AGENT_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert none.returncode == 3 and f"package seep-agent-{machine.system}," in none.stderr
    if not machine.qemu:
        return
    none = subprocess.run(
        [SEEP, "record", program],
        env={**env, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert none.returncode == 3 and "package qemu-user" in none.stderr


def test_the_package_that_is_named_has_the_agent(machine, tmp_path, need):
    need("dpkg-deb")
    made = subprocess.run(
        [ROOT / "packaging" / "deb-agents", tmp_path],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert made.returncode == 0, made.stderr
    (package,) = tmp_path.glob(f"seep-agent-{machine.system}_*_all.deb")
    files = subprocess.run(
        ["dpkg-deb", "-c", package], capture_output=True, text=True, check=True
    ).stdout
    for name in "libseep.so", "seep-target", *(() if machine.qemu else ("libseep-inject.so",)):
        assert f"./usr/lib/seep/{machine.name}/{name}" in files


def placed(machine):
    """The heap of i386 lies behind the program, usually at 0x56 to 0x58 or at 0x08 to 0x0a.  So do
    four letters that end with V, W, X or a tab: these would be pointers to lost blocks, now and
    then.  None ends with 0x91.  Code of powerpc has the addresses of its tables and of its small
    data plus 32 KiB in registers and on the stack: in a small program that is in the heap."""
    where = {"i386": ["-Wl,-Ttext-segment=0x91000000"], "powerpc": ["-Wl,--defsym=_SDA_BASE_=0"]}
    return ["-no-pie", "-fno-pie", *where[machine.name]] if machine.name in where else []


SHAPES = [
    "block", "list", "double_list", "cycle", "owned_cycle", "tree", "group", "kept_list",
    "interior", "possible_chain", "both", "lost_points_to_kept", "xored", "freed_owner", "zero",
    "free_list", "dead_stack",
]


def test_leaks_are_those_that_the_program_knows(compiler, recorder, machine):
    """Pointers in its memory have its byte order."""
    check(
        "seep",
        recorder,
        build_for("seep", compiler, "leak_classes.c", BUILDS[0], flags=placed(machine)),
        *SHAPES,
        *(["entry_points"] if machine.tables else []),
    )


@pytest.fixture(scope="module")
def roots_program(compiler, machine):
    linked = compiler.library(
        "leak_lib.c", flags=(*PLAIN, "-DLEAK_INITIAL"), name="libleak_linked.so"
    )
    return build_for(
        "seep", compiler, "leak_roots.c", BUILDS[0],
        flags=placed(machine),
        libs=[str(linked), f"-Wl,-rpath,{linked.parent}", "-ldl"],
    )


@each_word
@pytest.mark.parametrize(
    "cases", [["variables", "keys", "coroutine"], ["stack"], ["altstack"]], ids="-".join
)
def test_variables_and_stacks_hold_blocks(roots_program, recorder, cases):
    check("seep", recorder, roots_program, *cases)


@each_word
def test_what_holds_a_block_is_named(roots_program, recorder, machine):
    seen = recorder.record(roots_program, "variables")
    file = seen.folder / "out.seep"
    for function, variable in (
        ("in_global", "global_pointer"),
        ("in_static", "static_pointer"),
        ("in_data", "data_pointer"),
    ):
        assert variable in seep("why", file, function).stdout.decode()
    seep("html", "-o", seen.folder / "page.html", file)
    assert (
        machine.name in seep("info", file).stdout.decode()
        and (seen.folder / "page.html").stat().st_size
    )


@pytest.fixture(scope="module")
def filtered(tmp_path_factory):
    """A program of this machine that becomes another one, under a filter of system calls."""
    here = Compiler(tmp_path_factory.mktemp("filtered"), None)
    return here.build("sandboxed.c", flags=(*PLAIN, f"-I{ROOT / 'src'}"))


@emulated
def test_under_a_filter_of_what_nobody_calls_it_is_recorded(filtered, compiler, recorder):
    """As in most containers.  What is known of the filter has the byte order of this machine."""
    folder = recorder.folder()
    record = [SEEP, "record", "-q", "-o", folder / "out.seep", "--", compiler.build("steps.c")]
    seen = Recording(
        run([filtered, "exec", "kill", *numbers(["acct"]), *record, "+red:5:100"], folder=folder),
        folder,
    )
    assert seen.status == 0, seen.stderr
    check_sites(seen.truth, seen.profile)


@emulated
@pytest.mark.parametrize("call", ["connect", "sendmsg"])
def test_a_filter_is_the_end_of_no_program_of_another_processor(
    filtered, compiler, machine, recorder, call
):
    """Its numbers are others than those that were tried on this machine, and qemu calls for it:
    it is not recorded then."""
    command = [filtered, "exec", "kill", *numbers([call])]
    words, folder = [compiler.build("steps.c"), "+red:5:100"], recorder.folder()
    emulator, *arguments = machine.runner(words)
    bare = run([*command, shutil.which(emulator), *arguments], folder=folder)
    seen = run(
        [*command, SEEP, "record", "-q", "-o", folder / "out.seep", "--", *words], folder=folder
    )
    assert bare.status == 0 and bare.truth.sites == seen.truth.sites
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status), seen.stderr


def sums(rows):
    """What pairs of a function and bytes add up to."""
    found = {}
    for function, amount in rows:
        found[function] = found.get(function, 0) + int(amount)
    return found


@each_word
def test_every_view_of_it_says_what_the_program_did(compiler, recorder, tmp_path):
    """The page and the exports, read by what knows nothing of its processor."""
    seen = recorder.record(compiler.build("entry_points.c"), options=["--events"])
    view = Exporter(seen.folder / "out.seep", tmp_path)
    page = page_of(view.recording).one
    views = {
        "collapsed": sums(
            (line.rsplit(" ", 1)[0].split(";")[-1], line.rsplit(" ", 1)[1])
            for line in view.text("collapsed", "--cost", "alloc-bytes").splitlines()
        ),
        "csv": sums(
            (row["stack"].split(" [")[0], row["alloc_bytes"])
            for row in csv.DictReader(view.text("csv").splitlines())
        ),
        "sqlite": sums(
            sqlite3.connect(view.file("sqlite")).execute(
                "SELECT frame.function, bytes_allocated FROM site JOIN frame ON frame.id = place"
            )
        ),
        "html": sums(
            (page.site_named(i), row["alloc_bytes"])
            for i, row in enumerate(page.rows("sites"))
        ),
    }
    wanted = {name: counts["bytes"] for name, counts in seen.truth.sites.items()}
    assert wanted and {
        form: {name: found.get(name) for name in wanted} for form, found in views.items()
    } == {form: wanted for form in views}
    listed = view.seep("export", "--to", "list").stdout.decode()
    forms = re.findall(r"^  ([a-z]\S*) .*NAME", listed, re.M)
    assert len(forms) > 10 and all(view.bytes(form) for form in forms)


@each_order
def test_a_replay_of_the_events_gives_what_the_program_did(compiler, recorder):
    seen = recorder.record(compiler.build("entry_points.c"), options=["--events"])
    file = seen.folder / "out.seep"
    lines = csv.DictReader(seep("events", "--csv", file).stdout.decode().splitlines())
    replay, totals = Replay(lines), seen.profile.totals
    assert (
        replay.allocations, replay.frees, replay.bytes_allocated, replay.live_bytes,
        replay.peak_bytes,
    ) == (
        totals["allocations"], totals["frees"], totals["bytes_allocated"], totals["live_bytes"],
        totals["peak_bytes"],
    )
    check_total(seen.truth, seen.profile.own(compiler.build("entry_points.c")))


@each_order
def test_moments_that_the_program_names_are_kept(compiler, recorder):
    """Each snapshot is a question to the tool, which the program waits for."""
    check_between(
        recorder.record(
            compiler.build("steps.c"), *PAIRS["snapshots between"], cwd=recorder.folder()
        )
    )


@each_order
def test_a_running_program_is_switched_off_and_looked_at(compiler, recorder):
    """What the tool writes into the memory of the program is what the program reads there."""
    folder = recorder.folder()
    script = (
        "+red:5:100", "ready", "wait", "+green:4:1000", "-red:2", "ready", "wait", "-green:3",
        "+blue:2:70", "ready", "wait",
    )
    with start_recorded(folder, compiler.build("steps.c"), *script) as program:
        program.said(b"ready\n")
        pid = child_of(program)
        assert not control(pid, "stop")["on"]
        program.say()
        program.said(b"ready\n", 2)
        now = control(pid, "start")
        assert (now["on"], now["live_bytes"], now["live_blocks"], now["lost"]) == (True, 300, 3, 0)
        program.say()
        program.said(b"ready\n", 3)
        look = json.loads(seep("leaks", "--json", "--show=all", pid).stdout)["leaks"]
        assert (
            look["scanned"] and look["reachable"]["bytes"] >= 440 and not look["definite"]["blocks"]
        ), look
        program.say()
        truth = program.finish().truth
    assert live_of(Profile(folder / "out.seep"), truth) == {"red": 300, "blue": 140}


@each_order
def test_a_journal_says_the_same(compiler, machine, recorder):
    """Without the tool beside the program."""
    program, folder = compiler.build("realloc_forms.c"), recorder.folder()
    run_alone(machine, folder, [program], {"SEEP_OPTIONS": "--journal=out.journal"})
    wanted, told = recorder.record(program).profile.totals, Profile(folder / "out.journal").totals
    assert {k: told[k] for k in HEAP_COUNTS if k in told} == {
        k: wanted[k] for k in HEAP_COUNTS if k in told
    }
