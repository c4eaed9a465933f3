#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the JSON output, docs/report.schema.json and docs/report-json.md to each other.

usage: check_schema.py REPORT_WRITE_JSON DOCS

Runs the program that writes made-up reports, validates each against the schema, makes sure that the schema refuses
what it must, and that the documentation names every field.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    sys.exit("check_schema: nothing was checked: the module jsonschema is missing (Debian: python3-jsonschema)")


def fields(schema):
    """Every property name that the schema mentions."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties":
                yield from value
            yield from fields(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from fields(value)


def broken_reports(report):
    """Changes that the schema must not accept, each with a name."""

    def changed(name, change):
        copy = json.loads(json.dumps(report))
        change(copy)
        return name, copy

    yield changed("an unknown field", lambda r: r.update(extra=1))
    yield changed("another schema", lambda r: r.update(schema=2))
    yield changed("a missing field", lambda r: r.pop("findings"))
    yield changed("an address as a number", lambda r: r["findings"][0].update(address=1))
    yield changed("a size as text", lambda r: r["findings"][0].update(bytes="1 MiB"))
    yield changed("a status with a signal", lambda r: r["ended"].update(status=0))
    yield changed("line 0", lambda r: r["findings"][0]["stacks"][0]["frames"][0].update(line=0))


def main():
    program, docs = sys.argv[1], pathlib.Path(sys.argv[2])
    schema = json.loads((docs / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        reports = {
            p.stem: json.loads(p.read_bytes().decode("utf-8")) for p in sorted(pathlib.Path(folder).glob("*.json"))
        }
    for name, report in reports.items():
        problems += [
            f"{name}: {'/'.join(map(str, e.absolute_path))}: {e.message}" for e in validator.iter_errors(report)
        ]
    problems += [
        f"the schema accepts {name}"
        for name, report in broken_reports(reports["ordinary"])
        if validator.is_valid(report)
    ]
    reports["tables"]["processes"][0]["memory"]["holders_at_peak"][0]["bytes"] = "1 GiB"
    if validator.is_valid(reports["tables"]):
        problems.append("the schema accepts a holder's size as text")
    limited = reports["limited"]
    if len(limited["findings"]) != 1 or limited["not_shown"]["limit"] != 3 or limited["summary"]["errors"] != 2:
        problems.append("limited: the limit must show one finding, count three, and leave the summary alone")
    holders = limited["processes"][0]["memory"]["holders_at_peak"]
    if any(len(s["frames"]) > 1 for f in limited["findings"] + holders for s in f.get("stacks") or [f["stack"]]):
        problems.append("limited: a stack is deeper than --stack-depth")
    text = (docs / "report-json.md").read_text(encoding="utf-8")
    problems += [
        f"report-json.md does not name `{field}`" for field in sorted(set(fields(schema))) if f"`{field}`" not in text
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(reports)} reports, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
