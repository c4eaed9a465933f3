// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/program/frame_layout.h"

#include "simulated_cuda/executor/program/program.h"

#include <algorithm>
#include <string_view>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kBytesOfSlot[] = {4, 4 * kLanes, 8 * kLanes, 16 * kLanes};
constexpr std::uint32_t kNarrowBytes = 64; // of a register of 8 or 16 bits

std::uint32_t up_to_line(std::uint64_t offset) {
  return static_cast<std::uint32_t>((offset + 127) / 128 * 128);
}

bool uses_stack(const ptx::Body& body) {
  return std::ranges::any_of(body.instructions, [&](const ptx::Instruction& in) {
    const std::string_view text = body.mnemonic(in).text;
    return text.starts_with("alloca") || text.starts_with("stack");
  });
}

} // namespace

FrameLayout::FrameLayout(const ptx::Body& body, const Slots& slots) : has_stack(uses_stack(body)) {
  std::uint32_t at = 0;
  for (std::size_t file = 0; file < 4; ++file) {
    files[file] = at;
    at = up_to_line(at + std::uint64_t{slots.count[file]} * kBytesOfSlot[file]);
    if (file == 0) { // behind the carry, how far each lane's own stack reaches
      carry = at;
      at += has_stack ? 256 : 128;
    }
  }
  const std::uint32_t words = slots.count[static_cast<std::size_t>(SlotFile::k32)];
  const auto uses = [&](std::uint32_t bits) {
    return std::ranges::any_of(body.registers,
                               [&](const auto& r) { return ptx::bits_of(r.type) == bits; });
  };
  bytes = at;
  if (uses(8)) at = up_to_line(at + std::uint64_t{words} * kNarrowBytes);
  halves = at;
  if (uses(16)) at = up_to_line(at + std::uint64_t{words} * kNarrowBytes);
  temporaries = up_to_line(at);
}

std::uint32_t FrameLayout::offset_of(Slot slot, std::uint32_t bytes_of_lane) const {
  if (bytes_of_lane == 1) return bytes + slot.index * kNarrowBytes;
  if (bytes_of_lane == 2) return halves + slot.index * kNarrowBytes;
  const auto file = static_cast<std::size_t>(slot.file);
  return files[file] + slot.index * kBytesOfSlot[file];
}

} // namespace gmt::executor
