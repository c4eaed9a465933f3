// SPDX-License-Identifier: Apache-2.0
// The driver's symbol table: one jump stub an exported name, and cuGetProcAddress over the same
// rows. Everything here is made from driver_api.def and unsupported_api.def; dlsym(symbol) and
// cuGetProcAddress(base, version, flags) therefore give the same address, as on the real driver.
// The three expansions below are: row numbers, stubs, table. They must list the rows in the same
// order.
#include "simulated_cuda/common/jump_stub.h"
#include "simulated_cuda/common/staging.h"
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/execution/primary.h"
#include "simulated_cuda/driver/state/observer.h"

#include <array>
#include <cstring>
#include <string_view>

namespace gmt::sim {
namespace {

enum class Form : unsigned char { kPlain, kPerThread };

enum RowIndex : unsigned {
#define DRV(base, suffix, ...) row_##base##suffix,
#define DRV_PTDS(base, suffix, ...) row_##base##suffix, row_##base##suffix##_ptds,
#define DRV_PTSZ(base, suffix, ...) row_##base##suffix, row_##base##suffix##_ptsz,
#define DRV_NONE(base, suffix, version) row_##base##suffix,
#define DRV_NONE_PTDS(base, suffix, version, pt) row_##base##suffix, row_##base##suffix##_ptds,
#define DRV_NONE_PTSZ(base, suffix, version, pt) row_##base##suffix, row_##base##suffix##_ptsz,
#include "simulated_cuda/driver/driver_api.def"
#include "simulated_cuda/driver/unsupported_api.def"
#undef DRV
#undef DRV_PTDS
#undef DRV_PTSZ
#undef DRV_NONE
#undef DRV_NONE_PTDS
#undef DRV_NONE_PTSZ
  kRowCount
};

} // namespace

CUresult unsupported();

} // namespace gmt::sim

#define STUB(symbol, need, per_thread, implementation)                                             \
  extern "C" const char gmt_sim_export_##symbol[] __asm__(#symbol);                                \
  GMT_JUMP_STUB(symbol, (&gmt::sim::Entry<gmt::sim::row_##symbol, gmt::sim::need, per_thread,      \
                                          &gmt::sim::implementation>::call))
#define DRV(base, suffix, version, need, implementation)                                           \
  STUB(base##suffix, need, false, implementation)
#define DRV_PTDS(base, suffix, version, pt, need, implementation)                                  \
  STUB(base##suffix, need, false, implementation)                                                  \
  STUB(base##suffix##_ptds, need, true, implementation)
#define DRV_PTSZ(base, suffix, version, pt, need, implementation)                                  \
  STUB(base##suffix, need, false, implementation)                                                  \
  STUB(base##suffix##_ptsz, need, true, implementation)
#define DRV_NONE(base, suffix, version) STUB(base##suffix, kNothing, false, unsupported)
#define DRV_NONE_PTDS(base, suffix, version, pt)                                                   \
  STUB(base##suffix, kNothing, false, unsupported)                                                 \
  STUB(base##suffix##_ptds, kNothing, true, unsupported)
#define DRV_NONE_PTSZ(base, suffix, version, pt)                                                   \
  STUB(base##suffix, kNothing, false, unsupported)                                                 \
  STUB(base##suffix##_ptsz, kNothing, true, unsupported)
#include "simulated_cuda/driver/driver_api.def"
#include "simulated_cuda/driver/unsupported_api.def"
#undef DRV
#undef DRV_PTDS
#undef DRV_PTSZ
#undef DRV_NONE
#undef DRV_NONE_PTDS
#undef DRV_NONE_PTSZ

namespace gmt::sim {
namespace {

struct Row {
  const char* base;
  const char* symbol; // without _ptds or _ptsz
  int version;
  Form form;
  const void* address;
};

#define PLAIN_ROW(base, suffix, version)                                                           \
  {#base, #base #suffix, version, Form::kPlain, gmt_sim_export_##base##suffix},
#define THREAD_ROW(base, suffix, pt, letters)                                                      \
  {#base, #base #suffix, pt, Form::kPerThread, gmt_sim_export_##base##suffix##letters},
#define DRV(base, suffix, version, need, implementation) PLAIN_ROW(base, suffix, version)
#define DRV_PTDS(base, suffix, version, pt, need, implementation)                                  \
  DRV_NONE_PTDS(base, suffix, version, pt)
#define DRV_PTSZ(base, suffix, version, pt, need, implementation)                                  \
  DRV_NONE_PTSZ(base, suffix, version, pt)
#define DRV_NONE(base, suffix, version) PLAIN_ROW(base, suffix, version)
#define DRV_NONE_PTDS(base, suffix, version, pt)                                                   \
  PLAIN_ROW(base, suffix, version) THREAD_ROW(base, suffix, pt, _ptds)
#define DRV_NONE_PTSZ(base, suffix, version, pt)                                                   \
  PLAIN_ROW(base, suffix, version) THREAD_ROW(base, suffix, pt, _ptsz)
constexpr int kDriverVersion = 13000;

const Row kRows[] = {
#include "simulated_cuda/driver/driver_api.def"
#include "simulated_cuda/driver/unsupported_api.def"
};
static_assert(sizeof(kRows) / sizeof(kRows[0]) == kRowCount);

} // namespace

namespace {

Timing timing_of_row(unsigned row) {
  static const auto* const timings = [] {
    auto* all = new std::array<Timing, kRowCount>;
    for (unsigned i = 0; i < kRowCount; ++i) (*all)[i] = timing_of(kRows[i].base);
    return all;
  }();
  return (*timings)[row];
}

bool is_launch(unsigned row) {
  return std::string_view(kRows[row].base).starts_with("cuLaunchKernel");
}

} // namespace

CUresult check_entry(unsigned row, Need need) {
  if (gpumemtrace_stage_call != nullptr) {
    const CUresult staged = gpumemtrace_stage_call(kRows[row].symbol);
    if (staged != CUDA_SUCCESS) return staged;
  }
  if (need == kNothing) return CUDA_SUCCESS;
  const ThreadState& thread = this_thread();
  if (thread.in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  if (DriverLock::in_forked_child() || !state().initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (need != kThreadOnly && timing_of_row(row) == Timing::kRunsAll) run_all_late(false);
  if (need != kThreadOnly && timing_of_row(row) == Timing::kEnds) run_all_late();
  if (need != kThreadOnly && timing_of_row(row) != Timing::kLooks && !is_launch(row))
    forget_primary();
  const Context* context = thread.current();
  if (need != kContext) return CUDA_SUCCESS;
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->alive ? context->sticky : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

Timing timing_of_call() { return timing_of_row(this_thread().row); }

CUresult not_simulated(const char* what) {
  observe_refusal(kRows[this_thread().row].symbol, what);
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult unsupported() { return not_simulated(nullptr); }

CUresult get_proc_address(const char* name, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || function == nullptr || version > kDriverVersion || flags > 2)
    return CUDA_ERROR_INVALID_VALUE;
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const Row* best = nullptr;
  bool name_exists = false;
  for (const Row& row : kRows) {
    if (std::strcmp(row.base, name) != 0) continue;
    name_exists = true;
    if (row.version > version || (row.form == Form::kPerThread && !per_thread)) continue;
    const bool better_form =
      best != nullptr && row.form == Form::kPerThread && best->form == Form::kPlain;
    const bool worse_form =
      best != nullptr && row.form == Form::kPlain && best->form == Form::kPerThread;
    if (best == nullptr || better_form || (!worse_form && row.version > best->version)) best = &row;
  }
  *function = best == nullptr ? nullptr : const_cast<void*>(best->address);
  if (status != nullptr) {
    *status = name_exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                          : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (best != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
  }
  return CUDA_SUCCESS;
}

CUresult get_proc_address_v1(const char* name, void** function, int version, cuuint64_t flags) {
  return get_proc_address(name, function, version, flags, nullptr);
}

} // namespace gmt::sim
