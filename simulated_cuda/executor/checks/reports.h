// SPDX-License-Identifier: Apache-2.0
// What one worker saw: a report for each kind and instruction of PTX, with the thread that it
// happened to first in the earliest block, and how often it happened. A trap ends the grid at its
// block, and what happened in blocks behind it does not count; so counts are kept by block, until
// the blocks before are known to be done.
#pragma once

#include "ptx/flow/flag_uses.h"
#include "simulated_cuda/executor/checks/delivery_queue.h"
#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/report_sink.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gmt::executor {

// An instruction in words: text, function, lines.
Location location_of(const Code& code, std::uint32_t source);

// Where the thread of a number is in its block.
Extent thread_extent(const Extent& block, std::uint32_t thread);

// Where a report or a message belongs among others: a block, and an order in it.
struct Moment {
  std::uint64_t block = 0, order = 0;
  auto operator<=>(const Moment&) const = default;
};

class Reports final : public ReportSink {
public:
  struct Entry {
    Report report;
    Moment first;
    std::uint64_t settled = 0;                                   // times, of blocks that are done
    std::vector<std::pair<std::uint64_t, std::uint64_t>> recent; // block, times
    std::uint64_t times(std::uint64_t last_block) const;
  };
  enum class Weight : std::uint8_t { kError, kWarning, kNote }; // `message` says why
  struct Key {
    const Code* code = nullptr; // of the program without tracked registers, where there are two
    std::uint32_t source = 0;   // Instruction::source
    ReportKind kind = ReportKind::kOther;
    Weight weight = Weight::kError;
    // Of races in global memory, the other side
    const Code* other_code = nullptr;
    std::uint32_t other_source = 0;
    RaceHabit habit = RaceHabit::kNone;
    auto operator<=>(const Key&) const = default;
  };

  // `delivers`: this worker's thread is the one that delivers the queue.
  Reports(const Program& program, const Launch& launch, DeliveryQueue& queue, bool delivers)
      : program_(program), launch_(launch), queue_(queue), delivers_(delivers) {}

  Location location(const AccessFacts& facts) const override;
  void refused(const AccessFacts& facts, ByteState state) override;
  void misaligned(const AccessFacts& facts) override;
  void wrong_rank(const AccessFacts& facts, std::uint64_t rank) override;
  void outside_texture(const AccessFacts& facts, std::uint32_t error,
                       const std::string& what) override;
  void wrong_texture(const AccessFacts& facts, ReportKind kind, std::uint32_t error,
                     const std::string& why) override;
  void left_early(const AccessFacts& facts) override;
  void uninitialized(const AccessFacts& facts) override;
  void unwritten_use(const AccessFacts& use, const AccessFacts* load) override;
  void race(const AccessFacts& facts, const OtherThread& other) override;
  void global_race(const AccessFacts& facts, const OtherThread& other) override;
  void never_meet(const AccessFacts& facts, const OtherThread& other, bool whole_block) override;
  void meets_elsewhere(const AccessFacts& facts, const OtherThread& other) override;
  void left_out(const AccessFacts& facts, const OtherThread& other) override;
  void wrong_mask(const AccessFacts& facts, const char* how) override;
  void ends(const AccessFacts& facts, ReportKind kind, std::uint32_t error,
            const std::string& message) override;
  void heap_event(HeapEvent event) override { queue_.add(std::move(event)); }
  void print(std::string text) override { queue_.add(std::move(text)); }
  void pause_if_full() override { queue_.pause_if_full(delivers_); }
  void settle(std::uint64_t block) override;

  const std::map<Key, Entry>& entries() const { return entries_; }
  const std::vector<std::pair<Moment, std::string>>& messages() const { return messages_; }

private:
  Key key_of(const AccessFacts& facts, ReportKind kind, Weight weight = Weight::kError) const;
  // Null: counted with an earlier one.
  Report* first(const AccessFacts& facts, ReportKind kind, Weight weight = Weight::kError);
  Report* first(const AccessFacts& facts, const Key& key);
  bool is_flag(const Key& load, const Key& store);
  bool is_poll(const Key& load, bool is_plain);
  const ptx::FlagUses& flag_uses(const Code* code);
  bool are_alike(const AccessFacts& facts, const OtherThread& other);
  void race_with_earlier(const AccessFacts& facts, const OtherThread& other);
  void set_neighbour(Report& report) const;
  void set_other(Report& report, const OtherThread& other) const;
  bool is_mapped(std::uint64_t address);
  bool are_apart(const AccessFacts& facts, const OtherThread& other);

  const Program& program_;
  const Launch& launch_;
  DeliveryQueue& queue_;
  const bool delivers_;
  std::uint64_t order_ = 0;
  std::map<Key, Entry> entries_;
  std::vector<std::pair<Moment, std::string>> messages_; // for stderr
  std::map<std::uint64_t, bool> mapped_pages_;
  std::map<std::pair<const Instruction*, const Instruction*>, bool> apart_; // of barriers
  std::map<const Code*, ptx::FlagUses> flag_uses_;
};

} // namespace gmt::executor
