"""Odd samples of evaluations by inspect_ai: real tasks with its mock model, and the parts."""

import asyncio
import gc
import logging
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

import oddarm
from oddarm.errors import MissingExtraError, OddarmError, ParameterError, SourceError
from oddarm.integrations.inspect_eval import odd_samples
from oddarm.integrations.inspect_eval.runs import RunBook
from oddarm.integrations.inspect_eval.scores import ScoreReader

pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Unclosed <Memory:ResourceWarning"),
]
ODD = ["case-3", "case-17", "case-30"]


@pytest.fixture
def inspect_ai():
    """Return the package; afterwards logging is as it was, and what it left open is collected."""
    package = pytest.importorskip("inspect_ai")
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield package
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    gc.collect()  # its open streams warn while this test's filters hold


@pytest.fixture
def evaluate(inspect_ai, tmp_path):
    """Return a call of `odd_samples` for a task of cases, whose answers a function gives."""
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import match

    def run(cases, passes, scorers=None, eval_options=None, **options):
        def answer(messages, *_):
            output = ModelOutput.from_content("m", "yes" if passes(messages[-1].text) else "no")
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
            return output

        samples = [
            Sample(id=case, input=case, target="yes", metadata={"prompt": case[:1]})
            for case in cases
        ]
        return odd_samples(
            lambda: inspect_ai.Task(dataset=samples, scorer=scorers or match(), name="cases"),
            get_model("mockllm/model", custom_outputs=answer, memoize=False),
            eval_options={
                "display": "none",
                "log_dir": str(tmp_path),
                "log_realtime": False,
                "score_display": False,
                **(eval_options or {}),
            },
            **options,
        )

    return run


@pytest.mark.slow
def test_three_of_forty(evaluate, tmp_path):
    """The odd samples are found in a real task, and its log says what ran and the answer."""
    from inspect_ai.log import list_eval_logs, read_eval_log

    asked = []

    def passes(case):
        asked.append(case)
        return case not in ODD

    cases = [f"case-{k}" for k in range(40)]
    result = evaluate(
        cases, passes, min_gap=0.8, slack=0.5, max_outliers=3, delta=0.2, max_epochs=30
    )
    assert sorted(result.outliers) == sorted(ODD)
    assert "below the other 37 samples" in result.summary
    assert result.pulls < 20 * 40
    log = read_eval_log(list_eval_logs(str(tmp_path))[0])
    assert log.status == "success"
    assert log.eval.dataset.samples == 40
    assert log.eval.dataset.sample_ids == cases
    assert log.eval.config.epochs == max(sample.epoch for sample in log.samples)
    assert log.eval.metadata["oddarm"]["outliers"] == result.outliers
    epochs = sorted(sample.epoch for sample in log.samples if sample.id == "case-3")
    assert epochs == list(range(1, len(epochs) + 1))
    assert len(log.samples) == len(asked) >= result.pulls


@pytest.mark.slow
def test_a_sample_that_fails(evaluate):
    """A sample that keeps failing is left out, and the budget is so many epochs of the dataset."""

    def passes(case):
        if case == "a2":
            raise RuntimeError("no such case")
        return True

    result = evaluate(
        [f"a{k}" for k in range(6)], passes, retries=1, max_outliers=1, min_gap=0.3, max_epochs=3
    )
    assert result.errors == {"a2": "the sample failed: RuntimeError('no such case')"}
    assert result.verdict == "budget"
    assert result.pulls == 3 * 6


@pytest.mark.slow
def test_an_interrupt_and_the_rest(evaluate, tmp_path):
    """Ctrl-C gives the answer so far, and a saved search goes on with its next epochs."""
    asked = []

    def passes(case):
        asked.append(case)
        if len(asked) == 40:
            signal.raise_signal(signal.SIGINT)
        return case != "b2"

    cases = [f"{prompt}{k}" for prompt in "ab" for k in range(4)]
    options = {"min_gap": 0.8, "max_outliers": 1}
    saved = tmp_path / "search.json"
    stopped = evaluate(cases, passes, save=saved, **options)
    assert stopped.verdict == "running"
    assert 20 < stopped.pulls < 40
    search = oddarm.Search.load(saved)
    assert search.pulls == stopped.pulls
    with pytest.raises(ParameterError, match="has its options"):
        evaluate(cases, passes, search=search, **options)
    with pytest.raises(ParameterError, match="other arms"):
        evaluate(cases[1:], passes, search=search)
    result = evaluate(cases, passes, search=search, max_epochs=60)
    assert result.outliers == ["b2"]
    assert result.pulls > stopped.pulls
    assert result.provenance["max_pulls"] == 60 * 8


@pytest.mark.slow
def test_groups_and_scorers(evaluate):
    """Groups of samples are arms, one of several scores counts by name, and other names end it."""
    from inspect_ai.scorer import Score, match, mean, scorer

    @scorer(metrics={"helpful": [mean()], "long": [mean()]})
    def rubric():
        async def score(state, target):  # noqa: ARG001
            good = state.output.completion == "yes"
            return Score(value={"helpful": 4.0 if good else 1.5, "long": 3})

        return score

    cases = [f"{prompt}{k}" for prompt in "abcd" for k in range(3)]
    options = {
        "scorers": [match(), rubric()],
        "by": "prompt",
        "rewards": (1, 5),
        "min_gap": 1.5,
        "max_outliers": 1,
    }
    result = evaluate(
        cases,
        lambda case: case[0] != "c",
        scorer="rubric",
        score_key="helpful",
        delta=0.3,
        **options,
    )
    assert result.outliers == ["c"]
    assert "3 prompts" in result.summary
    with pytest.raises(SourceError, match="scorer is missing, must be one of 'match', 'rubric'"):
        evaluate(cases, bool, **options)


def test_nothing_is_run_for_wrong_options(evaluate):
    """Options that the search decides, and budgets and names that do not fit, are refused."""
    cases = ["a1", "a2", "b1"]
    for wrong, words in [
        ({"eval_options": {"epochs": 3}}, "pass max_epochs"),
        ({"max_epochs": 0.5}, "must be >= 1"),
        ({"max_epochs": 5, "max_pulls": 9}, "pass one"),
        ({"by": "model"}, "must be in the metadata of sample 'a1'"),
        ({"max_outlirs": 1}, "did you mean max_outliers"),
    ]:
        with pytest.raises(ParameterError, match=words):
            evaluate(cases, lambda _: pytest.fail("a sample was run"), **wrong)
    with pytest.raises(ParameterError, match="one id"):
        evaluate(["a1", "a1", "b1"], bool)
    with pytest.raises(ParameterError, match="task is a str"):
        odd_samples("task.py")
    with pytest.raises(ParameterError, match="must be one model"):
        odd_samples("task.py", ["one", "two"])


def test_without_the_package(monkeypatch):
    """Without inspect_ai, or with an old one, one sentence names the installation."""
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(MissingExtraError, match=r"needs inspect_ai, .*'oddarm\[inspect\]'$"):
        odd_samples("task")
    old = SimpleNamespace(enqueue_sample=print, __version__="0.3.260")
    monkeypatch.setitem(sys.modules, "inspect_ai", old)
    with pytest.raises(MissingExtraError, match=r"0.3.268 or later, and not 0.3.260"):
        odd_samples("task")


def test_imports_nothing_before_it_is_called():
    """The module is imported without inspect_ai."""
    code = (
        "import sys, oddarm.integrations.inspect_eval as m; "
        "sys.exit('inspect_ai' in sys.modules or not m.odd_samples)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def sample(value=None, *, scores=None, error=None, limit=None):
    """Return what the reader needs of a sample in a log."""
    if scores is None and value is not None:
        scores = {"match": SimpleNamespace(value=value, reason=None, explanation=None)}
    failed = None if error is None else SimpleNamespace(message=error)
    reached = None if limit is None else SimpleNamespace(type=limit)
    return SimpleNamespace(scores=scores, error=failed, limit=reached)


@pytest.mark.usefixtures("inspect_ai")
def test_scores_as_inspect_reads_them():
    """Scores become numbers by inspect_ai's rule, but what it takes for 0 with a warning fails."""
    from inspect_ai.scorer import Score, value_to_float

    read = ScoreReader(value_to_float())
    assert [read(sample(v)) for v in ("C", "I", "P", "N", "yes", True, 3, "0.0", 2.5)] == [
        1, 0, 0.5, 0, 1, 1, 3, 0, 2.5,
    ]  # fmt: skip
    assert read(sample("C", limit="token")) == 1, "a limit that was hit counts with its score"
    for bad, words in [
        (sample("B+"), "the score 'B\\+' is not a number"),
        (sample(error="timeout"), "the sample failed: timeout"),
        (sample("C", error="timeout"), "the sample failed: timeout"),
        (sample(limit="time"), "no score after its limit of time"),
        (sample(scores={"match": Score.unscored(reason="refusal")}), "not scored: refusal"),
    ]:
        with pytest.raises(OddarmError, match=words) as raised:
            read(bad)
        assert not isinstance(raised.value, SourceError), "another epoch may do"
    errors = ScoreReader(value_to_float(), score_errors=True)
    assert errors(sample("I", error="crash")) == 0
    for reader, one, words in [
        (ScoreReader(float, "f1"), sample(1), "scorer == 'f1', must be one of 'match'"),
        (ScoreReader(float, key="a"), sample(1), "drop score_key"),
        (ScoreReader(float), sample({"a": 1}), "score_key is missing, must be one of 'a'"),
        (ScoreReader(float), sample([1, 2]), "the score is a list"),
    ]:
        with pytest.raises(SourceError, match=words):
            reader(one)


def test_epochs_are_handed_out_once():
    """Each run is the next epoch of a sample, outcomes go to their run, late ones to nobody."""
    begun = []

    async def main():
        book = RunBook(
            {"p": ["a", "b"], "q": ["c"]},
            lambda sample, epoch: begun.append((sample, epoch)),
            lambda outcome: outcome,
            done={"q": 4},
        )
        first, second = (asyncio.ensure_future(book.run("q")) for _ in range(2))
        third = asyncio.ensure_future(book.run("p"))
        await asyncio.sleep(0)
        book.ended("c", 6, 0.5)
        book.ended("c", 5, OddarmError("lost"))
        book.ended("c", 5, 1.0)
        with pytest.raises(OddarmError, match="lost"):
            await first
        assert await second == 0.5
        third.cancel()
        await asyncio.sleep(0)
        book.ended(begun[2][0], 1, 1.0)
        for _ in range(40):
            task = asyncio.ensure_future(book.run("p"))
            await asyncio.sleep(0)
            book.ended(*begun[-1], 1.0)
            assert await task == 1.0

    asyncio.run(main())
    assert begun[:2] == [("c", 5), ("c", 6)]
    assert len(set(begun)) == len(begun) == 43
    assert {name for name, _ in begun} == {"a", "b", "c"}
