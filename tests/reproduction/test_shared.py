"""The folder of shared sets, and folders like it."""

import csv
import gzip
import shutil

import pytest

import oddarm
from oddarm import OddarmError, outlier_groups
from reproduction.shared import shared_set, shared_sets

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


def test_wide_parquet(shared_data):
    """A column per keyword gives the counts that the long table has."""
    pytest.importorskip("pyarrow")
    long = {problem.name: problem for problem in shared_set("kjv_keywords", shared_data)}
    for keyword in ("king", "priest"):
        problem = long[f"kjv_keywords/{keyword}"]
        wide = oddarm.open_table(shared_data / "kjv_keywords_wide.parquet", "arm", keyword)
        sizes = dict(zip(wide.arms, wide.rewards.limits, strict=True))
        assert sizes == dict(zip(problem.arms, problem.sizes, strict=True))
        sums = {arm: wide.draw(arm, size).sum() for arm, size in sizes.items()}
        assert sums == dict(zip(problem.arms, problem.sums, strict=True))


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
    """A set of sums whose range is not known is refused."""
    (tmp_path / "mine.arms.csv").write_text("arm,n,sum\na,4,9.5\n")
    with pytest.raises(OddarmError, match="no column 'successes', only 'arm', 'n', 'sum'"):
        shared_set("mine", tmp_path)
