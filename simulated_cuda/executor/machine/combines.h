// SPDX-License-Identifier: Apache-2.0
// What asynchronous copies do to elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gmt::executor {

struct Combine {
  std::uint32_t bytes = 0;
  // `to` is the old value, and becomes the new one.
  void (*apply)(std::byte* to, const std::byte* by) = nullptr;
};

// By its number in Instruction::extra, see bulk_form.h; null: there is none.
const Combine* combine_of(std::uint32_t number);
const Combine* combine_named(std::string_view name); // "add.u32"; null: there is none

// Floats to 19 bits: to nearest, halves to even. The largest numbers become infinite, and there is
// one NaN. As an H100 does it in copies of tensors, denormal numbers too, whatever the type says.
void round_to_tf32(std::span<std::byte> floats);

} // namespace gmt::executor
