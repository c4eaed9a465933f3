#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs with a statically linked CUDA runtime. With the simulated runtime preloaded they use it: the program itself,
# one at a fixed address, one of relocatable device code, one with a thread of 16 KiB, and a library with a runtime of
# its own that is linked or loaded by dlopen. A stripped one gets one clear sentence, and its error from its own runtime:
# no crash, no silence.
# Takes the folder of the simulated libraries and the programs' paths, the one to be stripped first.
set -u
libraries=$1
shift
for program in "$@"; do
  said=$(LD_PRELOAD=$libraries/libcudart.so.13 "$program" 2>&1)
  status=$?
  if [ "$status" -ne 0 ]; then printf '%s: exit status %s\n%s\n' "$program" "$status" "$said"; exit 1; fi
done
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1"
chmod +x "$stripped"
expected="gpumemtrace: the simulated device found no way into the CUDA runtime that is linked into this program, which has \
no symbols or is older than CUDA 13: build it with a shared runtime \
(NVCC_APPEND_FLAGS='-cudart shared' in the environment, CUDA_RUNTIME_LIBRARY Shared in CMake, or nvcc -cudart shared)"
said=$(LD_PRELOAD=$libraries/libcudart.so.13 "$stripped" 2>&1 >/dev/null)
status=$?
if [ "$status" -ne 3 ]; then echo "stripped: exit status $status, expected 3"; exit 1; fi
if [ "$said" != "$expected" ]; then printf 'said: %s\n' "$said"; exit 1; fi
