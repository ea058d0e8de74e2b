"""The commands on studies, in a database and behind a service."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import oddarm
from oddarm import open_study
from oddarm.cli import app as app_module
from oddarm.cli.app import app
from oddarm.errors import UnknownPullError
from oddarm.service import Client
from support.serving import serving

ARMS = ["ams", "fra", "lhr", "gru"]
SECRETS = {"admin": "0123456789abcdef", "read-only": "fedcba9876543210"}


def run(*words, code=0):
    """Return what a command prints."""
    ended = CliRunner().invoke(app, [*map(str, words)])
    assert ended.exit_code == code, (ended.output, ended.exception)
    return ended.output


def refusal(monkeypatch, capsys, *words):
    """Return the one line by which a command is refused, with exit code 2."""
    monkeypatch.setattr("sys.argv", ["oddarm", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        app_module.run()
    assert stop.value.code == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1, shown
    return shown


@pytest.fixture(params=["database", "service"])
def place(request, tmp_path):
    """The options that name a place for studies."""
    database = tmp_path / "s.db"
    if request.param == "database":
        yield ["--storage", database]
        return
    for role, secret in SECRETS.items():
        file = tmp_path / role
        file.write_text(secret)
        file.chmod(0o600)
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{role} {role} {secret}\n" for role, secret in SECRETS.items()))
    tokens.chmod(0o600)
    with serving("--storage", database, "--token-file", tokens) as (_, url):
        yield ["--server", url, "--token-file", tmp_path / "admin"]


def test_a_study_from_its_making_to_its_end(place):
    """The commands say and do the same on a database and on a service."""
    words = ["--max-outliers", "1", "--min-gap", "0.3", "--max-pulls", "9", "--range", "0,2"]
    made = json.loads(run("study", "create", "demo", *ARMS, *words, "--json", *place))
    assert (made["name"], made["arms"], made["status"]) == ("demo", 4, "running")
    assert run("study", "pause", "demo", *place) == "demo: paused, 0 pulls of 4 arms\n"
    assert json.loads(run("study", "resume", "demo", "--json", *place))["status"] == "running"
    assert run("studies", *place).splitlines()[1].split()[:2] == ["demo", "running"]
    (row,) = json.loads(run("studies", "--json", *place))
    assert row["name"] == "demo"
    assert run("study", "export", "demo", *place) == ""
    assert run("study", "export", "demo", "--csv", *place) == "seq,at,pull,arm,reward\n"
    assert json.loads(run("study", "delete", "demo", "--yes", "--json", *place)) == {
        "deleted": "demo"
    }
    assert "There are no studies" in run("studies", *place)


def test_a_study_with_prices(place, tmp_path, monkeypatch, capsys):
    """What a pull of each arm costs may be given on the command line or in a file."""
    file = tmp_path / "prices"
    file.write_text("0=1\n1 = 1.5\n\n2=10\n")
    priced = [f"--costs={name}={cost}" for name, cost in (*zip(ARMS, (1, 2, 3, 4.5)), ("a=b", 9))]  # noqa: B905
    for name, words in (
        ("named", [*ARMS, "a=b", *priced, "--max-cost", 50]),
        ("numbered", ["--arms-number", 3, "--costs-file", file, "--max-cost", 50]),
    ):
        run("study", "create", name, *words, "--max-outliers", 1, *place)
    (_, database) = place if place[0] == "--storage" else ("", tmp_path / "s.db")
    prices = dict(zip([*ARMS, "a=b", 0, 1, 2], (1, 2, 3, 4.5, 9, 1, 1.5, 10)))  # noqa: B905
    for name in ("named", "numbered"):
        with oddarm.open_study(f"sqlite:///{database}", name) as study:
            pulls = study.ask(9)
            for pull in pulls:
                study.tell(pull.id, 0)
            assert study.result().cost == sum(prices[pull.arm] for pull in pulls) > len(pulls)
    one = ["--max-outliers", 1]
    for words, refused in (
        (["--costs", "ams"], "--costs ams: must be NAME=NUMBER, such as eu=1."),
        (["--costs", "ams=dear"], "must be NAME=NUMBER"),
        (["--costs", "ams=1", "--costs", "ams=2"], "ams has a cost already, drop one"),
        (["--costs", "ams=1"], "costs has no cost for arm 'fra'"),
        (["--costs", "ams=1", "--costs-file", file], "with --costs-file"),
    ):
        shown = refusal(monkeypatch, capsys, "study", "create", "x", *ARMS, *words, *one, *place)
        assert refused in shown


def test_a_watch_ends_with_the_verdict(tmp_path):
    """A watch of a service prints the result, and its exit code says whether it is decided."""
    with serving("--storage", tmp_path / "s.db") as (_, url):
        client = Client(url)
        client.create("found", ARMS, max_outliers=1, min_gap=0.3)
        client.work("found", lambda arm: arm == "gru", limit=50)
        client.create("open", ARMS, max_outliers=1, min_gap=0.3, max_pulls=8)
        client.work("open", lambda arm: arm == "gru", limit=50)
        shown = run("watch", "found", "--server", url)
        assert shown.startswith("gru stands apart")
        assert shown.splitlines()[3].split()[:2] == ["1", "gru"]
        result = json.loads(run("watch", "open", "--server", url, "--json", code=3))
        assert result["verdict"] == "budget"


def test_a_watch_outlives_its_server(tmp_path):
    """While the server is away a watch says that it tries again; it ends with the study."""
    storage = ["--storage", tmp_path / "s.db"]
    command = [sys.executable, "-m", "oddarm", "watch", "demo", "--interval", "0.1", "--server"]
    with serving(*storage) as (_, url):
        Client(url).create("demo", ARMS, max_outliers=1, min_gap=0.3)
        watch = subprocess.Popen(
            [*command, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert watch.stdout.readline() == "demo: running, 0 pulls of 4 arms\n"
    said = watch.stderr.readline()
    assert f"{url} does not answer" in said
    assert "Trying again in" in said
    with serving(*storage, port=int(url.rsplit(":", 1)[1])):
        Client(url).work("demo", lambda arm: arm == "gru", limit=50)
        shown, said = watch.communicate()
    assert watch.returncode == 0, said
    assert "gru stands apart" in shown


def test_a_watch_without_a_server(tmp_path, monkeypatch, capsys):
    """A service that does not answer from the start, or a study that is deleted, is an error."""
    said = refusal(monkeypatch, capsys, "watch", "demo", "--server", "http://127.0.0.1:9")
    assert "does not answer" in said
    with serving("--storage", tmp_path / "s.db") as (_, url):
        said = refusal(monkeypatch, capsys, "watch", "demo", "--server", url)
    assert "'demo' is not there" in said


def test_a_restored_database(tmp_path):
    """`oddarm restored` says how many pulls were given up; after that they are refused."""
    storage = ["--storage", tmp_path / "s.db"]
    run("study", "create", "demo", *ARMS, "--max-outliers", "1", *storage)
    with open_study(tmp_path / "s.db", "demo") as study:
        pulls = study.ask(3)
    assert run("restored", *storage) == "demo: 3 pulls that were out are given up\n"
    assert json.loads(run("restored", "--json", *storage)) == {"given_up": {"demo": 0}}
    with open_study(tmp_path / "s.db", "demo") as study, pytest.raises(UnknownPullError):
        study.tell(pulls[0].id, 1)


def test_arms_from_elsewhere(tmp_path):
    """Arms are named by words, by the lines of a file, or by their number."""
    (tmp_path / "arms").write_text("a b\n\nc\nd\n")
    storage = ["--storage", tmp_path / "s.db", "--max-outliers", "1", "--json"]
    made = run("study", "create", "x", "--arms-file", tmp_path / "arms", *storage)
    assert json.loads(made)["arms"] == 3
    made = run("study", "create", "y", "--arms-number", "7", "--clip", "0,500", *storage)
    assert json.loads(made)["arms"] == 7


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["study", "create", "x"], "the arms are given by nothing"),
        (["study", "create", "x", "a", "--arms-number", "3"], "by ARMS and --arms-number"),
        (["studies", "--server", "localhost:1"], "must begin with http:// or https://"),
        (["studies", "--server", "http://127.0.0.1:1"], "does not answer"),
        (["studies", "--server", "http://x", "--storage", "s.db"], "--storage s.db with --server"),
        (["studies", "--token-file", "token"], "without --server"),
        (["study", "delete", "x", "--storage", "none.db"], "is not there"),
    ],
)
def test_mistakes(monkeypatch, capsys, tmp_path, words, sentence):
    """What is wrong is said in one sentence."""
    monkeypatch.chdir(tmp_path)
    assert sentence in refusal(monkeypatch, capsys, *words)


def test_what_the_role_does_not_allow(monkeypatch, capsys, tmp_path, place):
    """A read-only token lists and exports; what it may not do is refused in one sentence."""
    if place[0] == "--storage":
        pytest.skip("a database has no roles")
    run("study", "create", "demo", *ARMS, "--max-outliers", "1", *place)
    reader = [*place[:3], tmp_path / "read-only"]
    assert "demo" in run("studies", *reader)
    shown = refusal(monkeypatch, capsys, "study", "pause", "demo", *reader)
    assert "token 'read-only' is for the role read-only" in shown


def test_a_study_is_not_deleted_without_a_yes(monkeypatch, capsys, tmp_path):
    """Where nobody can be asked, a study is deleted with --yes alone."""
    storage = ["--storage", tmp_path / "s.db"]
    run("study", "create", "demo", *ARMS, "--max-outliers", "1", *storage)
    assert "demo is not deleted: pass --yes" in refusal(
        monkeypatch, capsys, "study", "delete", "demo", *storage
    )
    assert "demo" in run("studies", *storage)
