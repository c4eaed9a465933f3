// SPDX-License-Identifier: Apache-2.0
#include "interposer/guard/notes.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "interposer/log/process.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/thread_session.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kReasons = static_cast<unsigned>(trace::GuardPlain::kCount);

struct Counts {
  std::atomic<std::uint64_t> guarded, mapped, unused, most_mapped, checked, unchecked, reused,
    share;
  std::atomic<std::uint64_t> plain[kReasons];
  std::atomic<std::uint64_t> events; // of all kinds: the counts are written as it doubles
};
constinit Counts counts{};

void tick() noexcept {
  const std::uint64_t now = counts.events.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((now & (now - 1)) == 0) write_guard_counts();
}

void keep_highest(std::atomic<std::uint64_t>& highest, std::uint64_t value) noexcept {
  std::uint64_t known = highest.load(std::memory_order_relaxed);
  while (known < value && !highest.compare_exchange_weak(known, value)) {
  }
}

} // namespace

void count_guarded(std::uint64_t mapped, std::uint64_t bytes) noexcept {
  counts.unused.fetch_add(mapped - bytes);
  counts.guarded.fetch_add(1);
  keep_highest(counts.most_mapped, counts.mapped.fetch_add(mapped) + mapped);
  tick();
}
void count_unguarded(std::uint64_t mapped, std::uint64_t bytes) noexcept {
  counts.mapped.fetch_sub(mapped);
  counts.unused.fetch_sub(mapped - bytes);
}
void count_plain(trace::GuardPlain why) noexcept {
  counts.plain[static_cast<unsigned>(why)].fetch_add(1);
  tick();
}
void count_unchecked() noexcept {
  counts.unchecked.fetch_add(1);
  tick();
}
void count_checked(unsigned blocks) noexcept { counts.checked.fetch_add(blocks); }
std::uint64_t guarded_now() noexcept { return counts.mapped.load(std::memory_order_relaxed); }
std::uint64_t guarded_unused() noexcept { return counts.unused.load(std::memory_order_relaxed); }
void note_share(std::uint64_t permille) noexcept { counts.share.store(permille); }
void note_reuse(std::uint64_t times) noexcept { counts.reused.store(times); }

void note_damage(const GuardBlock& block, std::int64_t offset, std::uint64_t bytes,
                 const unsigned char* found, trace::GuardMoment moment) noexcept {
  ThreadLog* log = thread_log();
  if (log == nullptr) return;
  trace::Words<trace::GuardDamageWord> words;
  trace::GuardDamageFields damage(words);
  damage.address(block.address).bytes(block.bytes);
  damage.offset(static_cast<std::uint64_t>(offset)).changed(bytes);
  damage.moment(moment).since(block.since);
  std::uint64_t first[2] = {};
  std::memcpy(first, found, std::min<std::uint64_t>(bytes, sizeof first));
  damage.found(first[0]).found_more(first[1]);
  log->append_words(trace::Kind::kGuardDamage, words.w, words.kCount);
}

void note_export(const GuardBlock& block) noexcept {
  ThreadLog* log = thread_log();
  if (log == nullptr) return;
  trace::Words<trace::GuardExportWord> words;
  trace::GuardExportFields(words).address(block.address).bytes(block.bytes);
  log->append_words(trace::Kind::kGuardExport, words.w, words.kCount);
}

void write_guard_counts() noexcept {
  ThreadLog* log = thread_log();
  if (log == nullptr) return;
  trace::Words<trace::GuardCountsWord> words;
  trace::GuardCountsFields fields(words);
  fields.fenced(counts.guarded).most_bytes(counts.most_mapped).checked(counts.checked);
  fields.unchecked(counts.unchecked).reused(counts.reused).share(counts.share);
  for (unsigned i = 0; i < kReasons; ++i)
    words.w[trace::GuardCountsWord::in_capture + i] = counts.plain[i].load();
  log->append_words(trace::Kind::kGuardCounts, words.w, words.kCount);
}

void forget_guard_counts() noexcept {
  for (auto* count :
       {&counts.guarded, &counts.mapped, &counts.unused, &counts.most_mapped, &counts.checked,
        &counts.unchecked, &counts.reused, &counts.share, &counts.events})
    count->store(0);
  for (auto& plain : counts.plain) plain.store(0);
}

} // namespace gmt::interposer
