#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every benchmark of a gpu-pack; called by scripts/gpu-test. One that fails does not keep the others from running.
# Usage: run.sh PACK
set -uo pipefail

pack=$1
tool=$pack/install/bin/gpumemtrace
status=0
bench() { python3 -B "$pack/bench/$1" --gpumemtrace "$tool" --peer compute-sanitizer "${@:2}" || status=1; }

bench call_cost.py --program "$pack/bench/call_cost"
for how in "" "$tool record"; do
  echo "free() of 64 bytes by pinned blocks alive, nanoseconds${how:+, under gpumemtrace}:"
  (cd "$(mktemp -d)" && $how "$pack/bench/free_cost") || status=1
done
bench device_malloc_cost.py --program "$pack/bench/device_malloc_cost"
"$pack/bench/ring_throughput" || status=1
if python3 -c 'import torch' 2>/dev/null; then
  bench torch_cost.py
else
  echo "torch_cost: not run: no PyTorch"
fi
exit $status
