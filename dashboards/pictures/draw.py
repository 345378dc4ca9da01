#!/usr/bin/python3
"""Draws the dashboards from what their queries found in the end-to-end test, with matplotlib. Not Grafana's drawing.

    E2E_PICTURES=/tmp/pictures go test -tags e2e -count=1 -run 'TestAlerts$' ./e2e
    dashboards/pictures/draw.py /tmp/pictures/broken-overview.json overview-broken.png "Kafka connections: overview"

Needs Debian's python3-matplotlib. Each panel lies where Grafana would put it.
"""
import json
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PAPER, INK, FAINT = "#ffffff", "#1f2328", "#d0d7de"
CYCLE = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#999999", "#000000"]
UNITS = {"s": lambda v: seconds(v), "percentunit": lambda v: f"{100 * v:.1f} %"}


def seconds(v):
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1, 1e3, "ms"), (120, 1, "s"), (7200, 1 / 60, "min"), (172800, 1 / 3600, "h")):
        if abs(v) < limit:
            return f"{v * factor:.3g} {unit}"
    return f"{v / 86400:.3g} d"


def shown(panel, v):
    return UNITS.get(panel["fieldConfig"]["defaults"]["unit"], lambda v: f"{v:.6g}")(v)


def name(template, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda m: labels.get(m[1], ""), template or "").strip()


def series(panel, results):
    """All series of a panel as (name, times, values)."""
    for target, found in zip(panel["targets"], results):
        for s in found:
            points = [(float(t), float(v)) for t, v in s["values"]]
            points = [(t, v) for t, v in points if v == v]
            yield name(target.get("legendFormat"), s["metric"]), [t for t, _ in points], [v for _, v in points]


def words(panel):
    options = (panel["fieldConfig"]["defaults"].get("mappings") or [{}])[0].get("options", {})
    return {float(value): (w["text"], w["color"]) for value, w in options.items()}


def color_of(panel, v):
    color = PAPER
    for s in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]:
        if s["value"] is None or v >= s["value"]:
            color = s["color"]
    return color


def line_color(panel, n, i):
    for o in panel["fieldConfig"].get("overrides") or []:
        if o["matcher"]["id"] == "byRegexp" and re.search(o["matcher"]["options"].strip("/"), n):
            return o["properties"][0]["value"]["fixedColor"]
    return CYCLE[i % len(CYCLE)]


def draw_stat(ax, panel, results):
    ax.axis("off")
    last = [(n, vs[-1]) for n, ts, vs in series(panel, results) if vs]
    if not last:
        ax.text(0.5, 0.5, "no data", ha="center", va="center", color="#8c959f", transform=ax.transAxes)
    for i, (n, v) in enumerate(last):
        text, color = words(panel).get(v, (shown(panel, v), color_of(panel, v)))
        ax.add_patch(plt.Rectangle((i / len(last), 0), 1 / len(last), 1, color=color, transform=ax.transAxes))
        x = (i + 0.5) / len(last)
        ax.text(x, 0.6, text, ha="center", va="center", color="white", fontsize=15 if len(last) < 2 else 10, weight="bold", transform=ax.transAxes)
        ax.text(x, 0.15, n[:18], ha="center", va="center", color="white", fontsize=6.5, transform=ax.transAxes)


def draw_timeline(ax, panel, results, span):
    lines, meaning = [x for x in series(panel, results) if x[1]], words(panel)
    for row, (n, times, values) in enumerate(lines):
        for i, (t, v) in enumerate(zip(times, values)):
            after = times[i + 1] if i + 1 < len(times) else t + 1
            if after - t <= 2.5:
                ax.broken_barh([(t, after - t)], (row + 0.1, 0.8), color=meaning.get(v, ("", CYCLE[0]))[1], linewidth=0)
    ax.set_ylim(max(len(lines), 1), 0)
    ax.set_yticks([i + 0.5 for i in range(len(lines))], [n for n, _, _ in lines], fontsize=6.5)
    ax.legend(handles=[plt.Rectangle((0, 0), 1, 1, color=c, label=t) for t, c in meaning.values()], fontsize=6,
              loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=len(meaning), frameon=False)
    clock(ax, span)
    if not lines:
        ax.text(0.5, 0.5, "nothing", ha="center", va="center", color="#8c959f", transform=ax.transAxes)


def draw_lines(ax, panel, results, span):
    stacked = panel["fieldConfig"]["defaults"]["custom"].get("stacking", {}).get("mode") == "normal"
    lines = [x for x in series(panel, results) if x[1]]
    if stacked:
        base = {}
        for i, (n, times, values) in enumerate(lines):
            low = [base.get(t, 0) for t in times]
            high = [a + b for a, b in zip(low, values)]
            ax.fill_between(times, low, high, step="post", color=line_color(panel, n, i), alpha=0.75, linewidth=0,
                            label=n if any(values) else None)
            base.update(zip(times, high))
    else:
        for i, (n, times, values) in enumerate(lines):
            ax.plot(times, values, color=CYCLE[i % len(CYCLE)], linewidth=1.2, label=n)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(lambda v, _: shown(panel, v))
    ax.tick_params(axis="y", labelsize=6.5)
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    clock(ax, span)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=5.5, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False, handlelength=1)


def clock(ax, span):
    import datetime
    ax.set_xlim(*span)
    ticks = [span[0] + (span[1] - span[0]) * i / 4 for i in range(5)]
    ax.set_xticks(ticks, [datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%H:%M:%S") for t in ticks], fontsize=6.5)


def draw_table(ax, panel, results):
    ax.axis("off")
    rows = [s["metric"] for found in results for s in found]
    columns = [c for c in ("kafka_cluster", "vantage", "broker_id", "seed", "phase", "reason", "address", "rack", "version", "cipher", "status", "verdict")
               if any(c in r for r in rows)]
    if not rows:
        ax.text(0.5, 0.5, "nothing", ha="center", va="center", color="#8c959f", transform=ax.transAxes)
        return
    cells = [[r.get(c, "") for c in columns] for r in sorted(rows, key=lambda r: [r.get(c, "") for c in columns])][:8]
    t = ax.table(cellText=cells, colLabels=columns, loc="upper left", cellLoc="left", edges="horizontal")
    t.auto_set_font_size(False)
    t.set_fontsize(6.5)
    t.auto_set_column_width(range(len(columns)))
    for key, cell in t.get_celld().items():
        cell.set_edgecolor(FAINT)
        cell.set_text_props(weight="bold" if key[0] == 0 else "normal", color=INK)


def main(source, target, title):
    with open(source) as f:
        shots = json.load(f)
    times = [float(t) for s in shots if s["panel"]["type"] != "table" for found in s["results"] for r in found for t, _ in r["values"]]
    span = (min(times), max(times))
    height = max(s["panel"]["gridPos"]["y"] + s["panel"]["gridPos"]["h"] for s in shots)
    fig = plt.figure(figsize=(15, 0.36 * height + 0.6), facecolor=PAPER)
    total = height + 1.6
    fig.text(0.012, 1 - 0.8 / total, title, fontsize=13, weight="bold", color=INK, va="center")
    for s in shots:
        p, g = s["panel"], s["panel"]["gridPos"]
        x, y, w, h = g["x"] / 24, 1 - (g["y"] + 1.6 + g["h"]) / total, g["w"] / 24, g["h"] / total
        fig.add_artist(plt.Rectangle((x + 0.003, y + 0.12 / total), w - 0.006, h - 0.24 / total, fill=False, edgecolor=FAINT, linewidth=0.8))
        fig.text(x + 0.008, y + h - 0.65 / total, p["title"], fontsize=8, weight="bold", color=INK, va="center")
        kind = p["type"]
        if kind == "stat":
            draw_stat(fig.add_axes((x + 0.006, y + 0.3 / total, w - 0.012, h - 1.5 / total)), p, s["results"])
        elif kind == "table":
            draw_table(fig.add_axes((x + 0.01, y + 0.3 / total, w - 0.02, h - 1.4 / total)), p, s["results"])
        else:
            longest = max((len(n) for n, _, _ in series(p, s["results"])), default=0)
            left = max(0.03, 0.0045 * longest) if kind == "state-timeline" else 0.036
            ax = fig.add_axes((x + left, y + 1.7 / total, w - left - 0.012, h - 3.0 / total))
            for side in ("top", "right", "left"):
                ax.spines[side].set_visible(False)
            ax.spines["bottom"].set_color(FAINT)
            (draw_timeline if kind == "state-timeline" else draw_lines)(ax, p, s["results"], span)
    fig.savefig(target, dpi=100)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
