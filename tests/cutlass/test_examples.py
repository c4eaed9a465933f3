#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An example of CUTLASS runs on the simulated device, and agrees with its own reference. scripts/test --long runs it.

test_examples.py wheel      brings CUTLASS from PyPI into the build folder
test_examples.py EXAMPLE    compiles and runs the example of this number

Programs stay in the build folder. Sizes are small: a product of 128 x 128 x 128 takes a second, and an example some ten
more for its reference.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys

COMMAND, NVCC = os.environ["GMT_COMMAND"], os.environ["GMT_NVCC"]
WHEEL = "nvidia-cutlass==4.2.0.0"
FOLDER = pathlib.Path(os.environ["GMT_BINARY_DIR"]) / "cutlass"
SKIPPED = 77
SIZES = ["--m=128", "--n=128", "--k=128", "--iterations=0"]


@dataclasses.dataclass
class Run:
    arguments: list
    passed: int = 1  # lines in which the example says that a result is right


@dataclasses.dataclass
class Example:
    source: str
    runs: list
    target: str = "90a"


# 27 prints its kernels' errors, and 61 wants less than exp2 gives: docs/simulated-device.md.
SMALL = ["--m=128", "--n=128", "--k=64", "--iterations=1"]
CONVOLUTION = ["--n=1", "--h=8", "--w=8", "--r=3", "--s=3", "--ref-check", "--iterations=1"]
ATTENTION = ["--b=1", "--h=1", "--q=128", "--verify", "--iterations=1"]
EXAMPLES = {
    "05": Example("05_batched_gemm/batched_gemm", [Run([], 2)], "80"),
    "14": Example("14_ampere_tf32_tensorop_gemm/ampere_tf32_tensorop_gemm", [Run(SMALL)], "80"),
    "15": Example("15_ampere_sparse_tensorop_gemm/ampere_sparse_tensorop_gemm", [Run([])], "80"),
    "16": Example(
        "16_ampere_tensorop_conv2dfprop/ampere_tensorop_conv2dfprop", [Run([*CONVOLUTION, "--c=32", "--k=32"])], "80"
    ),
    "18": Example("18_ampere_fp64_tensorop_affine2_gemm/ampere_fp64_tensorop_affine2_gemm", [Run([])], "80"),
    "23": Example(
        "23_ampere_gemm_operand_reduction_fusion/ampere_gemm_operand_reduction_fusion",
        [Run([*SMALL, "--reference-check"])],
        "80",
    ),
    "24": Example("24_gemm_grouped/gemm_grouped", [Run([*SMALL, "--groups=2", "--streams=0"])], "80"),
    "27": Example(
        "27_ampere_3xtf32_fast_accurate_tensorop_gemm/27_ampere_3xtf32_fast_accurate_tensorop_gemm",
        [Run(SMALL, 0)],
        "80",
    ),
    "31": Example("31_basic_syrk/basic_syrk", [Run([])], "80"),
    "35": Example("35_gemm_softmax/gemm_softmax", [Run([*SMALL, "--batch_count=1"])], "80"),
    "36": Example("36_gather_scatter_fusion/gather_scatter_fusion", [Run([*SMALL, "--index_size=64"])], "80"),
    "46": Example(
        "46_depthwise_simt_conv2dfprop/depthwise_simt_conv2dfprop",
        [Run([*CONVOLUTION, "--c=16", "--k=16", "--g=16"])],
        "80",
    ),
    "47": Example(
        "47_ampere_gemm_universal_streamk/ampere_gemm_universal_streamk",
        [Run(["--m=128", "--n=128", "--k=128", "--iterations=1"], 5)],
        "80",
    ),
    "48": Example("48_hopper_warp_specialized_gemm/48_hopper_warp_specialized_gemm", [Run(SIZES)]),
    "49": Example(
        "49_hopper_gemm_with_collective_builder/49_collective_builder",
        [Run(["--m=128", "--n=128", "--k=128", "--l=1"], 7)],
    ),
    "54": Example(
        "54_hopper_fp8_warp_specialized_gemm/54_hopper_fp8_warp_specialized_gemm",
        [Run(["--m=128", "--n=128", "--k=256", "--iterations=0"])],
    ),
    "55": Example(
        "55_hopper_mixed_dtype_gemm/55_hopper_int4_bf16_gemm",
        [Run(["--m=128", "--n=128", "--k=256", "--g=128", "--iterations=0", "--warmup=0", "--mode=1"])],
    ),
    "56": Example("56_hopper_ptr_array_batched_gemm/56_hopper_ptr_array_batched_gemm", [Run([*SIZES, "--l=2"], 2)]),
    "57": Example(
        "57_hopper_grouped_gemm/57_hopper_grouped_gemm", [Run([*SIZES, "--groups=2", "--alpha=2", "--beta=1"], 4)]
    ),
    "61": Example(
        "61_hopper_gemm_with_topk_and_softmax/61_hopper_gemm_with_topk_and_softmax",
        [Run(["--iterations=0"]), Run(["--m=128", "--n=64", "--k=128", "--iterations=0", "--eps=0.001"])],
    ),
    "62": Example("62_hopper_sparse_gemm/62_hopper_sparse_gemm", [Run(SIZES)]),
    "88": Example(
        "88_hopper_fmha/88_hopper_fmha",
        [
            Run([*ATTENTION, "--k=128", "--d=64"], 3),
            Run([*ATTENTION, "--k=128", "--d=64", "--bwd"], 2),
            Run([*ATTENTION, "--k=256", "--d=128", "--mask=causal"], 2),
        ],
    ),
}
PASSED = re.compile(r"\bPassed\b|\[OK\]")


def bring_wheel():
    done = FOLDER / f"with {WHEEL}"
    if done.exists():
        return 0
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", FOLDER / "wheel", WHEEL]
    if subprocess.run(command, check=False, timeout=280).returncode != 0:
        print("no CUTLASS here")
        return 0
    done.touch()
    return 0


def compiled(name, example):
    sources = FOLDER / "wheel" / "cutlass_library" / "source"
    source = sources / "examples" / f"{example.source}.cu"
    program = FOLDER / f"example-{name}"
    if program.exists():
        return program
    partial = FOLDER / f"example-{name}.partial"
    folders = [sources / "include", sources / "tools/util/include", sources / "examples/common", source.parent]
    target = f"-gencode=arch=compute_{example.target},code=compute_{example.target}"
    options = ["-std=c++17", "-O2", "-lineinfo", "-w", "-cudart", "shared", "--expt-relaxed-constexpr", target]
    stubs = pathlib.Path(NVCC).resolve().parent.parent / "lib64" / "stubs"
    included = [f"-I{folder}" for folder in folders]
    subprocess.run([NVCC, *options, *included, source, "-o", partial, f"-L{stubs}", "-lcuda"], check=True)
    partial.rename(program)
    return program


def problems_of(program, run):
    report = FOLDER / f"{program.name}.json"
    words = ["--device", "simulated", "--trace-dir", FOLDER, "--format", "json", "--output", report]
    result = subprocess.run(
        [COMMAND, *words, program, *run.arguments], capture_output=True, text=True, check=False, cwd=FOLDER
    )
    found = json.loads(report.read_text())
    said = sum(1 for line in result.stdout.splitlines() if PASSED.search(line))
    problems = [
        f"{finding['kind']}: {finding['message']}"
        for finding in found["findings"]
        if finding["severity"] == "error" and finding["kind"] != "leak"  # 05 leaks
    ]
    problems += [entry["what"] for entry in found["not_checked"] if entry["what"].startswith("kernel")]
    if result.returncode != 0:
        problems.append(f"status {result.returncode}: {result.stdout[-2000:]}{result.stderr[-2000:]}")
    if said != run.passed:
        problems.append(f"{said} results are said to be right, not {run.passed}: {result.stdout[-2000:]}")
    return problems


def main():
    FOLDER.mkdir(exist_ok=True)
    if sys.argv[1] == "wheel":
        return bring_wheel()
    if not (FOLDER / f"with {WHEEL}").exists():
        return SKIPPED
    example = EXAMPLES[sys.argv[1]]
    program = compiled(sys.argv[1], example)
    problems = [problem for run in example.runs for problem in problems_of(program, run)]
    print("\n".join(problems) or "right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
