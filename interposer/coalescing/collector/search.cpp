// SPDX-License-Identifier: Apache-2.0
// Where libcupti may be: see find_cupti() in cupti.h.
#include "interposer/base/toolkit_search.h"
#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/cupti.h"

namespace gmt::interposer::collector {

namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};
constexpr const char* kBesideRuntime[] = {"", "/../extras/CUPTI/lib64",
                                          "/../../../extras/CUPTI/lib64", "/../../cuda_cupti/lib",
                                          "/../../cu13/lib"};
constexpr const char* kInToolkit[] = {"/lib64", "/extras/CUPTI/lib64", "/lib"};

ToolkitSearch search() noexcept {
  return {core->initial_environment, core->each_object, core->find_symbol};
}

} // namespace

void* find_cupti() noexcept {
  return find_in_toolkits(search(), {"GPUMEMTRACE_CUPTI", kNames, kBesideRuntime, kInToolkit});
}

bool other_profiler_is_set() noexcept { return is_other_tool_injected(search()); }

} // namespace gmt::interposer::collector
