# SPDX-License-Identifier: MIT
"""The Debian package: made from the tree, without faults, installed, run and removed; the RPM
spec names what is installed."""
import fnmatch
import shutil
import subprocess

import pytest

from harness import BUILD, MACHINES, ROOT, Compiler, Profile, clean_environment

BUILD_DEADLINE = 1500
DEADLINE = 120


def tool(name):
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    return name


def done(*argv, timeout=DEADLINE, **how):
    return subprocess.run(
        [str(a) for a in argv],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        **how,
    )


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    tool("dpkg-buildpackage"), tool("dh")
    out = tmp_path_factory.mktemp("deb")
    made = done(
        ROOT / "packaging" / "deb", out, timeout=BUILD_DEADLINE, env=clean_environment(), cwd=ROOT
    )
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
    (deb,) = [p for p in out.glob("seep_*.deb")]
    return deb


def test_the_package_has_no_faults(package):
    found = done(tool("lintian"), "--allow-root", "--fail-on", "error,warning", package)
    assert found.returncode == 0, found.stdout


def test_files_are_where_a_distribution_wants_them(package):
    names = {line.split(None, 5)[5] for line in done("dpkg-deb", "-c", package).stdout.splitlines()}
    assert names >= {
        "./usr/bin/seep", "./usr/bin/seep-target", "./usr/lib/seep/libseep.so",
        "./usr/lib/seep/i386/libseep.so", "./usr/lib/seep/i386/libseep-inject.so",
        "./usr/include/seep.h", "./usr/share/man/man1/seep.1.gz",
        "./usr/share/man/man1/seep-html.1.gz", "./usr/share/man/man3/seep.h.3.gz",
        "./usr/share/doc/seep/copyright", "./usr/share/bash-completion/completions/seep",
        "./usr/share/zsh/site-functions/_seep", "./usr/share/fish/vendor_completions.d/seep.fish",
    }
    assert not [n for n in names if not n.startswith("./usr") and n != "./"]


def test_what_it_needs_is_told(package):
    needs = done("dpkg-deb", "-f", package, "Depends").stdout
    assert all(
        library in needs
        for library in ("libc6", "libdw1", "libsqlite3-0", "libncursesw6", "libzstd1")
    )


def dpkg(root, *argv):
    return done(
        "dpkg", f"--root={root}", "--force-depends", "--force-not-root",
        "--force-script-chrootless", "--log=/dev/null", *argv,
    )


def test_it_installs_runs_and_leaves_nothing_behind(package, tmp_path):
    root, work = tmp_path / "root", tmp_path / "work"
    work.mkdir()
    for folder in ("info", "updates", "triggers"):
        (root / "var/lib/dpkg" / folder).mkdir(parents=True)
    for file in ("status", "available"):
        (root / "var/lib/dpkg" / file).touch()
    installed = dpkg(root, "-i", package)
    assert installed.returncode == 0, installed.stderr
    ran = done(
        root / "usr/bin/seep",
        "-q", "-o", "a.seep", "--", "/bin/echo", "hi",
        cwd=work,
        env=clean_environment(),
    )
    assert (ran.returncode, ran.stdout) == (0, "hi\n"), ran.stderr
    page = done(root / "usr/bin/seep", "html", "-q", "a.seep", cwd=work, env=clean_environment())
    assert page.returncode == 0 and (work / "a.html").stat().st_size > 50000, page.stderr
    narrow = Compiler(tmp_path / "i386", MACHINES["i386"]).build("steps.c")
    ran = done(
        root / "usr/bin/seep",
        "-q", "-o", "b.seep", "--", narrow, "+red:5:100",
        cwd=work,
        env=clean_environment(),
    )
    assert ran.returncode == 0, ran.stderr
    counts = Profile(work / "b.seep").by_function()["red"]
    assert (counts["live_blocks"], counts["live_bytes"]) == (5, 500)
    removed = dpkg(root, "-r", "seep")
    assert removed.returncode == 0, removed.stderr
    assert not [p for p in (root / "usr").rglob("*seep*")]


def test_the_rpm_spec_names_every_file_that_is_installed(tmp_path):
    spec = ROOT / "packaging" / "seep.spec"
    parsed = done(tool("rpmspec"), "-P", spec)
    assert parsed.returncode == 0, parsed.stderr
    told = done("rpmspec", "-q", "--qf", "%{version}", "--srpm", spec).stdout
    assert told == done(BUILD / "src" / "seep", "--version").stdout.split()[1]
    patterns = parsed.stdout.split("\n%files\n")[1].split()
    wanted = [p for p in patterns if p.startswith("/")]
    put = done("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", tmp_path)
    assert put.returncode == 0, put.stderr
    prefix = next(tmp_path.rglob("bin/seep")).parent.parent
    files = ["/usr/" + str(p.relative_to(prefix)) for p in prefix.rglob("*") if p.is_file()]
    assert not [
        f for f in files if not any(fnmatch.fnmatch(f, p) or f.startswith(p + "/") for p in wanted)
    ]
    assert not [
        p for p in wanted if not any(fnmatch.fnmatch(f, p) or f.startswith(p + "/") for f in files)
    ]
