// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/fold/fold_walk.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/text_format.h"

namespace gmt {

namespace fs = std::filesystem;
using trace::MemoryKind;
using trace::SyncOp;
using Kind = EventKind;

namespace {

constexpr int kEventsOfStep = 20'000; // some milliseconds
constexpr unsigned kExamples = 4;     // of each call stack

// Memory that one call gives and one call takes.
bool is_plain(const Block& block) {
  constexpr std::uint64_t kOthersUseIt = kWasExported | kWasBound | kWasHostFreed;
  if ((block.flags & kOthersUseIt) != 0) return false;
  if (block.shape().references != 1 || block.shape().refused.result != 0) return false;
  switch (block.memory_kind) {
  case MemoryKind::kDevice:
  case MemoryKind::kPitched:
  case MemoryKind::kManaged:
  case MemoryKind::kPinned:
  case MemoryKind::kStreamOrdered: return true;
  default: return false;
  }
}

bool is_plain(SyncOp op) {
  switch (op) {
  case SyncOp::kStreamSynchronize:
  case SyncOp::kContextSynchronize:
  case SyncOp::kEventRecord:
  case SyncOp::kEventSynchronize:
  case SyncOp::kStreamWaitEvent:
  case SyncOp::kStreamQuery:
  case SyncOp::kEventQuery:
  case SyncOp::kElapsedTime: return true;
  default: return false;
  }
}

bool is_work(const Event& e) {
  return e.kind == Kind::kCopy || e.kind == Kind::kSet || e.kind == Kind::kLaunch ||
         e.kind == Kind::kUse || (e.kind == Kind::kSync && e.sync().op == SyncOp::kGraphLaunch);
}

} // namespace

FoldWalk::FoldWalk(const TraceDir& trace, const std::vector<fs::path>& files,
                   std::uint64_t last_order)
    : stream_(trace), model_(stream_, options_),
      arbiter_(heap_, model_.device_heaps(), stream_.stats().memory_lost_from(),
               stream_.stats().lost() != 0),
      findings_(model_.ranges()), detectors_(model_), last_order_(last_order) {
  stream_.join_python_stacks();
  stream_.follow(true);
  none_ = files.size();
  std::unordered_map<std::string, std::size_t> numbers;
  for (std::size_t i = 0; i < files.size(); ++i) numbers[files[i].string()] = i;
  for (const fs::path& log : stream_.trace().logs) {
    const auto number = numbers.find(log.string());
    files_.push_back(number == numbers.end() ? none_ : number->second);
  }
  stream_.read_on();
}

bool FoldWalk::step() {
  for (int i = 0; i < kEventsOfStep; ++i) {
    const Event* e = stream_.next();
    while (e == nullptr && stream_.has_newer()) {
      stream_.read_on();
      e = stream_.next();
    }
    if (e == nullptr) return false;
    if (e->order > last_order_) {
      is_whole_ = true;
      return false;
    }
    follow(*e);
  }
  return true;
}

void FoldWalk::follow(const Event& e) {
  model_.follow(e);
  findings_.all.at(e);
  const std::span<const Verdict> verdicts = heap_.apply(e);
  model_.follow_call(e, heap_);
  const std::uint64_t before = findings_.count;
  detectors_.on_event(e, arbiter_.settle(e, verdicts), heap_, findings_);
  is_held_ |= speaks_of_dropped(e);
  if (e.kind == Kind::kTensor) return set(e, Part::kTensor);
  if (!is_call(e.kind)) return;
  const bool is_quiet = e.succeeded() && verdicts.empty() && findings_.count == before &&
                        !e.is_nested && !e.from_runtime;
  decide(e, is_quiet);
  if (plan_.of(e.order) != Part::kDropped && e.kind != Kind::kAlloc) keep_blocks(verdicts);
}

// Faults of kernels, and what the simulated device saw of copies, come behind the call that they
// are about.
bool FoldWalk::speaks_of_dropped(const Event& e) const {
  if (e.kind == Kind::kGuardDamage) return has_begun_;
  if (e.kind == Kind::kFault) return plan_.of(e.fault().call) == Part::kDropped;
  if (e.kind != Kind::kExecution) return false;
  switch (e.execution().op) {
  case trace::ExecutionOp::kTotals:
  case trace::ExecutionOp::kFeature:
  case trace::ExecutionOp::kRefused:
  case trace::ExecutionOp::kUnchecked:
  case trace::ExecutionOp::kAccesses: return false; // goes with its launch, or names none
  default: return plan_.of(e.execution().call) == Part::kDropped;
  }
}

void FoldWalk::decide(const Event& e, bool is_quiet) {
  const bool is_ours = e.log < files_.size() && files_[e.log] != none_;
  if (is_ours && !has_begun_) plan_.begin(e.order, last_order_);
  has_begun_ |= is_ours;
  switch (e.kind) {
  case Kind::kAlloc:
    for (const Access& access : heap_.accesses()) {
      if (access.kind != Access::Kind::kAllocated || access.block->allocated_at != e.order)
        continue;
      if (is_ours && is_quiet) alive_[e.order] = {e.log, is_example(e)};
    }
    return;
  case Kind::kFree: return decide_release(e, is_quiet && is_ours);
  case Kind::kCopy:
  case Kind::kSet:
  case Kind::kLaunch:
  case Kind::kSync:
    if (is_ours && is_quiet && may_go(e) && !is_example(e)) return set(e, Part::kDropped);
    break;
  default: break;
  }
  if (is_work(e)) set(e, Part::kWork);
}

// Both records go, or both stay: a reader of the trace finds a pair or nothing.
void FoldWalk::decide_release(const Event& e, bool is_quiet) {
  set(e, Part::kRelease);
  const std::span<const Access> accesses = heap_.accesses();
  if (accesses.size() != 1 || accesses.front().kind != Access::Kind::kEnded) return;
  const Block& block = *accesses.front().block;
  const auto found = alive_.find(block.allocated_at);
  if (found == alive_.end()) return;
  const Candidate candidate = found->second;
  alive_.erase(found);
  if (!is_quiet || candidate.stays || candidate.log != e.log || !is_plain(block)) return;
  if (!plan_.contains(block.allocated_at)) return;
  set(e, Part::kDropped);
  plan_.set(block.allocated_at, Part::kDropped, files_[e.log]);
  if (block.allocated_at <= heap_.peak_order())
    spanning_.push_back({block.allocated_at, e.order, heap_.peak_order()});
}

// What a capture takes in becomes part of a graph. What kernels do with malloc is matched with
// their launches.
bool FoldWalk::may_go(const Event& e) const {
  if (e.kind == Kind::kLaunch && model_.device_heaps().any()) return false;
  if (e.kind == Kind::kSync && !is_plain(e.sync().op)) return false;
  return !heap_.is_capturing(e, named_stream(e));
}

bool FoldWalk::is_example(const Event& e) {
  if (e.kind == Kind::kSync) return false;
  return ++examples_[{e.kind, e.api, e.stack.value}] <= kExamples;
}

// What stays needs the blocks that it is about.
void FoldWalk::keep_blocks(std::span<const Verdict> verdicts) {
  for (const Access& access : heap_.accesses()) keep_block(*access.block);
  for (const Verdict& verdict : verdicts) {
    if (verdict.block != nullptr) keep_block(*verdict.block);
    if (verdict.neighbour != nullptr) keep_block(*verdict.neighbour);
  }
}

void FoldWalk::keep_block(const Block& block) {
  if (const auto found = alive_.find(block.allocated_at); found != alive_.end())
    found->second.stays = true;
  if (block.end != Block::End::kFreed) return;
  if (plan_.of(block.freed_at) != Part::kDropped) return;
  plan_.keep(block.allocated_at, Part::kNone);
  plan_.keep(block.freed_at, Part::kRelease);
}

void FoldWalk::set(const Event& e, Part part) {
  plan_.set(e.order, part, part == Part::kDropped ? files_[e.log] : 0);
}

FoldPlan FoldWalk::finish() {
  heap_.for_each_freed([this](std::uint64_t, std::uint64_t, const Block& block) {
    const bool is_region = block.memory_kind == trace::MemoryKind::kSubAllocation ||
                           block.memory_kind == trace::MemoryKind::kTensor;
    if (!is_region) keep_block(block);
  });
  for (const Spanning& pair : spanning_) {
    if (pair.peak != heap_.peak_order()) continue;
    plan_.keep(pair.allocated, Part::kNone);
    plan_.keep(pair.freed, Part::kRelease);
  }
  plan_.set_notes();
  const EndOfTrace end = model_.end();
  detectors_.finish(end, heap_, findings_);
  note_found();
  return std::move(plan_);
}

void FoldWalk::note_found() {
  for (const Finding& finding : findings_.all.take_findings()) {
    std::string words = cat({finding.kind, " ", finding.group, " ", finding.api});
    for (const FindingStack& stack : finding.stacks) {
      for (const std::uint64_t frame : stream_.stacks().frames(stack.stack))
        words += cat({" ", std::to_string(frame)});
      words += ';';
    }
    found_.insert(std::move(words));
  }
}

} // namespace gmt
