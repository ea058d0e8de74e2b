"""The commands serve, studies and watch, and the client, as a person would use them."""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import termios
import urllib.request
from pathlib import Path

import pytest

from oddarm import create_study, open_study
from oddarm.cli.studies import table
from oddarm.errors import MissingExtraError, OddarmError, ParameterError, ServiceError
from oddarm.service import Client, server
from oddarm.service.tokens import read_token
from oddarm.store import StudyInfo
from support.serving import serving

ARMS = ["ams", "fra", "lhr", "gru"]


def oddarm(*arguments, **options):
    """Run the command to its end."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "oddarm", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        **options,
    )


def test_a_session(storage):
    """A study is made, worked, watched, paused, exported and deleted through the client."""
    with serving("--storage", storage) as (_, url):
        client = Client(url)
        assert client.create("demo", ARMS, strategy="gold", max_outliers=1)["status"] == "running"
        client.pause("demo")
        assert client.ask("demo") == ([], "paused")
        client.resume("demo")
        assert client.tell_arm("demo", "ams", [0, 0], key="before") == 2
        (lost,), _ = client.ask("demo")
        assert client.give_up("demo", [lost.id]) == 1
        client.work("demo", lambda arm: arm == "gru", limit=50)
        assert client.result("demo")["candidates"] == ["gru"]
        assert [row["name"] for row in client.studies()] == ["demo"]
        assert client.info("demo")["verdict"] == "ranked"
        lines = list(client.export("demo"))
        assert len(lines) == client.info("demo")["pulls"]
        assert json.loads(lines[0])["pull"] == "before"
        assert next(client.export("demo", "csv")) == "seq,at,pull,arm,reward\n"
        client.delete("demo")
        with pytest.raises(ServiceError, match="study 'demo' is not there") as caught:
            client.info("demo")
        assert caught.value.status == 404
    with pytest.raises(ServiceError, match="does not answer") as caught:
        client.studies()
    assert caught.value.status is None


def test_a_worker_whose_pulls_fail(storage, caplog):
    """A pull is tried again; an arm that keeps failing is set aside, and the study goes on."""
    calls = []

    def probe(arm):
        calls.append(arm)
        if arm == "lhr" or (arm == "fra" and calls.count("fra") == 1):
            raise TimeoutError("no answer")
        return int(arm == "gru")

    with serving("--storage", storage) as (_, url):
        client = Client(url)
        client.create("demo", ARMS, strategy="gold", max_outliers=1)
        summary = client.work("demo", probe, limit=4, wait=0.001, retries=2)
        assert summary.failed == [("lhr", "TimeoutError: no answer")]
        assert (calls.count("lhr"), summary.retries) == (3, 3)
        assert summary.pulls == client.info("demo")["pulls"]
        assert client.result("demo")["errors"] == [
            {"arm": "lhr", "error": "TimeoutError: no answer"}
        ]
    logged = [record.message for record in caplog.records if record.name == "oddarm.worker"]
    assert "arm 'lhr' of study demo is set aside: TimeoutError: no answer" in logged
    assert logged.count("a pull of arm 'lhr' failed (no answer); trying again") == 2


def test_a_worker_that_cannot_go_on(storage):
    """If too few arms would be left, the error is raised; the rewards drawn before it count."""

    def probe(arm):
        if arm != "ams":
            raise TimeoutError("no answer")
        return 0

    with serving("--storage", storage) as (_, url):
        client = Client(url)
        client.create("demo", ARMS, strategy="gold", max_outliers=1)
        with pytest.raises(TimeoutError):
            client.work("demo", probe, limit=4, retries=0)
        assert client.info("demo")["pulls"] == 1


def test_it_stops_when_asked(storage):
    """SIGTERM ends streams of events and the server, with exit code 0 and logs in JSON."""
    with serving("--storage", storage) as (process, url):
        Client(url).create("demo", ARMS, max_outliers=1)
        with urllib.request.urlopen(f"{url}/studies/demo/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            assert stream.readline() == b"event: change\n"
            process.send_signal(signal.SIGTERM)
            rest = stream.read()
        assert b"revision" in rest
        assert process.wait() == 0
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]
        shown = [line["event"] for line in lines if line["logger"] == "oddarm.service"]
        assert (shown[0], shown[-1]) == ("started", "stopped")
    with open_study(storage, "demo") as study:
        assert study.info().revision == 0


def test_the_memory_of_studies(storage, monkeypatch):
    """The option says how many megabytes open studies may hold; the default is the service's."""
    import inspect

    from typer.testing import CliRunner

    from oddarm import service
    from oddarm.cli.app import app

    given = []
    monkeypatch.setattr(service, "serve", lambda *_, **options: given.append(options))
    for words in ([], ["--study-memory", "1000"]):
        CliRunner().invoke(app, ["serve", "--storage", str(storage), *words])
    assert [options["study_memory"] for options in given] == [server.STUDY_MEMORY, 10**9]
    for made in (server.serve, service.create_app):
        default = inspect.signature(made).parameters["study_memory"].default
        assert default == server.STUDY_MEMORY


def test_a_token_file(storage, tmp_path):
    """With a token file, callers that send the token are served."""
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    file.chmod(0o600)
    with serving("--storage", storage, "--token-file", file, "--host", "0.0.0.0") as (_, shown):
        url = shown.replace("0.0.0.0", "127.0.0.1")
        with pytest.raises(ServiceError, match="there is no token"):
            Client(url).studies()
        assert Client(url, "0123456789abcdef").studies() == []


def test_mistakes_get_a_sentence_and_exit_code_2(tmp_path, monkeypatch, capsys):
    """What cannot be served, listed or watched is refused in one sentence."""
    from oddarm.cli.app import run

    monkeypatch.chdir(tmp_path)
    Path("short").write_text("abc")
    Path("short").chmod(0o600)
    Path("open to all").write_text("0123456789abcdef")
    Path("open to all").chmod(0o604)
    create_study("s.db", "demo", ARMS, max_outliers=1).close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for line, words in [
            ("serve --host 0.0.0.0", "pass a token file, or listen on 127.0.0.1"),
            ("serve --token-file short", "has 3 characters, must be 16 or more"),
            ("serve --token-file nowhere", "nowhere: No such file"),
            (
                "serve --token-file 'open to all'",
                "(mode 0604), must be for its owner alone: run  chmod 600 'open to all'",
            ),
            ("serve --port 0 --storage no/folder.db", "cannot be used"),
            ("serve --port 0 --storage mysql://x", "must be sqlite:///path"),
            (f"serve --port {port}", f"cannot listen on 127.0.0.1:{port}"),
            ("studies --storage nothing.db", "nothing.db is not there"),
            ("watch other --storage s.db", "study 'other' is not in"),
        ]:
            monkeypatch.setattr(sys, "argv", ["oddarm", *shlex.split(line)])
            with pytest.raises(SystemExit) as stop:
                run()
            assert stop.value.code == 2, line
            shown = capsys.readouterr()
            assert words in shown.err
            assert shown.err.count("\n") == 1


def test_studies(storage):
    """The studies are listed as a table or as JSON; with none, a sentence says so."""
    study = create_study(storage, "demo", ARMS, strategy="gold", max_outliers=1)
    study.tell_many({pull.id: 1 for pull in study.ask(3)})
    study.pause()
    shown = oddarm("studies", "--storage", storage)
    assert shown.stdout.split()[:7] == [
        *("study", "status", "pulls", "arms", "verdict", "strategy", "created")
    ]
    assert shown.stdout.splitlines()[1].split()[:6] == [
        *("demo", "paused", "3", "4", "running", "gold")
    ]
    (row,) = json.loads(oddarm("studies", "--storage", storage, "--json").stdout)
    assert (row["name"], row["pulls"]) == ("demo", 3)
    study.delete()
    study.close()
    assert "There are no studies" in oddarm("studies", "--storage", storage).stdout


def test_studies_in_a_narrow_terminal():
    """What does not fit is left out, and long names are shortened; elsewhere all is shown."""
    rest = {"arms": 2000, "pulls": 1_234_567, "waiting": 0, "revision": 1}
    rest |= {"created": 0.0, "updated": 0.0}
    state = {"status": "running", "verdict": "running", "strategy": "adaptive"}
    found = [StudyInfo(name=name, **state, **rest) for name in ("demo", "x" * 100)]
    for width in (10, 20, 40, 80, 200):
        assert all(len(line) <= max(width, 12) for line in table(found, width).splitlines())
    assert table(found, 40).splitlines()[1:] == [
        "demo           running  1,234,567  2,000",
        "xxxxxxxxxxxx…  running  1,234,567  2,000",
    ]
    assert table(found, None).count("x" * 100) == 1


@pytest.fixture
def interrupts():
    """Processes that are started take SIGINT, even if these tests run where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_watch_interrupted(storage):
    """Ctrl-C ends a watch with one line and the exit code of an interrupt."""
    create_study(storage, "demo", ARMS, strategy="gold", max_outliers=1).close()
    command = [sys.executable, "-m", "oddarm", "watch", "demo", "--storage", str(storage)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout.readline() == "demo: running, 0 pulls of 4 arms\n"
        watching.send_signal(signal.SIGINT)
        assert watching.stderr.read() == "oddarm: interrupted\n"
    assert watching.returncode == 130


def test_watch(storage):
    """Outside a terminal, each change is a line; at the end comes the answer."""
    with create_study(storage, "demo", ARMS, strategy="gold", max_outliers=1) as study:
        command = [sys.executable, "-m", "oddarm", "watch", "demo", "--storage", str(storage)]
        with subprocess.Popen(
            [*command, "--interval", "0.1"], stdout=subprocess.PIPE, text=True
        ) as watching:
            assert watching.stdout.readline() == "demo: running, 0 pulls of 4 arms\n"
            while not study.done:
                study.tell_many({pull.id: int(pull.arm == "gru") for pull in study.ask(100)})
            rest = watching.stdout.read()
        assert watching.returncode == 0
        assert "Of 4 arms, gru was the first to separate" in rest


def test_watch_on_a_terminal(storage):
    """On a terminal, the leading arms are shown until the study is done."""
    import pty

    with create_study(storage, "demo", ARMS, strategy="gold", max_outliers=1) as study:
        study.tell_many({pull.id: 1 for pull in study.ask(3)})
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "oddarm", "watch", "demo", "--storage", str(storage)]
        with subprocess.Popen(
            [*command, "--interval", "0.1"], stdout=theirs, env={**os.environ, "TERM": "xterm"}
        ):
            os.close(theirs)
            seen = b""
            while b"undecided" not in seen:
                seen += os.read(ours, 4096)
            assert b"demo: running, 3 pulls of 4 arms" in seen
            while not study.done:
                study.tell_many({pull.id: int(pull.arm == "gru") for pull in study.ask(100)})
            with contextlib.suppress(OSError):  # how the end of a terminal is told
                while more := os.read(ours, 4096):
                    seen += more
        os.close(ours)
        assert b"separate" in seen


def test_watch_on_a_narrow_terminal(storage):
    """On a terminal of 40 columns no line of the answer is broken but those of its sentence."""
    import pty

    names = [f"a-very-long-name-of-an-arm-{k}" for k in range(4)]
    with create_study(storage, "demo", names, strategy="gold", max_outliers=1) as study:
        while not study.done:
            study.tell_many({pull.id: int(pull.arm == names[3]) for pull in study.ask(100)})
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (20, 40))
    command = [sys.executable, "-m", "oddarm", "watch", "demo", "--storage", str(storage)]
    environment = {name: os.environ[name] for name in os.environ if name != "COLUMNS"}
    seen = b""
    with subprocess.Popen(command, stdout=theirs, env={**environment, "TERM": "xterm"}):
        os.close(theirs)
        with contextlib.suppress(OSError):
            while more := os.read(ours, 4096):
                seen += more
    os.close(ours)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode()).splitlines()
    assert max(map(len, lines)) <= 40
    (last,) = [line for line in lines if line.startswith("   1")]
    assert re.fullmatch(r"   1  a-very-.*…  +\d+  1\.\d+  candidate", last)


def test_without_the_extra(storage, monkeypatch):
    """Without FastAPI, the error names the command that installs it."""
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"oddarm\[service\]"):
        server.serve(storage)


def test_addresses():
    """Only loopback addresses do without a token."""
    for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"):
        assert server.is_loopback(host)
    for host in ("0.0.0.0", "::", "10.0.0.1", "example.org"):
        with pytest.raises(OddarmError, match="can be reached from elsewhere"):
            server.serve("unused.db", host=host)


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_a_token_file_for_its_owner(tmp_path, mode):
    """A token file that only its owner can read is taken."""
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    file.chmod(mode)
    assert read_token(file) == "0123456789abcdef"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602])
def test_a_token_file_for_others(tmp_path, mode):
    """A token file that others can read or change is refused, and the remedy named."""
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    file.chmod(mode)
    with pytest.raises(OddarmError, match=f"mode 0{mode:o}.*: run  chmod 600 {file}") as caught:
        read_token(file)
    assert "0123456789abcdef" not in str(caught.value)


@pytest.mark.parametrize(
    ("scheme", "middle"),
    [
        *(("postgresql://", middle) for middle in ("", *"%/[]@:#? ")),
        *((other, "@") for other in ("PostgreSQL://", "postgres:/", "mysql://")),
    ],
)
def test_no_command_prints_a_password(tmp_path, monkeypatch, capsys, scheme, middle):
    """Whatever address a command is given, no part of its password is printed."""
    from oddarm.cli.app import run

    monkeypatch.chdir(tmp_path)
    address = f"{scheme}me:zqx{middle}kvw@127.0.0.1:1/none"
    for line in (
        *(["serve", "--port", "0", "--storage"], ["studies", "--storage"]),
        *(["watch", "demo", "--storage"], ["find", "--arm", "a", "--reward", "b"]),
    ):
        monkeypatch.setattr(sys, "argv", ["oddarm", *line, address])
        with pytest.raises(SystemExit) as stop:
            run()
        shown = capsys.readouterr()
        assert stop.value.code == 2, shown
        assert shown.err.count("\n") == 1
        assert "zqx" not in shown.out + shown.err
        assert "kvw" not in shown.out + shown.err


def test_no_password_in_the_address_of_a_service():
    """A client refuses an address with a password, and does not quote it."""
    with pytest.raises(ParameterError, match="must have neither") as caught:
        Client("http://me:secret@127.0.0.1:8321")
    assert "secret" not in str(caught.value)
