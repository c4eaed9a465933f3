// SPDX-License-Identifier: Apache-2.0
// The exported dlsym's C++ half (exports/stubs.S holds the other: RTLD_NEXT and RTLD_DEFAULT jump
// on to the real dlsym, which looks at its caller's address). See dlsym_hook.h.
#include "interposer/hooks/dlsym_hook.h"

#include <cstring>
#include <string_view>

#include "interposer/loader/object_files.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/loader/rows.h"
#include "trace/api_id.h"

namespace gmt::interposer {

namespace {

bool lies_in_library(const void* function, const char* prefix, ObjectFile& object) noexcept {
  if (!object_of(function, object)) return false;
  const char* slash = std::strrchr(object.path, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : object.path, prefix, std::strlen(prefix)) == 0;
}

} // namespace

void* route_driver_pointer(void* function) noexcept {
  const int row = driver_row_of(function);
  return row < 0 ? function : driver_entry_for(static_cast<std::uint16_t>(row), function);
}

// For every dlsym with a real handle. Names that are no row go straight through.
extern "C" __attribute__((visibility("hidden"))) void* gmt_dlsym(void* handle,
                                                                 const char* name) noexcept {
  void* answer = chained_dlsym(handle, name);
  if (answer == nullptr || name == nullptr || (name[0] != 'c' && name[0] != '_')) return answer;
  const int found = row_named(name);
  if (found < 0) return answer;
  const auto row = static_cast<std::uint16_t>(found);
  // The program's own handle finds us first. A program that asks whether CUDA is in the process
  // must not find only us.
  if (is_own_code(answer)) return next_function(name) != nullptr ? answer : undefined_symbol(name);
  // A symbol of another library that happens to have the name is not ours to replace
  ObjectFile object;
  if (row >= trace::kDriverApiCount) {
    if (!lies_in_library(answer, "libcudart.so", object)) return answer;
    if (std::strstr(object.path, "libcudart.so.13") == nullptr)
      return answer; // its driver calls are seen anyway
    return adopt_runtime_function(row, answer) ? named_stub(row) : answer;
  }
  if (lies_in_library(answer, "libcuda.so", object)) {
    driver_was_seen(object);
    return route_driver_pointer(answer);
  }
  if (!dlsym_is_chained() || !lies_in_library(real_dlsym(handle, name), "libcuda.so", object))
    return answer;
  driver_was_seen(object); // another preload's dlsym has put its wrapper in the driver's place
  return adopt_wrapper(row, answer) ? entry_of(row) : answer;
}

} // namespace gmt::interposer
