// SPDX-License-Identifier: Apache-2.0
// NVIDIA's Sanitizer API, made up: it notes which modules are patched and what launches are given,
// and its callback is the test's to call.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "interposer/base/toolkit_search.h"
#include "interposer/kernel_checks/library/patches/sanitizer.h"

namespace gmt::interposer::kernel_checks {

// It can be opened; its functions are not asked for.
inline constexpr char kAnyLibrary[] = "libc.so.6";
inline constexpr std::uint64_t kCode = 0x7e0000001000, kCodeBytes = 0x400; // of the kernel "k"

struct MadeUpSanitizer {
  SanitizerCallback callback = nullptr;
  int answer_of_patch_module = 0;
  std::vector<CUmodule> patched;
  std::vector<std::uint64_t> data; // of launches
  int times_added = 0;
  std::map<std::string, std::string> environment; // of the process
};
extern MadeUpSanitizer sanitizer;

// How the library under test finds it.
extern const ToolkitSearch made_up_sanitizer_search;

} // namespace gmt::interposer::kernel_checks
