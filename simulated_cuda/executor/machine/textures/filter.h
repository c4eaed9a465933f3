// SPDX-License-Identifier: Apache-2.0
// How an H100 joins texels: weights of 8 bits, and sums that are rounded once.
#pragma once

#include "simulated_cuda/executor/machine/textures/texels.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gmt::executor {

inline constexpr std::uint32_t kWholeWeight = 256; // weights are parts of it

// The parts of `whole` that the texels of a slice get: x0y0, x1y0, x0y1, x1y1. `x` and `y` are the
// weights of x1 and y1.
std::array<std::uint32_t, 4> weights_of_slice(std::uint32_t whole, std::uint32_t x,
                                              std::uint32_t y);

// Of up to four slices of four texels: of a volume two z, and of each two levels.
class Sum {
public:
  explicit Sum(const Texture& t) : t_(t) {}
  // Words as texel_bits() gives them.
  void add(std::size_t slice, const Texel& bits, std::uint32_t weight);
  Texel result() const;

private:
  float of_floats(std::size_t channel) const;
  float of_fractions(std::size_t channel) const;

  struct Part {
    Texel bits;
    std::uint32_t weight = 0;
  };
  const Texture& t_;
  static constexpr std::size_t kSlices = 4;
  std::array<std::array<Part, 4>, kSlices> parts_;
  std::size_t counts_[kSlices] = {};
};

} // namespace gmt::executor
