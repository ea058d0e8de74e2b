"""Which prompt does worse than the others? A judge model is asked about as few answers as possible.

Each prompt has a pool of answers. Every call of the judge costs money, so an answer is judged at
most once, and several calls are in flight at a time. The judge here is a stub in the shape of a
chat model: put a call of your client into `chat`.
"""

import asyncio
import random
from collections import Counter

import oddarm

QUESTIONS = 150
PROMPTS = ["plain", "polite", "step-by-step", "examples", "short", "role", "checklist", "json"]
QUALITY = {prompt: 0.80 + 0.02 * k for k, prompt in enumerate(PROMPTS)} | {"json": 0.25}
RUBRIC = "You judge answers. Reply with the one word PASS or FAIL."

calls: Counter[str] = Counter()


async def chat(messages: list[dict[str, str]]) -> str:
    """Return the reply of the judge model; now and then it says more than it should."""
    # response = await client.chat(model=…, temperature=0, messages=messages)
    await asyncio.sleep(0)
    asked = messages[-1]["content"]
    prompt = asked.split()[0]
    calls[asked] += 1
    chance = random.Random(f"{asked}/{calls[asked]}")
    if chance.random() < 0.02:
        return "I would say that it depends."
    return "PASS" if random.Random(asked).random() < QUALITY[prompt] else "FAIL"


async def judge(answer: str) -> bool:
    """Return whether the judge finds an answer good; a reply that is no verdict is asked again."""
    reply = await chat([{"role": "system", "content": RUBRIC}, {"role": "user", "content": answer}])
    verdict = reply.strip().upper()
    if verdict not in ("PASS", "FAIL"):
        raise ValueError(f"the judge said {reply!r}")  # oddarm tries again, three times
    return verdict == "PASS"


def main() -> None:
    """Have answers judged until it is clear which prompt is an outlier."""
    answers = {
        prompt: [f"{prompt} answer to question {number}" for number in range(QUESTIONS)]
        for prompt in PROMPTS
    }
    pool = oddarm.sources.PoolSource(answers, judge)
    # Which prompt is at least 20 points better or worse than every other one?
    result = oddarm.find(pool, min_gap=0.2, max_outliers=1)
    result = result.with_nouns("prompts", "judgements")
    print(result.summary)
    again = calls.total() - len(calls)
    print(f"{calls.total():,} calls of the judge, {again} of them again for want of a verdict.")
    print()
    print(result.table())


if __name__ == "__main__":
    main()
