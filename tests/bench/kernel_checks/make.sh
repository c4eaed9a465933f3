#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make.sh REWRITE_PTX FOLDER: fills FOLDER with all that kernel_checks needs on a machine with a GPU.
set -euo pipefail
rewrite=$1 folder=$2
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$folder"
nvcc -std=c++17 -O2 -lineinfo -w -arch=sm_90 -ptx -o "$folder/plain.ptx" "$here/kernels.cu"
for bounds in never loops always; do
  "$rewrite" --bounds $bounds --table 0x500000000000 "$folder/plain.ptx" "$folder/$bounds.ptx"
done
"$rewrite" "$folder/plain.ptx" "$folder/constant.ptx"
nvcc -std=c++20 -O2 -I "$here/../../.." -o "$folder/kernel_checks" "$here/kernel_checks.cu" -lcuda -L"$(dirname "$(command -v nvcc)")/../lib64/stubs"
