# SPDX-License-Identifier: Apache-2.0
"""Who may include whom (the layers of the tree), and what the interposer's code must not call."""

import glob
import os
import re
import unittest

import interposed_case

SOURCES = os.environ["GMT_SOURCES"]
PARTS = ("interposer", "device_hooks", "analyzer")
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
            self.forbid(files(part), rf"^({others}|simulated_cuda|tests|samples)/", f"{part} includes trace/ only")

    def test_trace_is_a_leaf(self):
        self.forbid(
            files("trace"), rf"^({'|'.join(PARTS)}|simulated_cuda|cuda|fmt|boost)", "trace/ includes nothing of ours"
        )

    def test_simulated_device_knows_nothing_of_us(self):
        self.forbid(files("simulated_cuda"), rf"^({'|'.join(PARTS)}|trace)/", "it links nothing of the interposer")

    def test_boost_only_in_the_commands_own_files(self):
        own = re.compile(r"analyzer/(main|cmd_\w+|options|option_values)\.(cpp|h)$")
        rest = [path for path in files(*PARTS, "trace", "simulated_cuda") if not own.match(path)]
        self.forbid(rest, r"^boost/", "Boost only in main, cmd_* and options")

    def test_cuda_headers(self):
        self.forbid(
            files("analyzer", "trace"),
            r"^(cuda|cudart|cupti|nvtx|driver_types|vector_types)",
            "the command builds without CUDA",
        )
        rest = [
            path
            for path in files(*PARTS, "trace", "simulated_cuda")
            if not path.startswith(("interposer/cupti/", "simulated_cuda/cupti/"))
        ]
        self.forbid(rest, r"^cupti", "CUPTI only in interposer/cupti and its simulation")

    def test_detectors(self):
        allowed = (
            r"^analyzer/(?!(detector|finding|heap|event|words|function_name|stream_clock|orderings|running_kernels|peer_access|declared_pointers|runtime_linkage"
            r"|device_stacks|access_finding)\.h$)"
        )
        self.forbid(
            files("analyzer/detectors"), allowed, "detectors see detector, finding, heap, event and wording helpers"
        )

    def test_outputs(self):
        allowed = r"^analyzer/(?!(output|report|finding|words|function_name|kernel_counters)\.h$|outputs/)"
        self.forbid(files("analyzer/outputs"), allowed, "outputs see output, report, finding and the text helpers")


class Interposer(unittest.TestCase):
    def forbid(self, pattern, why, but=()):
        paths = [path for path in files("interposer") if path.endswith((".h", ".cpp"))]
        self.assertGreater(len(paths), 20)
        offenders = [
            f"{path}: {match.group(0)}"
            for path in paths
            if os.path.basename(path) not in but
            for match in re.finditer(pattern, code_of(path))
        ]
        self.assertEqual(offenders, [], why)

    def test_no_public_dlsym(self):
        self.forbid(r"(?<![\w_])dlsym\s*\(", "real_dlsym() only: the public one is our own hook")

    def test_no_public_dlclose(self):
        self.forbid(r"(?<![\w_])dlclose\s*\(", "close_handle() only", but=("process_hooks.cpp",))

    def test_no_heap_and_no_streams(self):
        self.forbid(
            r"(?<![\w_])(malloc|calloc|realloc|free|strdup|fopen|printf|fprintf)\s*\(|\bnew\s+\w+\s*[\[({;]"
            r"|\bstd::(string|vector|cout|cerr|mutex)\b",
            "the host's allocator and streams may be the very thing that is broken",
            but=("host_free.cpp", "cupti.cpp"),
        )  # which defines free(); which frees what CUPTI allocated

    def test_never_ends_the_process(self):
        self.forbid(r"(?<![\w_:])(abort|exit|raise|assert)\s*\(|\bthrow\b|\btry\b", "never end, stop or slow the host")


if __name__ == "__main__":
    interposed_case.main()
