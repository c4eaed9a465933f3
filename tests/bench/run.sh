#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every benchmark of a gpu-pack; called by scripts/gpu-test. Usage: run.sh PACK
set -euo pipefail

pack=$1
tool=$pack/install/bin/gpumemtrace
python3 -B "$pack/bench/call_cost.py" --gpumemtrace "$tool" --program "$pack/bench/call_cost" --peer compute-sanitizer
for how in "" "$tool record"; do
  echo "free() of 64 bytes by pinned blocks alive, nanoseconds${how:+, under gpumemtrace}:"
  (cd "$(mktemp -d)" && $how "$pack/bench/free_cost")
done
python3 -B "$pack/bench/device_malloc_cost.py" --gpumemtrace "$tool" --plain "$pack/bench/device_malloc_cost" \
  --logged "$pack/bench/device_malloc_cost_logged" --peer compute-sanitizer
"$pack/bench/ring_throughput"
if python3 -c 'import torch' 2>/dev/null; then
  python3 -B "$pack/bench/torch_cost.py" --gpumemtrace "$tool" --peer compute-sanitizer
else
  echo "torch_cost: not run: no PyTorch"
fi
