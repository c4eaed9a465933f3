// SPDX-License-Identifier: Apache-2.0
// What is said of a race: the other side and, in global memory, whether programs rely on such a
// race, and what would order the two. `message` is the device's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/model/stated_events.h"

namespace gmt {

inline bool is_race(trace::FaultKind kind) {
  return kind == trace::FaultKind::kSharedRace || kind == trace::FaultKind::kGlobalRace;
}

// " without a barrier behind a store by another thread of the block at FILE:5"
std::string shared_race_words(std::string_view access, std::string_view other_source,
                              std::string_view message);
// What the device says of an asynchronous copy that nothing has waited for, and of one, or of a
// wgmma, that reads what is perhaps not yet visible to it.
inline constexpr std::string_view kNotWaitedFor = "not waited for",
                                  kNoProxyFence = "no proxy fence",
                                  kNoProxyFenceOfProduct = "no proxy fence of a product",
                                  kOfCluster = "cluster"; // of two blocks of it

// Most programs get away with it: all write the same value, one only polls, and the like.
bool is_race_by_habit(const event::Fault& fault, std::string_view message);

// "primary CALL KERNEL": the other thread is one of another launch, which may still run: of the one
// in front, of one further in front, of one whose kernel led to this launch, or of another one that
// such a kernel launched.
struct EarlierLaunchSaid {
  enum class Which : std::uint8_t { kPrimary, kFurther, kParent, kSibling };
  Which which = Which::kPrimary;
  std::uint64_t call = 0; // order of the call that launched it; 0: unknown
  std::string_view kernel;
};
std::optional<EarlierLaunchSaid> earlier_launch_said(const event::Fault& fault,
                                                     std::string_view device);
std::string earlier_launch_words(const event::Fault& fault, const EarlierLaunchSaid& earlier,
                                 std::string_view other_source);
std::string earlier_launch_advice(const EarlierLaunchSaid& earlier);

// ", and a thread of another block reads them at FILE:5; nothing orders the two"
std::string global_race_words(const event::Fault& fault, std::string_view message,
                              std::string_view other_source);
// `is_one_line`: both sides are on it.
std::string global_race_advice(const event::Fault& fault, std::string_view message,
                               bool is_one_line);

} // namespace gmt
