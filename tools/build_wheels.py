"""Build the wheels of all targets into dist/, or of those named, and check each.

Needs hatchling, ziglang and auditwheel: `make wheels` installs them. The first build for Windows
takes minutes, because zig compiles that system's C library once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from check_wheel import faults
from compile_kernels import TARGETS

ROOT = Path(__file__).parent.parent


def build(name: str, folder: Path) -> Path:
    """Build the wheel of a target, in place of older ones of it, and return its path."""
    platform = TARGETS[name].platform
    for old in folder.glob(f"oddarm-*-{platform}.whl"):
        old.unlink()
    ran = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.absolute())],
        cwd=ROOT,
        env=os.environ | {"ODDARM_TARGET": name},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise SystemExit(f"{name}: {ran.stdout}{ran.stderr}")
    (wheel,) = folder.glob(f"oddarm-*-{platform}.whl")
    return wheel


def main(names: list[str]) -> None:
    """Build, check and say what was made; exit with 1 if a wheel has a fault."""
    wrong = False
    for name in names or TARGETS:
        wheel = build(name, ROOT / "dist")
        found = faults(wheel, TARGETS[name])
        wrong |= bool(found)
        print(f"{wheel.relative_to(ROOT)}  {wheel.stat().st_size // 1024} KiB", flush=True)
        for fault in found:
            print(f"  {fault}", flush=True)
    if "macos-arm64" in (names or TARGETS):
        print("The wheels for macOS are built and checked, not run.")
    raise SystemExit(int(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
