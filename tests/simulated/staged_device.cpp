// SPDX-License-Identifier: Apache-2.0
// Preloaded beside the simulated device, it stages what no program can provoke:
// - STAGED_ABORT_IN=FUNCTION[:N]: the N-th call of that driver function raises STAGED_ABORT_SIGNAL
//   (default 6) inside the driver.
// - STAGED_REFUSE=FUNCTION[:N]: the first N calls of that driver function answer
//   CUDA_ERROR_INVALID_PTX.
// - STAGED_STICKY_AFTER_LAUNCH=KERNEL:ERROR: from that launch on the context keeps the error.
// KERNEL
//   is a part of its name.
// - STAGED_DUMP_AFTER_LAUNCH=KERNEL:MILLISECONDS: from that launch on the device stands still, as a
//   real one does while its driver writes a core dump; then the process is aborted.
// A value that makes no sense ends the process: no test passes without what it staged.
#include "simulated_cuda/common/staging.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

struct Staged {
  std::string name;
  long number = 0;
};

// Of "<name>:<number>"; without a number the default, if there is one.
Staged read(const char* variable, long by_default) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return {};
  const std::string value = text;
  const std::size_t colon = value.rfind(':');
  Staged staged{value.substr(0, colon), by_default};
  if (colon != std::string::npos)
    staged.number = std::strtol(value.c_str() + colon + 1, nullptr, 10);
  if (staged.name.empty() || staged.number <= 0) {
    std::fprintf(stderr, "staged_device: %s=%s makes no sense\n", variable, text);
    _exit(99);
  }
  return staged;
}

const Staged& abort_in() {
  static const auto* const staged = new Staged(read("STAGED_ABORT_IN", 1));
  return *staged;
}
const Staged& sticky_after() {
  static const auto* const staged = new Staged(read("STAGED_STICKY_AFTER_LAUNCH", 0));
  return *staged;
}
const Staged& dump_after() {
  static const auto* const staged = new Staged(read("STAGED_DUMP_AFTER_LAUNCH", 0));
  return *staged;
}

const Staged& refusal() {
  static const auto* const staged = new Staged(read("STAGED_REFUSE", 1));
  return *staged;
}

bool is_named(const char* kernel, const Staged& wanted) {
  return !wanted.name.empty() && std::strstr(kernel, wanted.name.c_str()) != nullptr;
}

bool begins_with_any(const char* symbol, std::initializer_list<const char*> beginnings) {
  for (const char* beginning : beginnings) {
    if (std::strncmp(symbol, beginning, std::strlen(beginning)) == 0) return true;
  }
  return false;
}

void maybe_abort(const char* symbol) {
  if (abort_in().name != symbol) return;
  static std::atomic<long> calls{0};
  if (++calls != abort_in().number) return;
  const char* chosen = std::getenv("STAGED_ABORT_SIGNAL");
  const int number = chosen != nullptr ? std::atoi(chosen) : SIGABRT;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(number);
}

std::atomic<bool> stands_still{false}; // the device
std::atomic<bool> has_work{false};     // that came later and is never done
std::atomic<bool> process_ends{false};

void stand_still() {
  stands_still = true;
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(dump_after().number));
    if (!process_ends) std::abort();
  }).detach();
}

[[noreturn]] void wait_for_the_end() {
  for (;;) pause();
}

// Measured on an H200: calls that wait for earlier work succeed, copies too, but later sets and
// kernels are never done.
CUresult answer_while_still(const char* symbol) {
  if (!stands_still) return CUDA_SUCCESS;
  if (begins_with_any(symbol, {"cuMemset", "cuLaunch", "cuGraphLaunch"})) has_work = true;
  if (!has_work) return CUDA_SUCCESS;
  if (begins_with_any(symbol, {"cuStreamQuery", "cuEventQuery"})) return CUDA_ERROR_NOT_READY;
  if (begins_with_any(symbol, {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"}))
    wait_for_the_end();
  return CUDA_SUCCESS;
}

} // namespace

CUresult gpumemtrace_stage_call(const char* symbol) {
  maybe_abort(symbol);
  static std::atomic<long> refused{0};
  if (refusal().name == symbol && refused++ < refusal().number) return CUDA_ERROR_INVALID_PTX;
  if (dump_after().name.empty()) return CUDA_SUCCESS;
  // The driver's handler of the process's end destroys contexts, and says nothing of a fault whose
  // core dump is not written yet (measured on an H200).
  if (std::strcmp(symbol, "cuInit") == 0) std::atexit([] { process_ends = true; });
  return answer_while_still(symbol);
}

CUresult gpumemtrace_stage_launch(const char* kernel) {
  if (is_named(kernel, dump_after())) stand_still();
  return is_named(kernel, sticky_after()) ? static_cast<CUresult>(sticky_after().number)
                                          : CUDA_SUCCESS;
}
