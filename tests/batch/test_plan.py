"""What a search is likely to cost."""

import json
import sys
from dataclasses import replace

import pytest

import oddarm
from oddarm import cli
from oddarm.batch.plan import planned_strategies
from oddarm.strategies import Fixed

EASY = oddarm.guess_means(20, outliers=2, gap=0.6, spread=0.04, rate=0.2)


def test_guessed_means():
    """Normal arms are evenly spaced around the rate; outliers lie a gap beyond, on either side."""
    means = oddarm.guess_means(5, outliers=2, gap=-0.3, spread=0.1, rate=0.5)
    assert list(means.values()) == pytest.approx([0.45, 0.5, 0.55, 0.15, 0.15])
    default = oddarm.guess_means(5, outliers=1, gap=0.2)
    assert max(default.values()) == pytest.approx(0.5 + 0.01 + 0.2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"arms": 2, "gap": 0.1}, "arms == 2"),
        ({"arms": 10, "gap": 0}, "gap == 0"),
        ({"arms": 10, "gap": 0.1, "outliers": 5}, "fewer than half"),
        ({"arms": 10, "gap": 0.1, "spread": -1}, "spread == -1"),
    ],
)
def test_guesses_that_make_no_sense(options, words):
    """A guess that cannot be is refused."""
    with pytest.raises(oddarm.OddarmError, match=words):
        oddarm.guess_means(**options)


def test_quantiles_are_those_of_simulated_runs():
    """Low, median and high are pulls of the runs that simulate gives on the same seeds."""
    plan = oddarm.plan(EASY, ["gold", "rr"], runs=5, seed=3, epsilon=2.0)
    for cost in plan.costs:
        runs = oddarm.simulate(EASY, cost.strategy, seed=3, runs=5, epsilon=2.0)
        pulls = sorted(result.pulls for result in runs)
        assert (cost.low, cost.median, cost.high) == (pulls[1], pulls[2], pulls[4])
        assert (cost.capped, cost.right) == (0, 5)


@pytest.mark.parametrize("rewards", ["bernoulli", oddarm.rewards.Bernoulli(pools=(300,) * 20)])
@pytest.mark.slow
def test_runs_that_share_the_cores(monkeypatch, rewards):
    """Runs in processes of their own cost what they cost in turn, and each is reported once."""
    names = ["adaptive", "rr"]
    in_turn = oddarm.plan(EASY, names, runs=5, rewards=rewards)
    monkeypatch.setattr("oddarm.batch.parallel.WORTH_PROCESSES", 0.0)
    seen, watched = [], []
    shared = oddarm.plan(
        EASY, names, runs=5, rewards=rewards, progress=watched.append, finished=seen.append
    )
    assert shared.to_dict() == in_turn.to_dict()
    assert len(seen) == 10
    assert {search.provenance["seed"] for search in seen} == set(range(5))
    assert {search.seed for search in watched} <= {0, 1}


def test_text():
    """The sentence says whether there is a group, the table what each strategy needs."""
    text = str(oddarm.plan(EASY, ["gold"], runs=3))
    assert text.startswith(
        "2 of 20 arms are an outlier group at ε = 2.5 and ρ = 0.9; the gap of 0.6"
    )
    head, line = text.split("\n\n")[1].splitlines()
    assert head.split()[:2] == ["strategy", "until"]
    assert line.startswith("gold")
    assert "3 of 3" in line
    absolute = oddarm.plan(EASY, ["adaptive"], runs=1, rewards=(0, 1), min_gap=0.3, rho=0.9)
    assert absolute.summary.endswith("at a gap above 0.3 and ρ = 0.9; the gap is 0.6.")


def test_the_limit_is_shown_beside_the_strategies():
    """A plan says what any method needs, for each way to end, in words and as JSON."""
    plan = oddarm.plan(EASY, ["adaptive", "gold"], runs=1)
    assert set(plan.least) == {"found", "ranked"}
    assert 0 < plan.least["ranked"] < plan.least["found"] < plan.costs[0].low
    assert plan.to_dict()["least"] == plan.least
    assert f"at least {plan.least['found']:,.0f} pulls until found" in str(plan)
    assert oddarm.plan(EASY, ["adaptive"], runs=1, rewards=(0, 1)).least == {}


def test_no_group():
    """Means without a group are called that, and nothing is called right."""
    plan = oddarm.plan([0.1, 0.3, 0.5, 0.7, 0.9], ["rr"], runs=2, max_outliers=1, cap=1000)
    assert plan.groups == ()
    assert plan.summary == "These 5 means have no outlier group at ε = 2.5 and at most 1 outlier."
    assert plan.costs[0].right is None


def test_runs_are_judged_with_the_slack_of_their_search():
    """A strategy that confirms has slack and may be right by it; one that ranks has none."""
    means = [0.1, 0.3, 0.5, 0.7, 0.9]
    plan = oddarm.plan(means, ["adaptive", "gold"], runs=2, max_outliers=1, cap=200_000)
    assert plan.problem.slack == 0.2
    adaptive, gold = plan.costs
    assert (adaptive.until, adaptive.right) == ("found", 2)  # it says "none"
    assert (gold.until, gold.right) == ("ranked", None)
    given = oddarm.plan(EASY, ["adaptive", "gold"], runs=1, slack=0.1)
    assert given.problem.slack == 0.1


def test_strategies_for_the_absolute_rule():
    """By default, only strategies that can judge the absolute rule are planned for it."""
    rewards = oddarm.rewards.as_rewards("bernoulli")
    assert planned_strategies(rewards, {"min_gap": 0.1}) == ["adaptive", "fixed"]
    assert planned_strategies(rewards, {}) == ["adaptive", "fixed", "gold", "rr", "wrr"]


def test_without_strategies():
    """An empty list of strategies is refused."""
    with pytest.raises(oddarm.OddarmError, match="strategies is empty"):
        oddarm.plan(EASY, [])


def test_caps_are_owned_up_to():
    """Runs that reach the cap are counted, and their pulls shown as more than the cap."""
    plan = oddarm.plan(EASY, ["gold"], runs=2, cap=100, full_scan=4000)
    assert plan.costs[0].capped == 2
    assert "> 100" in plan.table()
    assert "0 of 2" in plan.table()
    assert "To read everything takes 4,000 pulls." in plan.summary


def test_rewards_in_a_range():
    """Rewards other than 0 and 1 are simulated in batches."""
    means = oddarm.guess_means(10, gap=60, spread=5, rate=20)
    (cost,) = oddarm.plan(means, ["gold"], runs=2, rewards=(0, 100)).costs
    assert (cost.capped, cost.right) == (0, 2)
    chosen = [cost.strategy for cost in oddarm.plan(means, runs=1, cap=20, rewards=(0, 100)).costs]
    assert "wrr" not in chosen
    assert {"gold", "rr"} <= set(chosen)


@pytest.mark.parametrize("rewards", ["bernoulli", (0, 1)])
def test_finite_pools(rewards):
    """With pools no reward is drawn twice, so no run needs more than there are."""
    sizes = tuple(range(60, 80))
    model = replace(oddarm.rewards.as_rewards(rewards), pools=sizes)
    plan = oddarm.plan(EASY, ["adaptive", "rr", "gold"], runs=2, rewards=model)
    adaptive, rr, gold = plan.costs
    assert plan.full_scan == sum(sizes)
    for cost in (adaptive, rr):
        assert cost.high <= sum(sizes)
        assert (cost.capped, cost.replaced) == (0, False)
    assert adaptive.right == 2
    assert gold.replaced
    assert gold.median > sum(sizes)
    assert plan.notes[0].startswith("* drawn with replacement")
    assert str(plan).endswith(plan.notes[0])


def test_finite_pools_are_searched_as_a_table_is():
    """The pulls are those that find needs on pools of these means."""
    model = oddarm.rewards.Bernoulli(pools=(200,) * 20)
    (cost,) = oddarm.plan(EASY, ["adaptive"], runs=1, seed=5, rewards=model).costs
    arms = oddarm.sources.SimulatedArms(list(EASY.values()))
    pools = {arm: arms.pool(arm, 200) for arm in range(20)}
    log = oddarm.sources.RecordedSource(pools, seed=5)
    assert oddarm.find(log, until="found").pulls == cost.median


def test_means_of_small_pools_are_rounded():
    """Five 0/1 rewards cannot have the mean 0.22; what they can have is taken for true."""
    model = oddarm.rewards.Bernoulli(pools=(5,) * 6)
    plan = oddarm.plan([0.22, 0.2, 0.18, 0.21, 0.2, 0.95], ["rr"], runs=1, rewards=model,
                       max_outliers=1)  # fmt: skip
    assert plan.means == {0: 0.2, 1: 0.2, 2: 0.2, 3: 0.2, 4: 0.2, 5: 1.0}
    with pytest.raises(oddarm.OddarmError, match="6 sizes for 3 arms"):
        oddarm.plan([0.1, 0.2, 0.3], ["rr"], rewards=model)


def test_until():
    """Strategies that cannot confirm are run until they rank, and refuse to be asked for more."""
    assert oddarm.plan(EASY, ["gold"], runs=1).costs[0].until == "ranked"
    with pytest.raises(oddarm.OddarmError, match="which only ranks"):
        oddarm.plan(EASY, ["gold"], runs=1, until="confirmed")


def test_narrow_tables_leave_columns_out():
    """A narrow table keeps the strategies and their likely pulls."""
    plan = oddarm.plan(EASY, ["gold"], runs=1)
    for width in (25, 40, 60):
        lines = plan.table(width).splitlines()
        assert max(map(len, lines)) <= width
        assert lines[0].startswith("strategy")
        assert "likely pulls" in lines[0]


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Run `oddarm plan` here; give the exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["oddarm", "plan", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        shown = capsys.readouterr()
        return stop.value.code, shown.out, shown.err

    return run


def test_command_with_a_guess(command):
    """A guess gives a sentence and a table, or JSON."""
    guess = ("--arms", 20, "--outliers", 2, "--gap", 0.6, "--rate", 0.2, "--runs", 2)
    code, out, err = command(*guess, "--rows", 500)
    assert (code, err) == (0, "")
    assert "takes 10,000 pulls; no reward is drawn twice." in " ".join(out.split())
    assert "* drawn with replacement" in out
    code, out, _ = command(*guess)
    assert {"gold", "rr", "wrr"} <= {line.split()[0] for line in out.splitlines() if line}
    assert "*" not in out
    code, out, _ = command(*guess, "--strategy", "gold", "--json")
    data = json.loads(out)
    assert [cost["strategy"] for cost in data["strategies"]] == ["gold"]
    assert data["groups"][0]["members"] == ["odd-1", "odd-2"]


def test_command_with_pilot_data(command, tmp_path):
    """The means of pilot data are taken for true, and its rows counted."""
    lines = ["host,slow"]
    for host, slow in zip("abcdefgh", [1, 1, 2, 2, 1, 2, 1, 9], strict=True):
        lines += [f"{host},{int(k < slow)}" for k in range(10)]
    (tmp_path / "pilot.csv").write_text("\n".join(lines), encoding="utf-8")
    pilot = ("pilot.csv", "--arm", "host", "--reward", "slow", "--max-outliers", 1)
    gold = ("--runs", 2, "--strategy", "gold", "--json")
    code, out, _ = command(*pilot, *gold)
    data = json.loads(out)
    assert (code, data["finite"], data["strategies"][0]["replaced"]) == (0, True, False)
    assert data["strategies"][0]["capped"] == 2  # the rows of a sample are too few
    code, out, _ = command(*pilot, *gold, "--rows", "all")
    data = json.loads(out)
    assert code == 0
    assert data["full_scan"] == 80
    assert {row["arm"]: row["mean"] for row in data["means"]}["h"] == pytest.approx(0.9)
    assert data["strategies"][0]["right"] == 2
    assert (data["finite"], data["strategies"][0]["replaced"]) == (True, True)
    code, out, _ = command(*pilot, "--runs", 2, "--strategy", "rr", "--replace", "--json")
    data = json.loads(out)
    assert (data["finite"], data["full_scan"]) == (False, None)
    assert data["strategies"][0]["median"] > 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "neither data nor a guess"),
        (["--arms", "20"], "--arms and --gap"),
        (["pilot.csv", "--arms", "20"], "pass data or a guess"),
        (["pilot.csv", "--arm", "a", "--reward", "b"], "there is no file pilot.csv"),
        (["--arms", "20", "--gap", "0.9"], "must be in [0, 1]"),
        (["--arms", "20", "--gap", "0.9", "--rows", "9"], "must be in [0, 1]"),
        (["--arms", "20", "--gap", "0.1", "--rows", "9", "--replace"], "which draws endlessly"),
        (["--arms", "20", "--gap", "0.1", "--strategy", "x"], "strategy == 'x'"),
        (["--arms", "20", "--gap", "0.1", "--delta", "2"], "--delta 2"),
    ],
)
def test_mistakes(command, arguments, words):
    """A mistake is one clear sentence with exit code 2."""
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())
    assert "Traceback" not in err


def test_a_fixed_sample_is_the_smallest_that_decides():
    """The pulls of fixed are the fewest of the grid with which nine looks of ten decide."""
    means = oddarm.guess_means(12, outliers=1, gap=0.5, spread=0.05, rate=0.2)
    planned = oddarm.plan(means, ["fixed"], runs=10, max_outliers=1)
    [cost] = planned.costs
    assert cost.low == cost.median == cost.high
    assert cost.median % 12 == 0
    assert cost.capped <= 1
    assert cost.right >= 9
    assert "fixed: every arm equally often" in str(planned)
    fewer = round(cost.median / 12 / 1.1**2)
    looks = [
        oddarm.simulate(list(means.values()), Fixed(pulls=fewer), max_outliers=1, seed=k).verdict
        for k in range(10)
    ]
    assert looks.count("budget") > 1


def test_a_fixed_sample_beyond_the_cap_is_said_to_be():
    """If even the cap leaves looks open, that many pulls are a lower bound."""
    means = [0.2, 0.21, 0.22, 0.23, 0.24, 0.25]
    [cost] = oddarm.plan(means, ["fixed"], runs=3, cap=600, max_outliers=1).costs
    assert (cost.median, cost.capped) == (600, 3)
    assert "> 600" in oddarm.plan(means, ["fixed"], runs=3, cap=600, max_outliers=1).table()


def test_a_fixed_sample_of_pools_ends_with_them():
    """Drawn completely, pools decide: fixed needs no more than all of them."""
    means = [0.2, 0.25, 0.3, 0.35, 0.9]
    rewards = oddarm.rewards.Bernoulli(pools=(40,) * 5)
    [cost] = oddarm.plan(means, ["fixed"], runs=3, rewards=rewards, max_outliers=1).costs
    assert cost.median <= 200
    assert cost.capped == 0


def test_plans_of_arms_with_prices():
    """A plan says what the pulls cost if arms have prices, by name or in order, and only then."""
    means = {"a": 0.1, "b": 0.12, "c": 0.14, "d": 0.9}
    prices = {"d": 8.0, "c": 4.0, "b": 2.0, "a": 1.0}
    made = oddarm.plan(means, ["adaptive", "gold"], runs=3, max_outliers=1, costs=prices)
    assert "likely cost" in str(made)
    assert all(cost.low < cost.cost < 8 * cost.high for cost in made.costs)
    in_order = oddarm.plan(means, ["gold"], runs=3, max_outliers=1, costs=[1, 2, 4, 8])
    assert in_order.costs == made.costs[1:]
    plain = oddarm.plan(means, ["gold"], runs=3, max_outliers=1)
    assert "likely cost" not in str(plain)
    assert plain.costs[0].cost == plain.costs[0].median
    pools = oddarm.rewards.Bernoulli(pools=(50,) * 4)
    finite = oddarm.plan(means, ["rr"], runs=2, max_outliers=1, costs=prices, rewards=pools)
    assert 0 < finite.costs[0].cost <= 50 * 15
    with pytest.raises(oddarm.errors.ParameterError, match="no cost for arm 'd'"):
        oddarm.plan(means, max_outliers=1, costs={"a": 1, "b": 1, "c": 1})


def test_a_plan_by_the_relative_rule_with_min_gap():
    """By default only the strategies that know min_gap are planned, also with epsilon."""
    planned = oddarm.plan([0.1, 0.12, 0.14, 0.9], runs=1, max_outliers=1, epsilon=1, min_gap=0.1)
    assert [cost.strategy for cost in planned.costs] == ["adaptive", "fixed"]


def test_a_plan_until_found_ranks_with_the_others():
    """Of the strategies by default, those that only rank are run until they have ranked."""
    planned = oddarm.plan([0.1, 0.12, 0.14, 0.9], runs=1, max_outliers=1, until="found", slack=0.1)
    assert {cost.strategy: cost.until for cost in planned.costs}["gold"] == "ranked"


def test_a_plan_has_no_budget():
    """A plan says how many pulls an answer takes, so it refuses until='budget'."""
    with pytest.raises(oddarm.errors.ParameterError, match=r"until == 'budget' for a plan"):
        oddarm.plan([0.1, 0.12, 0.14, 0.9], runs=1, max_outliers=1, until="budget", cap=1000)


def test_max_pulls_is_called_cap():
    """A plan that is given max_pulls says what it is called here."""
    with pytest.raises(oddarm.errors.ParameterError, match="did you mean cap"):
        oddarm.plan([0.1, 0.12, 0.14, 0.9], max_pulls=1000)
