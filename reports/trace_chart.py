# SPDX-License-Identifier: Apache-2.0
"""Draws a trace of a kernel: python3 trace_chart.py trace_NAME.json

Per warpgroup a row of what it does and a row of the products it has queued, over a few blocks of keys from the middle
of the first CTA's work.
"""
import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

COLOURS = {"keys": "#BBBBBB", "scores": "#0072B2", "softmax": "#E69F00", "exchange": "#CC79A7", "values": "#D55E00"}
LABELS = {"keys": "waits for the first keys", "scores": "products: scores", "softmax": "softmax",
          "exchange": "waits for the other warpgroup", "values": "products: values"}


def window(spans):
    """Begin and end of four spans of values of the first warpgroup, in the middle."""
    begins = sorted(span["ts"] for span in spans if span["name"] == "values" and span["tid"] == 1)
    if len(begins) < 6:
        return min(span["ts"] for span in spans), max(span["ts"] + span["dur"] for span in spans)
    middle = len(begins) // 2
    return begins[middle - 2], begins[middle + 2]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: trace_chart.py trace_NAME.json")
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    about = data["otherData"]
    spans = [event for event in data["traceEvents"] if event["ph"] == "X" and event["pid"] == 0]
    names = {event["tid"]: event["args"]["name"] for event in data["traceEvents"]
             if event["name"] == "thread_name" and event["pid"] == 0}
    begin, end = window(spans)
    shown = [span for span in spans if span["ts"] < end and span["ts"] + span["dur"] > begin]
    rows = sorted({span["tid"] for span in shown})
    plt.rcParams.update({"font.family": "DejaVu Sans", "svg.hashsalt": "ridge"})
    figure, axis = plt.subplots(figsize=(10, 1.3 + 0.42 * len(rows)), layout="constrained")
    for span in shown:
        left = max(span["ts"], begin)
        axis.barh(rows.index(span["tid"]), min(span["ts"] + span["dur"], end) - left, left=left - begin,
                  height=0.8 if span["name"] not in ("keys", "exchange") else 0.5, color=COLOURS[span["name"]])
    axis.set_yticks(range(len(rows)), [names[row] for row in rows], fontsize=8)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlim(0, end - begin)
    axis.set_xlabel(f"microseconds at {about['sm_mhz']:.0f} MHz", fontsize=8)
    axis.set_title(f"{about['variant']}, {about['shape']}, {about['device']}: products queued {about['queued']:.0%} of the "
                   f"time, {about['covered_softmax']:.0%} of the softmax under them", fontsize=8.5, loc="left")
    axis.legend(handles=[Patch(color=COLOURS[name], label=LABELS[name]) for name in COLOURS], ncol=5, fontsize=7,
                loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False)
    stem = os.path.splitext(os.path.abspath(sys.argv[1]))[0]
    figure.savefig(stem + ".png", dpi=120)
    figure.savefig(stem + ".svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
