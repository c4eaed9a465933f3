#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The simulated libraries export exactly the names and versions of NVIDIA's: libcuda of the toolkit's stub and its
# functions for the libraries beside it, libcudart and libcublas of the toolkit's own. Takes the folder of the simulated libraries and the toolkit's lib64.
set -eu
simulated=$1 toolkit=$2
names() { nm -D --defined-only "$1" | awk '{print $3}' | sort -u; }

undefined=$(nm -D --undefined-only "$simulated/libcuda.so.1" "$simulated/libcudart.so.13" | grep -E ' (__)?cu[a-zA-Z]' || true)
[ -z "$undefined" ] || { echo "undefined CUDA symbols: $undefined"; exit 1; }
names "$simulated/libcudart.so.13" | grep -v '@@libcudart.so.13$' | grep -v '^libcudart.so.13$' | sed 's/^/no version: /' | tee /dev/stderr | grep -q . && exit 1
newer=$(objdump -T "$simulated/libcuda.so.1" "$simulated/libcudart.so.13" | grep -oE 'GLIBC_2\.[0-9]+' | sort -uV | awk -F. '$2 > 34')
[ -z "$newer" ] || { echo "needs $newer"; exit 1; }

[ -e "$toolkit/stubs/libcuda.so" ] && [ -e "$toolkit/libcudart.so.13" ] || { echo "no toolkit libraries to compare with"; exit 77; }
diff <(names "$toolkit/stubs/libcuda.so") <(names "$simulated/libcuda.so.1" | grep -vE '^(gpumemtrace_|__nvJitLink)')
diff <(names "$toolkit/libcudart.so.13") <(names "$simulated/libcudart.so.13")
[ -e "$toolkit/libcublas.so.13" ] || exit 0
diff <(names "$toolkit/libcublas.so.13") <(names "$simulated/libcublas.so.13")
