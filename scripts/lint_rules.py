# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that no tool knows: who may include whom (the layers of the tree), and what a room must not know.
lint_code.py has those about single lines of code.

lint_rules.py [unittest's arguments]. Exit status: 0 nothing found, 1 something."""

import glob
import os
import re
import unittest

SOURCES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = ("interposer", "device_hooks", "analyzer")
# Each room may include those above it, and none below.
ROOMS = {
    "analyzer": (
        "base",
        "model",
        "trace_reader",
        "symbols",
        "cuda_state",
        "heap",
        "device_heap",
        "device_code",
        "core_dump",
        "coalescing",
        "detectors",
        "analysis",
        "wording",
        "report",
        "command",
    ),
    "interposer": (
        "base",
        "loader",
        "python",
        "log",
        "driver_state",
        "core_dump",
        "device_ring",
        "coalescing",
        "calls",
        "execution",
        "recorders",
        "guard",
        "kernel_checks",
        "host_races",
        "hooks",
        "start",
    ),
    "ptx": ("fatbin", "syntax", "opcodes", "print", "flow", "names"),
    "simulated_cuda/executor": ("program", "machine", "checks"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


def files(*folders):
    """Paths of all sources under the folders, relative to the tree."""
    found = []
    for folder in folders:
        for path in glob.glob(os.path.join(SOURCES, folder, "**"), recursive=True):
            if path.endswith((".h", ".cpp", ".cu", ".cuh", ".S", ".def")):
                found.append(os.path.relpath(path, SOURCES))
    return sorted(found)


def text_of(path):
    with open(os.path.join(SOURCES, path), encoding="utf-8") as file:
        return file.read()


def code_of(path):
    """Without comments and string literals."""
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text_of(path))
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def includes_of(path):
    return INCLUDE.findall(text_of(path))


class Layers(unittest.TestCase):
    def forbid(self, paths, pattern, why):
        offenders = [f"{path}: {name}" for path in paths for name in includes_of(path) if re.search(pattern, name)]
        self.assertEqual(offenders, [], why)

    def test_parts_never_include_each_other(self):
        for part in PARTS:
            others = "|".join(other for other in PARTS if other != part)
            self.forbid(files(part), rf"^({others}|simulated_cuda|tests|samples)/", f"{part} includes trace/ and ptx/")

    def test_words_of_records_have_names(self):
        """trace/records.def numbers them; trace/records.h reads and writes by it."""
        numbered = re.compile(r"\b(?:p|word|set)\(\d|\b(?:payload|a|w|words)\[\d|\bcase \d+: return \w")
        paths = files("analyzer/trace_reader", "device_hooks")
        paths.remove("device_hooks/include/gpumemtrace/detail/ring_writer.h")  # which sends the words of any record
        self.assertEqual([f"{path}: {found}" for path in paths for found in numbered.findall(code_of(path))], [])
        numbered = re.compile(r"\b(?:p|word|set)\(\d|\b(?:payload|a|w)\[\d")
        offenders = [f"{path}: {found}" for path in files("analyzer") for found in numbered.findall(code_of(path))]
        self.assertEqual(offenders, [])

    def test_the_format_of_records_ends_at_the_reader(self):
        """trace_reader makes events of records; who shows records, or moves them, is left out."""
        wire = re.compile(r"^trace/(format|records|record_words|packed_words|device_ring|ring_reader)\.h$")
        shows = ("analyzer/trace_reader/", "analyzer/command/dump/", "analyzer/command/run/", "analyzer/command/fold/")
        looks_for_a_symbol = "analyzer/device_code/malloc_scan.cpp"
        known = {}

        def reaches(path):
            """The include by which the format comes in; None if it does not."""
            if path not in known:
                known[path] = None
                there = [name for name in includes_of(path) if os.path.exists(os.path.join(SOURCES, name))]
                known[path] = next((name for name in there if wire.match(name) or reaches(name)), None)
            return known[path]

        paths = [path for path in files("analyzer") if not path.startswith(shows) and path != looks_for_a_symbol]
        self.assertGreater(len(paths), 300)
        self.assertEqual([f"{path}: {reaches(path)}" for path in paths if reaches(path)], [], "include model/event.h")
        of_records = re.compile(r"\btrace::(?:\w+(?:View|Word|Column)|Payload|Kind|k\w*Flag\w*)\b")
        offenders = [f"{path}: {found}" for path in paths for found in of_records.findall(code_of(path))]
        self.assertEqual(offenders, [], "what an event says stands in model/call_events.h and model/stated_events.h")

    def test_comments_do_not_say_who_uses_a_file(self):
        """Such lists are never kept right."""
        users = re.compile(r"^//.*\b(Used|Called|Read|Filled|Made|Fed|Asked|Shared|Seen) by\b|^//.*'s only\b", re.M)
        offenders = [
            f"{path}: {match.group(0)}"
            for path in files(*PARTS, "ptx", "rewriter", "simulated_cuda", "trace")
            for match in users.finditer(text_of(path))
        ]
        self.assertEqual(offenders, [], "say what the file does, and its invariants")

    def test_trace_is_a_leaf(self):
        self.forbid(
            files("trace"), rf"^({'|'.join(PARTS)}|simulated_cuda|cuda|fmt|boost)", "trace/ includes nothing of ours"
        )

    def test_ptx_is_a_leaf(self):
        paths = files("ptx")
        self.assertGreater(len(paths), 30)
        self.forbid(
            paths,
            rf"^({'|'.join(PARTS)}|simulated_cuda|trace|tests|cuda|cupti|fmt|boost)",
            "ptx/ includes nothing of ours and nothing of CUDA's",
        )

    def test_rewriter_stands_on_ptx(self):
        paths = files("rewriter")
        self.assertGreater(len(paths), 10)
        self.forbid(
            paths,
            rf"^({'|'.join(PARTS)}|simulated_cuda|trace|tests|cuda|cupti|fmt|boost)",
            "rewriter/ includes ptx/, and nothing else of ours or of CUDA's",
        )

    def test_who_may_include_ptx(self):
        """The analyzer and the simulated device may; of the interposer the libraries beside it: the collector reads fat
        binaries, that of checks rewrites kernels."""
        collector, checks = "interposer/coalescing/collector/", "interposer/kernel_checks/library/"
        paths = [p for p in files("trace", "device_hooks", "interposer") if not p.startswith((collector, checks))]
        self.forbid(paths, r"^(rewriter|interposer/kernel_checks/library)/", "the core is without exceptions")
        self.forbid(paths, r"^ptx/", "ptx/ is for code that reads kernels")
        self.forbid(files(collector), r"^ptx/(?!fatbin/)", "the rest of ptx/ throws and allocates")

    def test_fat_binaries_are_read_without_the_library(self):
        paths = files("ptx/fatbin")
        self.assertGreater(len(paths), 0)
        self.forbid(paths, r"^(?!(cstddef|cstdint|cstring|climits|ptx/fatbin/\w+\.h|lz4\.h|zstd\.h)$)", "no libstdc++")
        allocates = re.compile(
            r"(?<![\w_])(?:malloc|calloc|realloc|free)\s*\(|\bnew\b|\bdelete\b|\bthrow\b|\btry\b|\bstd::(?!size_t|u?int\d|mem)"
        )
        offenders = [f"{path}: {found}" for path in paths for found in allocates.findall(code_of(path))]
        self.assertEqual(offenders, [], "the collector stands on it: no allocation, no exceptions")

    def test_simulated_device_knows_nothing_of_us(self):
        self.forbid(
            files("simulated_cuda"),
            rf"^({'|'.join(PARTS)}|trace/(?!(cuda_results\.def|execution_observer\.h|capture_(file|on_disk)\.h)$))",
            "it stands on ptx/, shares CUDA's results, the observer of kernels and captures, and nothing else",
        )

    def test_boost_only_reads_the_command_line(self):
        rest = [
            path
            for path in files(*PARTS, "ptx", "trace", "simulated_cuda")
            if not path.startswith("analyzer/command/options/")
        ]
        self.forbid(rest, r"^boost/", "Boost only in analyzer/command/options/")

    def test_cuda_headers(self):
        self.forbid(
            files("analyzer", "ptx", "trace"),
            r"^(cuda|cudart|cupti|nvtx|driver_types|vector_types)",
            "the command builds without CUDA",
        )
        rest = [
            path
            for path in files(*PARTS, "ptx", "trace", "simulated_cuda")
            if not path.startswith(("interposer/coalescing/collector/", "simulated_cuda/cupti/"))
        ]
        self.forbid(rest, r"^cupti", "CUPTI only in the collector and its simulation")

    def test_each_room_includes_those_above_it(self):
        for part, rooms in ROOMS.items():
            for path in files(part):
                folder = path[len(part) + 1 :].split("/")[0]
                if part.endswith("/executor") and folder in ("executor.h", "executor.cpp", "report.h", "only_block.h"):
                    continue  # its interface, and what joins the rooms
                self.assertIn(folder, rooms, f"{path} is in no room")
                below = "|".join(rooms[rooms.index(folder) + 1 :])
                if below:
                    self.forbid([path], rf"^{part}/({below})/", f"the rooms of {part}, from above: {' '.join(rooms)}")

    def test_detectors_do_not_know_each_other(self):
        self.forbid(
            [path for path in files("analyzer/detectors") if path.count("/") > 2],
            r"^analyzer/detectors/(?!shared/)\w+/",
            "detectors see shared/ and the rooms above",
        )

    def test_formats(self):
        allowed = (
            r"^analyzer/(?!report/(output_format|report|fingerprint|source_paths|(formats|shared)/\w+)\.h$"
            r"|(base|model|analysis|coalescing|symbols)/)"
        )
        self.forbid(files("analyzer/report/formats"), allowed, "formats see a report and what they share")

    def test_no_code_reads_sentences(self):
        """Roles, calls, owners and measures are data; analyzer/wording/ makes sentences of them at the end."""
        words = r"\b(?:message|advice|label)"
        methods = r"(?:find|rfind|replace|insert|erase|pop_back|back|substr|compare|contains|starts_with|ends_with)"
        forbidden = {
            rf"{words}(?:\.|->){methods}\(": "it searches or cuts a sentence",
            r"\b(?:kind|what)\s*[!=]=\s*\"": "what a kind means to others stands in its DetectorInfo",
            r"\b(?:kind|what)(?:\.|->)(?:find|substr|starts_with|ends_with)\(": "the same",
            r"(?:starts_with|ends_with|contains)\(\"(?:leak|device-heap|policy)": "the same",
        }
        codes = {path: re.sub(r"//[^\n]*", "", text_of(path)) for path in files("analyzer")}
        for path, code in codes.items():
            for pattern, why in forbidden.items():
                self.assertEqual(re.findall(pattern, code), [], f"{path}: {why}")
        label = r"\"[a-z ]*(?:allocated|freed|copied|launched|failed)(?: [a-z]+)* here"
        offenders = [f"{path}: {found}" for path, code in codes.items() for found in re.findall(label, code)]
        self.assertEqual(offenders, [], "stacks have a StackRole; analyzer/model/stack_role.cpp has its words")

    def test_few_sources_bring_the_table_of_calls(self):
        """A row in trace/cuda_api.def compiles anew all that includes it."""
        found = [path for path in files("analyzer") if '"trace/api_id.h"' in text_of(path)]
        self.assertEqual(found, ["analyzer/detectors/shared/orderings.cpp"], "trace/other_names.h may be enough")


if __name__ == "__main__":
    unittest.main()
