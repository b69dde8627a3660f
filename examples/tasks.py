"""Count words with a graph of 307 plain Python tasks, over the ranks at hand.

    python examples/tasks.py
    mpiexec -n 4 python examples/tasks.py

Texts are written and split into words, words are dealt out by their first letters, counted for
each letter, and the counts are merged in a tree. Every rank builds the same graph, runs its
own share of it and sends values directly to the ranks that read them.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import reduce
from operator import add

from scheduler.comm import World, current
from scheduler.events import Observer
from scheduler.graph import Graph, Node

TEXTS = 30
GROUPS = ("abcd", "efgh", "ijkl", "mnop", "qrst", "uvwxyz")
SYLLABLES = ("an", "be", "cor", "di", "el", "fu", "ga", "ho", "in", "ju", "ka", "lo", "mi", "ne",
             "os", "pa", "qui", "ro", "su", "te", "un", "vi", "we", "xa", "yo", "ze")  # fmt: skip

Counts = Counter[str]


def write_text(number: int) -> str:
    """Return a text that depends on its number only."""
    rng = random.Random(number)
    words = ("".join(rng.choices(SYLLABLES, k=rng.randint(1, 2))) for _ in range(3000))
    return " ".join(words)


def deal(text: str) -> list[Counts]:
    """Return the counts of a text's words for each group of first letters."""
    counts = Counter(text.split())
    return [
        Counter({word: n for word, n in counts.items() if word[0] in group}) for group in GROUPS
    ]


def merge(*parts: Counts) -> Counts:
    """Return the sum of counts."""
    return reduce(add, parts, Counter())


def build(graph: Graph) -> Node:
    """Add all tasks; return the node of the result."""
    dealt = [graph.add(deal, graph.add(write_text, n), name="deal") for n in range(TEXTS)]
    totals = []
    for group, letters in enumerate(GROUPS):
        parts = [graph.add(lambda d, g: d[g], part, group, name=f"pick {letters}")
                 for part in dealt]  # fmt: skip
        while len(parts) > 1:
            parts = [graph.add(merge, *parts[i : i + 4]) for i in range(0, len(parts), 4)]
        totals += parts
    return graph.add(lambda totals: merge(*totals).most_common(5), totals, name="most common")


def serial() -> list[tuple[str, int]]:
    """Return the result, computed in one loop."""
    total: Counts = Counter()
    for n in range(TEXTS):
        total.update(write_text(n).split())
    return total.most_common(5)


class TaskCount(Observer):
    """Counts the tasks of this rank."""

    def __init__(self) -> None:
        self.tasks = 0

    def task(self, rank: int, name: str, start: float, end: float, step: int) -> None:
        """Count one."""
        self.tasks += 1


def main(world: World) -> None:
    """Run the graph, check it and print what came out."""
    count = TaskCount()
    world.observers.append(count)
    graph = Graph()
    result = build(graph)
    (common,) = graph.run(result, world=world)
    world.observers.remove(count)
    shares = world.allgather(count.tasks, "the example's report")
    if world.rank == 0:
        print(f"{len(graph)} tasks on {world.size} ranks, {shares} each")
        print(", ".join(f"{word} {n}" for word, n in common))
    if sorted(common) != sorted(serial()) or sum(shares) != len(graph):
        raise SystemExit("the ranks found something else than a serial run")


if __name__ == "__main__":
    main(current())
