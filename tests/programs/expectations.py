# SPDX-License-Identifier: Apache-2.0
"""The expectations of a test program, read from the comments of its source.

Used by check_report.py, whose head describes the grammar. A source that breaks the grammar raises GrammarError with
its line number: a mistyped expectation must not pass as an absent one.
"""

import dataclasses
import os
import pathlib
import re
import shlex
import signal

SEVERITIES = ("error", "warning", "note")
LABELS = (
    "allocated here",
    "registered here",
    "looked up here",
    "held here",
    "accessed here",
    "first unregistered here",
    "neighbour allocated here",
    "neighbour registered here",
    "unregistered here",
    "unregistered again here",
    "first closed here",
    "closed again here",
    "first released here",
    "released again here",
    "unmapped here",
    "first unmapped here",
    "unmapped again here",
    "freed here",
    "first freed here",
    "freed again here",
    "copied here",
    "set here",
    "used here",
    "first used here",
    "called here",
    "launched here",
    "first launched here",
    "accessed here",
    "first accessed here",
    "waited here",
    "failed here",
    "host memory freed here",
    "context ended here",
    "pool ended here",
    "pool destroyed here",
    "destroyed here",
    "first destroyed here",
    "destroyed again here",
    "created here",
    "imported here",
    "captured here",
    "graph launched here",
    "graph first launched here",
    "graph last launched here",
    "node made here",
    "limit refused here",
    "freed by the host here",
    "reported here",
    "host memory copied here",
    "freed too late here",
)
TAGS = {"shared", "static", "simulated", "real", "O0", "O2"}
DIRECTIVE = re.compile(
    r"^(?://|#)\s(run|or|exit|devices?|env|options|expect|not-checked|counted|processes|unlike-fenced|unlike-late)((?:-\w+)*):\s*(.*?)\s*$"
)
STACK = re.compile(r'"([^"]+)"(?:@([\w~]+))?(?::(?:(\d+)|LINE\(([\w-]+)\)))?')


class GrammarError(Exception):
    pass


@dataclasses.dataclass
class StackLine:
    label: str
    function: str = None
    line: int = None

    def __str__(self):
        where = (f" {self.function}()" if self.function else "") + (f" line {self.line}" if self.line else "")
        return f"{self.label}:{where}"


@dataclasses.dataclass
class Expectation:
    severity: str
    kind: str
    bytes: int = None
    count: int = None
    api: str = None
    message: str = None
    range: str = None
    ratio: tuple = None  # lowest and highest
    cause: str = None
    line: int = None
    tail_calls: int = None
    stacks: list = None

    def __str__(self):
        parts = [self.severity, self.kind]
        parts += [
            f"{key}={value}"
            for key in ("count", "bytes", "api", "message", "range", "cause", "line", "tail_calls")
            if (value := getattr(self, key)) is not None
        ]
        if self.ratio:
            parts.append("ratio={:g}..{:g}".format(*self.ratio))
        return " ".join(parts) + "".join(f"\n      {stack}" for stack in self.stacks or [])


@dataclasses.dataclass
class Run:
    """One way to start the program, with what its report must say in the given flavour."""

    arguments: list
    source_line: int
    exit_status: int = 0  # negative: died by this signal
    device: str = "any"
    devices: int = 1  # so many GPUs it takes
    environment: dict = dataclasses.field(default_factory=dict)
    options: list = dataclasses.field(default_factory=list)  # of gpumemtrace, "check" first if it is that
    expectations: list = dataclasses.field(default_factory=list)
    not_checked: list = dataclasses.field(default_factory=list)
    counted: list = dataclasses.field(default_factory=list)
    processes: int = None
    silent: bool = False  # not even a note
    decided: bool = False  # some expect line holds for this flavour
    unlike_fenced: str = ""  # why the fence changes the report
    unlike_late: str = ""  # why it changes where work runs late
    others: list = dataclasses.field(default_factory=list)  # outcomes that are as good, each a Run


def with_staged_device(environment, build):
    """The variables of a run, with the library of this build folder that reads those named STAGED_..., if there are."""
    if not any(name.startswith("STAGED_") for name in environment):
        return environment
    library = os.environ.get("GMT_STAGED_DEVICE") or pathlib.Path(build) / "tests/simulated/libstaged_device.so"
    return {**environment, "LD_PRELOAD": str(library)}


def parse_exit(text):
    match = re.fullmatch(r"(signal )?(\w+)", text)
    if not match:
        raise GrammarError(f"exit: '{text}' is neither a status nor 'signal N'")
    if not match[1]:
        return int(match[2])
    return -int(match[2] if match[2].isdigit() else signal.Signals[match[2]].value)


def parse_stacks(text, tagged_lines):
    stacks, position = [], 0
    while position < len(text):
        match = STACK.match(text, position)
        if not match:
            raise GrammarError(f"stacks: cannot read '{text[position:]}'")
        label, function, line, tag = match.groups()
        if label not in LABELS:
            raise GrammarError(f"stacks: no such label '{label}'")
        if tag and tag not in tagged_lines:
            raise GrammarError(f"stacks: no line of the source ends in '// @{tag}'")
        stacks.append(StackLine(label, function, int(line) if line else tagged_lines[tag] if tag else None))
        position = match.end()
        if position < len(text):
            if text[position] != ",":
                raise GrammarError(f"stacks: expected ',' before '{text[position:]}'")
            position += 1
    return stacks


def parse_ratio(text):
    """'1.9..2.1', or '2' for what is printed as 2.00."""
    lowest, dots, highest = text.partition("..")
    result = (float(lowest), float(highest)) if dots else (float(lowest) - 0.005, float(lowest) + 0.005)
    if result[0] > result[1]:
        raise GrammarError(f"ratio: '{text}' holds for no number")
    return result


def parse_line(text, tagged_lines):
    match = re.fullmatch(r"(\d+)|LINE\(([\w-]+)\)", text)
    if not match:
        raise GrammarError(f"line: '{text}' is neither a number nor LINE(tag)")
    if match[2] and match[2] not in tagged_lines:
        raise GrammarError(f"line: no line of the source ends in '// @{match[2]}'")
    return int(match[1]) if match[1] else tagged_lines[match[2]]


def parse_expectation(text, tagged_lines):
    words = re.findall(r'(?:[^\s"]|"[^"]*")+', text)
    if len(words) < 2 or words[0] not in SEVERITIES:
        raise GrammarError(f"expect: '{text}' must be 'clean', 'silent' or '<severity> <kind> ...'")
    result = Expectation(words[0], words[1])
    for word in words[2:]:
        key, _, value = word.partition("=")
        if key in ("bytes", "count", "tail-calls"):
            setattr(result, key.replace("-", "_"), int(value))
        elif key == "api":
            result.api = value
        elif key == "message":
            result.message = value.strip('"')
        elif key == "range":
            result.range = value.strip('"')
        elif key == "cause":
            result.cause = value
        elif key == "ratio":
            result.ratio = parse_ratio(value)
        elif key == "line":
            result.line = parse_line(value, tagged_lines)
        elif key == "stacks":
            result.stacks = parse_stacks(value, tagged_lines)
        else:
            raise GrammarError(f"expect: no such key '{key}'")
    return result


def find_tagged_lines(lines):
    """The number of each line that ends in '// @tag' or '# @tag', by tag."""
    tagged = {}
    for number, line in enumerate(lines, 1):
        if match := re.search(r"(?://|#)\s*@([\w-]+)\s*$", line):
            if match[1] in tagged:
                raise GrammarError(f"line {number}: '@{match[1]}' is already on line {tagged[match[1]]}")
            tagged[match[1]] = number
    return tagged


def apply_directive(run, name, value, tagged_lines):
    if name == "exit":
        run.exit_status = parse_exit(value)
    elif name == "device":
        if value not in ("any", "gpu", "simulated"):
            raise GrammarError(f"device: '{value}' is none of any, gpu, simulated")
        run.device = value
    elif name == "devices":
        run.devices = int(value)
    elif name == "env":
        key, equals, content = value.partition("=")
        if not equals:
            raise GrammarError("env: needs NAME=value")
        run.environment[key] = content
    elif name == "options":
        run.options += shlex.split(value)
    elif name == "not-checked":
        run.not_checked.append(value)
    elif name == "counted":
        run.counted.append(value)
    elif name == "unlike-fenced":
        run.unlike_fenced = value
    elif name == "unlike-late":
        run.unlike_late = value
    elif name == "processes":
        run.processes = int(value)
    else:
        run.decided = True
        if value == "silent":
            run.silent = True
        elif value != "clean":
            run.expectations.append(parse_expectation(value, tagged_lines))


def parse_source(text, flavour, tagged_lines=None):
    """The runs of a source. `flavour` is a set of TAGS: lines with other tags are checked and left out. `tagged_lines`
    are the lines of the tags where the program was built from another version of the source."""
    lines = text.splitlines()
    if tagged_lines is None:
        tagged_lines = find_tagged_lines(lines)
    runs = []
    of_all = Run([], 0)  # what stands before the first run
    for number, line in enumerate(lines, 1):
        match = DIRECTIVE.match(line)
        if not match:
            continue
        name, tags, value = match[1], set(match[2].split("-")[1:]), match[3]
        try:
            if unknown := tags - TAGS:
                raise GrammarError(f"no such flavour: {', '.join(sorted(unknown))}")
            if name == "run":
                outcome = Run(value.split(), number, unlike_fenced=of_all.unlike_fenced)
                runs.append(outcome)
                continue
            if not runs and name == "unlike-fenced":
                apply_directive(of_all if tags <= flavour else Run([], number), name, value, tagged_lines)
                continue
            if not runs:
                raise GrammarError(f"'{name}:' stands before the first 'run:'")
            if name == "or":
                outcome = Run([], number)
                runs[-1].others.append(outcome)
                continue
            if outcome is not runs[-1] and name not in ("expect", "not-checked"):
                raise GrammarError(f"'{name}:' holds for all outcomes and must stand before 'or:'")
            # A line for another flavour is read all the same, so that its mistakes show in every flavour.
            target = outcome if tags <= flavour else Run([], number)
            apply_directive(target, name, value, tagged_lines)
        except (GrammarError, ValueError, KeyError) as error:
            raise GrammarError(f"line {number}: {error}") from error
    for run in runs:
        for undecided in (one for one in (run, *run.others) if not one.decided):
            raise GrammarError(f"line {undecided.source_line}: this run has no 'expect:' line")
    return runs
