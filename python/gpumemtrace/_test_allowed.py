# SPDX-License-Identifier: Apache-2.0
"""What marks of tests allow is allowed in the report on the whole run, too: by rules of suppression that the tests'
processes write while they run, and the command reads at the end.

The file has no name in any folder, so that nothing is left of it. The command keeps it open, and keeps the process's
number: it is what this process becomes.
"""

import os

_ALLOWED = "GPUMEMTRACE_PYTEST_ALLOWED"


def make_allowed_rules() -> str:
    """The path of an empty file, as this process, its children and what it becomes can open it."""
    path = f"/proc/{os.getpid()}/fd/{os.memfd_create('marks of tests', 0)}"
    os.environ[_ALLOWED] = path
    return path


def rule_of(kind: str, test: str) -> str:
    """Findings of the kind in the test's NVTX range. What stands for something in a rule stands for itself then."""
    plain = "".join("?" if one in "*?" or not one.isprintable() else one for one in test)
    return f"{kind}:range {plain}"


def allow(kinds: list[str], test: str) -> None:
    path = os.environ.get(_ALLOWED)
    if not path or not kinds:
        return
    with open(path, "a", encoding="utf-8") as file:
        file.write("".join(rule_of(kind, test) + "\n" for kind in kinds))
