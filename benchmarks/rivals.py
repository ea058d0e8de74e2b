"""Other packages, which only the benchmarks use and install, in an environment of their own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["rival"]

HOME = Path("out/rivals")
PINS = ("river==0.26.1", "mabwiser==2.7.4", "networkx==3.6.1")


def rival(name: str, *arguments: int) -> float:
    """Return the seconds per pull that a script of `benchmarks/rival_scripts` prints."""
    python = HOME / "bin" / "python"
    stamp = HOME / "installed"
    if not stamp.exists() or stamp.read_text() != " ".join(PINS):
        venv.create(HOME, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", *PINS], check=True)
        stamp.write_text(" ".join(PINS))
    script = Path(__file__).parent / "rival_scripts" / f"{name}.py"
    command = [str(python), str(script), *map(str, arguments)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    print(rival(sys.argv[1], *map(int, sys.argv[2:])))
