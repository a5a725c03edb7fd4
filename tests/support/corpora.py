"""Generated texts with near-copies, the same on every machine."""

import random

import numpy as np

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


def vocabulary(words=3000, seed=1):
    draw = random.Random(seed)
    return sorted({"".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) for _ in range(words)})


def edited(draw, words, tokens, rate):
    """Each token is replaced, dropped or doubled with probability `rate`."""
    changed = []
    for token in tokens:
        chance = draw.random()
        if chance >= rate:
            changed.append(token)
        elif chance < rate / 3:
            changed.append(draw.choice(words))
        elif chance < 2 * rate / 3:
            changed += [token, token]
    return changed


def corpus(items, seed=1, shortest=20, longest=120, copies=0.4):
    draw, words, made = random.Random(seed), vocabulary(), []
    for _ in range(items):
        if made and draw.random() < copies:
            made.append(edited(draw, words, draw.choice(made), draw.choice([0, 0.005, 0.01, 0.02, 0.05])))
        else:
            made.append(draw.choices(words, k=draw.randint(shortest, longest)))
    return [" ".join(tokens).capitalize() + draw.choice([".", "!", ""]) for tokens in made]


def boilerplate(count, seed=3, own=10, draw_from=400):
    """Texts that share 50 words and have some of their own; every tenth is a copy with one word changed."""
    draw = np.random.default_rng(seed)
    shared, made = [f"b{n}" for n in range(50)], []
    for number in range(count):
        words = [f"u{n}" for n in draw.choice(draw_from, own, replace=False)]
        if number % 10 == 9:
            words = [*made[draw.integers(len(made))].split()[50:-1], "changed"]
        made.append(" ".join([*shared, *words]))
    return made
