#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs whose kernels the simulated device executes: each checks its own results. What a kernel prints appears once.
# Takes the folder of the simulated libraries and the programs' paths.
set -u
libraries=$1
shift
for program in "$@"; do
  said=$(LD_PRELOAD=$libraries/libcudart.so.13 "$program" 2>&1)
  status=$?
  if [ "$status" -ne 0 ] || [ "$said" != "from thread 0 of combine: 1.50" ]; then
    printf '%s: exit status %s\n%s\n' "$program" "$status" "$said"
    exit 1
  fi
done
