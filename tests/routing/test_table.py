# SPDX-License-Identifier: Apache-2.0
"""The table of hooked symbols against the vendor's headers and libraries, and against what the interposer exports."""

import glob
import os
import re
import subprocess

import interposed_case
from interposed_case import INTERPOSER, InterposedCase

SOURCES = os.environ["GMT_SOURCES"]
INCLUDE = os.environ["GMT_CUDA_INCLUDE"]
PROCESS_CALLS = {
    "_ZN2at14RecordFunction3endEv",
    "_ZN5torch8autograd8profiler25record_function_enter_newERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
    "RKSt8optionalIS7_E",
    "_ZN5torch8autograd8profiler25record_function_enter_newERKSsRKSt8optionalISsE",
    "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
    "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
    "dlsym",
    "free",
    "realloc",
    "dlclose",
    "_exit",
    "_Exit",
    "quick_exit",
    "execve",
    "execv",
    "execvp",
    "execvpe",
    "fexecve",
    "execveat",
    "execl",
    "execlp",
    "execle",
    "posix_spawn",
    "posix_spawnp",
    "system",
    "popen",
    "InitializeInjectionNvtx2",
    "InitializeInjectionNvtxExtension",
}
ROW = re.compile(r"^(DRV|RT|RT13)\((\w+), (\w+), (?:(\d+)(_\w+)?, (\w+), )?(.*)\)$", re.MULTILINE)
CHECKED_UNTIL = 13000  # functions of later toolkits are not known here
# How a row orders work follows from its recorder, where that means one thing.
ORDERS = [
    (r"SyncOp::k(Event|Context)Record\b", "Record"),
    (r"SyncOp::k(StreamWaitEvent|ContextWait)\b", "Wait"),
    (r"SyncOp::k\w+(Synchronize|Query)\b", "Host"),
    (r"^ElapsedTime<", "Host"),
    (r"SyncOp::k(HostFunction|ExternalSignal)\b", "Signal"),
    (r"^WriteValue<", "Signal"),
    (r"SyncOp::kExternalWait\b", "Outside"),
    (r"^(WaitValue|MemoryOperations)<", "Outside"),
    (r"SyncOp::kGraph(Launch|Upload)\b", "Stream"),
    (r"^Launch(Ex)?<", "Stream"),
    (r"SyncOp::kBeginCapture\b|^EndCapture<", "Graph"),
    (r"^Graph\w+<", "Graph"),
    (r"^Free<FreeFunction::kMemFreeAsync", "Stream"),
    (r"^Free<", "Context"),
    (r"^Unload<", "Context"),
    (
        r"^(Copy|CopyArray|CopyShape|CopyBatch|CopyBatch3D|Set|Set2D|UseBatch|MapArrays)<",
        ("Stream", "Blocking", "Context"),
    ),
]


def table():
    """(macro, symbol, base or declared name, introduced, per-thread suffix) of each row."""
    with open(os.path.join(SOURCES, "trace", "cuda_api.def"), encoding="utf-8") as file:
        return [match.groups()[:5] for match in ROW.finditer(file.read())]


def orders():
    """{symbol: (how it orders work, recorder)} of the driver rows."""
    with open(os.path.join(SOURCES, "trace", "cuda_api.def"), encoding="utf-8") as file:
        return {match[2]: (match[6], match[7]) for match in ROW.finditer(file.read()) if match[1] == "DRV"}


def exported(path):
    output = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in output.splitlines() if line}


def first_existing(*patterns):
    return next((path for pattern in patterns for path in sorted(glob.glob(pattern))), None)


class Table(InterposedCase):
    def setUp(self):
        super().setUp()
        self.rows = table()
        self.driver = [row for row in self.rows if row[0] == "DRV"]
        self.runtime = [row for row in self.rows if row[0] != "DRV"]
        self.assertGreater(len(self.driver), 300)
        self.assertGreater(len(self.runtime), 200)

    def test_no_row_was_misread(self):
        with open(os.path.join(SOURCES, "trace", "cuda_api.def"), encoding="utf-8") as file:
            lines = [line for line in file if re.match(r"(DRV|RT|RT13)\(", line)]
        self.assertEqual(len(lines), len(self.rows))
        self.assertEqual(len({row[1] for row in self.rows}), len(self.rows), "a symbol has one row")

    def test_driver_rows_exist(self):
        root = os.path.dirname(INCLUDE)
        stub = first_existing(
            f"{root}/lib64/stubs/libcuda.so",
            f"{root}/lib/stubs/libcuda.so",
            f"{root}/targets/*/lib/stubs/libcuda.so",
            "/usr/local/cuda/lib64/stubs/libcuda.so",
        )
        if stub is None:
            self.skipTest("the toolkit's stub libcuda.so is not here")
        self.assertEqual({row[1] for row in self.driver} - exported(stub), set())

    def test_runtime_rows_exist(self):
        root = os.path.dirname(INCLUDE)
        library = first_existing(
            f"{root}/lib64/libcudart.so.13",
            f"{root}/lib/libcudart.so.13",
            f"{root}/targets/*/lib/libcudart.so.13",
            "/usr/local/cuda/lib64/libcudart.so.13",
        )
        if library is None:
            self.skipTest("no libcudart.so.13 here")
        self.assertEqual({row[1] for row in self.runtime} - exported(library), set())

    def test_version_and_suffix_rule(self):
        """The k-th plain version of a base is exported as base_v<k>; a per-thread form takes the _v<k> of the newest
        plain version not newer than itself, and its own suffix."""
        plain = {}
        for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
            with open(os.path.join(INCLUDE, header), encoding="utf-8") as file:
                for base, version in re.findall(r"\(CUDAAPI \*PFN_(\w+)_v(\d+)\)", file.read()):
                    plain.setdefault(base, set()).add(int(version))
        for _, symbol, base, introduced, suffix in self.driver:
            with self.subTest(symbol):
                older = sorted(version for version in plain[base] if version <= int(introduced))
                if not suffix:
                    self.assertIn(int(introduced), older)
                expected = base + (f"_v{len(older)}" if len(older) > 1 else "") + (suffix or "")
                self.assertEqual(symbol, expected)

    def test_every_driver_row_says_how_it_orders(self):
        with open(os.path.join(SOURCES, "trace", "ordering.h"), encoding="utf-8") as file:
            words = set(re.findall(r"^  k(\w+),", file.read(), re.MULTILINE))
        self.assertIn("Unknown", words)
        for symbol, (order, recorder) in orders().items():
            with self.subTest(symbol):
                self.assertIn(order, words)
                expected = next((order for pattern, order in ORDERS if re.search(pattern, recorder)), order)
                self.assertIn(order, expected if isinstance(expected, tuple) else (expected,))
                if isinstance(expected, tuple):
                    self.assertEqual(order == "Stream", "Async" in symbol)

    def test_versions_of_a_function_order_alike(self):
        """The analyzer knows calls by their names without version and suffix."""
        found = {}
        for _, symbol, base, _, _ in self.driver:
            found.setdefault(base, set()).add(orders()[symbol][0])
        self.assertEqual({base for base, orders in found.items() if len(orders) > 1}, set())

    def test_every_driver_function_is_a_row_or_orders_nothing(self):
        bases = set()
        for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
            with open(os.path.join(INCLUDE, header), encoding="utf-8") as file:
                found = re.findall(r"\(CUDAAPI \*PFN_(\w+)_v(\d+)(?:_\w+)?\)", file.read())
                bases |= {base for base, version in found if int(version) <= CHECKED_UNTIL}
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "orders_nothing.txt")
        with open(path, encoding="utf-8") as file:
            listed = [line.strip() for line in file if not line.startswith("#")]
        self.assertEqual(listed, sorted(set(listed)))
        self.assertEqual(bases - {row[2] for row in self.driver} - set(listed), set())
        self.assertEqual(set(listed) - bases, set())

    def test_runtime_names(self):
        for _, symbol, declared, _, _ in self.runtime:
            self.assertIn(symbol, (declared, declared + "_ptds", declared + "_ptsz"))

    def test_exports(self):
        rows = {row[1] for row in self.rows}
        self.assertEqual(exported(INTERPOSER), rows | PROCESS_CALLS)

    def test_core_symbols_are_rows(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "core_symbols.txt")
        with open(path, encoding="utf-8") as file:
            core = {line.strip() for line in file if not line.startswith("#")}
        self.assertGreater(len(core), 500)
        self.assertEqual(core - {row[1] for row in self.rows}, set())


if __name__ == "__main__":
    interposed_case.main()
