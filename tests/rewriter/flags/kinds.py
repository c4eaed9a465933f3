# SPDX-License-Identifier: Apache-2.0
"""What --kernel-checks is to find in the kernels of kinds.cu, and what a report says of them."""

import json
import pathlib
import re

SOURCE = pathlib.Path(__file__).with_name("kinds.cu")
# kernel: kind of finding, and how often
KINDS = {
    "behind": ("kernel-out-of-bounds", 24),
    "before": ("kernel-out-of-bounds", 1),
    "far": ("kernel-out-of-bounds", 1),
    "negative": ("kernel-out-of-bounds", 1),
    "neighbour": ("kernel-out-of-bounds", 1),
    "null": ("kernel-out-of-bounds", 1),
    "freed": ("kernel-use-after-free", 1),
    "misaligned": ("kernel-misaligned", 1),
    "of_shared": ("kernel-out-of-bounds", 16),
    "of_dynamic": ("kernel-out-of-bounds", 8),
    "of_local": ("kernel-out-of-bounds", 3),
    "of_heap": ("kernel-out-of-bounds", 1),
}
# Compiled with -G, code may use the heap that does not say what it allocates.
WITHOUT_HEAP = {kind: found for kind, found in KINDS.items() if kind != "of_heap"}


def wanted(kinds=KINDS, times=1):
    """Of each kernel: kind of finding, how often, line."""
    lines = SOURCE.read_text().splitlines()
    marks = {re.search(r"@(\w+)", line).group(1): 1 + i for i, line in enumerate(lines) if "// @" in line}
    return {kernel: (kind, times * count, marks[kernel]) for kernel, (kind, count) in kinds.items()}


def found_in(report):
    """The same of a report; what several findings say of one kernel and line is added up."""
    found = {}
    for finding in json.loads(report.read_text())["findings"]:
        if not finding["kind"].startswith("kernel-"):
            continue
        frame = finding["stacks"][0]["frames"][0]
        kernel = frame["function"].split("(")[0]
        kind, count, line = found.get(kernel, (finding["kind"], 0, frame["line"]))
        is_same = (kind, line) == (finding["kind"], frame["line"])
        found[kernel if is_same else f"{kernel}, again"] = (finding["kind"], count + finding["count"], frame["line"])
    return found
