// SPDX-License-Identifier: Apache-2.0
// Memory grows with what is alive, never with events.

#include "analyzer/command/database/event_tables.h"

#include <string>

#include "analyzer/analysis/process_model.h"
#include "analyzer/command/database/range_table.h"
#include "analyzer/command/dump/dump_format.h"
#include "analyzer/heap/heap.h"
#include "analyzer/heap/memory_kinds.h"
#include "analyzer/heap/memory_use.h"
#include "analyzer/trace_reader/event_stream.h"

namespace gmt {
namespace {

using Kind = EventKind;

struct Memory {
  std::uint64_t address = 0, bytes = 0;
};

// What the call is about. Of a copy or set it is the destination.
Memory memory_of(const Event& e) {
  switch (e.kind) {
  case Kind::kAlloc: return {e.allocation().address, e.allocation().bytes};
  case Kind::kFree: return {e.free().address, 0};
  case Kind::kCopy: return {address_of(e, Verdict::Side::kDestination), e.copy().bytes};
  case Kind::kSet: return {address_of(e, Verdict::Side::kDestination), set_extent(e)};
  default: return {};
  }
}

std::string_view state_word(Block::End end) {
  switch (end) {
  case Block::End::kAlive: return "live";
  case Block::End::kFreed: return "freed";
  case Block::End::kContextEnded: return "context ended";
  case Block::End::kReallocated: return "allocated again";
  }
  return "?";
}

} // namespace

// One process.
class EventTables::Walk {
public:
  Walk(EventTables& tables, const TraceDir& trace, std::uint64_t process)
      : tables_(tables), process_(process), stream_(trace), model_(stream_, options_),
        names_(stream_.trace().apis), window_(tables.span_), events_(tables.file_, "event", 17),
        blocks_(tables.file_, "block", 15),
        ranges_(tables.file_, process, tables.ranges_,
                [this](std::uint64_t ticks) { return since_first_call(ticks); }) {}

  std::uint64_t run();

private:
  void add_event(const Event& e);
  void follow_blocks(const Event& e);
  void end_tensor(const Event& e);
  void add_block(const Block& block, std::uint64_t freed_event);
  std::uint64_t stack_number(StackId stack) const {
    return stack ? tables_.stacks_ + stack.value : 0;
  }
  std::optional<std::uint64_t> nanoseconds(std::uint64_t ticks) const {
    if (model_.nanoseconds(1) <= 0) return std::nullopt;
    return static_cast<std::uint64_t>(model_.nanoseconds(ticks));
  }
  std::optional<std::uint64_t> since_first_call(std::uint64_t time) const {
    return nanoseconds(has_begun_ && time > first_time_ ? time - first_time_ : 0);
  }

  EventTables& tables_;
  const std::uint64_t process_;
  AnalysisOptions options_;
  EventStream stream_;
  ProcessModel model_;
  NameTable names_;
  Heap heap_;
  TimeWindow window_;
  SqlInsert events_, blocks_;
  RangeTable ranges_;
  std::unordered_map<std::uint64_t, std::uint64_t> allocated_; // order -> event, of live blocks
  std::uint64_t first_time_ = 0, first_realtime_ = 0, event_ = 0;
  bool has_begun_ = false;
};

void EventTables::Walk::add_event(const Event& e) {
  const Memory memory = memory_of(e);
  events_.number(event_).number(process_).number(e.thread).number(e.order);
  events_.number(since_first_call(e.time));
  if (e.ticks != 0) events_.number(nanoseconds(e.ticks));
  else events_.null();
  events_.text(kind_word(e.kind)).text(model_.call_name(e));
  if (e.in_flight()) events_.null().text("did not return");
  else if (e.succeeded()) events_.number(0).null();
  else events_.number(e.result).text(error_name(e.result, e.from_runtime));
  events_.number_or_null(memory.address).number_or_null(memory.bytes);
  events_.number(named_stream(e)).number_or_null(e.context);
  events_.number_or_null(stack_number(e.stack));
  if (model_.ranges().any()) events_.text_or_null(model_.ranges().text(model_.ranges().here()));
  else events_.null();
  std::string details = dump_columns(e, stream_.words(), names_);
  if (details.starts_with(' ')) details.erase(0, 1);
  events_.text_or_null(details).done();
}

void EventTables::Walk::follow_blocks(const Event& e) {
  for (const Access& access : heap_.accesses()) {
    if (access.kind == Access::Kind::kAllocated) allocated_[access.block->allocated_at] = event_;
    if (access.kind != Access::Kind::kEnded || access.block->end == Block::End::kContextEnded)
      continue;
    add_block(*access.block, is_call(e.kind) ? event_ : 0);
    allocated_.erase(access.block->allocated_at);
  }
}

// Before the event is applied. No call of CUDA gives out a tensor or takes it back.
void EventTables::Walk::end_tensor(const Event& e) {
  if (e.tensor().op != trace::TensorOp::kTakenBack) return;
  const Block* tensor = heap_.find_tensor(e.tensor().address);
  if (tensor == nullptr) return;
  Block ended = *tensor;
  ended.end = Block::End::kFreed;
  ended.freed_at = e.order & kOrderMask;
  ended.freed = e.stack;
  add_block(ended, 0);
}

void EventTables::Walk::add_block(const Block& block, std::uint64_t freed_event) {
  const auto allocated = allocated_.find(block.allocated_at);
  const int device = is_host_kind(block.memory_kind) ? -1 : heap_.device_of(block);
  blocks_.number(++tables_.blocks_).number(process_).number(block.address).number(block.bytes);
  blocks_.text(memory_noun(block.memory_kind));
  if (device >= 0) blocks_.number(static_cast<std::uint64_t>(device));
  else blocks_.null();
  blocks_.number_or_null(block.context).number(block.stream).text(state_word(block.end));
  blocks_.number(block.allocated_at);
  blocks_.number_or_null(allocated == allocated_.end() ? 0 : allocated->second);
  blocks_.number_or_null(block.end == Block::End::kAlive ? 0 : block.freed_at);
  blocks_.number_or_null(freed_event);
  blocks_.number_or_null(stack_number(block.allocated));
  blocks_.number_or_null(stack_number(block.freed)).done();
}

std::uint64_t EventTables::Walk::run() {
  while (const Event* e = stream_.next()) {
    model_.follow(*e);
    if (!is_call(e->kind)) names_.follow(*e);
    if (e->kind == Kind::kTensor) end_tensor(*e);
    heap_.apply(*e);
    model_.follow_call(*e, heap_);
    if (e->kind == Kind::kRange) ranges_.on_range(*e, model_.ranges());
    if (!is_call(e->kind)) continue;
    if (!has_begun_) {
      has_begun_ = true;
      first_time_ = e->time;
      first_realtime_ = model_.realtime(*e);
      window_.begin_at(first_time_, model_);
    }
    const bool is_shown = window_.contains(e->time);
    event_ = is_shown ? ++tables_.events_ : 0;
    if (is_shown) add_event(*e);
    follow_blocks(*e);
  }
  ranges_.finish(model_.ranges());
  heap_.for_each_live([this](const Block& block) { add_block(block, 0); });
  heap_.for_each_tensor([this](const Block& block) { add_block(block, 0); });
  heap_.for_each_ended_with_context([this](const Block& block) { add_block(block, 0); });
  tables_.frames_.add_stacks(stream_, process_, tables_.stacks_, tables_.with_symbols_);
  tables_.stacks_ += stream_.stacks().size();
  return first_realtime_;
}

std::uint64_t EventTables::add(const TraceDir& trace, std::uint64_t process) {
  return Walk(*this, trace, process).run();
}

} // namespace gmt
