# SPDX-License-Identifier: Apache-2.0
"""Says where two sources of one library have the same name in their anonymous namespaces, or such a name is also that of
a header there. Compiled at once, as a unity build does, they do not compile, or mean something else: and which files
come together changes with every new file. Overloads of functions are fine, and so are aliases of one type.

lint_names.py ROOT. Exit status: 0 nothing found, 1 something."""

import pathlib
import re
import sys

# What is compiled at once: folders, and what of them belongs to another library.
LIBRARIES = {
    "analyzer_core": (["analyzer"], ["analyzer/report", "analyzer/command"]),
    "analyzer_report": (["analyzer/report"], []),
    "gpumemtrace": (["analyzer/command"], []),
    "simulated_cuda_driver": (["simulated_cuda/driver", "simulated_cuda/common"], []),
    "executor": (["simulated_cuda/executor"], ["simulated_cuda/executor/machine/handlers"]),
    "interposer_objects": (
        ["interposer"],
        [
            "interposer/coalescing/collector",
            "interposer/hooks/exports",
            "interposer/host_races/library",
            "interposer/kernel_checks/library",
        ],
    ),
    "kernel_checks_objects": (["interposer/kernel_checks/library"], []),
    "ptx": (["ptx"], []),
    "rewriter": (["rewriter"], []),
}
# Executables of unit tests: folders of tests/unit.
TESTS = [
    ["analyzer/base"],
    ["analyzer/trace_reader"],
    ["analyzer/symbols"],
    ["analyzer/cuda_state", "analyzer/heap"],
    ["analyzer/device_heap"],
    ["analyzer/device_code"],
    ["analyzer/core_dump"],
    ["analyzer/coalescing"],
    ["analyzer/detectors/allocations"],
    ["analyzer/detectors/copies"],
    ["analyzer/detectors/launches"],
    ["analyzer/detectors/kernels"],
    ["analyzer/detectors/calls", "analyzer/detectors/performance"],
    ["analyzer/analysis"],
    ["analyzer/report"],
    ["interposer/kernel_checks"],
    ["ptx"],
    ["rewriter"],
    ["simulated_cuda/executor/program", "simulated_cuda/executor/machine", "simulated_cuda/executor/workers"],
    ["simulated_cuda/executor/forms"],
]
MACROS = {"TEST", "TEST_F", "TEST_P", "INSTANTIATE_TEST_SUITE_P"}  # of GoogleTest, whose names begin with a suite's
BLANKED = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
TYPE = re.compile(
    r"^(?:enum(?: class)?|struct|class|union)\s+(?:alignas\([^)]*\)\s*)?(?:\[\[.*?\]\]\s*)?(\w+)\b(?!\s*<)"
)
FUNCTION = re.compile(r"(~?\w+|operator\s*\S+?)\s*\(")
INITIALIZED = re.compile(r"(?<![<>=!])=(?!=)")
ATTRIBUTES = re.compile(r"\[\[.*?\]\]\s*|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)\s*")
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|$)")


def heads_of(text):
    """(namespaces, head, has a body) of each declaration at the scope of a namespace."""
    text = BLANKED.sub(lambda m: " " if m[0].startswith("/") else '""', text)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", "", text, flags=re.MULTILINE)
    scopes, head, depth, parens, braces = [], "", 0, 0, 0
    for c in text:
        if depth > 0:  # within a body
            depth += {"{": 1, "}": -1}.get(c, 0)
            continue
        if c in "()":
            parens += 1 if c == "(" else -1
        if braces > 0 or (c == "{" and INITIALIZED.search(head)):
            braces += {"{": 1, "}": -1}.get(c, 0)
            head += c
        elif parens == 0 and c == "{":
            found = re.match(r"\s*(?:inline )?namespace\b\s*([\w:]*)\s*$", head) or re.match(r'\s*extern ""\s*$', head)
            if found is None:
                yield tuple(scopes), " ".join(head.split()), True
                depth = 1
            else:
                scopes.append(found[1] if found.re.groups else "")
            head = ""
        elif parens == 0 and c == "}" and scopes:
            scopes.pop()
            head = ""
        elif parens == 0 and c == ";":
            if head.strip():
                yield tuple(scopes), " ".join(head.split()), False
            head = ""
        else:
            head += c


def without_template(head):
    while head.startswith("template"):
        depth = 0
        for at, c in enumerate(head):
            depth += {"<": 1, ">": -1}.get(c, 0)
            if c == ">" and depth == 0:
                head = head[at + 1 :].strip()
                break
        else:
            return ""
        head = re.sub(r"^requires\s+[^()]*?(?=\b(?:auto|void|bool|struct|class|\w+ \w+\())", "", head)
    return head


def types_of(parameters):
    """Parameters without their names and defaults, as text."""
    parts = re.split(r",(?![^<]*>)", parameters)
    return tuple(re.sub(r"(?<=[\s&*>])\w+(?:\[\])?\s*$", "", part.split("=")[0]).replace(" ", "") for part in parts)


def name_of(head, has_body):
    """(name, what tells it from others of the name) of what is declared; None of what declares nothing new. Overloads
    of functions and aliases of one type may stand beside each other, so they have something."""
    head = without_template(ATTRIBUTES.sub("", head))
    if (
        re.match(r"(?:(?:using )?namespace|using enum|static_assert|friend|extern|typedef|requires)\b", head)
        or not head
    ):
        return None
    if found := re.match(r"using\s+(\w+)\s*=", head):
        return found[1], head
    if found := TYPE.match(head):
        return (found[1], None) if has_body or "=" in head else None
    if re.match(r"(?:struct|class|union)\s+\w+\s*<", head):
        return None  # a specialization
    initialized = INITIALIZED.search(head)
    assignment = initialized.start() if initialized else -1
    call = FUNCTION.search(re.sub(r"(?:alignas|decltype|noexcept)\([^)]*\)", lambda m: "_" * len(m[0]), head))
    if call and (assignment < 0 or call.start() < assignment) and "::" not in head[: call.end()].split(" ")[-1]:
        return call[1], types_of(head[call.end() : head.rfind(")")])
    if call and assignment < 0:
        return None  # a member's definition
    found = VARIABLE.search(head if assignment < 0 else head[: assignment + 1])
    return (found[1], None) if found and "::" not in head[: found.start()].split(" ")[-1] else None


def variables_of(head):
    """Of "int a = f(1, 2), *b, c[3]" a, b and c, as name_of has them; nothing where one variable is declared."""
    head = ATTRIBUTES.sub("", head)
    parts, depth = [""], 0
    for c in re.sub(r"<[\w:, *&]*>", "", head):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    if re.match(r"(?:using|template|typedef|extern|friend|enum|struct|class|union)\b", head):
        return []
    found = [re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:[={]|$)", part) for part in parts]
    return [(match[1], None) for match in found if match] if len(parts) > 1 else []


def may_meet(one, other):
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    return isinstance(one, tuple) and isinstance(other, tuple) and one != other


def clashes_of(root, folders, left_out):
    """Sentences."""
    known = {}  # (namespace, name): [(file, what tells it apart, is anonymous)]
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            name = str(path.relative_to(root))
            if path.suffix not in (".cpp", ".h") or any(f"{name}/".startswith(f"{other}/") for other in left_out):
                continue
            for scopes, head, has_body in heads_of(path.read_text(encoding="utf-8")):
                is_anonymous = path.suffix == ".cpp" and "" in scopes
                first = name_of(head, has_body) if is_anonymous or path.suffix == ".h" else None
                if first is None or first[0] in MACROS:
                    continue
                namespace = "::".join(scope for scope in scopes if scope)
                several = variables_of(head) if first[1] is None and not has_body else []
                for found in several or [first]:
                    others = known.setdefault((namespace, found[0]), [])
                    for file, other, was_anonymous in others:
                        if file != name and (is_anonymous or was_anonymous) and not may_meet(found[1], other):
                            yield f"{name}: {found[0]} is also a name of {file}"
                    others.append((name, found[1], is_anonymous))


def compiled_alone(root):
    """The files that tests/unit/CMakeLists.txt leaves out of what is compiled at once."""
    listed = re.search(
        r"set\(compiled_alone\s+([^)]*)\)", (root / "tests/unit/CMakeLists.txt").read_text(encoding="utf-8")
    )
    return [f"tests/unit/{name}" for name in listed[1].split()] if listed else []


def main():
    root = pathlib.Path(sys.argv[1])
    found = []
    for folders, left_out in LIBRARIES.values():
        found += clashes_of(root, folders, left_out)
    if (root / "tests/unit").exists():
        alone = compiled_alone(root)
        for folders in TESTS:
            found += clashes_of(root, [f"tests/unit/{folder}" for folder in folders], alone)
    for sentence in found:
        print(sentence)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
