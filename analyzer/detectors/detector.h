// SPDX-License-Identifier: Apache-2.0
// The whole interface between the analysis and a detector. A detector is one file in detectors/
// that registers itself by one object at its bottom:
//   const DetectorRegistration kLeak{{.id = "leak", ..., .make = [](const ProcessFacts& facts)
//     -> std::unique_ptr<Detector> { return std::make_unique<Leak>(facts); }}};
// The registry is sorted by id before use, so that nothing depends on link order.
// Detectors see the rooms above theirs and detectors/shared/, and not each other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/detectors/end_of_trace.h"
#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/event.h"
#include "analyzer/model/finding.h"

namespace gmt {

// Where detectors put what they found.
class Findings {
public:
  virtual ~Findings() = default;
  virtual void add(Finding finding) = 0;
  virtual void not_checked(NotChecked what) = 0;
  // The detector knows why CUDA refused the present call: that call is no longer unclaimed.
  virtual void claim_refusal() {}
};

// Which events a detector is called for: bits of kinds, or of what happened. Calls cost time at
// millions of events a second, so a detector that lives on verdicts alone asks for kWantsMistakes.
using Wants = std::uint64_t;
inline constexpr unsigned kEventKinds = static_cast<unsigned>(kLastEventKind) + 1;
static_assert(kEventKinds <= 32, "the bits from 32 on mean what happened");
constexpr Wants wants(EventKind kind) { return Wants{1} << static_cast<unsigned>(kind); }
inline constexpr Wants kWantsMistakes = Wants{1} << 32; // a verdict calls it a mistake
inline constexpr Wants kWantsFailures = Wants{1} << 33; // refused, or in flight at the end
// on_unclaimed(): from the beginning, or never
inline constexpr Wants kWantsUnclaimed = Wants{1} << 34;
// What PyTorch's allocator gives out, takes back and refuses: EventKind::kTensor
inline constexpr Wants kWantsTensors = Wants{1} << 35;
// Of allocations those that are not plain device memory; wants(kAlloc) is for all
inline constexpr Wants kWantsOddAllocations = Wants{1} << 36;
inline constexpr Wants kWantsAll = ~(kWantsUnclaimed | kWantsTensors); // on_event() for all calls
inline constexpr Wants kWantsNothing = 0;                              // finish() only

class Detector {
public:
  virtual ~Detector() = default;
  // Called for every event that wants() covers, with the verdicts on it that stand.
  virtual void on_event(const Event&, std::span<const Verdict>, const Heap&, Findings&) {}
  // Called for a refused call when all detectors have seen it, none has claimed it and no verdict
  // calls it a mistake.
  virtual void on_unclaimed(const Event&, const Heap&, Findings&) {}
  // Called once, behind the last event.
  virtual void finish(const EndOfTrace&, const Heap&, Findings&) {}

  // `wants` is what DetectorInfo says; later changes set `changed`.
  void begin(Wants wants, bool* changed) {
    wants_ = wants;
    changed_ = changed;
  }
  Wants wants() const { return wants_; }

protected:
  // What on_event is called for from the next event on. A detector that waits for something rare
  // asks for that alone.
  void watch(Wants wants) {
    if (wants == wants_) return;
    wants_ = wants;
    *changed_ = true;
  }

private:
  Wants wants_ = 0;
  bool* changed_ = nullptr;
};

// What a kind of finding says where it is the doing of a library that is known to do it on purpose:
// such a finding is a note.
struct OwnerExcuse {
  // Ends the message: "cuBLAS does that itself"; null: nothing does
  std::string (*clause)(const Owner&) = nullptr;
  std::string (*advice)(const Owner&) = nullptr; // null: no library excuses such a finding
};

struct DetectorInfo {
  std::string_view id;    // the finding's id
  Severity severity;      // as help and the pages have it; a finding is an error unless it says so
  std::string_view title; // half a line for `help findings`
  std::unique_ptr<Detector> (*make)(const ProcessFacts&); // null: not needed for this trace
  Wants wants = kWantsAll; // until it asks for others (Detector::watch)
  Measure measure = Measure::kMistakes;
  OwnerExcuse owner_excuse = {};
  // Another registration describes the kind; this one finds it by other means.
  bool is_another_way = false;
};

class DetectorRegistration {
public:
  explicit DetectorRegistration(const DetectorInfo& info);
  const DetectorInfo info;
  const DetectorRegistration* const next;
};

// All kinds of findings, sorted by id.
std::vector<const DetectorInfo*> detectors();
// All registered detectors, sorted by id: some kinds have more than one.
std::vector<const DetectorInfo*> all_detectors();
const DetectorInfo* detector_of(std::string_view kind); // null if there is none

} // namespace gmt
