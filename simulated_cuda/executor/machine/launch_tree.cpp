// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/launch_tree.h"

#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/race_tables.h"

#include <algorithm>
#include <utility>

namespace gmt::executor {
namespace {

constexpr std::size_t kMostMembers = std::size_t{1} << 14; // each is looked at before each launch

} // namespace

void LaunchTree::forget() {
  members_.clear();
  relations_.clear();
  newest_ = kNone;
  is_broken_ = true;
}

void LaunchTree::expect(std::size_t parent, const LaunchedBy& by) {
  parent_ = parent;
  by_ = by;
  newest_ = kNone;
  if (!members_.empty()) relate();
}

bool LaunchTree::follows(std::uint32_t first_run, std::uint32_t runs_between) {
  if (is_broken_ || members_.empty()) return false;
  if (parent_ != kNone && members_.back()->end_run + runs_between == first_run) return true;
  forget();
  return false;
}

std::size_t LaunchTree::add(EarlierLaunch launch) {
  if (is_broken_ || members_.size() == kMostMembers) {
    forget();
    return kNone;
  }
  auto member = std::make_unique<Member>();
  static_cast<EarlierLaunch&>(*member) = std::move(launch);
  member->number = members_.size();
  member->parent = parent_;
  member->by = by_;
  members_.push_back(std::move(member));
  return newest_ = members_.size() - 1;
}

// Of two launches by one kernel, the first of which ran first.
bool LaunchTree::is_before(const LaunchedBy& first, const LaunchedBy& second) {
  if (second.is_tail || second.is_after_events) return true;
  if (!first.point.is_known || !second.point.is_known) return true;
  if (first.is_alone || second.is_alone) return false;
  return first.point.block == second.point.block && first.stream == second.stream;
}

void LaunchTree::relate() {
  relations_.assign(members_.size(), {});
  const LaunchedBy* child = &by_;
  for (std::size_t i = parent_; i != kNone; i = members_[i]->parent) {
    // All that a kernel did is over behind it
    relations_[i] = {child->is_tail ? Kin::kOver : Kin::kAncestor, child};
    child = &members_[i]->by;
  }
  // Parents come before their children
  for (std::size_t i = 1; i < members_.size(); ++i) {
    if (relations_[i].child != nullptr) continue;
    const Member& member = *members_[i];
    const Relation& above = relations_[member.parent];
    if (above.child == nullptr) relations_[i].kin = above.kin;
    else relations_[i].kin = is_before(member.by, *above.child) ? Kin::kOver : Kin::kBeside;
  }
}

const EarlierLaunch* LaunchTree::of_run(std::uint32_t run) const {
  const auto behind = std::ranges::upper_bound(
    members_, run, {}, [](const std::unique_ptr<Member>& each) { return each->first_run; });
  if (behind == members_.begin()) return nullptr;
  const Member& member = **std::prev(behind);
  return run < member.end_run ? &member : nullptr;
}

// Where several threads used a word, those that are not known count as before.
bool LaunchTree::knew(const LaunchPoint& point, const EarlierLaunch& launch,
                      const EarlierAccess& access) {
  if (!point.is_known || access.is_shared_word) return true;
  if (access.block != point.block) {
    const auto cluster =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(launch.cluster.count(), 1));
    return point.knows_blocks || access.block / cluster == point.block / cluster;
  }
  constexpr std::uint32_t kSeveral = global_race::kSeveral, kParts = global_race::kParts;
  constexpr std::uint32_t kEnd = kParts + kLanes;
  if (access.thread == point.thread) return access.clock <= point.clock;
  if (access.thread >= kEnd) return true;
  const std::uint32_t warp =
    access.thread < kSeveral ? access.thread / kLanes : (access.thread - kSeveral) % kLanes;
  const bool is_own_warp = warp == point.thread / kLanes;
  if (access.thread >= kParts && is_own_warp) return true; // it may be the thread's own
  if (access.clock > point.clock) return false;
  return access.clock < point.barrier || (is_own_warp && access.clock < point.sync) ||
         point.knows_parts;
}

bool LaunchTree::is_over(const Block& /*block*/, const EarlierLaunch& launch,
                         const EarlierAccess& access) const {
  const Relation& relation = relations_[static_cast<const Member&>(launch).number];
  if (relation.kin == Kin::kAncestor) return knew(relation.child->point, launch, access);
  return relation.kin == Kin::kOver;
}

const char* LaunchTree::how_beside(const EarlierLaunch& launch) const {
  const Relation& relation = relations_[static_cast<const Member&>(launch).number];
  return relation.kin == Kin::kAncestor ? kParent : kSibling;
}

} // namespace gmt::executor
