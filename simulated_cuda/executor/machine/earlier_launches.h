// SPDX-License-Identifier: Apache-2.0
// Launches that began before another one and may still run when that one does. It meets their
// entries in the tables of races (race_tables.h).
#pragma once

#include "simulated_cuda/executor/report.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gmt::executor {

class GridOrdering;
struct Block;
struct Launch;
struct Program;

struct EarlierLaunch {
  const Program* program = nullptr;
  std::string kernel;     // as linked
  std::uint64_t call = 0; // by which the program launched it; 0: unknown
  Extent grid, block, cluster;
  std::uint32_t first_run = 0, end_run = 0; // its runs: see race_tables.h
  std::uint16_t epoch = 0;                  // of its lines
};

// An access by a block of such a launch, as the tables know it.
struct EarlierAccess {
  std::uint32_t block = 0, thread = 0, clock = 0;
  bool is_load = false, is_shared_word = false; // is_shared_word: a load by several blocks
};

class LaunchesBeside {
public:
  virtual ~LaunchesBeside() = default;
  // Of which all others come later, and so have higher runs and epochs.
  virtual const EarlierLaunch& first() const = 0;
  // Null: the run is of none of them.
  virtual const EarlierLaunch* of_run(std::uint32_t run) const = 0;
  // Whether the access is before all that this block does, or may be.
  virtual bool is_over(const Block& block, const EarlierLaunch& launch,
                       const EarlierAccess& access) const = 0;
  // Whether blocks do not differ in that.
  virtual bool is_over_for_all() const = 0;
  // Of one that is not: as Report::message begins, before its call and its kernel.
  virtual const char* how_beside(const EarlierLaunch& launch) const = 0;
};

// Behind the last block: what later launches have to know of this one is put to where that asks.
void become_earlier(const Launch& launch, const Program& program, GridOrdering& ordering,
                    bool is_done);

// Of a launch that let this one begin, of one in front of that, of one whose kernel launched this
// one, perhaps by others in between, and of one that such a kernel launched as well.
inline constexpr const char *kPrimary = "primary ", *kFurther = "further ", *kParent = "parent ",
                            *kSibling = "sibling ";

inline bool names_launch(std::string_view message) {
  return message.starts_with(kPrimary) || message.starts_with(kFurther) ||
         message.starts_with(kParent) || message.starts_with(kSibling);
}

} // namespace gmt::executor
