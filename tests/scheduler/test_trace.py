from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest

from scheduler.comm import run_virtual
from scheduler.graph import Graph
from scheduler.progress import Progress
from scheduler.trace import Event, Trace


def traced(size):
    def main(world):
        trace = Trace()
        world.observers.append(trace)
        graph = Graph()
        parts = [graph.add(np.arange, n, name="<b>&'\"") for n in range(6)]
        graph.run(graph.add(np.concatenate, parts), world=world)
        trace.stage(world.rank, "shuffle", 1.0, 2.0, 100, "pairwise")
        return trace.gather(world)

    return run_virtual(size, main)


@pytest.mark.parametrize("size", [1, 3])
def test_events_of_all_ranks_are_gathered(size):
    traces = traced(size)
    kinds = [event.kind for event in traces[0].events]
    assert kinds.count("task") == 7
    assert kinds.count("run") == kinds.count("stage") == size
    assert kinds.count("send") == kinds.count("recv")
    assert {event.rank for event in traces[0].events} == set(range(size))
    assert all(trace.events == traces[0].events for trace in traces)
    assert all(event.start <= event.end for event in traces[0].events)


def test_chrome_json(tmp_path):
    trace = traced(3)[0]
    trace.to_chrome(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} == {
        "rank 0",
        "rank 1",
        "rank 2",
    }
    assert sum(event["ph"] == "X" and event["cat"] == "task" for event in events) == 7
    begins = {event["id"] for event in events if event["ph"] == "b"}
    assert begins == {event["id"] for event in events if event["ph"] == "e"}
    assert begins
    assert all(event["ts"] >= 0 for event in events if "ts" in event)


def test_html_page_is_self_contained(tmp_path):
    trace = traced(2)[0]
    trace.to_html(tmp_path / "trace.html")
    page = (tmp_path / "trace.html").read_text()
    data = re.search(r"const events = (\[.*\]);\n", page)
    assert data is not None
    rows = json.loads(data[1])
    assert len(rows) == len(trace.events)
    assert "<b>" not in data[1]
    assert not re.search(r"(src|href)=", page)
    assert page.count("http") == 1  # the name of the SVG namespace


def test_an_empty_trace_can_be_written(tmp_path):
    Trace().to_html(tmp_path / "empty.html")
    Trace().to_chrome(tmp_path / "empty.json")
    assert json.loads((tmp_path / "empty.json").read_text()) == {"traceEvents": []}


def test_events_are_plain():
    trace = Trace()
    trace.message("send", 0, 1, 8, 0.0, 1.0)
    (event,) = trace.events
    assert isinstance(event, Event)
    assert (event.name, event.info) == ("to rank 1", {"bytes": 8})


def test_progress():
    def main(world):
        file = io.StringIO()
        world.observers.append(Progress(file, interval=0.0))
        graph = Graph()
        graph.run(*(graph.add(abs, -n) for n in range(8)), world=world)
        return file.getvalue()

    first, second = run_virtual(2, main)
    assert second == ""
    assert first.endswith("\n")
    assert re.search(r"\rrank 0: 4 tasks, \d+ messages, \d+\.\d s Graph.run at ", first)
