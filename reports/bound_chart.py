# SPDX-License-Identifier: Apache-2.0
"""Draws the bound charts: python3 bound_chart.py bound_chart.json

One that cannot be drawn does not cost the others; the last line of the error output then tells which, exit code 1.

Per shape a panel, per variant one bar a resource: the least time that resource needs for the issued work as a share
of the measured time. The longest bar is outlined; a white tick in it marks the share of the useful work alone.
"""
import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

# One colour a resource in every chart; hues apart enough that a faded bar is not taken for another resource.
COLOURS = {
    "hbm": "#0072B2", "l2": "#8E63B0", "smem": "#009E73", "dsmem": "#7BBF5A", "tensor_bf16": "#D55E00",
    "tensor_fp8": "#C2185B", "fp32": "#E69F00", "exp": "#8C564B", "convert": "#A79A00", "launch": "#8C8C8C",
    "wave": "#4D4D4D",
}
DPI, HIGHEST = 160, 32000  # pixels an inch, and at most in all: matplotlib refuses 65536 and more
BAR, GAP = 0.17, 0.13  # inches: one bar, and the space between variants


def shown(row):
    """Resources from the longest bar down; what needs less than one percent of the time is left out."""
    shares = sorted(row["share"].items(), key=lambda item: -item[1])
    return [item for item in shares if item[1] >= 0.01] or shares[:1]


def has_tick(row):
    """The variant issues visibly more of its binding resource than the problem needs."""
    return 0 < row["useful_share"] < 0.98 * row["share"].get(row["bound"], 0.0)


def faded(colour):
    return tuple(1 - 0.45 * (1 - part) for part in to_rgb(colour))


def rows_height(rows):
    return sum(len(shown(row)) * BAR + GAP for row in rows)


def draw_row(axis, row, top):
    """Bars of one variant from `top` (inches) downwards; returns the bottom."""
    bottom = top + len(shown(row)) * BAR
    for i, (name, share) in enumerate(shown(row)):
        middle = top + (i + 0.5) * BAR
        binding = name == row["bound"]
        colour = COLOURS.get(name, "#000000")
        axis.barh(middle, share, height=0.86 * BAR, color=colour if binding else faded(colour),
                  edgecolor="black" if binding else "none", linewidth=0.8)
        useful = row["useful_share"]
        if binding and has_tick(row):
            axis.plot([useful, useful], [middle - 0.43 * BAR, middle + 0.43 * BAR], color="white", linewidth=1.4)
        axis.text(share + 0.008, middle, f"{100 * share:.0f} %", va="center", fontsize=6.5,
                  fontweight="bold" if binding else "normal", color="#b00000" if share > 1.02 else "black",
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    axis.text(-0.012, (top + bottom) / 2 - 0.035, row["variant"], va="center", ha="right", fontsize=8)
    axis.text(-0.012, (top + bottom) / 2 + 0.095, row["time"], va="center", ha="right", fontsize=6.5, color="#555555")
    return bottom


def draw_group(axis, group, axes, one_mode):
    top = GAP / 2
    for row in group["rows"]:
        top = draw_row(axis, row, top) + GAP
    axis.set_ylim(top - GAP / 2, 0)
    axis.set_yticks([])
    axis.set_title(f"{axes} = {group['shape']}" + ("" if one_mode else f", {group['mode']}"), loc="left", fontsize=8.5,
                   fontweight="bold", pad=3)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.axvline(1.0, color="black", linewidth=0.8, linestyle=(0, (4, 2)))
    axis.grid(axis="x", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(axis="x", labelsize=7)


def image_path(chart, folder, kind):
    return os.path.join(folder, f"{chart['file']}.{kind}")


def draw_chart(chart, folder):
    groups = chart["groups"]
    one_mode = len({group["mode"] for group in groups}) == 1
    heights = [max(rows_height(group["rows"]), 0.45) for group in groups]
    head, foot, between, width = 0.95, 0.64, 0.5, 8.0
    total = head + foot + sum(heights) + between * (len(groups) - 1)
    figure = plt.figure(figsize=(width, total))
    longest = max(max(row["share"].values()) for group in groups for row in group["rows"])
    right = max(1.1, 1.1 * longest)
    left = max(len(row["variant"]) for group in groups for row in group["rows"]) * 0.075 + 0.25
    top = total - head
    for group, height in zip(groups, heights):
        axis = figure.add_axes([left / width, (top - height) / total, 1 - (left + 0.2) / width, height / total])
        draw_group(axis, group, chart["axes"], one_mode)
        axis.set_xlim(0, right)
        axis.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0], ["0", "20 %", "40 %", "60 %", "80 %", "100 %"])
        top -= height + between
    ticks = any(has_tick(row) for group in groups for row in group["rows"])
    axis.set_xlabel("least time the resource needs for the issued work, as a share of the measured time\n"
                    "outlined: the longest, which is the bound from a third on; pale: other resources"
                    + ("; white tick: useful work alone" if ticks else ""), fontsize=7.5)
    drawn = {name for group in groups for row in group["rows"] for name, _ in shown(row)}
    used = [name for name in COLOURS if name in drawn]
    title = f"What bounds {chart['family']}: {chart['device']}" + (f", {groups[0]['mode']}" if one_mode else "")
    figure.text(0.02, 1 - 0.22 / total, title, fontsize=10.5, fontweight="bold", va="center")
    figure.legend(handles=[Patch(color=COLOURS[name], label=chart["resources"][name]) for name in used],
                  loc="center left", bbox_to_anchor=(0.01, 1 - 0.5 / total), ncol=min(len(used), 6), fontsize=7.5,
                  frameon=False, handlelength=1.2, columnspacing=1.4)
    for kind in ("svg", "png"):
        figure.savefig(image_path(chart, folder, kind), dpi=min(DPI, HIGHEST / total),
                       metadata={"Date": None} if kind == "svg" else None)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: bound_chart.py bound_chart.json")
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    plt.rcParams.update({"font.family": "DejaVu Sans", "svg.hashsalt": "ridge"})
    folder, failed = os.path.dirname(os.path.abspath(sys.argv[1])), []
    for chart in data["charts"]:
        try:
            draw_chart(chart, folder)
        except Exception as error:  # whatever a figure meets, the others are drawn
            failed.append(f"{chart['file']} ({error})")
            for kind in ("svg", "png"):
                if os.path.exists(image_path(chart, folder, kind)):
                    os.remove(image_path(chart, folder, kind))
        plt.close("all")
    if failed:
        sys.exit(f"{len(failed)} of {len(data['charts'])}: " + ", ".join(failed))


if __name__ == "__main__":
    main()
