# SPDX-License-Identifier: Apache-2.0
"""What the tests of --coalescing share: a program that plays a script with the simulated CUPTI, and the sums it leaves."""

import glob
import os

from interposed_case import InterposedCase
from trace_files import Log
from trace_schema import RECORDS

COMMAND = os.environ["GMT_COMMAND"]
CUPTI = os.environ["GMT_CUPTI"]
REFUSING_CUPTI = os.environ["GMT_REFUSING_CUPTI"]
UNKNOWN = (1 << 64) - 1
TROUBLES = {0: None, 1: "no library", 2: "not supported", 3: "busy", 4: "not permitted", 5: "error"}
METRICS = """smsp__sass_inst_executed_op_global smsp__sass_thread_inst_executed_op_global_pred_on smsp__sass_sectors_mem_global
    smsp__sass_sectors_mem_global_ideal smsp__sass_data_bytes_mem_global
    smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal
    smsp__sass_data_bytes_mem_shared smsp__sass_sectors_mem_local""".split()
# Kernel, offset and figures of one launch in the order of METRICS. The second instruction touches no memory.
FIGURES = {
    ("a", 0x80): (4, 128, 32, 16, 512, 0, 0, 0, 0),
    ("a", 0x90): (4, 128, 0, 0, 0, 0, 0, 0, 0),
    ("a", 0x100): (4, 128, 0, 0, 0, 64, 4, 512, 0),
    ("b", 0x10): (2, 60, 7, 7, 240, 0, 0, 0, 3),
    ("loop", 0x40): (9, 32, 8, 8, 128, 0, 0, 0, 0),
}


def refusing(what):
    """The variables of a run whose CUPTI refuses it; refusing_cupti.cpp knows the words."""
    return {"GPUMEMTRACE_CUPTI": REFUSING_CUPTI, "REFUSES": what}


class Sums:
    """One access log: `windows` by name, `functions` by name, `instructions` by function name and offset."""

    def __init__(self, path, names):
        log = Log(path, names)
        self.torn, self.lost = log.torn, log.lost
        texts, numbers = {}, {}
        self.functions, self.instructions = {}, {}
        first = log.records[0]
        assert first.kind == "access-windows", first
        self.windows = {name: first[name] for name in RECORDS["access-windows"].fields}
        self.windows["trouble"] = TROUBLES[self.windows["trouble"]]
        self.context = first.context
        for record in log.records[1:]:
            if record.kind == "text":
                texts[record["id"]] = record.text
            elif record.kind == "access-function":
                name = texts[record["name"]]
                numbers[record["number"]] = name
                assert name not in self.functions, name
                self.functions[name] = {field: record[field] for field in RECORDS["access-function"].fields}
            elif record.kind == "access-instruction":
                place = (numbers[record["location"] & 0xFFFFFFFF], record["location"] >> 32)
                assert place not in self.instructions, place
                self.instructions[place] = tuple(record["executions":"local_sectors"])
            else:
                assert record.kind == "access-counters", record


COUNTERS = {
    "read": "dram__bytes_read.sum",
    "written": "dram__bytes_write.sum",
    "l1": "l1tex__t_sectors.sum",
    "l1_hits": "l1tex__t_sectors_lookup_hit.sum",
    "l2": "lts__t_sectors.sum",
    "l2_hits": "lts__t_sectors_lookup_hit.sum",
    "time": "gpu__time_duration.sum",
    "cycles": "sm__cycles_elapsed.max",
    "cycles_active": "sm__cycles_active.max",
    "peak": "dram__bytes.sum.peak_sustained_elapsed.per_second",
    "loads": "smsp__inst_executed_op_global_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "stores": "smsp__inst_executed_op_global_st.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
}


class CoalescingCase(InterposedCase):
    def setUp(self):
        super().setUp()
        self.metrics = os.path.join(self.folder, "metrics")
        with open(self.metrics, "w", encoding="utf-8") as file:
            for (kernel, offset), figures in FIGURES.items():
                values = " ".join(f"{name}={value}" for name, value in zip(METRICS, figures))
                file.write(f"{kernel} {offset:#x} {values}\n")

    def add_counters(self, kernel, **counters):
        with open(self.metrics, "a", encoding="utf-8") as file:
            file.write(
                f"{kernel} whole " + " ".join(f"{COUNTERS[name]}={value}" for name, value in counters.items()) + "\n"
            )

    def play(self, script, env=None, **more):
        environment = {
            "GPUMEMTRACE_COALESCING": "1",
            "GPUMEMTRACE_CUPTI": CUPTI,
            "GPUMEMTRACE_SIM_METRICS": self.metrics,
            "GPUMEMTRACE_SIM_MEMORY": "256M",
            "GPUMEMTRACE_DEVICE": "simulated",
        }
        environment.update(env or {})
        return self.run_program("coalescing_player", *script.split(), env=environment, **more)

    def all_sums(self):
        trace = self.only_trace()
        return [Sums(path, trace.names) for path in sorted(glob.glob(os.path.join(trace.path, "access-*.log")))]

    def sums(self):
        found = self.all_sums()
        self.assertEqual(len(found), 1)
        return found[0]

    def assert_exact(self, sums):
        """Every figure is the launch's times the launches that were measured; nothing else is there."""
        expected = {}
        for (name, offset), figures in FIGURES.items():
            measured = sums.functions.get(name, {"measured": 0})["measured"]
            if measured and any(figures[2:]):
                expected[name, offset] = tuple(figure * measured for figure in figures)
        self.assertEqual(sums.instructions, expected)
        self.assertEqual(sums.torn, 0)
        self.assertEqual(sums.windows["launches_read"], sum(f["measured"] for f in sums.functions.values()))
        self.assertEqual(sums.windows["launches_given_up"], sum(f["lost"] for f in sums.functions.values()))

    def assert_launches(self, sums, **launches):
        """Of each kernel: how many were measured, and how many there were."""
        for kernel, (measured, seen) in launches.items():
            self.assertEqual(sums.functions[kernel], {**sums.functions[kernel], "measured": measured, "launches": seen})
        self.assert_exact(sums)
