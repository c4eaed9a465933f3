// SPDX-License-Identifier: Apache-2.0
// Each context has a stream and a piece of pinned memory for the copies. One thread at a time uses
// them; another one waits, but not for ever.
#include "interposer/guard/slack.h"

#include <algorithm>
#include <atomic>

#include "interposer/guard/driver.h"
#include "interposer/guard/notes.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kMostCheckers = 64;
constexpr std::uint64_t kMostBehind = 4096;
constexpr std::size_t kStagingBytes = kCheckedAtOnce * (kMostBefore + kMostBehind);

struct Checker {
  std::atomic<CUcontext> context;
  std::atomic<bool> taken;
  CUstream stream;
  unsigned char* staging;
  bool failed;
};
constinit Checker checkers[kMostCheckers] = {};

bool make(Checker& checker) noexcept {
  if (checker.staging != nullptr) return true;
  if (checker.failed) return false;
  void* staging = nullptr;
  const bool made = guard_driver.make_stream(&checker.stream, CU_STREAM_NON_BLOCKING) == 0 &&
                    guard_driver.host_memory(&staging, kStagingBytes, 0) == 0;
  checker.staging = static_cast<unsigned char*>(staging);
  checker.failed = !made;
  return made;
}

Checker* checker_of_current() noexcept {
  CUcontext current = nullptr;
  if (guard_driver.current(&current) != 0 || current == nullptr) return nullptr;
  for (Checker& checker : checkers) {
    if (checker.context.load() == current) return &checker;
  }
  for (Checker& checker : checkers) {
    CUcontext none = nullptr;
    if (checker.context.compare_exchange_strong(none, current)) return &checker;
  }
  return nullptr;
}

// 0: all is done; 600 while it is not; anything else is CUDA's. A copy of some bytes takes 10 to 20
// us, which is less than the shortest sleep.
int wait_for(CUstream stream, int milliseconds) noexcept {
  constexpr std::uint64_t kBusy = 200'000; // nanoseconds
  const std::uint64_t begin = monotonic_ns();
  for (;;) {
    const int result = guard_driver.is_idle(stream);
    if (result != CUDA_ERROR_NOT_READY) return result;
    const std::uint64_t waited = monotonic_ns() - begin;
    if (waited > static_cast<std::uint64_t>(milliseconds) * 1'000'000) return result;
    if (waited > kBusy) wait_a_little();
  }
}

bool fetch(const Checker& checker, const SlackPart& part, unsigned char*& to) noexcept {
  unsigned char* const here = to;
  to += part.bytes;
  return part.bytes == 0 || guard_driver.fetch(here, part.address, part.bytes, checker.stream) == 0;
}

void compare(GuardBlock& block, const SlackPart& part, const unsigned char*& bytes,
             trace::GuardMoment moment) noexcept {
  const Change change = find_change(bytes, part.bytes);
  if (change.bytes != 0) {
    const std::int64_t offset =
      static_cast<std::int64_t>(part.address + change.first - block.address);
    note_damage(block, offset, change.bytes, bytes + change.first, moment);
    block.has_pattern = false; // it is said once
  }
  bytes += part.bytes;
}

Checked check_with(Checker& checker, GuardBlock* blocks, unsigned count, trace::GuardMoment moment,
                   int milliseconds) noexcept {
  if (!make(checker)) return Checked::kFailed;
  int busy = wait_for(checker.stream, milliseconds);
  if (busy != 0) return busy == CUDA_ERROR_NOT_READY ? Checked::kLater : Checked::kFailed;
  const std::uint64_t order = Process::current_order();
  unsigned char* to = checker.staging;
  bool fetched = true;
  for (unsigned i = 0; i < count; ++i) {
    if (!blocks[i].has_pattern) continue;
    const Slack slack = slack_of(blocks[i]);
    fetched = fetched && fetch(checker, slack.before, to) && fetch(checker, slack.behind, to);
  }
  busy = wait_for(checker.stream, milliseconds);
  if (busy == CUDA_ERROR_NOT_READY) return Checked::kLater;
  if (busy != 0 || !fetched) return Checked::kFailed;
  const unsigned char* from = checker.staging;
  for (unsigned i = 0; i < count; ++i) {
    if (!blocks[i].has_pattern) continue;
    const Slack slack = slack_of(blocks[i]);
    compare(blocks[i], slack.before, from, moment);
    compare(blocks[i], slack.behind, from, moment);
    blocks[i].since = order;
    count_checked(1);
  }
  return Checked::kDone;
}

} // namespace

Slack slack_of(const GuardBlock& block) noexcept {
  const std::uint64_t before = std::min(block.before(), kMostBefore);
  const std::uint64_t behind = std::min(block.behind(), kMostBehind);
  return {{block.address - before, before}, {block.end(), behind}};
}

Change find_change(const unsigned char* bytes, std::uint64_t count) noexcept {
  std::uint64_t first = 0;
  while (first != count && bytes[first] == kPattern) ++first;
  std::uint64_t end = count;
  while (end != first && bytes[end - 1] == kPattern) --end;
  return {first, end - first};
}

bool write_pattern(const GuardBlock& block) noexcept {
  Checker* checker = checker_of_current();
  if (checker == nullptr) return false;
  const BoundedLock lock(checker->taken, 400);
  if (!lock.held() || !make(*checker)) return false;
  const Slack slack = slack_of(block);
  for (const SlackPart& part : {slack.before, slack.behind}) {
    if (part.bytes != 0 &&
        guard_driver.set(part.address, kPattern, part.bytes, checker->stream) != 0)
      return false;
  }
  return true;
}

Checked check_patterns(GuardBlock* blocks, unsigned count, trace::GuardMoment moment,
                       int milliseconds) noexcept {
  bool any = false;
  for (unsigned i = 0; i < count; ++i) any = any || blocks[i].has_pattern;
  if (!any) return Checked::kDone;
  Checker* checker = checker_of_current();
  if (checker == nullptr) return Checked::kFailed;
  const BoundedLock lock(checker->taken, std::max(milliseconds, 400));
  if (!lock.held()) return Checked::kLater;
  return check_with(*checker, blocks, count, moment, milliseconds);
}

void slack_context_has_ended(CUcontext context) noexcept {
  for (Checker& checker : checkers) {
    if (checker.context.load() != context) continue;
    checker.stream = nullptr;
    checker.staging = nullptr; // both ended with it
    checker.failed = false;
    checker.context.store(nullptr);
  }
}

void forget_slack() noexcept {
  for (Checker& checker : checkers) {
    checker.context.store(nullptr);
    checker.taken.store(false);
    checker.stream = nullptr;
    checker.staging = nullptr;
    checker.failed = false;
  }
}

} // namespace gmt::interposer
