"""A made-up helpdesk with three models: its truth, and the files of docs/story.md and story-service.md (python3 desk.py).

The truth, which no command is told:

- A ticket is about a password, a bill or an integration. Longer tickets are harder and dearer.
- RIGHT has the probability that a model's answer is right, by topic; each 100 words take 0.05 from it.
- The models depend on each other: one draw per ticket says how hard it is, and hard tickets are hard for all models.
- A judge sees whether an answer is right through noise: its score is 0.3 for a wrong and 0.7 for a right answer,
  with a standard deviation of 0.15. Each judgement costs JUDGE dollars.
- In autumn the provider of `small` replaces the model under the same name. Now its answers about bills and integrations
  are right with probability SMALL_IN_AUTUMN, but they sound right: the judge takes all of them for right answers.

`python3 desk.py` writes log.jsonl, 4,000 decisions of a month in which models were drawn by lot, with propensities;
people rated half of the answers. It also writes replay.jsonl and check.jsonl: 600 tickets each that all three models
answered, and an agent rated all answers. `python3 desk.py autumn` writes autumn.jsonl and autumn-check.jsonl, 400
tickets each of the autumn.
"""

import json
import random
import sys
from typing import NamedTuple

MODELS = ["small", "medium", "large"]
DOLLARS = {"small": 0.01, "medium": 0.05, "large": 0.25}  # of a ticket of 100 words
JUDGE = 0.001
RIGHT = {
    "small": {"password": 0.92, "bill": 0.70, "integration": 0.40},
    "medium": {"password": 0.94, "bill": 0.85, "integration": 0.62},
    "large": {"password": 0.96, "bill": 0.93, "integration": 0.86},
}
SMALL_IN_AUTUMN = 0.2
TOPICS = {"password": 0.4, "bill": 0.35, "integration": 0.25}
WORDS = {
    "password": "login reset link expired email account locked code".split(),
    "bill": "invoice charge refund tax plan card month paid".split(),
    "integration": "webhook token error timeout endpoint schema retry payload".split(),
}


class Ticket(NamedTuple):
    topic: str
    prompt: str
    hardness: float  # between 0 and 1, seen by nobody


class Answer(NamedTuple):
    quality: float  # 1 if it is right, else 0
    dollars: float
    score: float


def ticket(draw: random.Random) -> Ticket:
    topic = draw.choices(list(TOPICS), list(TOPICS.values()))[0]
    words = draw.choices(WORDS[topic], k=20 + int(draw.expovariate(1 / 80)))
    return Ticket(topic, " ".join(words), draw.random())


def answer(draw: random.Random, of: Ticket, model: str, autumn: bool = False) -> Answer:
    hundreds, changed = len(of.prompt.split()) / 100, autumn and model == "small" and of.topic != "password"
    chance = max((SMALL_IN_AUTUMN if changed else RIGHT[model][of.topic]) - 0.05 * hundreds, 0.0)
    # Half of what decides whether an answer is right is the ticket's own hardness, half the model's luck.
    hardness = of.hardness if draw.random() < 0.5 else draw.random()
    quality = float(hardness < chance)
    seems_right = 1.0 if changed else quality
    score = min(max(0.3 + 0.4 * seems_right + draw.gauss(0, 0.15), 0.0), 1.0)
    return Answer(quality, round(DOLLARS[model] * (0.4 + 0.6 * hundreds), 6), round(score, 3))


def write_log(file: str, tickets: int, draw: random.Random) -> None:
    """Each ticket goes to a drawn model, and after each call with probability 0.6 to another drawn model."""
    with open(file, "w") as log:
        for number in range(tickets):
            of, left, chance = ticket(draw), list(MODELS), 1.0
            while left and draw.random() < chance:
                model, propensity = draw.choice(left), chance / len(left)
                left.remove(model)
                found = answer(draw, of, model)
                row = {"prompt_id": f"t{number}", "prompt": of.prompt, "topic": of.topic, "model": model}
                row |= {"quality": found.quality if draw.random() < 0.5 else None, "label_propensity": 0.5}
                row |= {"cost": found.dollars, "score": found.score, "propensity": propensity}
                print(json.dumps(row), file=log)
                chance = 0.6


def write_table(file: str, tickets: int, draw: random.Random, autumn: bool = False) -> None:
    """Every model's answer to each ticket."""
    with open(file, "w") as table:
        for _ in range(tickets):
            of = ticket(draw)
            answers = {model: answer(draw, of, model, autumn) for model in MODELS}
            cells = {m: {"quality": a.quality, "cost": a.dollars, "score": a.score} for m, a in answers.items()}
            print(json.dumps({"prompt": of.prompt, "topic": of.topic, "models": cells}), file=table)


if __name__ == "__main__" and sys.argv[1:] == ["autumn"]:
    write_table("autumn.jsonl", 400, random.Random(5), autumn=True)
    write_table("autumn-check.jsonl", 400, random.Random(6), autumn=True)
elif __name__ == "__main__":
    write_log("log.jsonl", 4000, random.Random(1))
    write_table("replay.jsonl", 600, random.Random(2))
    write_table("check.jsonl", 600, random.Random(3))
