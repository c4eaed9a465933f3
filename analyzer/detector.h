// SPDX-License-Identifier: Apache-2.0
// The whole interface between the analysis and a detector. A detector is one file in detectors/ that registers
// itself by one object at its bottom:
//   const DetectorRegistration kLeak{{.id = "leak", ..., .make = [] { return std::make_unique<Leak>(); }}};
// The registry is sorted by id before use, so that nothing depends on link order.
// Detectors see only this, finding.h, heap.h and event.h.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/event.h"
#include "analyzer/finding.h"
#include "analyzer/heap.h"

namespace gmt {

// How a process ended, as its parent and its own last words tell.
struct Ending {
  enum class How : std::uint8_t { kUnknown, kExited, kSignalled, kExec, kRunning };
  How how = How::kUnknown;
  int status = 0; // exit status
  int signal = 0; // with kSignalled
};

// Names and facts of the process that detectors may ask for.
class ProcessFacts {
public:
  virtual ~ProcessFacts() = default;
  virtual std::string_view api_name(std::uint16_t api) const = 0; // "cuMemAlloc_v2"; "?" if unknown
  virtual std::string_view handle_name(std::uint64_t handle) const = 0; // kernel or module name, empty if unknown
  virtual const Ending& ending() const = 0;
  virtual std::uint64_t lost_records() const = 0;
  virtual bool simulated() const = 0;
  // The call as the program wrote it: the runtime's name where one led here, else the driver's.
  std::string_view call_name(const Event& e) const { return api_name(e.via != trace::kNoApi ? e.via : e.api); }
};

// Where detectors put what they found.
class Findings {
public:
  virtual ~Findings() = default;
  virtual void add(Finding finding) = 0;
  virtual void not_checked(NotChecked what) = 0;
};

class Detector {
public:
  virtual ~Detector() = default;
  // Called for every event, with the verdicts that Heap::apply reached on it (see heap.h).
  virtual void on_event(const Event&, std::span<const Judgement>, const Heap&, Findings&) {}
  virtual void finish(const Heap&, Findings&) {}
};

struct DetectorInfo {
  std::string_view id;      // the finding's id
  Severity severity;        // default
  std::string_view title;   // half a line for `help findings`
  std::string_view explain; // one paragraph: what it means, what to do, where the rule comes from
  std::unique_ptr<Detector> (*make)(const ProcessFacts&);
};

class DetectorRegistration {
public:
  explicit DetectorRegistration(const DetectorInfo& info);
  const DetectorInfo info;
  const DetectorRegistration* const next;
};

// All registered detectors, sorted by id.
std::vector<const DetectorInfo*> detectors();

} // namespace gmt
