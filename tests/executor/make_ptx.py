#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/executor/ptx/: what several compilers write for the programs of tests/executor/kernels.

    tests/executor/make_ptx.py [--nvrtc LIBRARY]... [PATTERN]

Needs nvcc, clang++ (one that compiles CUDA) and zstd; each --nvrtc adds the output of one version of
NVRTC. Without a pattern, or with one that a file's name contains, files that exist are replaced.
"""

import argparse
import concurrent.futures
import ctypes
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = os.path.join(HERE, "kernels")
OUT = os.path.join(HERE, "ptx")
# PTX names the paths of its sources: a folder that says nothing of the machine.
WORK = "/tmp/executor-kernels"
# Programs with much of CUB and Thrust: too large for more than one variant.
LARGE = {"cub_block", "cub_device", "cub_sort", "thrust_scan", "thrust_select", "thrust_sort"}
SEPARABLE = {"separable", "separable_other"}
NVCC = ["nvcc", "-std=c++17", "-w", "-ptx"]
CLANG = "-x cuda -std=c++17 --cuda-device-only -S -O2 -w -Wno-unknown-cuda-version".split()
# Debug information of these is most of their PTX.
DEBUG = ("recursion", "structs", "virtual_calls", "variables", "cooperative", "shared_tiles", "control_flow", "scans")
FAST = ("math", "floats", "algorithms", "halves")
UNOPTIMISED = ("recursion", "integers", "unions", "device_heap", "function_pointers", "local_arrays")
OLD_DEVICE = ("atomics", "halves", "votes", "plain_kernels", "printing", "warp_sync")
NEW_DEVICE = ("integers", "halves", "barriers", "plain_kernels", "libcudacxx_barrier")
# What clang cannot compile: names of nvcc alone, or a newer CUDA than it knows.
NOT_CLANG = (
    LARGE
    | SEPARABLE
    | {"async_copies", "libcudacxx_barrier", "cooperative", "grid_sync", "libcudacxx", "variables", "read_only"}
)


def clang(programs):
    for name in ("clang++", "clang++-23", "clang++-22", "clang++-21", "clang++-20"):
        found = shutil.which(name)
        if not found:
            continue
        toolkit = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc"))))
        flags = [f"--cuda-path={toolkit}", f"-I{toolkit}/include/cccl", "--cuda-gpu-arch=sm_80"]
        probe = [found, *CLANG, *flags, "plain_kernels.cu", "-o", "probe.ptx"]
        if subprocess.run(probe, cwd=WORK, capture_output=True, check=False).returncode == 0:
            return {
                f"{name}.clang": [found, *CLANG, *flags, "-g1", f"{name}.cu", "-o"]
                for name in programs
                if name not in NOT_CLANG
            }
    print("no clang++ that compiles CUDA", file=sys.stderr)
    return {}


def variants():
    programs = sorted(name[:-3] for name in os.listdir(KERNELS) if name.endswith(".cu"))
    made = {}
    for name in programs:
        flags = ["-rdc=true"] if name in SEPARABLE else []
        made[f"{name}.sm_90"] = [*NVCC, "-arch=compute_90", "-lineinfo", *flags, f"{name}.cu", "-o"]
    for names, suffix, flags in (
        (DEBUG, "G", ["-arch=compute_90", "-G"]),
        (UNOPTIMISED, "O0", ["-arch=compute_80", "-Xcicc", "-O0"]),
        (FAST, "fast", ["-arch=compute_90", "--use_fast_math"]),
        (OLD_DEVICE, "sm_75", ["-arch=compute_75"]),
        (NEW_DEVICE, "sm_120", ["-arch=compute_120", "-lineinfo"]),
    ):
        for name in names:
            made[f"{name}.{suffix}"] = [*NVCC, *flags, f"{name}.cu", "-o"]
    made.update(clang(programs))
    return made


def check(nvrtc, status):
    if status != 0:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise RuntimeError(nvrtc.nvrtcGetErrorString(status).decode())


def compiled_by_nvrtc(library):
    """The version and the PTX of plain_kernels.cu."""
    nvrtc = ctypes.CDLL(library)
    major, minor = ctypes.c_int(), ctypes.c_int()
    check(nvrtc, nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    with open(os.path.join(KERNELS, "plain_kernels.cu"), "rb") as file:
        source = file.read()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"plain_kernels.cu", 0, None, None))
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=compute_80", b"-lineinfo")
    check(nvrtc, nvrtc.nvrtcCompileProgram(program, 2, options))
    check(nvrtc, nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    check(nvrtc, nvrtc.nvrtcGetPTX(program, text))
    return f"{major.value}.{minor.value}", text.value


def compress(path, name):
    subprocess.run(["zstd", "-19", "-q", "-f", path, "-o", os.path.join(OUT, f"{name}.ptx.zst")], check=True)


def make(name, command):
    path = os.path.join(WORK, f"{name}.ptx")
    done = subprocess.run([*command, path], cwd=WORK, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{name}: not made\n{done.stderr[-2000:]}", file=sys.stderr)
        return False
    compress(path, name)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nvrtc", action="append", default=[])
    parser.add_argument("pattern", nargs="?", default="")
    arguments = parser.parse_args()
    os.makedirs(OUT, exist_ok=True)
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(KERNELS, WORK)
    wanted = {name: command for name, command in variants().items() if arguments.pattern in name}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        good = all(list(pool.map(lambda item: make(*item), wanted.items())))
    for library in arguments.nvrtc:
        version, text = compiled_by_nvrtc(library)
        path = os.path.join(WORK, f"plain_kernels.nvrtc_{version}.ptx")
        with open(path, "wb") as file:
            file.write(text)
        compress(path, f"plain_kernels.nvrtc_{version}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
