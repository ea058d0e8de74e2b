"""Wheels for this system and another are built and opened; `make wheels` does the same for all."""

import os
import platform
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest
from tools.build_wheels import build
from tools.check_wheel import faults, machine
from tools.compile_kernels import SOURCES, TARGETS, chosen_target, compiler

NATIVE, FOREIGN = "linux-x86_64", "linux-aarch64"
DRIVER = Path(__file__).with_name("driver.c")
CROSS_LIBRARIES = Path("/usr/aarch64-linux-gnu")  # Debian's libc6-arm64-cross

pytestmark = pytest.mark.slow


def lacking(reason):
    """Skip a test; where everything is expected to be present, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Build both wheels, in a checkout that earlier builds have left untidy."""
    missing = [name for name in ("auditwheel", "hatchling", "ziglang") if not find_spec(name)]
    if missing:
        lacking(f"{' and '.join(missing)} not installed: `make wheels` installs what it needs")
    folder = tmp_path_factory.mktemp("wheels")
    left_behind = SOURCES / "_native-old.lib"  # no other test looks for this name
    left_behind.write_bytes(b"left by an earlier build")
    try:
        return {name: build(name, folder) for name in (NATIVE, FOREIGN)}
    finally:
        left_behind.unlink()


def run_driver(wheel, name, folder, start=()):
    """Return what the driver prints, with the library of a wheel."""
    folder.mkdir()
    library = TARGETS[name].library
    with ZipFile(wheel) as opened:
        (folder / library).write_bytes(opened.read(f"oddarm/kernels/{library}"))
    sources = ["-I", str(SOURCES), str(DRIVER), str(folder / library)]
    program = ["-Wl,-rpath,$ORIGIN", "-o", str(folder / "driver")]
    subprocess.run([*compiler(TARGETS[name]), *sources, *program], check=True)
    command = [*start, str(folder / "driver")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_what_is_in_a_wheel(wheels):
    """A wheel has its target's tag and library, every file of the package, and nothing else."""
    for name, wheel in wheels.items():
        assert faults(wheel, TARGETS[name]) == []


def test_faults_are_seen(wheels, tmp_path):
    """A wheel with another system's library, a leftover and a missing module has three faults."""
    spoiled = tmp_path / wheels[NATIVE].name
    with (
        ZipFile(wheels[NATIVE]) as good,
        ZipFile(wheels[FOREIGN]) as foreign,
        ZipFile(spoiled, "w") as bad,
    ):
        for file in good.namelist():
            if not file.endswith("service/static/index.html"):
                source = foreign if file.endswith("_native.so") else good
                bad.writestr(file, source.read(file))
        bad.writestr("oddarm/kernels/_native.lib", b"")
    found = faults(spoiled, TARGETS[NATIVE])
    assert found[:3] == [
        "oddarm/service/static/index.html is missing",
        "oddarm/kernels/_native.lib does not belong",
        "the library is for linux aarch64, must be for linux x86_64",
    ]
    (by_name,) = [fault for fault in faults(spoiled, TARGETS["macos-arm64"]) if "name" in fault]
    assert by_name.endswith("must be for macosx_11_0_arm64")


def test_headers_of_libraries():
    """The machine of a library is read from its first bytes, for each of the three formats."""
    pe = b"MZ" + bytes(58) + (64).to_bytes(4, "little") + b"PE\0\0" + b"\x64\x86"
    mach = b"\xcf\xfa\xed\xfe" + bytes.fromhex("0c000001")
    elf = b"\x7fELF\x02" + bytes(13) + b"\x3e\x00"
    assert [machine(head) for head in (pe, mach, elf)] == [
        "win amd64",
        "macosx arm64",
        "linux x86_64",
    ]


def test_a_target_that_is_not_known(monkeypatch):
    """The name of a target that does not exist is refused, with the names that do."""
    monkeypatch.setenv("ODDARM_TARGET", "linux-arm")
    with pytest.raises(SystemExit, match="linux-arm: must be one of linux-x86_64, linux-aarch64"):
        chosen_target()


def test_the_wheel_for_aarch64_computes_the_same(wheels, tmp_path):
    """Its library, under qemu, gives the numbers of the one for x86-64 to the last bit."""
    qemu = shutil.which("qemu-aarch64")
    if not qemu or not CROSS_LIBRARIES.exists():
        pytest.skip("needs Debian's qemu-user and libc6-arm64-cross")
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip("compares with the wheel for Linux on x86-64, which does not run here")
    emulated = [qemu, "-L", str(CROSS_LIBRARIES)]
    foreign = run_driver(wheels[FOREIGN], FOREIGN, tmp_path / "foreign", emulated)
    assert foreign == run_driver(wheels[NATIVE], NATIVE, tmp_path / "native")
    assert foreign.startswith("40780 rewards\n")
