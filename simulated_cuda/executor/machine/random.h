// SPDX-License-Identifier: Apache-2.0
// Random numbers that a seed decides, the same on every machine (splitmix64).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gmt::executor {

class Random {
public:
  Random() = default;
  Random(std::uint64_t seed, std::uint64_t which) : state_(seed) { state_ = next() ^ which; }

  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
  }

  template <class T>
  void shuffle(std::vector<T>& all) {
    for (std::size_t left = all.size(); left > 1; --left)
      std::swap(all[left - 1], all[next() % left]);
  }

private:
  std::uint64_t state_ = 0;
};

} // namespace gmt::executor
