# SPDX-License-Identifier: Apache-2.0
"""A function that has the name of PyTorch's and another result is called as ever, and nothing of it is read."""

import os
import pathlib
import subprocess
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
RUNTIME = pathlib.Path(os.environ["GMT_RUNTIME"])
DECLARED = """
#include <cstring>
#include <optional>
#include <string>
namespace torch::autograd::profiler {
struct Record;
__attribute__((visibility("default"))) Record* record_function_enter_new(const std::string&, const std::optional<std::string>&);
}
"""
LIBRARY = """
namespace torch::autograd::profiler {
Record* record_function_enter_new(const std::string& name, const std::optional<std::string>&) {
  return name == "a range of some length" ? reinterpret_cast<Record*>(0x1230) : nullptr;
}
}
"""
PROGRAM = """
extern "C" int cudaMalloc(void**, std::size_t), cudaFree(void*);
int main() {
  void* p;
  cudaMalloc(&p, 16);
  const std::string name = "a range of some length";
  alignas(std::optional<std::string>) char none[sizeof(std::optional<std::string>)];
  std::memset(none, 0x55, sizeof none);
  const void* const record = torch::autograd::profiler::record_function_enter_new(
    name, reinterpret_cast<const std::optional<std::string>&>(none));
  cudaFree(p);
  return record == reinterpret_cast<void*>(0x1230) ? 0 : 3;
}
"""


class Signature(unittest.TestCase):
    def test_another_result(self):
        with tempfile.TemporaryDirectory(prefix="gpumemtrace-test-") as name:
            folder = pathlib.Path(name)
            (folder / "library.cpp").write_text(DECLARED + LIBRARY)
            (folder / "program.cpp").write_text(DECLARED + PROGRAM)
            library = folder / "libtorch_cpu.so"
            compiler = ["c++", "-std=c++17", "-O1", f"-Wl,-rpath,{folder}:{RUNTIME.parent}"]
            subprocess.run([*compiler, "-shared", "-fPIC", "-o", library, folder / "library.cpp"], check=True)
            subprocess.run([*compiler, "-o", folder / "app", folder / "program.cpp", library, RUNTIME], check=True)
            done = subprocess.run(
                [COMMAND, "--device", "simulated", "--trace-dir", folder, folder / "app"],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
