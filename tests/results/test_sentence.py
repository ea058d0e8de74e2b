"""The sentences of an answer, by verdict."""

from dataclasses import replace

import numpy as np
import pytest

import oddarm
from oddarm._text import named
from oddarm.results.sentence import glance, odds
from oddarm.strategies.base import Certificate

NAMES = [f"host-{k:02}" for k in range(20)]
ODD = ["host-07", "host-13"]
SURE = "wrong with probability at most 5 %."


@pytest.fixture
def result():
    """Twenty hosts, two of which lie above the others; nothing is decided."""
    search = oddarm.Search(NAMES, max_outliers=2, min_gap=0.1)
    means = np.array([0.4 if name in ODD else 0.05 for name in NAMES])
    return replace(
        search.result().with_nouns("hosts", "calls"),
        means=means, low=means - 0.01, high=means + 0.01, counts=np.full(20, 100), pulls=2000,
        cost=2000.0,
    )  # fmt: skip


def answered(result, verdict, outliers=(), candidates=(), **fields):
    """Return the result with another verdict and other arms."""
    status = dict.fromkeys(NAMES, "undecided") | dict.fromkeys(outliers, "outlier")
    status |= dict.fromkeys(candidates, "candidate")
    return replace(
        result, verdict=verdict, outliers=list(outliers), candidates=list(candidates),
        statuses=list(status.values()), **fields,
    )  # fmt: skip


def certificate(members, gap, rest=0.05):
    """Return a certificate with what is certain of some arms."""
    return Certificate(tuple(members), "confirmed", gap, 1.0, 0.0, rest)


def relative(result, **fields):
    """Return the problem of a result with the paper's rule."""
    return replace(result.problem, **{"epsilon": 2.5, "min_gap": None, **fields})


def test_confirmed(result):
    """The outliers are named, with the distance that is certain, the price and the probability."""
    found = answered(result, "confirmed", ODD, certificates=[certificate(ODD, 0.1279)])
    assert found.summary == (
        "host-07 and host-13 stand apart, above the other 18 hosts by at least 0.12; "
        f"found with 2,000 calls; {SURE}"
    )
    one = answered(result, "confirmed", ODD[:1], certificates=[certificate(ODD[:1], 0.2)])
    assert one.summary.startswith("host-07 stands apart, ")


def test_confirmed_ratio(result):
    """By the paper's rule, the ratio of gaps that is certain is told too."""
    certain = [certificate(ODD, 0.3, 0.07)]
    found = answered(result, "confirmed", ODD, certificates=certain, problem=relative(result))
    assert "by at least 0.3 (at least 4.2 times any gap among them); " in found.summary


def test_confirmed_in_parts(result):
    """If certificates are of parts of the outliers, the smallest distance counts."""
    parts = [certificate(ODD[:1], 0.3), certificate(ODD[1:], 0.2)]
    found = answered(result, "confirmed", ODD, certificates=parts)
    assert " by at least 0.2; " in found.summary


def test_confirmed_without_certificate(result):
    """Without a certificate, the least distance within the slack is certain."""
    assert " by more than 0.08; " in answered(result, "confirmed", ODD).summary
    plain = answered(result, "confirmed", ODD, problem=relative(result))
    assert "above the other 18 hosts; found" in plain.summary


def test_confirmed_elsewhere(result):
    """Outliers that are neither above nor below the others stand apart from them."""
    means = result.means.copy()
    means[0] = 0.6
    found = answered(replace(result, means=means), "confirmed", ["host-00", "host-01"])
    assert found.summary.startswith("host-00 and host-01 stand apart from the other 18 hosts by ")


def test_failed_arms_are_not_counted(result):
    """An arm that has failed is not one of the others."""
    found = answered(result, "confirmed", ODD)
    found = replace(found, statuses=["failed", *found.statuses[1:]], errors={"host-00": "gone"})
    assert "above the other 17 hosts" in found.summary
    assert found.summary.endswith(" 1 host was set aside after errors.")
    errors = {"host-00": "gone", "host-01": "gone"}
    two = replace(found, errors=errors).with_nouns("checks", "runs")
    assert two.summary.endswith(" 2 checks were set aside after errors.")


def test_none(result):
    """No outliers: the rule, and the widest gap that is still possible."""
    none = answered(result, "none", widest_gap=0.0871)
    assert none.summary == (
        "None of 20 hosts stands apart by more than 0.1, alone or in a group of up to 2 "
        f"(at most 0.088 is possible); found with 2,000 calls; {SURE}"
    )
    one = replace(none, problem=replace(none.problem, max_outliers=1))
    words = "None of 20 hosts stands apart by more than 0.1; found "
    assert replace(one, widest_gap=None).summary.startswith(words)
    assert replace(one, widest_gap=0.0996).summary.startswith(words)


@pytest.mark.parametrize(("floor", "words"), [(None, "others; "), (0.1, "others, and above 0.1; ")])
def test_none_by_the_ratio(result, floor, words):
    """By the paper's rule, the sentence says which ratio of gaps does not exist."""
    none = answered(result, "none", problem=relative(result, min_gap=floor))
    ratio = "no gap around 2 or fewer of them is more than 3.5 times as wide as any gap among the "
    assert f"{ratio}{words}" in none.summary


def test_scattered(result):
    """More arms lie apart than may be outliers: who, what follows, and what to try."""
    found = answered(result, "scattered", candidates=NAMES[:5])
    assert found.summary == (
        "At least 5 of 20 hosts lie apart by more than 0.08 (min_gap 0.1 less the slack), more "
        "than the 2 that may be outliers: host-00, host-01, host-02, host-03 and host-04. So "
        f"there is no bulk at this scale; found with 2,000 calls; {SURE} "
        "Try a larger min_gap or a larger max_outliers."
    )
    one = replace(found, problem=replace(found.problem, max_outliers=1))
    assert ", more than the one that may be an outlier: host-00, " in one.summary
    strict = replace(found, problem=replace(found.problem, slack=0.0))
    assert " lie apart by more than 0.1, more than the 2 " in strict.summary
    unknown = answered(result, "scattered")
    words = "More than 2 of 20 hosts lie apart by more than 0.08 (min_gap 0.1 less the slack)."
    assert unknown.headline == words


def test_scattered_and_exact(result):
    """Where all means are known, the number of arms apart is exact, and so is the scale."""
    sizes = {**result.provenance["rewards"], "pools": [100] * 20}
    result = replace(result, provenance={**result.provenance, "rewards": sizes})
    found = answered(result, "scattered", candidates=NAMES[:5])
    assert found.headline.startswith("5 of 20 hosts lie apart by more than 0.1, more than the 2 ")
    everyone = answered(result, "scattered", candidates=NAMES)
    assert everyone.headline.startswith("All 20 hosts lie apart by more than 0.1, ")


@pytest.mark.parametrize(
    ("apart", "share", "words"),
    [
        (9, {"max_outliers": 2}, "larger min_gap or a larger max_outliers."),
        (10, {"max_outliers": 2}, "larger min_gap."),
        (9, {"max_outliers": None, "rho": 0.9}, "larger min_gap or a smaller rho."),
        (10, {"max_outliers": None, "rho": 0.9}, "larger min_gap."),
        (9, {"max_outliers": None, "rho": 0.8}, "larger min_gap."),
    ],
)
def test_scattered_hints_can_be_followed(result, apart, share, words):
    """More outliers are proposed if less than half lie apart; a smaller rho only at the default."""
    problem = replace(result.problem, **share)
    found = answered(result, "scattered", candidates=NAMES[:apart], problem=problem)
    assert found.summary.endswith(f" Try a {words}")


@pytest.mark.parametrize(
    ("apart", "who"),
    [
        (20, "20 of 20 hosts lie apart"),
        (6, "6 of 20 hosts lie apart (host-00, host-01, host-02, host-03, host-04 and 1 more)"),
    ],
)
def test_guess_of_too_many(result, apart, who):
    """A guess of more arms than may be outliers says that nobody is one, and what to try."""
    guess = answered(result, "budget", candidates=NAMES[:apart], evidence=3.0)
    assert guess.summary == (
        f"Best guess after 2,000 calls: {who}, more than the 2 that may be outliers, so nobody is "
        "an outlier at this scale, evidence 3 : 1 (you asked for 20 : 1); try a larger min_gap."
    )
    words = f"best guess: {apart} of 20 lie apart, too many · evidence 3 : 1"
    assert glance(guess) == words
    by_ratio = replace(guess, problem=relative(result))
    assert "nobody" not in by_ratio.summary


def test_ranked(result):
    """A ranking has candidates, no outliers, and a promise about the order."""
    found = answered(result, "ranked", candidates=ODD)
    assert found.summary == (
        "Of 20 hosts, host-07 and host-13 were the first to separate, above the rest, after 2,000 "
        "calls; whether they are outliers is not decided. "
        f"If outliers exist they rank first; {SURE}"
    )
    one = answered(result, "ranked", candidates=["host-07"])
    assert one.headline.startswith("Of 20 hosts, host-07 was the first to separate, ")
    assert one.headline.endswith("; whether it is an outlier is not decided.")


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ("wrr", "lies above mean + 2 deviations of all arms"),
        ("roai-lucb", "lies above median + 2 robust deviations"),
        ("maxgap", "lies beyond the largest gap"),
    ],
)
def test_own_rules(strategy, words):
    """Strategies with a rule of their own say what it is."""
    means = dict(zip("abcdefghij", [*np.linspace(0.2, 0.36, 9), 0.95], strict=True))
    rewards = oddarm.rewards.SubGaussian(scale=0.05)
    found = oddarm.simulate(means, strategy, max_outliers=1, rewards=rewards)
    assert found.outliers == ["j"]
    sentence = found.with_nouns("hosts", "rows").summary
    assert sentence.startswith(f"Of 10 hosts, j {words}, after {found.pulls:,} rows. ")
    nobody = replace(found, outliers=[], statuses=["normal"] * 10)
    assert nobody.summary.startswith(f"None of 10 arms {words}, ")


def test_not_proved():
    """What is not proved is said to be meant only."""
    means = dict(zip("abcdefghij", [*np.linspace(0.2, 0.36, 9), 0.95], strict=True))
    paper = oddarm.simulate(means, "gold", bound="paper")
    assert "; meant to be wrong with probability at most 5 %, which is not proved" in paper.summary


def test_budget(result):
    """At the end of a budget: the best guess, its odds, those asked for, and what would decide."""
    guess = answered(result, "budget", candidates=ODD, evidence=14.9, forecast=900)
    assert guess.summary == (
        "Best guess after 2,000 calls: host-07 and host-13, evidence 14 : 1 (you asked for "
        "20 : 1); about 900 to 1,800 more calls may decide: raise max_pulls to 3,800."
    )
    hint = "--resume search.json --max-pulls 3800"
    assert guess.with_hint(hint).summary.endswith(f"may decide: {hint}.")
    assert replace(guess, forecast=None).summary.endswith("(you asked for 20 : 1).")
    cost = replace(guess, provenance={**guess.provenance, "max_cost": 50.0})
    assert cost.summary.endswith("may decide: raise max_cost.")


def test_no_forecast(result):
    """With no near forecast, a search by the ratio alone says what is cheaper; others cannot."""
    guess = answered(result, "budget", candidates=ODD, evidence=8.6, problem=relative(result))
    asked = "evidence 8.6 : 1 (you asked for 20 : 1)."
    cheaper = "Say how far is far with min_gap, which is cheaper to show, or raise max_"
    assert guess.summary.endswith(f"{asked} {cheaper}pulls.")
    cost = replace(guess, provenance={**guess.provenance, "max_cost": 50.0})
    assert cost.summary.endswith(f"{asked} {cheaper}cost.")
    far = replace(guess, forecast=3_000_000)
    alone = "to 6,002,000. Say how far is far with min_gap, which is cheaper to show."
    assert far.summary.endswith(f"may decide: raise max_pulls {alone}")
    assert not replace(guess, forecast=1_900).summary.endswith("to show.")
    assert replace(far, verdict="running").summary.endswith("may decide.")
    stopped = replace(far, verdict="running").with_hint("go on with it")
    assert stopped.summary.endswith("which is cheaper to show. It was interrupted: go on with it.")
    for other in (
        replace(guess, verdict="running"),
        replace(guess, problem=relative(result, min_gap=0.1)),
        replace(guess, strategy=oddarm.strategies.Gold()),
    ):
        assert other.summary.endswith(asked)


def test_forecasts_are_rounded(result):
    """A forecast is a guess: it has two digits, and the budget has room for twice as many."""
    guess = answered(result, "budget", candidates=ODD, evidence=14.9, forecast=65_293)
    assert guess.enough_pulls == guess.pulls + 140_000
    assert guess.summary.endswith(
        "; about 66,000 to 140,000 more calls may decide: raise max_pulls to 142,000."
    )


def test_forecasts_beyond_the_rows(result):
    """Where more rows are needed than there are, the sentence says so and gives no hint."""
    sizes = {**result.provenance["rewards"], "rows": [150] * 20}
    result = replace(result, provenance={**result.provenance, "rewards": sizes})
    guess = answered(result, "budget", candidates=ODD, evidence=14.9, forecast=1_001)
    assert guess.with_hint("--max-pulls 3100").summary.endswith(
        "; about 1,100 more calls may decide, more than there are."
    )
    assert replace(guess, forecast=1_000).summary.endswith("raise max_pulls to 3,000.")


@pytest.mark.parametrize(
    ("verdict", "evidence", "words"),
    [
        ("budget", 1.0, ", with no evidence for it yet (you asked for 20 : 1)."),
        ("rows", 1.0, ", with no evidence for it (you asked for 20 : 1)."),
        ("budget", None, "; nothing is decided yet."),
        ("rows", None, "."),
    ],
)
def test_no_evidence(result, verdict, evidence, words):
    """Without evidence the sentence says so; of a strategy without odds it tells none."""
    guess = answered(result, verdict, candidates=ODD, evidence=evidence)
    assert guess.headline == f"Best guess after 2,000 calls: host-07 and host-13{words}"


def test_nobody(result):
    """The best guess may be that there are no outliers."""
    guess = answered(result, "budget", evidence=3.0)
    words = "Best guess after 2,000 calls: none of 20 hosts stands apart, evidence 3 : 1 (you asked"
    assert guess.summary.startswith(words)


def test_running(result):
    """A search that is not done has a guess too, once there are rewards."""
    guess = answered(result, "running", candidates=ODD, evidence=2.5, forecast=7000)
    assert guess.summary.endswith("; about 7,000 to 14,000 more calls may decide.")
    start = oddarm.Search(NAMES).result()
    assert start.summary == "No guess yet, after 0 pulls of 20 arms."
    some = answered(result, "budget", counts=np.r_[result.counts[1:], 0])
    assert some.summary == "No guess yet, after 2,000 calls of 20 hosts."


def test_one_of_a_kind(result):
    """One pull, one further pull, one arm more and one other arm are in the singular."""
    search = oddarm.Search(NAMES, max_pulls=1)
    search.tell(NAMES[0], 1)
    one = search.result()
    assert one.summary == "No guess yet, after 1 pull of 20 arms."
    assert repr(one).endswith(", 1 pull>")
    assert one.table(19).endswith("\n… and 1 more arm")
    guess = answered(result, "running", candidates=ODD, forecast=1)
    assert guess.summary.endswith("; about 1 to 2 more calls may decide.")
    sizes = {**result.provenance["rewards"], "rows": [1] * 2000 + [1]}
    last = replace(guess, provenance={**guess.provenance, "rewards": sizes})
    assert last.summary.endswith("; about 1 more call may decide.")
    found = answered(result, "confirmed", ODD)
    found = replace(found, statuses=["normal", *["failed"] * 6, "outlier", *["failed"] * 12])
    assert "the other 1 host by " in replace(found, outliers=ODD[:1]).summary


def test_rows(result):
    """When the rows have ended, arms with too few are named, the fewest first; many are counted."""
    counts = np.full(20, 100)
    counts[[4, 9]] = 8, 5
    guess = answered(result, "rows", candidates=ODD, counts=counts, evidence=4.0)
    short = {**guess.provenance, "short": ["host-02", "host-04", "host-09"]}
    assert replace(guess, provenance=short).with_nouns("hosts", "rows").summary == (
        "Best guess after 2,000 rows: host-07 and host-13, evidence 4 : 1 (you asked for 20 : 1). "
        "There are too few rows to decide, above all of host-09, host-04 and host-02. "
        "Try more rows, min_rows=9 to leave out hosts with few rows, a larger min_gap, or "
        "rows='all' if these rows are all there is."
    )
    assert " There are too few calls to decide. Try more calls, " in guess.summary
    many = replace(guess, provenance={**guess.provenance, "short": result.names[:17]})
    some = "host-09, host-04 and host-00"
    assert f"decide: 17 of 20 hosts have too few, such as {some}. Try" in many.summary


def test_rows_remedies_can_be_followed(result):
    """What to try after too few rows fits the rule, the strategy and the rewards."""
    guess = answered(result, "rows", candidates=ODD, problem=relative(result))
    assert "Try more calls, min_gap to say how far is far, or rows='all' if " in guess.summary
    rewards = oddarm.rewards.SubGaussian(scale=1.0)
    endless = oddarm.Search(20, rewards=rewards).result().provenance
    endless = replace(guess, provenance=endless)
    assert endless.summary.endswith("Try more calls, or min_gap to say how far is far.")
    gold = replace(guess, strategy=oddarm.strategies.Gold())
    assert gold.summary.endswith("Try more calls.")


@pytest.mark.parametrize(
    ("kind", "size", "words"),
    [
        ("pools", 100, "; found with all 2,000 calls, so it is exact."),
        ("pools", 101, f"; found with 2,000 of 2,020 calls; {SURE}"),
        ("rows", 100, f"; found with all 2,000 calls; {SURE}"),
    ],
)
def test_all_rewards(result, kind, size, words):
    """After all that there is, the answer is exact; after all of a sample, it is not."""
    sizes = {**result.provenance["rewards"], kind: [size] * 20}
    result = replace(result, provenance={**result.provenance, "rewards": sizes})
    assert answered(result, "confirmed", ODD).summary.endswith(words)


def test_costs(result):
    """Where pulls have costs, the sentence tells the cost first."""
    found = answered(result, "confirmed", ODD, cost=812.0)
    assert "; found for a cost of 812 (2,000 calls); " in found.summary
    guess = answered(result, "budget", candidates=ODD, cost=12345.6)
    assert guess.summary.startswith("Best guess after a cost of 12,346 (2,000 calls): host-07 and ")


def test_names():
    """Five arms are named and the others counted; names are safe on a terminal, and not long."""
    assert named(list("abcdef")) == "a, b, c, d, e and 1 more"
    assert named(["\x1b[2J"]) == "\\x1b[2J"
    assert named(["x" * 99]) == "x" * 39 + "…"
    assert (named([7]), named([7, 13]), named([])) == ("number 7", "numbers 7 and 13", "")


def test_numbers_begin_a_sentence(result):
    """Arms without names are called by number."""
    found = replace(answered(result, "confirmed", ODD), outliers=[7, 13])
    assert found.summary.startswith("Numbers 7 and 13 stand apart, above the other 18 hosts by ")


def test_odds_are_rounded_down():
    """Odds never look higher than they are."""
    assert [odds(x) for x in (19.99, 1234.5, 9.99, 2.0)] == [
        "19 : 1",
        "1,234 : 1",
        "9.9 : 1",
        "2 : 1",
    ]


def test_glance(result):
    """A line that changes all the time has the guess, its odds, the forecast and failed arms."""
    assert glance(oddarm.Search(4, max_outliers=1).result()) == ""
    guess = answered(result, "running", candidates=ODD, evidence=14.0, forecast=900)
    guess = replace(guess, errors={"host-00": "gone"})
    assert glance(guess) == (
        "best guess: host-07 and host-13 · evidence 14 : 1 · about 900 more · 1 failed"
    )
    assert glance(answered(result, "running")) == "best guess: nobody"
    assert glance(answered(result, "confirmed", ODD)) == ("outliers: host-07 and host-13")
    assert glance(answered(result, "none")) == ""
