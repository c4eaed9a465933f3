// SPDX-License-Identifier: Apache-2.0
// Walks over the trace of a running process up to some order, with the heap and all detectors, and
// decides which records of some of its files no finding needs.
//
// These go: a block's allocation and its release, if both stand in one file and no mistake is about
// the block; copies, sets, launches and synchronisations that were right. These stay: what lives
// on, or was alive when most memory was; the newest block that was freed at each address, so that a
// second free is still explained; mistakes with their blocks; all that changes objects, graphs,
// ranges and contexts; a few calls of each call stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/analysis/arbiter.h"
#include "analyzer/analysis/dispatch.h"
#include "analyzer/analysis/grouping.h"
#include "analyzer/analysis/process_model.h"
#include "analyzer/command/fold/fold_plan.h"
#include "analyzer/heap/heap.h"
#include "analyzer/trace_reader/event_stream.h"

namespace gmt {

class FoldWalk {
public:
  // `files` are logs as they are named unpacked; behind `last_order` none of them has a record.
  FoldWalk(const TraceDir& trace, const std::vector<std::filesystem::path>& files,
           std::uint64_t last_order);
  FoldWalk(const FoldWalk&) = delete;
  FoldWalk& operator=(const FoldWalk&) = delete;

  // Some thousand events. False when there is no more to do.
  bool step();
  // Whether it came to the last order; else a call is in progress.
  bool is_whole() const { return is_whole_; }
  // Whether another record speaks of one that would be dropped: then none may be.
  bool is_held() const { return is_held_; }
  // After the last step. What was found up to there, by words that are equal in later walks.
  FoldPlan finish();
  const std::set<std::string>& found() const { return found_; }

private:
  using Part = FoldPlan::Part;
  // Counts what comes in, and hands it on.
  class Noticed final : public Findings {
  public:
    explicit Noticed(const Ranges& ranges) : all(ranges) {}
    void add(Finding finding) override {
      ++count;
      all.add(std::move(finding));
    }
    void not_checked(NotChecked) override {}
    std::uint64_t count = 0;
    Grouping all;
  };
  struct Candidate { // a block that is alive, of these files
    std::uint32_t log;
    bool stays;
  };
  struct Spanning { // a pair that was alive at a peak
    std::uint64_t allocated, freed, peak;
  };

  void follow(const Event& e);
  void decide(const Event& e, bool is_quiet);
  void decide_release(const Event& e, bool is_quiet);
  bool may_go(const Event& e) const;
  bool speaks_of_dropped(const Event& e) const;
  bool is_example(const Event& e);
  void keep_blocks(std::span<const Verdict> verdicts);
  void keep_block(const Block& block);
  void set(const Event& e, Part part);
  void note_found();

  const AnalysisOptions options_;
  EventStream stream_;
  ProcessModel model_;
  Heap heap_;
  Arbiter arbiter_;
  Noticed findings_;
  Dispatch detectors_;
  const std::uint64_t last_order_;
  std::vector<std::size_t> files_; // that are folded, by Event::log
  std::size_t none_ = 0;           // the number of others
  FoldPlan plan_;
  std::unordered_map<std::uint64_t, Candidate> alive_; // by order
  std::vector<Spanning> spanning_;
  std::map<std::tuple<EventKind, std::uint16_t, std::uint32_t>, unsigned> examples_;
  std::set<std::string> found_;
  bool has_begun_ = false, is_whole_ = false, is_held_ = false;
};

} // namespace gmt
