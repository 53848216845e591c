# SPDX-License-Identifier: MIT
"""record --track-gpu: memory of graphics processors, which stand-ins for the libraries of CUDA
and HIP hand out."""
import json
import platform
import subprocess

import pytest

from bench import Bench
from harness import DEADLINE, PROGRAMS, SEEP, clean_environment
from attached import Attachment

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the library that records it is built for x86-64"
)

ASKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
        int (*get)(void **, unsigned long) = (int (*)(void **, unsigned long))dlsym(RTLD_DEFAULT,
            "cudaMalloc");
        void *at = 0;
        if (!get) puts("none");
        else puts(get(&at, 100) ? "fails" : "gives");
        return 0;
}
"""


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    bench = Bench(tmp_path_factory.mktemp("gpu"))
    flags = ("-O0", "-g", "-shared", "-fPIC", f"-I{PROGRAMS}")
    bench.compile(*flags, "-DDRIVER", "-Wl,-Bsymbolic", source="gpu_runtime.c", out="libcuda.so.1")
    bench.compile(*flags, source="gpu_runtime.c", out="libcudart.so", libs=("./libcuda.so.1",))
    bench.compile(
        "-O0",
        "-g",
        f"-I{PROGRAMS}",
        source="gpu.c",
        out="gpu",
        libs=("./libcudart.so", "./libcuda.so.1", "-ldl"),
    )
    bench.facts = bench.record("./gpu", "--track-gpu")
    return bench


def ask(gpu, query, file="out.seep"):
    return json.loads(gpu.seep("sql", "-q", "--json", file, query).stdout)


def test_every_function_gives_and_takes_what_the_program_says(gpu):
    sums = {r["type"]: r for r in ask(gpu, "SELECT type, sum(amount_held) AS held, sum(acquired) "
                                           "AS calls FROM resource GROUP BY type")}
    assert {name: row["held"] for name, row in sums.items()} == {
        "gpu": gpu.facts["device"],
        "gpu-host": gpu.facts["host"],
        "gpu-handle": gpu.facts["handles"],
    }
    assert sum(row["calls"] for row in sums.values()) == gpu.facts["calls"]
    heap = gpu.report()["totals"]
    assert (
        heap["allocations"] == heap["frees"] == 29
    ), "what the runtime allocates on the heap is recorded as ever"


def test_they_are_shown_by_host_stack_beside_the_heap(gpu):
    text = gpu.seep("report", "-q", "--resources", "-n", "0", "out.seep").stdout
    stacks = text.split("\n\n")
    assert all("main [" in s for s in stacks if "acquired" in s and s.lstrip()[0].isdigit())
    assert "driver [" in text and "runtimes [" in text and "planes [" in text
    summary = gpu.seep("report", "--summary", "out.seep").stdout
    assert "gpu memory" in summary and "RESOURCES NOT RELEASED: " in summary
    assert "gpu-handle (" in summary


def test_without_the_option_there_is_nothing_of_it(gpu):
    gpu.record("./gpu", "-o", "plain.seep")
    assert ask(gpu, "SELECT * FROM resource", "plain.seep") == []
    (gpu.folder / "asks.c").write_text(ASKS)
    gpu.run("gcc", "asks.c", "-o", "asks", "-ldl")
    assert gpu.seep("record", "-q", "-o", "asks.seep", "--", "./asks").stdout == "none\n"
    assert (
        gpu.seep("record", "-q", "-f", "--track-gpu", "-o", "asks.seep", "--", "./asks").stdout
        == "fails\n"
    )


def test_an_engine_that_cannot_see_it_is_refused(gpu):
    done = gpu.seep("record", "--track-gpu", "--engine=breakpoint", "--", "./gpu", status=2)
    assert "--track-gpu needs our library" in done.stderr


def held(gpu, file):
    """By type, and the number of calls."""
    rows = ask(
        gpu,
        "SELECT type, sum(amount_held) AS held, sum(acquired) AS calls FROM resource GROUP BY type",
        file,
    )
    return {row["type"]: row["held"] for row in rows}, sum(row["calls"] for row in rows)


def check_static(gpu, file):
    facts = dict(line[5:].split("=") for line in (gpu.folder / "truth").read_text().splitlines())
    assert held(gpu, file) == (
        {
            "gpu": int(facts["device"]),
            "gpu-host": int(facts["host"]),
            "gpu-handle": int(facts["handles"]),
        },
        int(facts["calls"]),
    )
    assert "cudaMalloc [" in gpu.seep("report", "-q", "--resources", file).stdout


@pytest.mark.parametrize("way", ["dlsym", "cuGetProcAddress"])
def test_injection_sees_a_runtime_that_is_linked_statically(gpu, way):
    gpu.compile(
        "-O0", "-g", "-Wl,--no-as-needed", f"-I{PROGRAMS}",
        source="gpu_static.c",
        out="linked",
        libs=("./libcuda.so.1", "-ldl"),
    )
    gpu.run(
        "/bin/sh", "-c", 'exec "$@" 3>truth </dev/null', "sh", SEEP, "record", "-q", "-f", "-o",
        "linked.seep", "--track-gpu", "--engine=inject", "--", "./linked", way,
    )
    check_static(gpu, "linked.seep")


@pytest.mark.parametrize("way", ["dlsym", "cuGetProcAddress"])
def test_injection_sees_a_driver_that_is_loaded_later(gpu, way):
    gpu.compile("-O0", "-g", f"-I{PROGRAMS}", source="gpu_static.c", out="static", libs=("-ldl",))
    done = gpu.run(
        "/bin/sh", "-c", 'exec "$@" 3>truth </dev/null', "sh", SEEP, "record", "-v", "-f", "-o",
        "late.seep", "--track-gpu", "--engine=inject", "--", "./static", way, "late",
    )
    check_static(gpu, "late.seep")
    assert "has loaded a library of graphics processors: 12 functions more" in done.stderr


def test_injection_sees_calls_by_name_as_preloading_does(gpu):
    facts = gpu.record("./gpu", "--track-gpu", "--engine=inject", "-o", "named.seep")
    assert held(gpu, "named.seep") == (
        {"gpu": facts["device"], "gpu-host": facts["host"], "gpu-handle": facts["handles"]},
        facts["calls"],
    )


def test_preload_does_not_see_it(gpu):
    gpu.compile("-O0", "-g", f"-I{PROGRAMS}", source="gpu_static.c", out="static", libs=("-ldl",))
    gpu.run(
        "/bin/sh", "-c", 'exec "$@" 3>truth </dev/null', "sh", SEEP, "record", "-q", "-f", "-o",
        "static.seep", "--track-gpu", "--", "./static", "cuGetProcAddress",
    )
    assert held(gpu, "static.seep") == ({}, 0)


@pytest.mark.parametrize("when", [(), ("late",)], ids=["before", "afterwards"])
@pytest.mark.parametrize("way", ["dlsym", "cuGetProcAddress"])
def test_attach_sees_a_driver_that_is_loaded_by_hand(gpu, way, when):
    gpu.compile("-O0", "-g", f"-I{PROGRAMS}", source="gpu_static.c", out="static", libs=("-ldl",))
    with subprocess.Popen(
        ["/bin/sh", "-c", 'exec "$@" 3>truth', "sh", "./static", way, *when],
        cwd=gpu.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    ) as program:
        assert program.stdout.readline() == b"ready\n"
        watched = Attachment(program.pid, gpu.folder, "--track-gpu")
        program.stdin.close()
        assert program.wait(DEADLINE) == 0, watched.said()
        watched.ended()
    check_static(gpu, "out.seep")
