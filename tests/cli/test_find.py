"""`oddarm find`, as a person would run it."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import oddarm
from oddarm import cli
from oddarm._text import plural
from oddarm.options import DEFAULT_STRATEGY
from oddarm.sources.table.source import TableSource

ROWS = 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table of twelve hosts, one of which times out far more often."""
    place = tmp_path_factory.mktemp("tables")
    lots = random.Random(1)
    lines = ["host,ms,timed_out"]
    for number in range(12):
        for _ in range(ROWS):
            slow = lots.random() < (0.9 if number == 7 else 0.1)
            lines.append(f"host-{number:02},{lots.gauss(500 if slow else 100, 10):.1f},{int(slow)}")
    (place / "requests.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    bad = [*lines, "host-03,100.0,", "host-04,100.0,maybe"]
    (place / "bad.csv").write_text("\n".join(bad) + "\n", encoding="utf-8")
    with duckdb.connect(place / "requests.duckdb") as database:
        database.execute("CREATE TABLE requests AS FROM read_csv(?)", [str(place / "requests.csv")])
    return place


@pytest.fixture
def find(folder, monkeypatch, capsys):
    """Run `oddarm find` here; give the exit code, standard output and standard error."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["oddarm", "find", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        shown = capsys.readouterr()
        return stop.value.code, shown.out, shown.err

    return run


USUAL = ("requests.csv", "--arm", "host", "--reward", "timed_out", "--max-outliers", 1,
         "--rows", "all")  # fmt: skip


def test_the_answer_comes_first(find):
    """A sentence in the words of the table, then the arms, and nothing on standard error."""
    code, out, err = find(*USUAL)
    assert (code, err) == (0, "")
    sentence, table, _ = out.split("\n\n")
    assert sentence.startswith("host-07 stands apart, above the other 11 hosts by at least 0.")
    assert f"of {12 * ROWS:,} rows" in " ".join(sentence.split())
    assert "wrong with probability at most 5 %" in " ".join(sentence.split())
    lines = [line.split() for line in table.splitlines()]
    assert lines[0] == ["rank", "arm", "rows", "mean", "low", "high", "status"]
    assert (lines[1][1], lines[1][-1]) == ("host-07", "outlier")
    assert len(lines) == 13


def test_json(find):
    """--json prints the result as JSON and nothing else."""
    code, out, err = find(*USUAL, "--json")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert data["outliers"] == ["host-07"]
    assert data["provenance"]["delta"] == 0.05
    assert data["provenance"]["strategy"]["name"] == DEFAULT_STRATEGY


@pytest.mark.parametrize("columns", [40, 60])
def test_narrow_terminals(find, monkeypatch, columns):
    """No line is wider than the terminal."""
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = find(*USUAL)
    assert max(map(len, out.splitlines())) <= columns
    assert "host-07" in out


def test_plots_and_saved_state(find, tmp_path):
    """A plot, a page and the state of the search are written where asked, and said so."""
    page, picture, state = tmp_path / "out.html", tmp_path / "out.png", tmp_path / "state.json"
    code, out, _ = find(*USUAL, "--plot", page, "--save", state)
    assert code == 0
    assert f"plot: {page}" in out
    assert f"saved: {state}" in out
    assert "<h1>host-07 stands apart, " in page.read_text(encoding="utf-8")
    assert oddarm.Search.load(state).result().outliers == ["host-07"]
    find(*USUAL, "--plot", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_databases_expressions_and_ranges(find):
    """A table or query of a DuckDB file, a condition as the reward, and rewards in a range."""
    for arguments in (
        ["--table", "requests", "--reward", "ms > 200"],
        ["--query", "SELECT * FROM requests WHERE ms > 0", "--reward", "timed_out"],
        ["--table", "requests", "--reward", "ms", "--range", "0,1000"],
        ["--table", "requests", "--reward", "ms", "--clip", "0,300"],
        ["--table", "requests", "--arm", "lower(trim(host))", "--reward", "timed_out"],
        ["--table", "requests", "--reward", "timed_out", "--where", "ms > 0"],
    ):
        database = ("requests.duckdb", "--max-outliers", 1, "--rows", "all", "--json")
        arm = () if "--arm" in arguments else ("--arm", "host")
        code, out, err = find(*database, *arm, *arguments)
        assert code == 0, err
        assert json.loads(out)["ranking"][0] == "host-07"


def test_rows_are_a_sample(find):
    """Rows are a sample by default; what ends for lack of rows says which arms had too few."""
    few = (*USUAL[:-2], "--where", "ms < 95", "--json")
    code, out, err = find(*few)
    data = json.loads(out)
    assert (data["verdict"], data["outliers"], err) == ("rows", [], "")
    assert "to decide, above all of host-" in data["summary"]
    code, out, _ = find(*few, "--rows", "all")
    assert (code, json.loads(out)["provenance"]["rewards"].keys() >= {"pools"}) == (0, True)
    assert json.loads(out)["verdict"] != "rows"


def test_arms_with_few_rows(find, tmp_path):
    """--min-rows leaves arms out and says so; a warning about single rows is on standard error."""
    table = tmp_path / "few.csv"
    lines = [f"{name},{k % 2}" for name in "abc" for k in range(4)]
    lines += [f"single-{k},1" for k in range(5)]
    table.write_text("\n".join(["host,slow", *lines]), encoding="utf-8")
    few = (table, "--arm", "host", "--reward", "slow", "--max-outliers", 1)
    _, out, err = find(*few)
    assert err.startswith(f"oddarm: 5 of 8 arms of {table} have one row")
    _, out, err = find(*few, "--min-rows", 2)
    assert err == ""
    assert "5 arms were left out, with fewer than 2 rows: single-0" in " ".join(out.split())


def test_a_saved_search_knows_its_rows(find, tmp_path):
    """A search on all rows goes on with all rows, although a sample is the default."""
    saved = tmp_path / "saved.json"
    find(*USUAL, "--max-pulls", 50, "--save", saved)
    code, _, err = find(*USUAL[:-2], "--resume", saved, "--max-pulls", 60)
    assert (code, err) == (3, "")
    code, _, err = find(*USUAL[:-2], "--resume", saved, "--rows", "sample")
    assert code == 2
    assert "begun with --rows all" in err


def test_what_was_assumed_is_said(find):
    """The range that was read off the table is named once, and so are rows left out."""
    for more in ((), ("--compare",)):
        given = "--arm", "host", "--reward", "ms", "--max-outliers", 1, *more
        _, out, _ = find("requests.csv", *given)
        assert " ".join(out.split()).count("the least and the greatest of the table") == 1
    code, out, _ = find("bad.csv", *USUAL[1:], "--skip-bad-rows")
    assert code == 0
    assert out.count("2 bad rows were left out.") == 1


def test_with_replacement(find):
    """With replacement, rows have no end, and the sentence names no total."""
    code, out, _ = find(*USUAL, "--replace", "--strategy", "gold", "--max-pulls", 500)
    assert code == 3
    assert "after 500 rows" in " ".join(out.split())


def test_nouns(find):
    """The arms are called by the name of their column, or as told."""
    _, out, _ = find(*USUAL, "--noun", "machines", "--max-pulls", 20)
    assert "of 12 machines" in out
    columns = ["city", "box", "Route", "class", "news", "shop_floor", "day"]
    plurals = ["cities", "boxes", "routes", "classes", "news", "shop floors", "days"]
    assert [plural([column]) for column in columns] == plurals
    assert plural(["c1"]) == plural(["origin", "dest"]) == "arms"


def test_pairs_of_columns(find):
    """Arms may be named by several columns."""
    code, out, _ = find(
        "requests.csv", "--arm", "host", "--arm", "timed_out", "--reward", "ms",
        "--max-pulls", 30, "--json",
    )  # fmt: skip
    assert code == 3
    assert len(json.loads(out)["arms"]) == 24


def test_bundled_flights(find):
    """The flights need no file and no columns."""
    code, out, err = find("flights", "--max-pulls", 400)
    assert code == 3, err
    assert "… and 173 more routes" in out
    assert "Best guess after 400 of 326,408 rows" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["requests.csv"], "--arm and --reward are missing"),
        (["requests.csv", "--arm", "host"], "--reward is missing"),
        (["requests.csv", "--arm", "nope", "--reward", "ms"], "no column 'nope'"),
        (["requests.csv", "--arm", "host", "--reward", "nope"], "'nope'"),
        (["requests.csv", "--arm", "host", "--reward", "host"], "must be numbers"),
        (["requests.csv", "--arm", "timed_out", "--reward", "ms"], "has two values"),
        (["bad.csv", "--arm", "host", "--reward", "timed_out"], "row"),
        ([*USUAL, "--where", "ms < 0"], "has no rows"),
        ([*USUAL, "--where", "((("], "not an SQL condition"),
        ([*USUAL, "--table", "requests"], "table"),
        ([*USUAL, "--rho", "0.9"], "pass only one of them"),
        ([*USUAL, "--max-outliers", "6"], "must be less than half of the arms"),
        (["requests.csv", "--arm", "host", "--reward", "ms", "--rho", "0.95"], "leave room for"),
        ([*USUAL, "--strategy", "x"], "strategy == 'x'"),
        ([*USUAL, "--until", "x"], "'x' is not one of 'ranked', 'found', 'confirmed'"),
        ([*USUAL, "--bound", "x"], "'x' is not one of 'anytime', 'paper'"),
        ([*USUAL, "--delta", "2"], "--delta 2"),
        ([*USUAL, "--range", "5,2"], "must be"),
        ([*USUAL, "--range", "nan,2"], "must be"),
        ([*USUAL, "--range", "5"], "must be two numbers LOW,HIGH"),
        ([*USUAL, "--range", "2,5"], "go from 0 to 1"),
        ([*USUAL, "--clip", "5"], "--clip 5: must be two numbers LOW,HIGH"),
        ([*USUAL, "--clip", "0,1", "--range", "0,1"], "--range 0,1 with --clip 0,1: drop one"),
        ([*USUAL, "--plot", "out.gif"], "must end in .png, .svg, .pdf or .html"),
        ([*USUAL, "--plot", "nowhere/out.png"], "there is no folder nowhere"),
        ([*USUAL, "--save", "nowhere/state.json"], "there is no folder nowhere"),
        ([*USUAL, "--seed", "-1"], "--seed"),
        ([*USUAL, "--nonsense"], "No such option"),
        (["missing.csv", "--arm", "a", "--reward", "b"], "there is no file missing.csv: check the"),
        (["request.csv", "--arm", "a", "--reward", "b"], "did you mean requests.csv"),
        (["flihgts"], "there is no file flihgts: check the path, or name flights, the data"),
        (["flihgts"], "did you mean flights?"),
        (["https://x.example/t.csv", "--arm", "a", "--reward", "b"], "data is a https:// address"),
        ([".", "--arm", "a", "--reward", "b"], ". is a folder, must be a file"),
        ([*USUAL, "--encoding", "cp1252"], "'cp1252' is not one of 'utf-8', 'latin-1', 'utf-16'"),
        (["requests.duckdb", *USUAL[1:], "--encoding", "latin-1"], "encoding with requests.duckdb"),
        ([*USUAL, "--plot", "."], "--plot .: must end in"),
        ([*USUAL, "--save", "."], "--save .: it is a folder, must be a file"),
        (["postgresql://127.0.0.1:1/x", "--arm", "a", "--reward", "b", "--table", "t"], "reached"),
    ],
)  # fmt: skip
def test_mistakes_get_a_sentence_and_exit_code_2(find, arguments, words):
    """A mistake is one clear sentence on standard error, and nothing else is printed."""
    code, out, err = find(*arguments)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())
    assert "Traceback" not in err


@pytest.mark.parametrize("plot", ["x.png", "x.html"])
def test_a_plot_without_matplotlib(find, monkeypatch, plot):
    """What the plot needs is checked before the search, which may be expensive."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(oddarm, "find", lambda *_, **__: pytest.fail("it searched"))
    code, out, err = find(*USUAL, "--plot", plot)
    assert (code, out) == (2, "")
    assert "a plot needs matplotlib, which is not installed: run" in err


def test_latin_1(find, tmp_path):
    """A file in Latin-1 is refused with the remedy, and read when its encoding is named."""
    path = tmp_path / "t.csv"
    rows = "".join(f"hôte-{i % 4},{i % 3}\n" for i in range(60))
    path.write_bytes(f"hôte,ms\n{rows}".encode("latin-1"))
    usual = (path, "--arm", "hôte", "--reward", "ms", "--max-outliers", 1)
    code, _, err = find(*usual)
    assert code == 2
    assert "t.csv is not UTF-8 in line 1: convert it to UTF-8, or name its encoding" in err
    code, out, _ = find(*usual, "--encoding", "latin-1", "--max-pulls", 12, "--json")
    assert code == 3
    assert sorted(json.loads(out)["ranking"]) == [f"hôte-{i}" for i in range(4)]


def test_interrupt_keeps_what_is_known(find, monkeypatch, tmp_path):
    """Ctrl-C prints the partial answer, saves it and ends with exit code 130."""
    state = tmp_path / "state.json"
    real = oddarm.find

    def interrupted(*arguments, **options):
        def press(search):
            if search.pulls >= 100:
                signal.raise_signal(signal.SIGINT)

        return real(*arguments, callbacks=[press], **options)

    monkeypatch.setattr(oddarm, "find", interrupted)
    code, out, err = find(*USUAL, "--save", state)
    assert code == 130
    assert out.startswith("Best guess after ")
    assert f"Itwasinterrupted:goonwith--resume{state}." in "".join(out.split())
    assert err == "oddarm: interrupted\n"
    _, out, _ = find(*USUAL)
    assert "nothing was saved; with --save search.json, --resume" in " ".join(out.split())
    assert 100 <= oddarm.Search.load(state).pulls < 12 * ROWS


def test_undecided(find, monkeypatch):
    """Exit code 3 says that nothing is decided, and the sentence which options go on."""
    monkeypatch.setattr("oddarm.strategies.adaptive.run.AdaptiveRun.forecast", lambda _: 60)
    for options, words in (
        ((), "may decide: --max-pulls 180."),
        (("--save", "my own.json"), "may decide: --resume 'my own.json' --max-pulls 180."),
    ):
        code, out, err = find(*USUAL, "--max-pulls", 60, *options)
        assert (code, err) == (3, "")
        assert words in " ".join(out.split())


@pytest.fixture
def press_at(monkeypatch):
    """Let the next search be interrupted by Ctrl-C after so many rows."""

    def prepare(pulls):
        real = oddarm.find

        def press(search):
            if search.pulls >= pulls:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(
            oddarm, "find", lambda *args, **options: real(*args, callbacks=[press], **options)
        )

    return prepare


@pytest.mark.parametrize("strategy", ["adaptive", "rr"])
@pytest.mark.parametrize("pulls", [10, 130, 300])
def test_resume_after_an_interrupt(find, press_at, monkeypatch, tmp_path, strategy, pulls):
    """A search that goes on draws no row twice and gives the answer of one that never stopped."""
    usual = ("requests.csv", "--arm", "host", "--reward", "ms", "--max-outliers", 1, "--seed", 3)
    ended, out, _ = find(*usual, "--strategy", strategy, "--json")
    whole = json.loads(out)
    drawn = []
    draw = TableSource.draw_block

    def noted(source, arms, counts):
        rewards = draw(source, arms, counts)
        for arm, count in zip(arms, counts, strict=True):
            end = source._drawn[source.position(arm)]
            drawn.extend((arm, row) for row in range(end - count, end))
        return rewards

    monkeypatch.setattr(TableSource, "draw_block", noted)
    state = tmp_path / "state.json"
    press_at(pulls)
    assert find(*usual, "--strategy", strategy, "--save", state)[0] == 130
    told = oddarm.Search.load(state).pulls
    assert pulls <= told < whole["pulls"]
    code, out, err = find(*usual[:-2], "--resume", state, "--json")
    assert (code, err) == (ended, "")
    data = json.loads(out)
    assert len(drawn) == len(set(drawn)) == data["pulls"]
    assert (data["verdict"], data["outliers"]) == (whole["verdict"], whole["outliers"])
    assert told < data["pulls"] <= 12 * ROWS
    assert oddarm.Search.load(state).pulls == data["pulls"]


def test_resume_with_a_larger_budget(find, tmp_path):
    """A search that ended for want of rows goes on with more, and is saved where it is told."""
    state, other = tmp_path / "state.json", tmp_path / "other.json"
    find(*USUAL, "--max-pulls", 60, "--save", state)
    code, out, _ = find(*USUAL[:-2], "--resume", state)
    assert code == 3
    assert out.startswith("Best guess after 60 of 1,200 rows: ")
    code, out, _ = find(*USUAL[:-2], "--resume", state, "--max-pulls", 1200, "--save", other)
    assert code == 0
    assert out.startswith("host-07 stands apart, ")
    assert f"saved: {other}" in out
    assert oddarm.Search.load(state).pulls == 60


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--epsilon", "3"], "--epsilon 3.0 with --resume, whose search has 2.5"),
        (["--rho", "0.9"], "--rho 0.9 with --resume, whose search has none"),
        (["--strategy", "rr"], "--strategy rr with --resume, whose search has adaptive"),
        (["--seed", "1"], "--seed 1 with --resume, whose search has 0"),
        (["--where", "ms > 110"], "on other data (where was none and is 'ms > 110'; rows was"),
        (["--reward", "ms > 200"], "reward was 'timed_out' and is 'ms > 200'"),
        (["--range", "0,2"], "rewards was {"),
        (["--replace"], "replace was False and is True"),
    ],
)
def test_resume_refuses_what_differs(find, tmp_path, arguments, words):
    """What the saved search knows may be repeated but not changed; the data must be the same."""
    state = tmp_path / "state.json"
    find(*USUAL, "--max-pulls", 60, "--save", state)
    code, out, err = find(*USUAL, "--delta", 0.05, "--resume", state, *arguments)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())


def test_resume_refuses_another_file(find, folder, tmp_path):
    """A file with the same arms and sizes and other rewards is refused, and nothing is written."""
    state = tmp_path / "state.json"
    find(*USUAL, "--max-pulls", 60, "--save", state)
    saved = state.read_bytes()
    other = tmp_path / "requests.csv"
    head, *lines = (folder / "requests.csv").read_text(encoding="utf-8").splitlines()
    other.write_text("\n".join([head, lines[0].replace(",0", ",1"), *lines[1:]]), encoding="utf-8")
    code, out, err = find(other, *USUAL[1:-2], "--resume", state)
    assert (code, out) == (2, "")
    assert "begun on other data (the rewards or their order are different): name the data" in err
    assert state.read_bytes() == saved


def test_resume_follows_a_file_that_moved(find, folder, tmp_path):
    """A file that was moved, touched and written anew with the same rows is the same data."""
    state = tmp_path / "state.json"
    find(*USUAL, "--max-pulls", 60, "--save", state)
    other = tmp_path / "moved.csv"
    other.write_bytes((folder / "requests.csv").read_bytes())
    os.utime(other, (1, 1))
    code, _, err = find(other, *USUAL[1:-2], "--resume", state)
    assert (code, err) == (3, "")


def test_resume_of_what_is_no_search(find, tmp_path):
    """A file that is missing or holds something else is named."""
    missing, other = tmp_path / "missing.json", tmp_path / "other.json"
    other.write_text("[]", encoding="utf-8")
    for path, words in ((missing, "missing.json"), (other, "not the saved state")):
        code, _, err = find(*USUAL[:-2], "--resume", path)
        assert code == 2
        assert words in err
        assert "Traceback" not in err


def test_compare(find):
    """--compare says how many rows every strategy needed, the fewest first, and a full scan."""
    code, out, err = find(*USUAL, "--compare")
    assert (code, err) == (0, "")
    sentence, table, notes = out.split("\n\n")
    assert sentence.startswith("By all 1,200 rows: 1 of 12 hosts is an outlier group")
    lines = table.splitlines()
    assert lines[0].split()[:4] == ["strategy", "rows", "share", "verdict"]
    names = [line.split("  ")[0].strip(" *†") for line in lines[1:]]
    assert set(names) == {*oddarm.strategies.STRATEGIES, "full scan"}
    assert "* drawn with replacement, at most 12,000 times" in " ".join(notes.split())
    assert "† no guarantee" in notes
    adaptive = next(line for line in lines if line.startswith("adaptive"))
    assert adaptive.split()[-3:] == ["1", "yes", "host-07"]


def test_compare_on_the_flights(find):
    """The flights are compared without a word about columns; the truth is that of all rows."""
    code, out, _ = find("flights", "--compare", "--max-pulls", 600, "--json")
    data = json.loads(out)
    assert code == 0
    assert data["rows"] == 326_408
    assert set(data["groups"][0]["members"]) == {"EWR-OKC", "EWR-TYS", "EWR-TUL"}
    assert {run["strategy"] for run in data["strategies"]} == set(oddarm.strategies.STRATEGIES)


def test_compare_as_json(find):
    """--compare --json prints all of it as JSON; a budget holds for every strategy."""
    code, out, _ = find(*USUAL, "--compare", "--json", "--max-pulls", 40)
    data = json.loads(out)
    assert code == 0
    assert data["rows"] == 12 * ROWS
    assert [group["members"] for group in data["groups"]] == [["host-07"]]
    assert all(run["pulls"] <= 40 for run in data["strategies"])
    assert len(data["strategies"]) == len(oddarm.strategies.STRATEGIES)


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_comparisons_fit_the_terminal(find, monkeypatch, columns):
    """No line is wider than the terminal, and rows are shown in any case."""
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = find(*USUAL, "--compare", "--max-pulls", 40)
    assert max(map(len, out.splitlines())) <= columns
    assert "rows" in out.split("\n\n")[1].splitlines()[0]


@pytest.mark.parametrize(
    "arguments",
    [["--strategy", "rr"], ["--replace"], ["--plot", "x.png"], ["--save", "x.json"]],
)
def test_compare_refuses_what_is_for_one_search(find, arguments):
    """What makes no sense for all strategies is refused, even if it is the default."""
    code, out, err = find(*USUAL, "--compare", *arguments)
    assert (code, out) == (2, "")
    assert f"{arguments[0]} with --compare" in err


def test_interrupted_comparison(find, monkeypatch):
    """Ctrl-C ends a comparison with exit code 130 and no table."""
    real = oddarm.compare

    def interrupted(*arguments, **options):
        def press(search):
            if search.pulls > 20:
                signal.raise_signal(signal.SIGINT)

        return real(*arguments, **{**options, "progress": press})

    monkeypatch.setattr(oddarm, "compare", interrupted)
    assert find(*USUAL, "--compare") == (130, "", "oddarm: interrupted\n")


def test_as_a_command(folder):
    """The command works in a process of its own, where nothing is a terminal."""
    shown = subprocess.run(
        [sys.executable, "-m", "oddarm", "find", *map(str, USUAL)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("host-07 stands apart, ")


def test_terminated(find, monkeypatch, tmp_path):
    """SIGTERM prints the partial answer, saves it and ends with exit code 143."""
    state = tmp_path / "state.json"
    real = oddarm.find

    def press(search):
        if search.pulls >= 100:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(oddarm, "find", lambda *a, **o: real(*a, callbacks=[press], **o))
    code, out, err = find(*USUAL, "--save", state)
    assert (code, err) == (143, "oddarm: terminated\n")
    assert out.startswith("Best guess after ")
    assert 100 <= oddarm.Search.load(state).pulls < 12 * ROWS
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
@pytest.mark.slow
def test_interrupted_while_the_table_is_loaded(folder, tmp_path, number, code, word):
    """A signal while DuckDB reads ends the command at once, with a word and no traceback."""
    query = "SELECT 'a' AS host, max(i) AS timed_out FROM range(1_000_000_000_000) numbers(i)"
    process = subprocess.Popen(
        [sys.executable, "-m", "oddarm", "find", "requests.duckdb", "--query", query,
         "--arm", "host", "--reward", "timed_out", "--quiet"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    try:
        while not list(tmp_path.iterdir()):  # DuckDB's folder for what memory cannot hold
            assert process.poll() is None
        opened = cpu_seconds(process)
        while cpu_seconds(process) < opened + 1:  # the query is all that takes so long
            assert process.poll() is None
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (code, "", f"oddarm: {word}\n")


def cpu_seconds(process):
    """Return how long a process has been at work."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
