// SPDX-License-Identifier: Apache-2.0
// For debuggers the loader calls an empty function whose address it publishes (r_debug::r_brk in
// <link.h>). A jump is written over that function, if it is as empty as expected and has room for
// one.
#include "simulated_cuda/runtime/redirect/loader_notice.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace gmt::sim {
namespace {

constexpr std::size_t kNoticeBytes = 14; // jmp *0(%rip), and the address behind it

// Between functions the loader has nothing but long forms of "no operation" and breakpoints.
bool is_padding(unsigned char byte) {
  constexpr unsigned char kPadding[] = {0x00, 0x0f, 0x1f, 0x2e, 0x40, 0x44,
                                        0x66, 0x80, 0x84, 0x90, 0xcc};
  return std::find(std::begin(kPadding), std::end(kPadding), byte) != std::end(kPadding);
}

bool is_empty_with_room(const unsigned char* code) {
  constexpr unsigned char kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr unsigned char kRet = 0xc3;
  const std::size_t start = std::memcmp(code, kEndbr64, sizeof kEndbr64) == 0 ? sizeof kEndbr64 : 0;
  return code[start] == kRet && std::all_of(code + start + 1, code + kNoticeBytes, is_padding);
}

// Two pages, as the jump may cross from one to the next.
bool set_protection(const unsigned char* code, int protection) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(code) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(code) + kNoticeBytes;
  return mprotect(reinterpret_cast<void*>(first), end - first, protection) == 0;
}

} // namespace

bool call_when_objects_are_mapped(void (*function)()) {
  if (_r_debug.r_brk == 0) return false;
  auto* code = reinterpret_cast<unsigned char*>(_r_debug.r_brk);
  if (!is_empty_with_room(code)) return false;
  if (!set_protection(code, PROT_READ | PROT_WRITE | PROT_EXEC)) return false;
  unsigned char jump[kNoticeBytes] = {0xff, 0x25};
  std::memcpy(jump + 6, &function, sizeof function);
  std::memcpy(code, jump, sizeof jump);
  return set_protection(code, PROT_READ | PROT_EXEC);
}

} // namespace gmt::sim
