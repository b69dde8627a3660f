"""A record of what each rank did when, as Chrome's trace-event JSON or as a page of its own.

State of a `Trace`: the events of its rank, after `gather` of all; times in seconds since 1970.

The JSON is the `Trace Event Format
<https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>`_, which
https://ui.perfetto.dev and chrome://tracing show.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from scheduler.comm.world import World
from scheduler.events import Observer

__all__ = ["Event", "Trace"]


class Event(NamedTuple):
    """Something that a rank did from ``start`` to ``end``."""

    kind: Literal["task", "send", "recv", "stage", "run"]
    name: str
    rank: int
    start: float
    end: float
    info: dict[str, int | str]


class Trace(Observer):
    """Collects the events of a rank.

    Examples
    --------
    >>> from scheduler.comm import current
    >>> from scheduler.graph import Graph
    >>> world, trace, graph = current(), Trace(), Graph()
    >>> world.observers.append(trace)
    >>> graph.run(graph.add(sum, [1, 2]))
    (3,)
    >>> world.observers.remove(trace)
    >>> [event.name for event in trace.gather(world).events if event.kind == "task"]
    ['sum']
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._epoch = time.time() - time.perf_counter()

    def task(self, rank: int, name: str, start: float, end: float, step: int) -> None:
        """Record a task."""
        self._add("task", name, rank, start, end, step=step)

    def message(
        self,
        kind: Literal["send", "recv"],
        rank: int,
        peer: int,
        nbytes: int,
        start: float,
        end: float,
    ) -> None:
        """Record a message."""
        name = f"{'to' if kind == 'send' else 'from'} rank {peer}"
        self._add(kind, name, rank, start, end, bytes=nbytes)

    def stage(
        self, rank: int, name: str, start: float, end: float, nbytes: int, transport: str
    ) -> None:
        """Record a stage."""
        self._add("stage", name, rank, start, end, bytes=nbytes, transport=transport)

    def run(self, rank: int, where: str, start: float, end: float) -> None:
        """Record a run."""
        self._add("run", where, rank, start, end)

    def gather(self, world: World) -> Trace:
        """Return a trace of the events of all ranks, in order of time; collective."""
        whole = Trace()
        for events in world.allgather(self.events, "the gathering of a trace"):
            whole.events += [Event(*event) for event in events]
        whole.events.sort(key=lambda event: (event.start, event.rank))
        return whole

    def to_chrome(self, path: str | os.PathLike[str]) -> None:
        """Write Chrome's trace-event JSON."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": list(self._chrome_events())}, file)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a page that shows ranks over time and needs nothing else."""
        origin = self._origin()
        rows = [
            [e.kind, e.name, e.rank, e.start - origin, e.end - origin, e.info] for e in self.events
        ]
        data = json.dumps(rows).replace("<", "\\u003c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(_PAGE.replace("/*DATA*/[]", data))

    def _add(self, kind: Any, name: str, rank: int, start: float, end: float, **info: Any) -> None:
        epoch = self._epoch
        self.events.append(Event(kind, name, rank, start + epoch, end + epoch, info))

    def _origin(self) -> float:
        return min((event.start for event in self.events), default=0.0)

    def _chrome_events(self) -> Iterator[dict[str, Any]]:
        origin = self._origin()
        for rank in sorted({event.rank for event in self.events}):
            yield {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}}
        for number, event in enumerate(self.events):
            common = {"name": event.name, "cat": event.kind, "pid": event.rank, "tid": 0}
            start, end = 1e6 * (event.start - origin), 1e6 * (event.end - origin)
            if event.kind in ("send", "recv"):  # these overlap with each other
                yield {**common, "ph": "b", "id": number, "ts": start, "args": event.info}
                yield {**common, "ph": "e", "id": number, "ts": end}
            else:
                yield {**common, "ph": "X", "ts": start, "dur": end - start, "args": event.info}


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Ranks over time</title>
<style>
body { font: 13px system-ui, sans-serif; margin: 1em; color: #222; background: #fff }
svg { width: 100%; border: 1px solid #ccc; cursor: grab; display: block }
text { font-size: 11px; fill: #444 }
rect:hover { stroke: #000 }
</style></head><body>
<p id="about"></p><svg id="chart"></svg>
<p>Upper bars: tasks and stages (dark edge). Lower bars: messages, green sent, orange received.
Wheel: zoom. Drag: move. Double click: all.</p>
<script>
const events = /*DATA*/[];
const chart = document.getElementById("chart"), NS = "http://www.w3.org/2000/svg";
const ranks = [...new Set(events.map(e => e[2]))].sort((a, b) => a - b);
const last = Math.max(1e-9, ...events.map(e => e[4])), left = 60, row = 46;
let from = 0, to = last;
function colour(name) {
  let h = 0;
  for (const c of name) h = (h * 31 + c.charCodeAt(0)) % 360;
  return `hsl(${h} 55% 62%)`;
}
function add(kind, attributes, text) {
  const node = document.createElementNS(NS, kind);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  chart.appendChild(node);
  return node;
}
function milliseconds(seconds) { return (1e3 * seconds).toPrecision(4) + " ms"; }
function draw() {
  const width = chart.clientWidth || 1000, scale = (width - left) / (to - from);
  const x = t => left + (t - from) * scale;
  chart.replaceChildren();
  chart.setAttribute("height", ranks.length * row + 24);
  for (const [kind, name, rank, start, end, info] of events) {
    if (kind === "run" || end < from || start > to) continue;
    const message = kind === "send" || kind === "recv", y = ranks.indexOf(rank) * row;
    const fill = kind === "send" ? "#4a4" : kind === "recv" ? "#e83" : colour(name);
    const x0 = Math.max(left, x(start)), x1 = Math.min(width, x(end));
    const bar = add("rect", { x: x0, width: Math.max(0.8, x1 - x0), y: y + (message ? 31 : 4),
      height: message ? 8 : 24, fill, "fill-opacity": message ? 0.5 : 1 });
    if (kind === "stage") bar.setAttribute("stroke", "#333");
    const title = document.createElementNS(NS, "title");
    const more = Object.entries(info).map(([key, value]) => `${key} ${value}`).join(", ");
    title.textContent = `${kind} ${name}\\nrank ${rank}, ${milliseconds(start)} + ` +
      `${milliseconds(end - start)}\\n${more}`;
    bar.appendChild(title);
  }
  ranks.forEach((rank, i) => {
    add("text", { x: 6, y: i * row + 20 }, "rank " + rank);
    add("line", { x1: 0, x2: width, y1: (i + 1) * row, y2: (i + 1) * row, stroke: "#ddd" });
  });
  for (let i = 0; i < 6; i++) {
    const t = from + (to - from) * i / 6;
    add("text", { x: x(t), y: ranks.length * row + 16 }, milliseconds(t));
  }
}
chart.addEventListener("wheel", event => {
  event.preventDefault();
  const at = from + (to - from) * (event.offsetX - left) / (chart.clientWidth - left);
  const factor = event.deltaY < 0 ? 0.8 : 1.25;
  from = Math.max(0, at - (at - from) * factor);
  to = Math.min(last, at + (to - at) * factor);
  draw();
}, { passive: false });
chart.addEventListener("pointermove", event => {
  if (!event.buttons) return;
  const move = -event.movementX * (to - from) / (chart.clientWidth - left);
  if (from + move >= 0 && to + move <= last) { from += move; to += move; draw(); }
});
chart.addEventListener("dblclick", () => { from = 0; to = last; draw(); });
window.addEventListener("resize", draw);
const tasks = events.filter(e => e[0] === "task").length;
document.getElementById("about").textContent =
  `${ranks.length} ranks, ${tasks} tasks, ${events.length} events, ${milliseconds(last)}`;
draw();
</script></body></html>
"""
