// SPDX-License-Identifier: Apache-2.0
// What `growth` says: which call sites hold more from step to step, or that PyTorch's cache does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/cache_growth.h"
#include "analyzer/detectors/shared/live_series.h"
#include "analyzer/detectors/shared/steps.h"
#include "analyzer/heap/heap.h"

namespace gmt {

// What one call stack allocated.
struct GrowingSite {
  LiveSeries series;
  std::uint16_t api = trace::kNoApi;
  int device = -1;
};

struct Grown {
  enum class What : std::uint8_t { kTensor, kPinned, kBlock };
  struct Site {
    StackId stack;
    const GrowingSite* of;
    What what;
    double bytes_per_step, blocks_per_step; // for one order until finish()
  };

  void add(StackId stack, const GrowingSite& site, const std::optional<LiveSeries::Rise>& rise,
           What what) {
    if (rise) sites.push_back({stack, &site, what, rise->bytes, rise->blocks});
  }
  void finish(double orders_per_step);

  std::vector<Site> sites; // those that grow fastest first
  double bytes_per_step = 0;
  std::uint64_t whole = 0; // bytes that they held last
};

class GrowthWords {
public:
  explicit GrowthWords(const ProcessFacts& facts) : facts_(facts) {}
  // `cache` if it grows by much more than they do.
  Finding of(const Grown& grown, const std::optional<CacheGrowth::Found>& cache,
             const Steps::Found& steps, const Heap& heap) const;
  Finding of_cache(const CacheGrowth::Found& cache, const Steps::Found& steps,
                   const Heap& heap) const;

private:
  Text message(const Grown& grown, const Steps::Found& steps, const Heap& heap) const;
  // "; at this rate the 79.2 GiB of device 0 are full at step 1,234"
  std::string when_full(int device, double bytes_per_step, const Steps::Found& steps,
                        const Heap& heap) const;
  void add_stacks(Finding& f, const Grown& grown, std::uint64_t steps) const;

  const ProcessFacts& facts_;
};

// The same as the error that a rule makes of it.
Finding breach_of(const PolicyRule& rule, Finding f);

} // namespace gmt
