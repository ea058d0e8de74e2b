"""Which prompt does worse than the others? A judge model is asked about as few answers as possible.

Each prompt has a pool of answers. Every call of the judge costs money, so an answer is judged at
most once, and several calls are in flight at a time. The judge here is a stub: put a call of your
model in its place.
"""

import asyncio
import random

import oddarm

QUESTIONS = 150
PROMPTS = ["plain", "polite", "step-by-step", "examples", "short", "role", "checklist", "json"]
QUALITY = {prompt: 0.80 + 0.02 * k for k, prompt in enumerate(PROMPTS)} | {"json": 0.25}


async def judge(answer: tuple[str, int]) -> bool:
    """Return whether the judge finds the answer to a question good."""
    prompt, question = answer
    await asyncio.sleep(0)  # response = await client.chat(...)
    return random.Random(f"{prompt}/{question}").random() < QUALITY[prompt]


def main() -> None:
    """Have answers judged until it is clear which prompt is an outlier."""
    answers = {prompt: [(prompt, question) for question in range(QUESTIONS)] for prompt in PROMPTS}
    pool = oddarm.sources.PoolSource(answers, judge)
    result = oddarm.find(pool, max_outliers=1)
    result = result.with_nouns("prompts", "judgements")
    print(result.summary)
    print()
    print(result.table())


if __name__ == "__main__":
    main()
