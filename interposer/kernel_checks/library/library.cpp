// SPDX-License-Identifier: Apache-2.0
// What the core calls (interface.h).
//
// Invariants: nothing throws over this library's edge. A failure inside leaves a module, a launch
// or a block as the program gave it. Only where the process has no memory left is it ended, as the
// C++ library does.
#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/capture/capture.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/heap_blocks.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/patches/patches.h"
#include "interposer/kernel_checks/library/peers.h"
#include "interposer/kernel_checks/library/regions.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/reports.h"
#include "interposer/kernel_checks/library/sampling.h"
#include "interposer/kernel_checks/library/written.h"
#include "ptx/names/launch_choice.h"

namespace gmt::interposer::kernel_checks {

constinit const KernelChecksCore* core = nullptr;
constinit Driver driver{};
constinit pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void finish() noexcept {
  fetch_last_reports();
  report_plain_launches();
  report_patched_launches();
}

namespace {

bool captures_a_launch() noexcept { return core->settings.capture[0] != '\0'; }

void process_exits() noexcept {
  if (captures_a_launch()) report_capture();
  else finish();
}

// The child's CUDA calls fail, as CUDA says: nothing of the parent's context is its own. A thread
// of the parent's may have been in the midst of a change.
void forget() noexcept {
  mutex = PTHREAD_MUTEX_INITIALIZER;
  if (captures_a_launch()) return abandon_capture();
  captures.store(0);
  abandon_tables();
  abandon_peers();
  abandon_heap();
  forget_samples();
  abandon_regions();
  abandon_blocks();
  abandon_written();
  abandon_mapped();
  abandon_opened();
  abandon_patches();
  abandon_reports();
  abandon_code();
}

constexpr KernelChecksLibrary kLibrary{process_exits, forget,           pool_begins,      pool_ends,
                                       pool_is_reset, region_given_out, region_given_back};
// Where nothing is checked.
using Word = std::uint64_t;
constexpr KernelChecksLibrary kOfNoProcess{[] {},       [] {},       [](Word, Word, Word) {},
                                           [](Word) {}, [](Word) {}, [](Word, Word, Word) {},
                                           [](Word) {}};

} // namespace

} // namespace gmt::interposer::kernel_checks

extern "C" __attribute__((visibility("default"))) const gmt::interposer::KernelChecksLibrary*
gmt_kernel_checks(const gmt::interposer::KernelChecksCore* core) noexcept {
  using namespace gmt::interposer::kernel_checks;
  gmt::interposer::kernel_checks::core = core;
  if (captures_a_launch()) {
    begin_capture();
    return &kLibrary;
  }
  if (!gmt::ptx::is_own_program_among(core->settings.processes)) {
    core->unchecked("", "left out, as --processes asks", 0);
    return &kOfNoProcess;
  }
  code_cache().begin();
  replace_memory();
  if (core->settings.checks_written) replace_writes();
  replace_pools();
  replace_shared_memory();
  replace_mapped();
  replace_peers();
  replace_code();
  replace_launches();
  replace_graphs();
  replace_attributes();
  if (core->settings.patches_code) begin_patches();
  return &kLibrary;
}
