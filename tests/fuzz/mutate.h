// SPDX-License-Identifier: Apache-2.0
// Random changes of an input, the same ones for the same generator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>

namespace gmt::test {

// Bytes flipped, interesting words written, pieces doubled, cut out or zeroed: what finds most in
// binary formats.
inline std::string mutate(std::string input, std::mt19937_64& random) {
  static constexpr std::uint64_t kWords[] = {
    0, 1, 0xff, 0x7fffffffffffffff, ~0ull, 1ull << 32, 0xffff, 0x2001, 0x0103};
  for (std::uint64_t n = 1 + random() % 8; n > 0 && !input.empty(); --n) {
    const std::size_t at = random() % input.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 200, input.size() - at);
    switch (random() % 6) {
    case 0: input[at] = static_cast<char>(input[at] ^ (1 << random() % 8)); break;
    case 1: input[at] = static_cast<char>(random()); break;
    case 2: {
      const std::uint64_t word = kWords[random() % std::size(kWords)];
      std::memcpy(input.data() + at, &word, std::min<std::size_t>(sizeof word, input.size() - at));
      break;
    }
    case 3: input.insert(at, input.substr(at, length)); break;
    case 4: input.erase(at, length); break;
    default: std::fill_n(input.begin() + static_cast<std::ptrdiff_t>(at), length, '\0');
    }
  }
  return input;
}

} // namespace gmt::test
