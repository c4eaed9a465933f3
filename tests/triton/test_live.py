# SPDX-License-Identifier: Apache-2.0
"""Triton, Numba and CuPy, as they come from PyPI, on the simulated device. scripts/test --long runs it.

They are installed into a virtual environment of the build folder, each by itself; what cannot be had is passed over.
"""

import os
import pathlib
import subprocess
import sys
import unittest

from simulated_run import HERE, SimulatedRun

FOLDER = pathlib.Path(os.environ["GMT_BINARY_DIR"]) / "python-kernels"


def environment_of(name, *packages):
    """An interpreter with these packages; None where they cannot be installed."""
    folder = FOLDER / name
    interpreter = folder / "bin" / "python3"
    done = folder / ("with " + " ".join(packages).replace("/", "_"))
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        command = [interpreter, "-m", "pip", "install", "--quiet", *packages]
        if subprocess.run(command, check=False, timeout=500).returncode != 0:
            return None
        done.touch()
    return interpreter


class Live(SimulatedRun):
    def test_triton(self):
        for version in ("3.9.0", "3.4.0"):
            with self.subTest(version):
                interpreter = environment_of(f"triton-{version}", f"triton=={version}", "numpy", "setuptools")
                if interpreter is None or not os.environ["GMT_PTXAS"]:
                    self.skipTest("no Triton here")
                report, printed = self.run_program(interpreter, "-m", "gpumemtrace.simulated", HERE / "kernels.py")
                self.assertTrue(all(line.endswith(", right") for line in printed), printed)
                self.assert_one_read_past_the_end(report, HERE / "kernels.py", "past_the_end")
                launched = report["findings"][0]["stacks"][1]["frames"]
                self.assertEqual([frame["function"] for frame in launched], ["run_past_the_end", "main", "<module>"])

    def test_numba(self):
        interpreter = environment_of("numba", "numba-cuda[cu13]", "numpy")
        if interpreter is None:
            self.skipTest("no Numba here")
        program = HERE / "numba_kernels.py"
        report, printed = self.run_program(interpreter, "-m", "gpumemtrace.simulated", program)
        self.assertEqual(printed, ["right"])
        self.assert_one_read_past_the_end(report, program, "steps")

    def test_cupy(self):
        interpreter = environment_of("cupy", "cupy-cuda13x", "nvidia-cuda-nvrtc", "numpy")
        if interpreter is None:
            self.skipTest("no CuPy here")
        report, printed = self.run_program(interpreter, HERE / "cupy_kernels.py")
        self.assertEqual(printed, ["right"])
        self.assertEqual(report["findings"], [])
        self.assertEqual([entry for entry in report["not_checked"] if entry["what"].startswith("kernel")], [])


if __name__ == "__main__":
    unittest.main()
