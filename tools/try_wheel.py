"""Try a wheel in a fresh environment of every Python on this machine.

Run as `python tools/try_wheel.py dist/oddarm-….whl [PYTHON …]`: without PYTHON, every python3.x on
the PATH and of pyenv, from 3.11 on. Each gets three environments: the plain wheel, which must say
what else a command needs; [cli]; and [all], which must scan a table and find.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST = (3, 11)
NEWEST_TRIED = 20
FIND = """
import oddarm
rate = {f"host-{i}": 0.05 for i in range(12)} | {"host-7": 0.9}
drawn = iter(range(10**6))
def probe(host):
    return (next(drawn) * 0.6180339887) % 1 < rate[host]
result = oddarm.find(probe, list(rate), min_gap=0.3, max_outliers=1)
assert result.outliers == ["host-7"], result.summary
"""
COMMAND = ["find", "hosts.csv", "--arm", "host", "--reward", "slow", "--plot", "answer.png"]
SCAN = ["scan", "hosts.csv", "--arm", "host", "--reward", "slow", "--min-gap", "0.3"]


def pythons() -> list[str]:
    """Return one program for each version of Python that can be found."""
    folders = [*os.get_exec_path(), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    found = {}
    for minor in range(OLDEST[1], NEWEST_TRIED):
        name = f"python3.{minor}"
        for program in filter(None, (shutil.which(name, path=folder) for folder in folders)):
            said = subprocess.run(
                [program, "-c", "import venv, ensurepip"], capture_output=True, check=False
            )
            if said.returncode == 0:
                found.setdefault(name, program)
    return list(found.values())


class Environment:
    """A fresh environment with the wheel and some of its extras, in a folder of its own."""

    def __init__(self, python: str, wheel: Path, extras: str, folder: Path) -> None:
        self.folder = folder
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        rows = [f"host-{i % 12},{int(i % 12 == 7)}" for i in range(2400)]
        (folder / "hosts.csv").write_text("\n".join(["host,slow", *rows]) + "\n")
        pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        self.run("python", *pip, f"{wheel.absolute()}{extras}")

    def run(self, program: str, *words: str, code: int = 0) -> str:
        """Run a program of the environment and return what it says; it must exit with `code`."""
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        ran = subprocess.run(
            [str(self.folder / "bin" / program), *words],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = ran.stdout + ran.stderr
        if ran.returncode != code:
            raise SystemExit(f"{program} {' '.join(words)}: exit {ran.returncode}\n{said}")
        return said


def expect(said: str, words: str) -> None:
    """Stop if something was not said."""
    if words not in said:
        raise SystemExit(f"expected {words!r} in: {said}")


def attempt(python: str, wheel: Path) -> None:
    """Try the wheel with one Python."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = Environment(python, wheel, "", folder / "plain")
        plain.run("python", "-c", FIND)
        expect(plain.run("oddarm", *COMMAND, code=2), "'oddarm[cli,table,plot]'")
        small = Environment(python, wheel, "[cli]", folder / "cli")
        expect(small.run("oddarm", *COMMAND, code=2), "'oddarm[table,plot]'")
        expect(
            small.run("oddarm", "serve", "--storage", "postgresql://x", code=2), "service,postgres"
        )
        whole = Environment(python, wheel, "[all]", folder / "all")
        whole.run("python", "-c", FIND)
        expect(whole.run("oddarm", *SCAN), "host-7 stands apart")
        whole.run("oddarm", *COMMAND, "--min-gap", "0.3")
        print(f"{python}: plain, [cli] and [all] work", flush=True)


def main(words: list[str]) -> None:
    """Try every Python; stop at the first fault."""
    if not words:
        raise SystemExit(__doc__)
    for python in words[1:] or pythons():
        attempt(python, Path(words[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
