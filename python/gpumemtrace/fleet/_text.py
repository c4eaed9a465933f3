# SPDX-License-Identifier: Apache-2.0
"""Rows of an answer as a table for people."""

from typing import Any

Row = dict[str, Any]

_LEFT_OUT = ("stack", "fingerprint", "message", "trace", "since_ns", "step_name", "lines")
_BYTES = ("largest_peak", "least_peak", "peaks_added_up")
_OF_WHAT = ("here", "median", "least", "most")  # columns whose unit the row's `what` names


def table(rows: list[Row], limit: int = 0) -> str:
    """At most `limit` rows; what is left out is counted. Columns that say what others say, or that are long, are left out."""
    if not rows:
        return "nothing"
    shown = rows[:limit] if limit > 0 else rows
    lines = _lines(shown)
    names = [name for name in shown[0] if name not in _LEFT_OUT and any(row[name] is not None for row in shown)]
    cells = [[name.replace("_", " ") for name in names]]
    for row, line in zip(shown, lines):
        cells.append([line if name == "line" else _cell(name, row[name], row) for name in names])
    widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
    numeric = [all(not isinstance(row[name], str) for row in shown) for name in names]
    text = []
    for row in cells:
        padded = [
            cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(row, widths, numeric)
        ]
        text.append("  ".join(padded).rstrip())
    if len(rows) > len(shown):
        text.append(f"and {len(rows) - len(shown):,} more")
    return "\n".join(text)


def _lines(rows: list[Row]) -> list[str]:
    """The line of each row's call stack, and one that calls it: the first at which the stack differs from other rows'."""
    stacks = [(row.get("stack") or row.get("line") or "").split("\n") for row in rows]
    different = set(map(tuple, stacks))
    texts = []
    for stack in stacks:
        others = [other for other in different if other != tuple(stack)]
        depth = 2
        while depth < len(stack) and any(list(other[:depth]) == stack[:depth] for other in others):
            depth += 1
        texts.append(stack[0] if len(stack) < 2 else f"{stack[0]}, called at {stack[depth - 1]}")
    return texts


def _cell(name: str, value: Any, row: Row) -> str:
    if value is None:
        return ""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    figure = str(row["what"]) if name in _OF_WHAT and "what" in row else name
    if is_number and ("bytes" in figure or figure in _BYTES):
        return _bytes(float(value))
    if is_number and figure.endswith("_ns"):
        return f"{value / 1e9:.6g} s"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if is_number and name != "rank" else str(value)


def _bytes(value: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(value) >= 1024 and len(units) > 1:
        value /= 1024
        del units[0]
    return f"{value:.0f} B" if units[0] == "B" else f"{value:.1f} {units[0]}"
