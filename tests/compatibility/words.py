# SPDX-License-Identifier: Apache-2.0
"""The words that users hold, by subject, asked of a built command and read from the schema of its report.

words.py COMMAND SCHEMA FOLDER writes them as lists, one word a line: done once, at a release.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import made_up_trace

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
COMMANDS = (
    "run",
    "check",
    "record",
    "report",
    "diff",
    "top",
    "follow",
    "dump",
    "last",
    "clean",
    "cache",
    "nvcc",
    "help",
)
# Keys of the report whose values are words of ours, not the program's.
WORDS_OF_KEYS = {"kind", "severity", "family", "direction", "how", "device", "cause", "label"}


def ask(command, *words):
    done = subprocess.run([command, *map(str, words)], capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


def options(command):
    """'report --format': every option of every command, short ones too."""
    found = set()
    for name in COMMANDS:
        text = ask(command, "help", name)[1].partition("\nOptions\n")[2]
        for short, option in re.findall(r"^  (?:(-\w) \[ )?(--[a-z][\w-]*)", text, re.M):
            found |= {f"{name} {word}" for word in (short, option) if word}
    return found


def kinds(command):
    return set(re.findall(r"^(\S+) +(?:error|warning|note) ", ask(command, "help", "findings")[1], re.M))


def environment(command):
    return set(re.findall(r"\b(?:GPUMEMTRACE_\w+|NO_COLOR|TMPDIR)\b", ask(command, "help", "options")[1]))


def formats(command):
    section = ask(command, "help", "options")[1].partition("\nReport formats")[2].partition("\n\n")[0]
    return set(re.findall(r"^  (\w+) ", section, re.M))


def schema_words(node, definitions, path=""):
    """'findings[].kind' for each key, 'ended.how=exited' for each value of a closed list."""
    found = set()
    if "$ref" in node:
        found |= schema_words(definitions[node["$ref"].rpartition("/")[2]], definitions, path)
    for choice in node.get("oneOf", []) + node.get("anyOf", []):
        found |= schema_words(choice, definitions, path)
    values = node.get("enum", []) + ([node["const"]] if "const" in node else [])
    found |= {f"{path}={json.dumps(value)}" for value in values}
    if isinstance(node.get("type"), str) and path:
        found.add(f"{path}:{node['type']}")
    for key, child in node.get("properties", {}).items():
        below = f"{path}.{key}".lstrip(".")
        found |= {below} | schema_words(child, definitions, below)
    if isinstance(node.get("items"), dict):
        found |= schema_words(node["items"], definitions, f"{path}[]")
    return found


def report_words(value, path=""):
    """The same of one report, with the values of WORDS_OF_KEYS."""
    found = set()
    if isinstance(value, dict):
        for key, child in value.items():
            below = f"{path}.{key}".lstrip(".")
            found |= {below} | report_words(child, below)
            if key in WORDS_OF_KEYS and isinstance(child, str) and re.fullmatch(r"[a-z][a-z ,-]*", child):
                found.add(f"{below}={child}")
    for child in value if isinstance(value, list) else []:
        found |= report_words(child, f"{path}[]")
    return found


def reports(command):
    found = set()
    for fixture in sorted(FIXTURES.glob("*.*.*")):
        text = ask(
            command,
            "report",
            "--format",
            "json",
            "--no-symbols",
            "--coalescing-floor",
            "0",
            "--policy",
            "max-allocations 1",
            fixture,
        )[1]
        found |= report_words(json.loads(text)) if text else set()
    return found


def dump_words(text):
    """'call family=pinned', 'instruction offset': columns, and values that are words."""
    found = set()
    for line in text.splitlines():
        words = line.partition("=")[0].split()
        at = 2 if words[0].isdigit() else 1
        what = words[at] if len(words) > at else words[0]
        what = "call" if re.match(r"cu[A-Z]|cuda[A-Z]", what) else what
        for name, value in re.findall(r"(?:^| )([a-z][\w-]*)=(\S*)", line):
            found.add(f"{what} {name}")
            if re.fullmatch(r"[a-z_][a-z()_-]*", value):
                found.add(f"{what} {name}={value}")
    return found


def dumps(command):
    found = set()
    for trace in sorted(FIXTURES.glob("*.*.*/gpumemtrace.*")):
        found |= dump_words(ask(command, "dump", trace)[1])
    return found


def made_up_dump(command):
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "gpumemtrace.app.host.7"
        made_up_trace.write(trace)
        return ask(command, "dump", trace)[1]


def all_words(command, schema):
    definitions = json.loads(pathlib.Path(schema).read_text(encoding="utf-8"))
    return {
        "options": options(command),
        "kinds": kinds(command),
        "environment": environment(command),
        "formats": formats(command),
        "commands": {name for name in COMMANDS if ask(command, "help", name)[0] == 0},
        "schema": schema_words(definitions, definitions["definitions"]),
        "report_json": reports(command),
        "dump": dumps(command),
    }


def main():
    command, schema, folder = sys.argv[1:]
    for subject, words in all_words(command, schema).items():
        text = "".join(f"{word}\n" for word in sorted(words))
        (pathlib.Path(folder) / f"{subject}.txt").write_text(text, encoding="utf-8")
    (pathlib.Path(folder) / "dump_of_made_up_trace.txt").write_text(made_up_dump(command), encoding="utf-8")


if __name__ == "__main__":
    main()
