// SPDX-License-Identifier: Apache-2.0
// One fuzz input is a section of an object file with containers of device code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::test {

struct FatbinWalk {
  std::size_t containers = 0, entries = 0;
  std::size_t unpacked = 0, damaged = 0; // of the packed ones
};

// Walks the section and unpacks each entry. Returns for every input, or something is wrong: what
// was found lies within the bytes and in their order.
FatbinWalk walk_section(const std::uint8_t* data, std::size_t size);

void read_fatbin_input(const std::uint8_t* data, std::size_t size);

} // namespace gmt::test
