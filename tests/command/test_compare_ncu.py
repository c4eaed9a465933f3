# SPDX-License-Identifier: Apache-2.0
"""scripts/compare-ncu: reading both tools' texts, matching kernels, and its verdicts.

The CSV is written here in the form of ncu's source and raw pages (Nsight Compute's documentation names the columns),
the dump in that of `gpumemtrace dump`. The whole script runs with stand-ins for both tools.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "compare-ncu"
sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("compare_ncu", str(SCRIPT))
SPEC = importlib.util.spec_from_loader("compare_ncu", LOADER)
compare_ncu = importlib.util.module_from_spec(SPEC)
sys.modules["compare_ncu"] = compare_ncu
LOADER.exec_module(compare_ncu)

COLUMNS = (
    '"Address","Source","# Samples","Instructions Executed","Instructions Executed","L1 Wavefronts Shared",'
    '"L1 Wavefronts Shared Ideal","L2 Theoretical Sectors Global","L2 Theoretical Sectors Global Ideal"\n'
)
COPY = "_Z4copyIf6StrideILj32EEEvPT_PKS1_j"
TILE = "_Z17transpose_by_tileILj32EEvPfPKf"


def section(name, *rows):
    """rows: address, instruction, executions, wavefronts, ideal, sectors, ideal."""
    text = f'"Kernel Name","{name}",\n' + COLUMNS
    for address, source, executed, *rest in rows:
        text += ",".join(f'"{word}"' for word in (f"{address:#x}", source, 3, executed, executed, *rest)) + "\n"
    return text


def copy_launch(name=COPY, base=0x7FC48541D900, sectors="4,194,304"):
    return section(
        name,
        (base, "      MOV R1, c[0x0][0x28] ", 131072, 0, 0, 0, 0),
        (base + 0x90, "      LDG.E R3, desc[UR4][R2.64] ", 131072, 0, 0, sectors, 524288),
        (base + 0xB0, "      STG.E desc[UR4][R4.64], R3 ", 131072, "-", "-", 524288, 524288),
    )


def raw_page(*names):
    """The raw page's rows, one a launch, behind the columns' names and their units."""
    text = '"ID","Process ID","Kernel Name","Grid Size","smsp__inst_executed.sum"\n"","","","","inst"\n'
    return text + "".join(f'"{i}","17","{name}","(64, 1, 1)","1,024"\n' for i, name in enumerate(names))


def launched(page):
    """The launches by kernel where ncu prints one table a launch."""
    return compare_ncu.count_ncu_launches(raw_page(*re.findall(r'^"Kernel Name","(\w+)"', page, re.MULTILINE)))


def function(number, name, measured, log=0):
    return f'access-{log} function number={number} name="{name}" identity=0x5 measured={measured} lost=0 launches=9\n'


def instruction(number, offset, executions, sectors, ideal, wavefronts=0, ideal_wavefronts=0, log=0):
    return (
        f"access-{log} instruction function={number} offset={offset:#x} executions={executions} threads=- "
        f"sectors={sectors} ideal-sectors={ideal} bytes=7 wavefronts={wavefronts} "
        f"ideal-wavefronts={ideal_wavefronts} shared-bytes=0 local-sectors=-\n"
    )


def copy_dump(launches=1, load=4194304):
    return (
        "1 t7-0 cuMemAlloc_v2 address=0x10 bytes=4 family=device stream=0x0 = 0\n"
        + function(1, COPY, launches)
        + instruction(1, 0x90, 131072 * launches, load * launches, 524288 * launches)
        + instruction(1, 0xB0, 131072 * launches, 524288 * launches, 524288 * launches)
        + "end: 6 records\n"
    )


def verdict(dump, page):
    return compare_ncu.compare(compare_ncu.read_dump(dump), compare_ncu.read_ncu(page, launched(page)))


class Reading(unittest.TestCase):
    def test_source_page(self):
        page = (
            "==WARNING== something\n" + copy_launch() + "\n" + copy_launch(base=0x7FC485500000) + copy_launch("other")
        )
        kernels = compare_ncu.read_ncu(page, launched(page))
        copy = kernels["copy<float,Stride<32>>"]
        self.assertEqual((copy.launches, kernels["other"].launches), (2, 1))
        self.assertEqual(sorted(copy.instructions), [0, 0x90, 0xB0])
        self.assertEqual(
            copy.instructions[0x90],
            {
                "executions": 2 * 131072,
                "sectors": 2 * 4194304,
                "ideal": 2 * 524288,
                "wavefronts": 0,
                "ideal wf": 0,
                "local": 0,
            },
        )
        self.assertEqual(copy.opcodes[0xB0], "STG.E desc[UR4][R4.64], R3")

    def test_page_without_figures_of_memory_is_refused(self):
        page = '"Kernel Name","k",\n"Address","Source","# Samples"\n"0x100","EXIT","3"\n'
        with self.assertRaises(compare_ncu.ToolFailed):
            compare_ncu.read_ncu(page, launched(page))

    def test_launches_are_counted_in_the_raw_page(self):
        page = "==PROF== Connected to process 17\n" + raw_page(COPY, TILE, COPY)
        self.assertEqual(
            compare_ncu.count_ncu_launches(page), {"copy<float,Stride<32>>": 2, "transpose_by_tile<32>": 1}
        )
        self.assertEqual(compare_ncu.count_ncu_launches("==ERROR== nothing was profiled\n"), {})

    def test_a_table_twice_for_each_launch_is_counted_once(self):
        once = copy_launch() + copy_launch(base=0x7FC485500000, sectors="8") + copy_launch("other")
        twice = "".join(
            2 * launch
            for launch in (copy_launch(), copy_launch(base=0x7FC485500000, sectors="8"), copy_launch("other"))
        )
        launches = launched(once)
        self.assertEqual(compare_ncu.read_ncu(twice, launches), compare_ncu.read_ncu(once, launches))
        copy = compare_ncu.read_ncu(twice, launches)["copy<float,Stride<32>>"]
        self.assertEqual((copy.launches, copy.instructions[0x90]["sectors"]), (2, 4194304 + 8))

    def test_tables_that_do_not_divide_into_launches_are_refused(self):
        for tables, launches in ((3, 2), (1, 2), (1, 0)):
            with self.assertRaisesRegex(compare_ncu.ToolFailed, f"{tables} tables for {launches} launches"):
                compare_ncu.read_ncu(tables * copy_launch(), launched(launches * copy_launch()))

    def test_dump(self):
        text = copy_dump() + function(1, COPY, 2, log=1) + instruction(1, 0x90, 10, 20, 30, log=1)
        copy = compare_ncu.read_dump(text)["copy<float,Stride<32>>"]
        self.assertEqual(copy.launches, 3)
        self.assertEqual(
            copy.instructions[0x90],
            {"executions": 131082, "sectors": 4194324, "ideal": 524318, "wavefronts": 0, "ideal wf": 0},
        )

    def test_names_of_both_demanglers_are_one(self):
        for mangled, theirs in (
            (COPY, "void copy<float, Stride<(unsigned int)32>>(T1 *, const T1 *, unsigned int)"),
            (TILE, "void transpose_by_tile<(unsigned int)32>(float *, const float *)"),
            ("_Z15transpose_naivePfPKf", "transpose_naive(float *, const float *)"),
            ("_Z4pickILb1EEvPi", "void pick<(bool)1>(int *)"),
            ("_ZN12_GLOBAL__N_14fillEPf", "(anonymous namespace)::fill(float *)"),
            ("plain_c", "plain_c"),
        ):
            self.assertEqual(compare_ncu.kernel_key(mangled), compare_ncu.kernel_key(theirs))
        self.assertEqual(compare_ncu.kernel_key("_Z4pickILb1EEvPi"), "pick<1>")
        self.assertNotEqual(compare_ncu.kernel_key(TILE), compare_ncu.kernel_key(TILE.replace("32", "33")))


class Verdicts(unittest.TestCase):
    def test_equal(self):
        outcome = verdict(copy_dump(launches=2), copy_launch() + copy_launch())
        self.assertEqual((outcome.compared, outcome.different), (2, 0))

    def test_each_difference_counts(self):
        outcome = verdict(copy_dump(load=4194303), copy_launch())
        self.assertEqual((outcome.compared, outcome.different), (2, 1))
        text = "\n".join(outcome.lines)
        self.assertIn("4194303/4194304", text)
        self.assertIn("LDG.E R3, desc[UR4][R2.64]  DIFFERS: sectors", text)

    def test_traffic_that_only_one_of_both_saw_differs(self):
        only_load = function(1, COPY, 1) + instruction(1, 0x90, 131072, 4194304, 524288)
        self.assertEqual(verdict(only_load, copy_launch()).different, 1)
        more = copy_dump() + instruction(1, 0x100, 5, 5, 5)
        self.assertEqual(verdict(more, copy_launch()).different, 1)

    def test_unequal_launches_are_not_compared(self):
        outcome = verdict(copy_dump(launches=1), copy_launch() + copy_launch())
        self.assertEqual(outcome.compared, 0)
        self.assertIn("not compared: 1 launches of ours, 2 of ncu", outcome.lines[0])

    def test_wavefronts(self):
        page = section(TILE, (0x100, "STS [R2], R3", 32, 32, 32, 0, 0), (0x120, "LDS R4, [R5]", 32, 1024, 32, 0, 0))
        dump = function(4, TILE, 1) + instruction(4, 0, 32, 0, 0, 32, 32) + instruction(4, 0x20, 32, 0, 0, 1024, 32)
        self.assertEqual(verdict(dump, page).different, 0)
        self.assertEqual(verdict(dump.replace("wavefronts=1024", "wavefronts=1000"), page).different, 1)


class WholeRun(unittest.TestCase):
    def run_script(self, dump, page, ncu="ncu", record_status=0, raw=None):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "dump.txt").write_text(dump)
            (folder / "page.csv").write_text(page)
            (folder / "raw.csv").write_text(raw if raw is not None else raw_page(COPY))
            self.write_tool(
                folder / "ours",
                f"""case "$*" in
                record*"--coalescing-launches=all {folder}/app one")
                  mkdir gpumemtrace.app.host.7; exit {record_status};;
                "dump $PWD/gpumemtrace.app.host.7") cat {folder}/dump.txt;;
                *) exit 9;;
                esac\n""",
            )
            self.write_tool(
                folder / "ncu",
                'case "$*" in *"--section SourceCounters"*"/app one") ;;\n'
                f'*"--import"*"--page source --csv"*) cat {folder}/page.csv ;;\n'
                f'*"--import"*"--page raw --csv"*) cat {folder}/raw.csv ;; *) exit 9 ;; esac\n',
            )
            self.write_tool(folder / "app", "exit 0\n")
            done = subprocess.run(
                [
                    sys.executable,
                    "-B",
                    str(SCRIPT),
                    "--gpumemtrace",
                    str(folder / "ours"),
                    "--ncu",
                    str(folder / ncu),
                    str(folder / "app"),
                    "one",
                ],
                cwd=folder,
                text=True,
                timeout=60,
                capture_output=True,
                check=False,
            )
            return done.returncode, done.stdout + done.stderr

    @staticmethod
    def write_tool(path, body):
        path.write_text("#!/bin/sh\n" + body)
        os.chmod(path, stat.S_IRWXU)

    def test_statuses(self):
        self.assertEqual(self.run_script(copy_dump(), copy_launch())[0], 0)
        self.assertEqual(self.run_script(copy_dump(load=1), copy_launch())[0], 1)
        self.assertEqual(self.run_script("end: 0 records\n", copy_launch())[0], 1)
        self.assertEqual(self.run_script(copy_dump(), copy_launch(), ncu="nowhere")[0], 77)
        status, text = self.run_script(copy_dump(), copy_launch(), record_status=3)
        self.assertEqual(status, 2)
        self.assertIn("ended with 3", text)

    def test_the_raw_page_tells_tables_from_launches(self):
        self.assertEqual(self.run_script(copy_dump(), 2 * copy_launch())[0], 0)
        twice = raw_page(COPY, COPY)
        self.assertEqual(self.run_script(copy_dump(launches=2), 4 * copy_launch(), raw=twice)[0], 0)
        status, text = self.run_script(copy_dump(), 3 * copy_launch(), raw=twice)
        self.assertEqual(status, 2)
        self.assertIn("3 tables for 2 launches", text)


if __name__ == "__main__":
    unittest.main()
