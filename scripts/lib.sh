# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What scripts/demo, scripts/test and scripts/gpu-pack share: packages, the CUDA toolkit, the build folder. Sourced.
#
# Variables of the environment that it honours:
#   GPUMEMTRACE_BUILD_DIR        where to build (default: build/ of this repository, or the user's cache if that
#                                is not writable)
#   GPUMEMTRACE_JOBS             parallel jobs (default: one for each processor)
#   GPUMEMTRACE_NO_SYSTEM_CUDA   1: pass over an installed CUDA toolkit and bring the parts as Python wheels
set -euo pipefail

gmt_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
gmt_jobs=${GPUMEMTRACE_JOBS:-$(nproc)}
gmt_cuda_version=13.0 # of the wheels; an installed toolkit may be newer

# What the demo needs; what tests are compiled with; and all that tests need besides.
# shellcheck disable=SC2034
gmt_build_packages=(cmake ninja-build g++ libc6-dev pkg-config patchelf libboost-program-options-dev libdw-dev libelf-dev
  libunwind-dev libfmt-dev nlohmann-json3-dev libzstd-dev liblz4-dev zlib1g-dev liblzma-dev libbz2-dev libsqlite3-dev node-d3)
# shellcheck disable=SC2034
gmt_test_build_packages=(binutils libgtest-dev libgmock-dev libbenchmark-dev libvulkan-dev python3 ccache)
# shellcheck disable=SC2034
gmt_test_packages=("${gmt_test_build_packages[@]}" python3-jsonschema python3-sarif-python-om
  python3-junitparser python3-prometheus-client python3-pytest python3-pytest-xdist python3-yaml libxml2-utils cmark-gfm libdevel-nytprof-perl clang lld libclang-rt-dev
  libjemalloc2 chromium chromium-driver python3-selenium nodejs)

say() { printf '%s\n' "== $*"; }

fail() {
  printf '%s\n' "$(basename "$0"): $*" >&2
  exit 1
}

# need_packages PACKAGE...: installs those that are missing if that is allowed, else says what to install.
need_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is not Debian or a descendant: the build needs what Debian calls: $*"
    return
  fi
  local package missing=()
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $(id -u) -ne 0 ]]; then
    fail "missing packages; install them first: sudo apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  say "installing with apt-get: ${missing[*]}"
  # What apt-get and the packages' scripts say is of use only if they fail.
  local log
  log=$(mktemp)
  if [[ -z ${gmt_lists_are_new:-} ]]; then
    apt-get update -qq >"$log" 2>&1 || say "apt-get update failed; trying with the lists that are here"
    gmt_lists_are_new=1
  fi
  # Runs of apt-get that others have started may hold its lock for a while.
  if ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 \
    "${missing[@]}" >>"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "apt-get could not install ${missing[*]}"
  fi
  rm -f "$log"
}

# A clang that compiles CUDA 13, where the distribution has one; what is tested with it is left out otherwise.
bring_cuda_clang() {
  local version
  for version in 23 22; do
    if command -v "clang++-$version" >/dev/null; then return; fi
  done
  [[ $(id -u) -eq 0 ]] && command -v apt-cache >/dev/null || return 0
  for version in 23 22; do
    if apt-cache show "clang-$version" >/dev/null 2>&1; then
      need_packages "clang-$version"
      return
    fi
  done
  say "no clang of version 22 or newer: kernels' malloc in clang's CUDA mode is not tested"
}

# Sets gmt_build to a folder that this user can write to.
choose_build_folder() {
  local folder candidates=("$gmt_root/build" "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/gpumemtrace/build"
    "${TMPDIR:-/tmp}/gpumemtrace-build-$(id -u)")
  [[ -z ${GPUMEMTRACE_BUILD_DIR:-} ]] || candidates=("$GPUMEMTRACE_BUILD_DIR")
  for folder in "${candidates[@]}"; do
    # What another user has built there cannot be continued.
    if mkdir -p "$folder" 2>/dev/null && [[ -w $folder && -O $folder ]]; then
      gmt_build=$(cd "$folder" && pwd -P)
      [[ $folder == "${candidates[0]}" ]] || say "$gmt_root/build cannot be written to: building in $gmt_build"
      return
    fi
  done
  fail "no folder to build in: tried ${candidates[*]}; name one with GPUMEMTRACE_BUILD_DIR"
}

# is_toolkit FOLDER: a CUDA 13 or newer that has what the build needs.
is_toolkit() {
  [[ -x $1/bin/nvcc && -e $1/include/cudaTypedefs.h && -e $1/include/cuda_runtime.h ]] || return 1
  local major
  major=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\)[0-9]\{3\}$/\1/p' "$1/include/cuda.h")
  [[ ${major:-0} -ge 13 ]]
}

# The folder is laid out as a toolkit is: the wheels leave out the symbolic links, and the stand-in of libcuda.so that
# programs of the driver API are linked to.
complete_wheel_toolkit() {
  local toolkit=$1 library
  ln -sfn lib "$toolkit/lib64"
  mkdir -p "$toolkit/targets/x86_64-linux" "$toolkit/lib/stubs"
  ln -sfn ../../include "$toolkit/targets/x86_64-linux/include"
  ln -sfn ../../lib "$toolkit/targets/x86_64-linux/lib"
  for library in "$toolkit"/lib/*.so.[0-9]*; do
    ln -sf "${library##*/}" "${library%%.so.*}.so"
  done
  # Every name that the driver's header declares, as a function that does nothing.
  grep -ohE '\bcu[A-Z][A-Za-z0-9_]*' "$toolkit/include/cuda.h" | sort -u | sed 's/.*/void &(void) {}/' |
    gcc -w -x c - -shared -fPIC -nostdlib -Wl,-soname,libcuda.so.1 -o "$toolkit/lib/stubs/libcuda.so"
}

# Brings the toolkit's parts as NVIDIA's Python wheels into the build folder. Sets gmt_cuda.
bring_wheel_toolkit() {
  local folder=$gmt_build/cuda-$gmt_cuda_version names=() name why='no CUDA toolkit of version 13 here'
  gmt_cuda=$folder/nvidia/cu13
  for name in cuda-nvcc cuda-crt nvvm cuda-runtime cuda-cccl cuda-cupti cuda-profiler-api nvtx; do
    names+=("nvidia-$name==$gmt_cuda_version.*")
  done
  [[ $(cat "$folder/complete" 2>/dev/null) != "${names[*]}" ]] || return 0 # an older list lacks some
  need_packages python3 python3-pip ca-certificates
  [[ ${GPUMEMTRACE_NO_SYSTEM_CUDA:-0} != 1 ]] || why='GPUMEMTRACE_NO_SYSTEM_CUDA=1'
  say "$why: downloading its parts as Python wheels (some 150 MB) into $folder"
  rm -rf "$folder" "$folder.partial"
  PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1 /usr/bin/python3 -m pip install --quiet --no-deps \
    --no-compile --only-binary=:all: --target "$folder.partial" "${names[@]}" ||
    fail "pip could not bring ${names[*]}; install the CUDA toolkit $gmt_cuda_version, or set CUDA_HOME to one"
  complete_wheel_toolkit "$folder.partial/nvidia/cu13"
  printf '%s\n' "${names[*]}" >"$folder.partial/complete"
  mv "$folder.partial" "$folder"
}

# A header that the wheels lack may be found in an installed toolkit all the same, where that has put its headers into the
# compiler's own folders, as some do. A machine without a toolkit would then fail, after minutes: say it here and at once.
check_wheel_headers() {
  local headers foreign
  headers=$(grep -rhoE '^#include <(cu|nvtx3/)[^>]*>' --include='*.h' --include='*.cpp' "$gmt_root/interposer" \
    "$gmt_root/simulated_cuda" | sort -u)
  # A rule's prerequisites, one a line. Those that are CUDA's bear its names.
  foreign=$(g++ -std=c++20 -M -isystem "$gmt_cuda/include" -x c++ - <<<"$headers" | tr -s '[:space:]' '\n' |
    grep -E '/(cu|nv|crt/|vector_|device_|host_)[^/]*$' | grep -vF "$gmt_cuda/" | grep -v '/c++/' | head -n 3) || true
  [[ -z $foreign ]] || fail "the Python wheels lack headers that an installed toolkit has: ${foreign//$'\n'/ }"
}

# Sets gmt_cuda to a toolkit's folder. Call after choose_build_folder.
find_cuda() {
  local candidate nvcc
  if [[ ${GPUMEMTRACE_NO_SYSTEM_CUDA:-0} != 1 ]]; then
    nvcc=$(command -v nvcc || true)
    [[ -z $nvcc ]] || nvcc=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    for candidate in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "$nvcc" /usr/local/cuda; do
      if [[ -n $candidate ]] && is_toolkit "$candidate"; then
        gmt_cuda=$(cd "$candidate" && pwd -P)
        return
      fi
    done
  fi
  bring_wheel_toolkit
  check_wheel_headers
}

# has_gpu: whether a GPU and its driver can be used here.
has_gpu() {
  [[ -e /dev/nvidiactl || -e /dev/dxg ]] || return 1
  ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1 ' || [[ -e /usr/local/nvidia/lib64/libcuda.so.1 ]] ||
    [[ -e /usr/lib/wsl/lib/libcuda.so.1 ]]
}

# configure FOLDER ARGUMENT...: runs cmake; shows its output only if it fails.
configure() {
  local folder=$1 log=$1.configure.log
  shift
  local arguments=(-S "$gmt_root" -B "$folder" -G Ninja -DPython3_EXECUTABLE=/usr/bin/python3
    -DGMT_CUDA_INCLUDE_DIR="$gmt_cuda/include" -DGMT_NVCC="$gmt_cuda/bin/nvcc")
  # Variables of the machine must not bring in a second toolkit.
  unset CUDA_HOME CUDA_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH
  # cmake remembers these: the first two belong to the toolkit, the others to what a script leaves out.
  arguments+=(-UGMT_CUDA_STUB -UGMT_CUDART_DIR -UGPUMEMTRACE_EXECUTOR_AVX2 -UGPUMEMTRACE_MACHINE_CODE)
  if command -v ccache >/dev/null; then
    export CCACHE_SLOPPINESS=pch_defines,time_macros # without it, what uses a precompiled header is compiled anew
    arguments+=(-DCMAKE_CXX_COMPILER_LAUNCHER="$gmt_root/cmake/compile-cached" -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  fi
  if ! cmake "${arguments[@]}" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    fail "cmake could not configure $folder"
  fi
  rm -f "$log"
}

# Builds of clang: `each` compiles each source by itself, without precompiled headers, and is there for the commands that
# clang-tidy reads; `clang` checks all that needs no analyzer, several sources at once.
configure_clang() {
  local folder=$1
  shift
  configure "$folder" -DCMAKE_CXX_COMPILER=clang++ -DGPUMEMTRACE_BUILD_SAMPLES=OFF -DGMT_NVCC= \
    -DGPUMEMTRACE_BUILD_TESTS=ON -DCMAKE_BUILD_TYPE=Debug -DGPUMEMTRACE_EXECUTOR_AVX2=OFF "$@"
}
configure_each_source() {
  configure_clang "$gmt_build/each" -DGPUMEMTRACE_UNITY=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
}
configure_check() { # warnings need no code
  configure_clang "$gmt_build/clang" -DGPUMEMTRACE_BUILD_ANALYZER=OFF \
    -DCMAKE_CXX_FLAGS_DEBUG="-O0" "$@" -DCMAKE_CXX_COMPILER_LAUNCHER="$gmt_root/cmake/check-only" \
    -DCMAKE_CXX_LINKER_LAUNCHER=true # what others wait for has nothing that could be linked
}

# build FOLDER TARGET...
build() {
  local folder=$1
  shift
  say "compiling in $folder with $gmt_jobs jobs at a time: the first time takes minutes"
  NINJA_STATUS='[%f/%t] ' cmake --build "$folder" -j "$gmt_jobs" ${1+--target "$@"}
}
