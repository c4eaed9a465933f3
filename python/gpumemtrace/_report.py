# SPDX-License-Identifier: Apache-2.0
"""The JSON report of a trace, as objects. docs/report-json.md documents every field."""

import dataclasses
import json
import os
from typing import Any, Union

from gpumemtrace._command import output_of


@dataclasses.dataclass(frozen=True)
class Frame:
    """One frame of a call stack; None is what is not known."""

    function: str | None
    file: str | None
    line: int | None
    module: str | None


@dataclasses.dataclass(frozen=True)
class Stack:
    """What happened there ("allocated here"), and the frames, innermost first."""

    label: str
    frames: list[Frame]


@dataclasses.dataclass(frozen=True)
class Finding:
    """`bytes` and `count` are what the finding is about; `severity` is "error", "warning" or "note"."""

    kind: str
    severity: str
    message: str
    advice: str
    bytes: int
    count: int
    stacks: list[Stack]
    json: dict[str, Any] = dataclasses.field(repr=False)


class Report:
    """Findings and totals of a trace (a folder that `gpumemtrace record` or `run` left), or of several.

    Raises GpumemtraceError if there is no trace, or none that can be read. `json` is the whole report.
    """

    def __init__(self, *traces: Union[str, "os.PathLike[str]"], options: list[str] | None = None):
        words = ["report", "--format", "json", *(options or []), "--", *map(os.fspath, traces)]
        self.json: dict[str, Any] = json.loads(output_of(*words))
        self.findings: list[Finding] = [finding_of(one) for one in self.json["findings"]]

    @property
    def errors(self) -> list[Finding]:
        return [one for one in self.findings if one.severity == "error"]

    @property
    def peak_bytes(self) -> int:
        """Most device memory that was alive at one moment in one process."""
        return int(self.json["totals"]["peak_bytes"])

    @property
    def live_bytes(self) -> int:
        """What is alive at the end of the trace, of all kinds of memory that can leak."""
        return int(self.json["totals"]["live_bytes"])


def finding_of(one: dict[str, Any]) -> Finding:
    return Finding(
        one["kind"],
        one["severity"],
        one["message"],
        one["advice"],
        one["bytes"],
        one["count"],
        [stack_of(stack) for stack in one["stacks"]],
        one,
    )


def stack_of(stack: dict[str, Any]) -> Stack:
    frames = [
        Frame(frame.get("function"), frame.get("file"), frame.get("line"), frame.get("module"))
        for frame in stack["frames"]
    ]
    return Stack(stack["label"], frames)
