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
"$rewrite" --window 0 "$folder/plain.ptx" "$folder/constant.ptx"
"$rewrite" --table 0x500000000000 --window 0 "$folder/plain.ptx" "$folder/placed.ptx" # as the library has it
"$rewrite" --table 0x500000000000 --window 0 --written yes "$folder/plain.ptx" "$folder/written.ptx" # with init
# As "loops", with not many more registers than the plain form: nearly as many warps are resident.
ptxas -v -arch=sm_90 -o /dev/null "$folder/plain.ptx" 2>&1 |
  sed -n "s/.*Compiling entry function '\([^']*\)'.*/\1/p; s/.*Used \([0-9]*\) registers.*/\1/p" |
  paste -d' ' - - | awk '{ n = int(($2 + 7) / 8) * 8 + 8; print $1, n < 40 ? 40 : n }' > "$folder/registers"
"$rewrite" --bounds loops --table 0x500000000000 --registers "$folder/registers" "$folder/plain.ptx" "$folder/capped.ptx"
nvcc -std=c++20 -O2 -I "$here/../../.." -o "$folder/kernel_checks" "$here/kernel_checks.cu" -lcuda -L"$(dirname "$(command -v nvcc)")/../lib64/stubs"
