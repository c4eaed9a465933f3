// SPDX-License-Identifier: Apache-2.0
// The whole interface between the analysis and a detector. A detector is one file in detectors/ that
// registers itself by one object at its bottom:
//   const DetectorRegistration kLeak{{.id = "leak", ..., .make = [](const ProcessFacts& facts)
//     -> std::unique_ptr<Detector> { return std::make_unique<Leak>(facts); }}};
// The registry is sorted by id before use, so that nothing depends on link order.
// Detectors see the rooms above theirs and detectors/shared/, and not each other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/device_heap/device_heaps.h"
#include "analyzer/model/event.h"
#include "analyzer/model/finding.h"
#include "analyzer/model/process.h"
#include "analyzer/model/trace_names.h"
#include "analyzer/heap/heap.h"
#include "analyzer/coalescing/memory_access.h"
#include "analyzer/detectors/policy.h"
#include "analyzer/heap/nvtx_ranges.h"

namespace gmt {

// Names and facts of the process that detectors may ask for.
class ProcessFacts : public TraceNames {
public:
  virtual const Kernel* kernel(std::uint64_t function) const = 0; // as of now; null if not described
  virtual const DeviceFacts* device(int ordinal) const = 0;       // null if not described (older traces)
  virtual std::string_view text(std::uint64_t id) const = 0;      // of a kText record, empty if unknown
  virtual Caller caller(StackId stack) const = 0; // walks all modules: not for every event
  virtual const Ranges& ranges() const = 0;
  virtual std::span<const PolicyRule> policies() const = 0;
  virtual const DeviceHeaps& device_heaps() const = 0; // launches are matched only in finish()
  virtual const MemoryAccess& memory_access() const = 0; // with --coalescing; joined only in finish()
  virtual bool groups_by_range() const = 0; // findings of different ranges stay apart
  virtual const Ending& ending() const = 0;       // final only in finish(): last words may stand last
  virtual std::uint64_t lost_records() const = 0; // final only in finish()
  virtual bool simulated() const = 0;
  virtual bool tells_access() const = 0; // whom cuMemSetAccess gave access, each launch's context: since 1.4
  // A loaded library that reaches device memory by ways that are not recorded ("libibverbs"); empty if none.
  virtual std::string_view unseen_user() const = 0;
  // In the program's heap or the main thread's stack, where nothing is the GPU's unless it was registered.
  virtual bool is_plain_host_memory(std::uint64_t address) const = 0;
  // Where an object file that is loaded now has its variables: since 1.5.
  virtual bool is_static_memory(std::uint64_t address) const = 0;
  virtual StaticVariable static_variable(std::uint64_t address) const = 0; // reads files: for findings alone
};

// Where detectors put what they found.
class Findings {
public:
  virtual ~Findings() = default;
  virtual void add(Finding finding) = 0;
  virtual void not_checked(NotChecked what) = 0;

  // A detector that knows why CUDA refused the present call says so, and api-error keeps silent about it.
  void explain_refusal() { refusal_explained_ = true; }
  bool refusal_explained() const { return refusal_explained_; }
  void next_event() { refusal_explained_ = false; } // the analysis's

private:
  bool refusal_explained_ = false;
};

// Which events a detector is called for: bits of kinds, or of what happened. Calls cost time at millions of
// events a second, so a detector that lives on verdicts alone asks for kWantsMistakes.
using Wants = std::uint64_t;
constexpr Wants wants(trace::Kind kind) { return Wants{1} << (static_cast<unsigned>(kind) & 31); }
inline constexpr Wants kWantsMistakes = Wants{1} << 32; // Heap::apply called it a mistake
inline constexpr Wants kWantsFailures = Wants{1} << 33; // refused, or in flight at the end
inline constexpr Wants kWantsAll = ~Wants{0};
inline constexpr Wants kWantsNothing = 0; // finish() only

class Detector {
public:
  virtual ~Detector() = default;
  // Called for every event that wants() covers, with the verdicts that Heap::apply reached on it.
  virtual void on_event(const Event&, std::span<const Judgement>, const Heap&, Findings&) {}
  virtual void finish(const Heap&, Findings&) {}

  // The analysis's: DetectorInfo::wants to begin with, `changed` where later changes are told.
  void begin(Wants wants, bool* changed) {
    wants_ = wants;
    changed_ = changed;
  }
  Wants wants() const { return wants_; }

protected:
  // What on_event is called for from the next event on. Who waits for something rare asks for that alone.
  void watch(Wants wants) {
    if (wants == wants_) return;
    wants_ = wants;
    *changed_ = true;
  }

private:
  Wants wants_ = 0;
  bool* changed_ = nullptr;
};

// What a kind of finding says where it is the doing of a library that is known to do it on purpose: such a finding is
// a note.
struct OwnerExcuse {
  std::string (*clause)(const Owner&) = nullptr; // ends the message: "cuBLAS does that itself"; null: nothing does
  std::string (*advice)(const Owner&) = nullptr; // null: no library excuses such a finding
};

struct DetectorInfo {
  std::string_view id;    // the finding's id
  Severity severity;      // default
  std::string_view title; // half a line for `help findings`
  std::unique_ptr<Detector> (*make)(const ProcessFacts&); // null: not needed for this trace
  Wants wants = kWantsAll;                                // until it asks for others (Detector::watch)
  bool comes_last = false; // called when all others have seen the event
  Measure measure = Measure::kMistakes;
  OwnerExcuse owner_excuse = {};
};

class DetectorRegistration {
public:
  explicit DetectorRegistration(const DetectorInfo& info);
  const DetectorInfo info;
  const DetectorRegistration* const next;
};

// All registered detectors, sorted by id.
std::vector<const DetectorInfo*> detectors();
const DetectorInfo* detector_of(std::string_view kind); // null if there is none

// Why memory that no recorded call used may have been used all the same; empty if it cannot have been. For
// finish() only.
std::string why_uses_are_unseen(const ProcessFacts& facts, const Heap& heap);

// ---- words and stacks that detectors share

// "1.0 MiB of device memory allocated by cudaMalloc"
Text describe_block(const Block& block, const ProcessFacts& facts);
std::string_view allocated_word(const Block& block); // "allocated", "registered", "found" for a static variable
// "1.0 MiB of device memory"; "device memory of unknown size"
std::string describe_bytes(std::uint64_t bytes, trace::Family family);
FindingStack stack_as(StackRole role, StackId stack, std::string_view api, StackOrder order = StackOrder::kOnly);
// Where the block came from: allocated, host memory registered, or a static variable looked up.
FindingStack allocation_stack(const Block& block, const ProcessFacts& facts);
// What the right release of such memory does, and what this release does: "freed", "unregistered", "unmapped", ...
StackRole release_role(trace::Family family);
StackRole release_role(trace::FreeFunction function);
std::string_view released_word(trace::FreeFunction function);
std::string_view released_word(trace::Family family);
// The right release as the caller of `api` would write it.
ApiWord right_release_for(const Block& block, std::string_view api);
// Why memory that is alive at the end is no leak: the program was killed, or the like. Empty if it is one.
std::string why_not_a_leak(const Ending& ending);

} // namespace gmt
