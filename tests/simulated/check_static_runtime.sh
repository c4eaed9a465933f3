#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program with a statically linked CUDA runtime gets one clear sentence from the simulated device, and its error
# from its own runtime: no crash, no silence. Takes the program's path.
set -u
expected='gpumemtrace: the simulated device serves programs that use the shared CUDA runtime; this program has the runtime linked in. Relink it with: nvcc -cudart shared'
said=$("$1" 2>&1 >/dev/null)
status=$?
if [ "$status" -ne 3 ]; then echo "exit status $status, expected 3"; exit 1; fi
if [ "$said" != "$expected" ]; then printf 'said: %s\n' "$said"; exit 1; fi
