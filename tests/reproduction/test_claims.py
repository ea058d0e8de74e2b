"""The verdicts on the paper's claims, on made-up cells."""

import pytest

from reproduction.claims import (
    best_cells,
    check_claims,
    fair_cells,
    log_interval,
    paper_cells,
    percent,
    ratios,
)
from support.made_cells import along_epsilon, capped, cell, everything


def numbers(claim):
    """Return what a claim's first radii measured, by the names of the rows."""
    return {name: value for part in reversed(claim.parts) for name, value in part.rows}


def verdicts(cells):
    """Return the verdicts in the order of the claims."""
    return [claim.verdict for claim in check_claims(cells)]


def test_everything_holds_on_the_papers_own_numbers():
    """Cells that are as the paper reports make every claim hold."""
    claims = check_claims(everything())
    assert [claim.verdict for claim in claims] == ["holds"] * 7
    assert [claim.number for claim in claims] == list(range(1, 8))
    assert numbers(claims[1])["… mean saving (paper 82 %)"] == "90 %"


def test_nothing_is_measured_without_cells():
    """No cells, and cells without runs, leave every claim open."""
    empty = cell(runs={"correct": [], "f1": [], "pulls": [], "capped": []})
    assert verdicts([]) == verdicts([empty]) == ["not measured"] * 7


@pytest.mark.parametrize(
    ("right", "verdict"), [((4, 4), "holds"), ((4, 0), "does not hold"), ((3, 3), "does not hold")]
)
def test_accuracy(right, verdict):
    """GOLD's first claim holds only if all runs of all configurations are correct."""
    cells = [cell(right=count, instance=str(at)) for at, count in enumerate(right)]
    assert verdicts(cells)[0] == verdict


def test_accuracy_in_part():
    """One wrong run in many leaves the required 90 %, so the claim holds in part."""
    cells = [cell(right=3 if at == 0 else 4, instance=str(at)) for at in range(5)]
    claim = check_claims(cells)[0]
    assert claim.verdict == "holds in part"
    assert numbers(claim)["GOLD correct"] == "95 %, lowest 75 %"


@pytest.mark.parametrize(
    ("pulls", "verdict"),
    [(10_000, "holds"), (1_500, "holds in part"), (1_000, "does not hold"), (500, "does not hold")],
)
def test_saving(pulls, verdict):
    """The mean saving is compared with the paper's, and with none at all."""
    assert verdicts([cell(), cell(strategy="wrr", pulls=pulls)])[1] == verdict


def test_saving_is_by_the_most_correct_k():
    """WRR's best k is the most often correct one, and among equals the one with fewest pulls."""
    rivals = [
        cell(strategy="wrr", k=2.0, right=1, pulls=1_100),
        cell(strategy="wrr", k=2.5, right=4, pulls=8_000),
        cell(strategy="wrr", k=3.0, right=4, pulls=4_000),
    ]
    assert [best["k"] for best in best_cells(rivals)] == [3.0]
    assert ratios([cell(), *rivals]).values == (0.25,)


def test_a_ratio_to_the_cap_is_an_upper_bound():
    """Where WRR reaches the cap GOLD needs at most so many times its pulls."""
    claim = check_claims([cell(), capped(strategy="wrr")])[1]
    assert claim.verdict == "holds"
    assert numbers(claim)["GOLD's pulls ÷ WRR's"] == "at most 0.0010"
    assert numbers(claim)["… of them at the cap, WRR"] == "1"


def test_a_ratio_from_the_cap_is_a_lower_bound():
    """Where GOLD reaches the cap it needs at least so many times WRR's pulls."""
    claim = check_claims([capped(), cell(strategy="wrr", pulls=5_000)])[1]
    assert claim.verdict == "does not hold"
    assert claim.why == "GOLD needs at least 200 times WRR's pulls (the paper: 0.18 times)."


def test_ratios_have_a_geometric_mean_and_an_interval():
    """The interval is the t interval of the logs, from three instances on."""
    cells = []
    for instance, pulls in (("a", 100), ("b", 1_000), ("c", 10_000)):
        cells += [cell(instance=instance), cell(instance=instance, strategy="wrr", pulls=pulls)]
    found = ratios(cells)
    assert found.mean == pytest.approx(1)
    low, high = log_interval(found.values)
    # 4.30265 is the 97.5 % point of Student's t with two degrees of freedom.
    assert high == pytest.approx(10 ** (4.30265 / 3**0.5), rel=1e-4)
    assert low == pytest.approx(1 / high)
    assert log_interval(found.values[:2]) is None


def test_the_fair_capacity_stands_beside():
    """Cells of the fair capacity give a verdict of their own and leave the claim's as it is."""
    rivals = [cell("keywords", "wrr", 10_000), cell("keywords", "rr", 10_000)]
    cells = [capped(figure="keywords"), cell("keywords", capacity=1), *rivals]
    claim = check_claims(cells)[4]
    assert claim.verdict == "does not hold"
    assert claim.beside[-1] == ("with the fair capacity", "holds")
    assert paper_cells(cells) == [cells[0], *rivals]
    assert fair_cells(cells) == [cells[1], *rivals]
    assert fair_cells(paper_cells(cells)) == []


def test_a_cap_on_gold_never_makes_the_claim_hold():
    """An instance on which GOLD reaches the cap keeps the claim from holding outright."""
    good = [cell(), cell(strategy="wrr", pulls=10_000)]
    both = [capped(instance="two"), capped(instance="two", strategy="wrr")]
    assert verdicts(both)[1] == "not measured"
    assert verdicts(good + both)[1] == "holds in part"
    assert ratios(good + both).open == 1


def test_a_cap_leaves_a_negative_saving_open():
    """A rival that might have gone on for ever does not refute a saving."""
    cells = [cell(pulls=1_100_000), capped(strategy="wrr")]
    assert verdicts(cells)[1] == "not measured"


def test_unequal_radii_are_never_compared():
    """GOLD with one kind of radii and WRR with another give no saving."""
    cells = [cell(), cell(strategy="wrr", pulls=10_000, radii="hoeffding")]
    assert verdicts(cells)[1] == "not measured"


def test_the_printed_radii_decide():
    """The proved radii stand beside the verdict and are named where they differ."""
    printed = [cell(), cell(strategy="wrr", pulls=10_000)]
    proved = [cell(radii="anytime"), cell(strategy="wrr", pulls=900, radii="anytime")]
    claim = check_claims(printed + proved)[1]
    assert claim.verdict == "holds"
    assert claim.beside[0] == ("with the proved radii", "does not hold")
    assert verdicts(proved)[1] == "does not hold"


@pytest.mark.parametrize(
    ("upper", "between", "verdict"),
    [(4, 0, "holds"), (4, 4, "holds in part"), (0, 4, "does not hold")],
)
def test_sigma_rules_by_kind(upper, between, verdict):
    """RR and WRR should be right on upper and wrong on intermediate outliers."""
    cells = [
        cell(strategy=name, right=right, kind=kind, instance=kind)
        for name in ("rr", "wrr")
        for kind, right in (("upper", upper), ("intermediate", between))
    ]
    assert verdicts(cells)[2] == verdict


@pytest.mark.parametrize(
    ("nrr", "ib", "verdict"),
    [(1, 2, "holds"), (4, 2, "holds in part"), (4, 4, "does not hold")],
)
def test_weak_baselines(nrr, ib, verdict):
    """NRR and IB should both stay below the required correctness."""
    cells = [cell(strategy="nrr", right=nrr), cell(strategy="ib", right=ib)]
    assert verdicts(cells)[3] == verdict


def test_keywords_in_part():
    """A rival with a better F1 leaves the keyword claim holding in part only."""
    gold = cell("keywords", f1=[0.5] * 4)
    rival = cell("keywords", "wrr", pulls=10_000)
    claim = check_claims([gold, rival])[4]
    assert claim.verdict == "holds in part"
    assert claim.why == "GOLD's F1 is 0.50 and WRR's 1.00."


def test_clicks_do_not_hold():
    """A GOLD that is wrong and dearer than correct rivals refutes the click claim."""
    cells = [cell("clicks", right=0), *(cell("clicks", name, 500) for name in ("rr", "wrr"))]
    assert verdicts(cells)[5] == "does not hold"


@pytest.mark.parametrize(
    ("pulls", "verdict"),
    [
        ((900, 500, 300), "holds"),
        ((900, 300, 500), "holds in part"),
        ((300, 500, 900), "does not hold"),
        ((300,), "not measured"),
    ],
)
def test_epsilon(pulls, verdict):
    """Pulls fall with ε at every step, on the whole, or not."""
    assert verdicts(along_epsilon(*pulls))[6] == verdict


@pytest.mark.parametrize(
    ("share", "text"), [(1.0, "100 %"), (0.9999, "99.9 %"), (0.0, "0 %"), (-0.001, "0 %")]
)
def test_percent(share, text):
    """Only a share of one is printed as 100 %, and nothing as minus zero."""
    assert percent(share) == text
