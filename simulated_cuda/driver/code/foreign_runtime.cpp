// SPDX-License-Identifier: Apache-2.0
// The call stack says whose runtime it is. To the observer a refusal is a launch that did not run:
// how many there would have been is not known.
#include "simulated_cuda/driver/code/foreign_runtime.h"

#include "simulated_cuda/driver/execution/totals.h"
#include "simulated_cuda/driver/state/observer.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <string>

namespace gmt::sim {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The file that made the call: the first that is neither this driver nor what records its calls.
std::string caller() {
  void* frames[32];
  const int count = backtrace(frames, std::size(frames));
  Dl_info own{}, other{};
  dladdr(reinterpret_cast<void*>(&refuse_foreign_runtime), &own);
  for (int i = 0; i < count; ++i) {
    if (dladdr(frames[i], &other) == 0 || other.dli_fbase == own.dli_fbase) continue;
    const std::string name = file_name(other.dli_fname);
    if (name != "libgpumemtrace.so") return name;
  }
  return {};
}

std::string program() {
  char path[4096];
  const ssize_t bytes = readlink("/proc/self/exe", path, sizeof path);
  return bytes > 0 ? file_name({path, static_cast<std::size_t>(bytes)}) : std::string();
}

} // namespace

void refuse_foreign_runtime() {
  static auto* const refused = new std::set<std::string>;
  const std::string file = caller();
  if (!refused->insert(file).second) return;
  const bool is_program = file.empty() || file == program();
  const std::string where = is_program ? "this program" : file;
  // NVIDIA's own, which comes before ours only by a path in the program (DT_RPATH), or is too old.
  const bool is_shared = where.starts_with("libcudart.so");
  if (is_shared) {
    std::fprintf(
      stderr,
      "gpumemtrace: the program loads NVIDIA's own %s, which cannot use the simulated "
      "device: none of its CUDA calls succeeds. The simulated device has a "
      "libcudart.so.12 and a libcudart.so.13 of its own, which LD_LIBRARY_PATH names; an "
      "RPATH of the program comes before that (patchelf --remove-rpath)\n",
      where.c_str());
  } else {
    std::fprintf(
      stderr,
      "gpumemtrace: the simulated device found no way into the CUDA runtime that is linked into %s, "
      "which has no symbols or is older than CUDA 13: %s with a shared runtime "
      "(NVCC_APPEND_FLAGS='-cudart shared' in the environment, CUDA_RUNTIME_LIBRARY Shared in CMake, "
      "or nvcc -cudart shared)\n",
      where.c_str(),
      is_program ? "build it" : "none of its CUDA calls succeeds. If it is yours, build it");
  }
  executor::Outcome outcome;
  outcome.end = executor::End::kSkipped;
  add_to_totals(outcome, 0);
  const trace::ExecutionObserver* observer = execution_observer();
  if (observer == nullptr || observer->skipped == nullptr) return;
  const std::string kernel = "of " + where.substr(0, where.find(".so"));
  const std::string reason =
    "nothing of " + where +
    (is_shared ? " can run: it is NVIDIA's own, and the simulated device has another"
               : " can run, since its CUDA runtime is linked in and has no symbols, or is older "
                 "than CUDA 13");
  trace::ExecutionSkip skip{};
  skip.size = sizeof skip;
  skip.end = trace::ExecutionEnd::kNotRun;
  skip.launch.kernel = kernel.c_str();
  skip.reason = reason.c_str();
  observer->skipped(&skip);
}

} // namespace gmt::sim
