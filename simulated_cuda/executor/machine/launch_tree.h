// SPDX-License-Identifier: Apache-2.0
// The launches by kernels that one launch of the program leads to, itself included: which of them
// may run beside which others. They are run one after the other, in the order of a walk that comes
// to the children of a launch before what follows it.
// What the thread that launches knows is before the launched kernel. Nothing in the launching
// kernel waits for that, so all else that it does may run beside it. Kernels that one block has
// launched into one stream are done one after the other, each with all that it launches. What is
// launched into the stream of tail launches comes behind the launching kernel, its other children
// and earlier tail launches.
#pragma once

#include "simulated_cuda/executor/machine/earlier_launches.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gmt::executor {

// Where a thread launched a kernel, and what it knew of others then.
struct LaunchPoint {
  bool is_known = false; // else all that the launching kernel did counts as before
  std::uint32_t block = 0, thread = 0;
  std::uint32_t clock = 0;             // of the block. Its threads go on with later ones
  std::uint32_t barrier = 0, sync = 0; // of the block, and of the warp: what is before is known
  bool knows_parts = false, knows_blocks = false; // more than that of the block; of other blocks
};

// Into which stream a kernel was launched, and how.
struct LaunchedBy {
  LaunchPoint point;
  std::uint64_t stream = 0;
  bool is_tail = false, is_alone = false; // is_alone: nothing is ordered behind it (fire and
                                          // forget)
  bool is_after_events = false;           // the launching kernel orders its streams by events
};

class LaunchTree final : public LaunchesBeside {
public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // Before a launch: by which member's threads; kNone: by the program.
  void expect(std::size_t parent, const LaunchedBy& by);
  // The launch that is expected has this as its first run. False: nothing can be said of others,
  // since something else ran in between.
  bool follows(std::uint32_t first_run, std::uint32_t runs_between);
  // It has run, and may have launched others: its number. kNone: it is not known what it did.
  std::size_t add(EarlierLaunch launch);
  void forget(); // nothing is known of any launch so far
  std::size_t newest() const { return newest_; }
  bool expects_child() const { return parent_ != kNone; }

  const EarlierLaunch& first() const override { return *members_.front(); }
  const EarlierLaunch* of_run(std::uint32_t run) const override;
  bool is_over(const Block& block, const EarlierLaunch& launch,
               const EarlierAccess& access) const override;
  bool is_over_for_all() const override { return true; }
  const char* how_beside(const EarlierLaunch& launch) const override;

private:
  enum class Kin : unsigned char { kOver, kAncestor, kBeside };
  struct Member : EarlierLaunch {
    std::size_t number = 0, parent = kNone;
    LaunchedBy by;
  };
  struct Relation {
    Kin kin = Kin::kOver;
    const LaunchedBy* child = nullptr; // of an ancestor: its launch that led to the expected one
  };
  void relate();
  static bool is_before(const LaunchedBy& first, const LaunchedBy& second);
  static bool knew(const LaunchPoint& point, const EarlierLaunch& launch,
                   const EarlierAccess& access);

  std::vector<std::unique_ptr<Member>> members_; // in the order in which they ran
  std::vector<Relation> relations_;              // by member, to the expected launch
  std::size_t parent_ = kNone, newest_ = kNone;
  LaunchedBy by_;
  bool is_broken_ = false; // from the launch on that was expected first
};

} // namespace gmt::executor
