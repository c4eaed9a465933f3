# SPDX-License-Identifier: Apache-2.0
"""What a baseline lets through: edits where no mistake is make nothing new, and new mistakes in known functions do.

A small project is built at three levels of optimisation with two compilers. Its baseline is made with one of them. Each
of ten edits and ten mistakes is tried with one build, another one each time; GMT_ALL_BUILDS=1 tries each with all. It
declares the few calls of CUDA that it makes itself, so a build takes a fraction of a second. Runs on the simulated
device. It is one file because all tests change the same project by the same tables.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
RUNTIME = os.environ["GMT_RUNTIME"]
NVCC = os.environ.get("GMT_NVCC")
COMPILERS = [found for found in (shutil.which("g++"), shutil.which("clang++")) if found]
BUILDS = [(compiler, level) for level in ("-O0", "-O1", "-O3") for compiler in COMPILERS]
ALL = os.environ.get("GMT_ALL_BUILDS")

PROJECT = {
    "cuda.h": """\
#pragma once
#include <cstddef>
extern "C" {
int cudaMalloc(void** pointer, size_t bytes);
int cudaMallocHost(void** pointer, size_t bytes);
int cudaFree(void* pointer);
int cudaFreeHost(void* pointer);
int cudaMemset(void* pointer, int value, size_t bytes);
int cudaMemcpy(void* to, const void* from, size_t bytes, int kind);
}
""",
    "device.h": """\
#pragma once
#include "cuda.h"
inline char* device_alloc(size_t bytes) {
  void* pointer = nullptr;
  if (cudaMalloc(&pointer, bytes) != 0) return nullptr;
  cudaMemset(pointer, 0, bytes);
  return static_cast<char*>(pointer);
}

template <class T> struct Tensor {
  T* data = nullptr;
  size_t bytes;
  explicit Tensor(size_t n) : bytes(n * sizeof(T)) {
    cudaMalloc(reinterpret_cast<void**>(&data), bytes);
    cudaMemset(data, 0, bytes);
  }
  void release() {
    cudaFree(data);
    data = nullptr;
  }
};
""",
    "model.cpp": """\
#include "model.h"
#include <cstdio>

static int failures = 0;

static void check(int status) {
  if (status != 0) ++failures;
}

namespace model {

Tensor<float>* load(int layers) {
  auto* weights =
      new Tensor<float>(
          1024);
  auto* gradients = new Tensor<float>(512);
  char* cache = device_alloc(4096 * layers);
  if (cache == nullptr) check(1);
  gradients->release();
  return weights;
}

void step(Tensor<float>& weights, int number) {
  void* scratch = nullptr;
  check(
      cudaMalloc(
          &scratch,
          2048));
  check(cudaMemset(scratch, number, 2048));
  check(cudaMemcpy(weights.data, scratch, 2048, 3));
  check(cudaFree(scratch));
  check(cudaFree(scratch));
}

void store(const Tensor<float>& weights) {
  void* host = nullptr;
  const auto pin = [&host](size_t bytes) {
    check(cudaMallocHost(&host, bytes));
    return 0;
  };
  check(pin(8192));
  check(cudaMemcpy(host, weights.data, 5000, 2));
  check(cudaFree(host));
}

int report() {
  std::printf("%d failures\\n", failures);
  return failures > 1000;
}

} // namespace model
""",
    "model.h": """\
#pragma once
#include "device.h"
namespace model {
Tensor<float>* load(int layers);
void step(Tensor<float>& weights, int number);
void store(const Tensor<float>& weights);
int report();
} // namespace model
""",
    "main.cpp": """\
#include "model.h"

static int train(int epochs) {
  auto* weights = model::load(2);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    model::step(*weights, epoch);
  }
  model::store(*weights);
  return epochs;
}

int main(int argc, char**) {
  const int done = train(argc);
  return model::report() + (done > 100 ? 1 : 0);
}
""",
}

# (file, text, what stands in its place)
EDITS = (
    ("model.cpp", "#include <cstdio>\n", "#include <cstdio>\n#include <cstring>\n\n// Loads, trains and stores.\n\n"),
    (
        "device.h",
        "#pragma once\n",
        "#pragma once\n// Memory of the device.\n#define TAKEN(pointer) ((pointer) != nullptr)\n",
    ),
    ("model.cpp", "    check(cudaMallocHost(&host, bytes));", "  check( cudaMallocHost(&host,  bytes) );  // for all"),
    (
        "model.cpp",
        "int report() {",
        "static int twice(int n) { return 2 * n; }\n\nint report() {\n  failures = twice(failures) / 2;",
    ),
    (
        "main.cpp",
        "  return epochs;",
        "  int sum = 0;\n  for (int i = 0; i < epochs; ++i) sum += i;\n  return sum < 0 ? 0 : epochs;",
    ),
    (
        "model.cpp",
        "  if (cache == nullptr) check(1);",
        '  if (cache == nullptr) {\n    std::puts("no memory");\n    check(1);\n  }',
    ),
    (
        "model.cpp",
        "static void check(int status) {",
        "static void check(int status) noexcept {\n  // counted, not printed",
    ),
    (
        "main.cpp",
        "static int train(int epochs) {",
        "struct Options {\n  int epochs = 1;\n};\n\nstatic int train(int epochs) {",
    ),
    ("device.h", "  void release() {", "  size_t size() const { return bytes / sizeof(T); }\n  void release() {"),
    (
        "model.cpp",
        "void step(Tensor<float>& weights, int number) {",
        "static void nothing_wrong() {\n  void* p = nullptr;\n  check(cudaMalloc(&p, 64));\n  check(cudaMemset(p, 0, 64));\n"
        "  check(cudaFree(p));\n}\n\nvoid step(Tensor<float>& weights, int number) {\n  nothing_wrong();",
    ),
)

# Each makes one finding more, in a function that has one before; the last ones take the place of an old one.
MISTAKES = (
    ("model.cpp", "  gradients->release();", "  gradients->release();\n  device_alloc(777);"),
    (
        "model.cpp",
        "  gradients->release();",
        "  auto* more = new Tensor<float>(33);\n  check(more == nullptr);\n  gradients->release();",
    ),
    ("model.cpp", "  check(cudaFree(scratch));\n}", "  check(cudaFree(scratch));\n  check(cudaFree((scratch)));\n}"),
    (
        "model.cpp",
        "  check(cudaMemset(scratch, number, 2048));",
        "  check(cudaMemset(scratch, number, 2048));\n  check(cudaMemset(scratch, 1, 2049));",
    ),
    ("model.cpp", "  check(cudaFree(host));", "  check(cudaFree(host));\n  check(cudaFree(&host));"),
    (
        "model.cpp",
        "  check(cudaFree(host));",
        "  void* other = nullptr;\n  check(cudaMallocHost(&other, 99));\n  check(cudaFree(host));",
    ),
    (
        "model.cpp",
        "  void* scratch = nullptr;",
        "  void* scratch = nullptr;\n  check(cudaMalloc(&scratch, 128));\n  check(cudaMemset(scratch, 0, 128));",
    ),
    (
        "model.cpp",
        "  check(cudaMemcpy(host, weights.data, 5000, 2));",
        "  check(cudaMemcpy(host, weights.data, 4000, 2));\n  check(cudaMemcpy(host, weights.data + 1, 4096, 2));",
    ),
    ("model.cpp", "  char* cache = device_alloc(4096 * layers);", "  char* cache = device_alloc(100 * layers);"),
    (
        "model.cpp",
        "  check(cudaFree(scratch));\n  check(cudaFree(scratch));\n}",
        "  check(cudaFree(scratch));\n  if (number >= 0) check(cudaFree(scratch));\n}",
    ),
)
REPLACING = 3  # of the mistakes, the last ones


class Baselines(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def build(self, build, change=None):
        """The project, with one change, in a folder of its own."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        texts = dict(PROJECT)
        if change:
            name, before, after = change
            self.assertEqual(texts[name].count(before), 1, change)
            texts[name] = texts[name].replace(before, after)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        compiler, level = build
        words = [compiler, level, "-g", "-std=c++17", "main.cpp", "model.cpp", RUNTIME, "-o", "app"]
        words.append(f"-Wl,-rpath,{os.path.dirname(RUNTIME)}")
        subprocess.run(words, cwd=folder, check=True, timeout=120)
        return folder / "app"

    def check(self, *words):
        return subprocess.run(
            [COMMAND, "check", "--device", "simulated", *map(str, words)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def new_findings(self, program, *words):
        result = self.check("--baseline", "base.json", "--format", "json=r.json", program, *words)
        report = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        new = [f for f in report["findings"] if f["baseline"] not in ("known", "grown")]
        return [f["kind"] for f in new], result

    def make_baseline(self, *words):
        result = self.check("--baseline", "base.json", "--update-baseline", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads((self.folder / "base.json").read_text(encoding="utf-8"))["findings"]

    def builds_for(self, number):
        return BUILDS if ALL else [BUILDS[number % len(BUILDS)]]

    def test_other_builds_have_nothing_new(self):
        known = self.make_baseline(self.build(BUILDS[0]))
        self.assertGreaterEqual(
            {f["kind"] for f in known}, {"leak", "double-free", "copy-out-of-bounds", "mismatched-free"}
        )
        for finding in known:
            self.assertRegex(finding["fingerprint"], "^2-", finding)
            self.assertRegex(finding["fingerprint_v1"], "^1-", finding)
        for build in BUILDS:
            with self.subTest(build):
                new, result = self.new_findings(self.build(build))
                self.assertEqual((new, result.returncode), ([], 0), result.stderr)

    def test_edits_elsewhere_make_nothing_new(self):
        self.make_baseline(self.build(BUILDS[0]))
        for number, edit in enumerate(EDITS):
            for build in self.builds_for(number):
                with self.subTest(edit=edit[2], build=build):
                    new, result = self.new_findings(self.build(build, edit))
                    self.assertEqual((new, result.returncode), ([], 0), result.stderr)

    def test_each_new_mistake_is_new(self):
        self.make_baseline(self.build(BUILDS[0]))
        for number, mistake in enumerate(MISTAKES):
            for build in self.builds_for(number):
                with self.subTest(mistake=mistake[2], build=build):
                    new, result = self.new_findings(self.build(build, mistake))
                    self.assertEqual(len(new), 1, result.stderr)
                    is_gone = "of the baseline is not in this report" in " ".join(result.stderr.split())
                    self.assertEqual(is_gone, number >= len(MISTAKES) - REPLACING, result.stderr)

    def test_a_baseline_of_rule_1(self):
        program = self.build(BUILDS[0])
        known = self.make_baseline(program)
        text = (self.folder / "base.json").read_text(encoding="utf-8")
        for finding in known:
            text = text.replace(finding["fingerprint"], finding["fingerprint_v1"])
        (self.folder / "base.json").write_text(text, encoding="utf-8")
        new, result = self.new_findings(program)
        self.assertEqual((new, result.returncode), ([], 0), result.stderr)
        self.assertIn("fingerprints of rule 1, which knows functions alone", " ".join(result.stderr.split()))
        self.make_baseline(program)
        _, result = self.new_findings(program)
        self.assertNotIn("rule 1", result.stderr)

    def test_without_sources(self):
        program = self.build(BUILDS[0])
        self.make_baseline(program)
        result = self.check("--baseline", "base.json", "--no-source", "--format", "json=r.json", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("known by functions alone", " ".join(result.stderr.split()))
        report = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        for finding in report["findings"]:
            self.assertEqual(finding["fingerprint"], finding["fingerprint_v1"])
        self.assertFalse((pathlib.Path(report["processes"][0]["trace"]) / "source-lines").exists())

    def test_the_trace_keeps_the_lines(self):
        program = self.build(BUILDS[0])
        result = self.check("--format", "json=here.json", program)
        here = json.loads((self.folder / "here.json").read_text(encoding="utf-8"))
        shutil.rmtree(program.parent)
        words = [COMMAND, "report", "--format", "json", here["processes"][0]["trace"]]
        result = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        there = json.loads(result.stdout)
        prints = [f["fingerprint"] for f in here["findings"]]
        self.assertEqual([f["fingerprint"] for f in there["findings"]], prints)
        self.assertTrue(all(one.startswith("2-") for one in prints), prints)

    def test_pasted_rules_hide_nothing_new(self):
        program = self.build(BUILDS[0])
        rules = self.check("--print-suppressions", "-o", "known.supp", program)
        text = (self.folder / "known.supp").read_text(encoding="utf-8")
        self.assertNotRegex(text, r"(?m)^[a-z-]+:main$")
        self.assertEqual(self.check("--suppressions", "known.supp", program).returncode, 0, rules.stderr + text)
        mistakes = MISTAKES[:-REPLACING]
        for number, mistake in enumerate(mistakes if ALL else mistakes[:3]):
            with self.subTest(mistake=mistake[2]):
                result = self.check("--suppressions", "known.supp", self.build(BUILDS[0], mistake))
                said = "a new mistake may be among them" in " ".join(result.stderr.split())
                self.assertTrue(result.returncode == 23 or said, (number, result.stderr, text))

    @unittest.skipUnless(NVCC, "no nvcc")
    def test_mistakes_of_one_kernel(self):
        (self.folder / "kernel.cu").write_text(
            "__global__ void scale(float* p, int n, int which) {\n"
            "  int i = threadIdx.x;\n"
            "  if (i < n) p[i] = 1;\n"
            "  if (which & 1) p[n + i] = 2;\n"
            "  if (which & 2) p[n + i + 1] = 3;\n"
            "}\n"
            "int main(int argc, char** argv) {\n"
            "  float* p;\n"
            "  cudaMalloc(&p, 64 * sizeof(float));\n"
            "  scale<<<1, 32>>>(p, 64, argv[1][0] - '0');\n"
            "  cudaDeviceSynchronize();\n"
            "  cudaFree(p);\n"
            "}\n",
            encoding="utf-8",
        )
        words = [NVCC, "-g", "-lineinfo", "-cudart", "shared", "kernel.cu", "-o", "kernel"]
        subprocess.run(words, cwd=self.folder, check=True, timeout=300)
        known = [f for f in self.make_baseline("./kernel", "1") if f["kind"] == "kernel-out-of-bounds"]
        self.assertEqual(len(known), 1)
        self.assertEqual(self.new_findings("./kernel", "1")[0], [])
        self.assertEqual(self.new_findings("./kernel", "2")[0], ["kernel-out-of-bounds"])
        self.assertEqual(self.new_findings("./kernel", "3")[0], ["kernel-out-of-bounds"])


if __name__ == "__main__":
    unittest.main()
