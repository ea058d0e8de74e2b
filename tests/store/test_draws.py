"""Draws against a model that keeps every pull, and a line for each arm, in plain lists."""

import random
from dataclasses import dataclass

import pytest

from oddarm import create_study
from oddarm.errors import OddarmError, RewardError, UnknownPullError
from oddarm.store.database.base import open_database
from oddarm.store.study import Study
from oddarm.testing import NAMES


@dataclass
class Lease:
    """What the model knows of a pull."""

    arm: str
    expires: float
    reward: float | None = None
    given_up: bool = False


class Model:
    """Every pull ever handed out, in order, and what was told."""

    def __init__(self):
        self.pulls: dict[str, Lease] = {}
        self.told: list[tuple[str, str, float]] = []
        self.data: dict[str, list[float]] = {name: [] for name in NAMES}

    def out(self, pull):
        """Return whether a pull was neither told nor given up."""
        return self.pulls[pull].reward is None and not self.pulls[pull].given_up

    def take_back(self, most, now):
        """Return up to `most` pulls whose lease has ended, the oldest first."""
        late = [pull for pull, one in self.pulls.items() if self.out(pull) and one.expires <= now]
        return late[:most]

    def tell(self, rewards):
        """Return how many of some rewards are new."""
        new = [pull for pull in rewards if self.out(pull)]
        for pull in new:
            self.pulls[pull].reward = rewards[pull]
            self.told.append((pull, self.pulls[pull].arm, rewards[pull]))
        return len(new)

    def give_up(self, pulls):
        """Return how many of some pulls were still out."""
        new = [pull for pull in pulls if self.out(pull)]
        for pull in new:
            self.pulls[pull].given_up = True
        return len(new)

    def counted(self, arm):
        """Return the rewards of an arm that count: those before the first that is out."""
        line = [one for one in self.pulls.values() if one.arm == arm and not one.given_up]
        first_out = next((k for k, one in enumerate(line) if one.reward is None), len(line))
        return self.data[arm] + [one.reward for one in line[:first_out]]

    def waiting(self):
        """Return how many rewards were told and do not count yet."""
        return len(self.told) - sum(len(self.counted(arm)) for arm in NAMES)


def some_pulls(rng, ids):
    """Return pulls as a worker might tell them: in a row, with gaps, or in any order."""
    first = rng.randrange(max(len(ids) - rng.choice([10, 100, 1000]), 0), len(ids))
    row = ids[first : first + rng.choice([1, 2, 64, 65, 130, 300])]
    kind = rng.randrange(4)
    if kind == 0:
        rng.shuffle(row)
    elif kind == 1:
        row = [pull for pull in row if rng.random() < 0.7]
    elif kind == 2:
        at = rng.randrange(len(row))
        row = row[at:] + row[:at]
    return row


@pytest.mark.parametrize("seed", range(4))
def test_draws_as_the_model(tmp_path, seed, clock):
    """Asks, tells in any order, late and twice, through two handles that overtake each other."""
    rng = random.Random(seed)
    path = tmp_path / "s.db"
    create_study(path, "demo", NAMES, strategy="rr", max_outliers=1).close()
    studies = [Study(open_database(path), "demo", clock=clock) for _ in range(2)]
    model = Model()
    for name in NAMES:  # a strategy asks for more than a round once every arm has a reward
        studies[0].tell_arm(name, 1, key="first " + name)
        model.told.append(("first " + name, name, 1.0))
        model.data[name].append(1.0)
    for step in range(250):
        study = studies[rng.random() < 0.2]
        clock.now += rng.choice([0, 0.1, 5])
        ids = list(model.pulls)
        if not ids or rng.random() < 0.35:
            limit, seconds = rng.choice([1, 3, 64, 70, 200]), rng.choice([1, 30, 1000])
            back = model.take_back(limit, clock.now)
            pulls = study.ask(limit, lease_seconds=seconds)
            assert 1 <= len(pulls) <= limit
            assert [pull.id for pull in pulls[: len(back)]] == back
            assert not {pull.id for pull in pulls[len(back) :]} & set(ids)
            for pull in pulls:
                model.pulls.setdefault(pull.id, Lease(pull.arm, 0)).expires = pull.expires
            continue
        rewards = {pull: float(rng.random() < 0.5) for pull in some_pulls(rng, ids)}
        if rng.random() < 0.1:
            last = ids[-1].rpartition(".")
            wrong = rng.choice(["x", f"{last[0]}.{int(last[2]) + 1}", f"{ids[0]} ", f"0{ids[0]}"])
            with pytest.raises(UnknownPullError):
                study.tell_many({**rewards, wrong: 1.0})
        if rng.random() < 0.1 and any(model.out(pull) for pull in rewards):
            with pytest.raises(RewardError):
                study.tell_many(dict.fromkeys(rewards, 2.0))
        if rng.random() < 0.1:
            assert study.give_up(rewards) == model.give_up(rewards)
        assert study.tell_many(rewards) == model.tell(rewards)
        assert study.info().waiting == model.waiting()
        if step % 10 == 0:
            tally = study.search().tally
            counted = [model.counted(name) for name in NAMES]
            assert tally.counts.tolist() == [len(rewards) for rewards in counted]
            assert tally.totals.tolist() == [sum(rewards) for rewards in counted]
    for study in studies:
        told = [(tell["pull"], tell["arm"], tell["reward"]) for tell in study.tells()]
        assert told == model.told
        assert study.tell_many(dict.fromkeys(model.pulls, 1.0)) == model.tell(
            dict.fromkeys(model.pulls, 1.0)
        )
        assert study.info().waiting == 0
        study.close()


@pytest.mark.parametrize("form", ["{}.{}.+1", "{}.{}.01", "{}.{}.1_0", "{}.{}.١", "{}.{}.-1", "{}"])
def test_ids_that_only_look_like_a_pull(tmp_path, form):
    """An id is taken as it was given, and in no other spelling of its numbers."""
    with create_study(tmp_path / "s.db", "demo", NAMES, strategy="rr", max_outliers=1) as study:
        tag, ask, _ = study.ask(20)[0].id.split(".")
        with pytest.raises(UnknownPullError, match="was never handed out"):
            study.tell(form.format(tag, ask), 1)
        with pytest.raises(OddarmError):
            study.tell(1, 1)
