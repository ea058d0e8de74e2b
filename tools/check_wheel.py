"""Check what is in a wheel: its tag, its library, every file of the package and nothing else.

`python tools/check_wheel.py dist/*.whl` prints what is wrong; `make wheels` and the tests call
`faults`.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

sys.path.insert(0, str(Path(__file__).parent))
from compile_kernels import TARGETS, Target

PACKAGE = Path(__file__).parent.parent / "src" / "oddarm"
LEFT_OUT = (".c", ".h", ".pyc")
ELF_MACHINES = {0x3E: "x86_64", 0xB7: "aarch64"}
MACH_MACHINES = {0x0100_0007: "x86_64", 0x0100_000C: "arm64"}
PE_MACHINES = {0x8664: "amd64"}


def machine(library: bytes) -> str:
    """Return the system and the processor that a library is for, as its header says.

    >>> machine(b"MZ")
    'unknown'
    """
    if library[:5] == b"\x7fELF\x02":
        (kind,) = struct.unpack_from("<H", library, 18)
        return f"linux {ELF_MACHINES.get(kind, hex(kind))}"
    if library[:4] == b"\xcf\xfa\xed\xfe":
        (kind,) = struct.unpack_from("<I", library, 4)
        return f"macosx {MACH_MACHINES.get(kind, hex(kind))}"
    if library[:2] == b"MZ" and len(library) > 64:
        (header,) = struct.unpack_from("<I", library, 60)
        (kind,) = struct.unpack_from("<H", library, header + 4)
        return f"win {PE_MACHINES.get(kind, hex(kind))}"
    return "unknown"


def expected_machine(target: Target) -> str:
    """Return the same of the library that a target's wheel must have."""
    system = next(name for name in ("linux", "macosx", "win") if name in target.platform)
    processors = {*ELF_MACHINES.values(), *MACH_MACHINES.values(), *PE_MACHINES.values()}
    return f"{system} {next(name for name in processors if target.platform.endswith(name))}"


def package_files() -> set[str]:
    """Return the files of the package in the checkout that every wheel has."""
    files = (file for file in PACKAGE.rglob("*") if file.is_file())
    return {
        file.relative_to(PACKAGE.parent).as_posix()
        for file in files
        if file.suffix not in LEFT_OUT and not file.name.startswith("_native")
    }


def _metadata_faults(wheel: ZipFile, folder: str, target: Target) -> list[str]:
    said = Parser().parsestr(wheel.read(f"{folder}/WHEEL").decode())
    tags = {f"py3-none-{platform}" for platform in target.platform.split(".")}
    found = []
    if set(said.get_all("Tag", [])) != tags:
        found.append(f"tags {said.get_all('Tag')}, must be {sorted(tags)}")
    if said["Root-Is-Purelib"] != "false":
        found.append("Root-Is-Purelib must be false: the wheel has a library")
    return found


def _library_faults(library: bytes, target: Target) -> list[str]:
    if machine(library) == expected_machine(target):
        return []
    return [f"the library is for {machine(library)}, must be for {expected_machine(target)}"]


def _auditwheel_faults(path: Path, target: Target) -> list[str]:
    """Return whether the library of a wheel for Linux needs a newer system than its tag says."""
    newest = target.platform.split(".")[0]
    command = [sys.executable, "-m", "auditwheel", "show", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    said = " ".join(ran.stdout.split())
    if f'following platform tag: "{newest}"' in said:
        return []
    return [f"auditwheel does not accept {newest}: {said or ran.stderr}"]


def faults(path: Path, target: Target) -> list[str]:
    """Return what is wrong with a wheel, a sentence for each fault."""
    found = []
    name, version, tag = path.name.split("-", 2)
    if tag != f"py3-none-{target.platform}.whl":
        found.append(f"the name of the wheel ends in {tag}, must be for {target.platform}")
    folder, library = f"{name}-{version}.dist-info", f"oddarm/kernels/{target.library}"
    records = {f"{folder}/{file}" for file in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    expected = package_files() | records | {library, f"{folder}/licenses/LICENSE"}
    with ZipFile(path) as wheel:
        files = set(wheel.namelist())
        found += [f"{file} is missing" for file in sorted(expected - files)]
        found += [f"{file} does not belong" for file in sorted(files - expected)]
        if f"{folder}/WHEEL" in files:
            found += _metadata_faults(wheel, folder, target)
        if library in files:
            found += _library_faults(wheel.read(library), target)
    return found + (_auditwheel_faults(path, target) if "manylinux" in target.platform else [])


def main(paths: list[str]) -> None:
    """Check wheels; exit with 1 if one has a fault."""
    by_platform = {target.platform: target for target in TARGETS.values()}
    wrong = False
    for path in map(Path, paths):
        target = by_platform.get(path.stem.split("-")[-1])
        found = faults(path, target) if target else ["none of the targets has this platform"]
        wrong |= bool(found)
        print("\n".join(f"{path.name}: {fault}" for fault in found) or f"{path.name}: good")
    raise SystemExit(int(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
