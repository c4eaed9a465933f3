// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/patches/compiled_patches.h"

#ifdef GMT_COMPILED_PATCHES
// A fat binary begins at a multiple of 8.
asm(".section .rodata\n"
    ".balign 16\n"
    "gmt_patches_begin: .incbin \"" GMT_COMPILED_PATCHES "\"\n"
    "gmt_patches_end: .byte 0\n"
    ".previous\n");
extern "C" const char gmt_patches_begin[] __attribute__((visibility("hidden")));
extern "C" const char gmt_patches_end[] __attribute__((visibility("hidden")));
#endif

namespace gmt::interposer::kernel_checks {

std::span<const char> compiled_patches() noexcept {
#ifdef GMT_COMPILED_PATCHES
  return {gmt_patches_begin, gmt_patches_end};
#else
  return {};
#endif
}

} // namespace gmt::interposer::kernel_checks
