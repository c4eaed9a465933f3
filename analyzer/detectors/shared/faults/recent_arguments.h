// SPDX-License-Identifier: Apache-2.0
// Arguments of the newest launches that could be pointers, for findings about these launches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "analyzer/base/newest.h"
#include "analyzer/model/event.h"

namespace gmt {

class RecentArguments {
public:
  void remember(const Event& launch) { // that CUDA accepted
    Kept& kept = newest_.reuse();
    kept.order = launch.order;
    std::size_t count = 0; // each word is written, and the next one over it if it is no pointer
    for (const Argument word : launch.launch().arguments) {
      kept.words[count] = word;
      count += word.address() != 0 ? 1 : 0;
      if (count == kMost) break;
    }
    kept.count = count;
  }

  // None if the launch is too old. Valid until the next one is remembered.
  Arguments of(std::uint64_t launch_order) const {
    for (std::size_t i = newest_.size(); i-- > 0;) {
      const Kept& kept = newest_[i];
      if (kept.order == launch_order) return {kept.words.data(), kept.count};
    }
    return {};
  }

private:
  static constexpr std::size_t kMost = 32; // pointers of a launch
  struct Kept {
    std::uint64_t order = 0;
    std::size_t count = 0;
    std::array<Argument, kMost> words{};
  };
  Newest<Kept, 256> newest_;
};

} // namespace gmt
