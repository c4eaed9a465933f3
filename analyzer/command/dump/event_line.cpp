// SPDX-License-Identifier: Apache-2.0
// Events of the host's calls as text; see dump_format.h. trace/records.def names the columns, in
// the order of the payload's words. Shows what the trace says, also where it makes no sense:
// numbers without a name are printed as they are.

#include "analyzer/command/dump/dump_format.h"

#include <algorithm>
#include <span>

#include "analyzer/base/text_format.h"
#include "analyzer/command/dump/columns.h"
#include "trace/records.h"

namespace gmt {
namespace {

using ValueNames = std::span<const std::string_view>; // by value

constexpr std::string_view kMemoryKinds[] = {
  "unknown",         "device",         "pitched",  "managed",     "pinned",
  "registered",      "stream-ordered", "array",    "mipmapped",   "vmm-handle",
  "vmm-reserve",     "vmm-mapping",    "ipc",      "pool-import", "external",
  "graph",           "module-global",  "graphics", "multicast",   "region",
  "managed-variable"};
constexpr std::string_view kFrees[] = {
  "unknown",           "free",      "free-async",       "free-host", "unregister", "destroy-array",
  "destroy-mipmapped", "release",   "address-free",     "unmap",     "ipc-close",  "free()",
  "unmap-graphics",    "free-node", "unregister-region"};
constexpr std::string_view kClasses[] = {"?",
                                         "context",
                                         "primary-context",
                                         "stream",
                                         "event",
                                         "module",
                                         "library",
                                         "pool",
                                         "graph",
                                         "graph-exec",
                                         "texture",
                                         "surface",
                                         "external-memory",
                                         "external-semaphore",
                                         "green-context",
                                         "peer-access",
                                         "user-heap",
                                         "array-view"};
constexpr std::string_view kLifeOps[] = {"?",       "create", "destroy", "reset", "retain",
                                         "release", "use",    "set",     "trim"};
constexpr std::string_view kSyncOps[] = {"?",
                                         "stream-synchronize",
                                         "context-synchronize",
                                         "event-record",
                                         "event-synchronize",
                                         "stream-wait-event",
                                         "stream-query",
                                         "event-query",
                                         "host-function",
                                         "graph-launch",
                                         "begin-capture",
                                         "end-capture",
                                         "external-wait",
                                         "graph-upload",
                                         "elapsed-time",
                                         "context-record",
                                         "context-wait",
                                         "external-signal"};
constexpr std::string_view kUses[] = {"?",       "texture",    "prefetch",  "advise", "attach",
                                      "mem-op",  "export",     "discard",   "access", "mem-op-wait",
                                      "surface", "tensor-map", "graph-node"};
constexpr std::string_view kGraphOps[] = {
  "?",          "child", "update",          "remove",       "enable", "event-record",
  "event-wait", "host",  "external-signal", "external-wait"};
constexpr std::string_view kRangeOps[] = {
  "?",    "push",        "pop",         "start",         "end",
  "mark", "name-domain", "name-thread", "name-resource", "thread"};
constexpr std::string_view kExitWays[] = {"?", "exit", "_exit", "exec", "exec-failed"};
constexpr std::string_view kCauses[] = {"?",        "no-space", "trace-limit",
                                        "re-entry", "no-log",   "no-ring"};
constexpr std::string_view kFaults[] = {"?",
                                        "out-of-bounds",
                                        "use-after-free",
                                        "misaligned",
                                        "uninitialized-read",
                                        "shared-race",
                                        "barrier-divergence",
                                        "deadlock",
                                        "assert",
                                        "trap",
                                        "illegal-instruction",
                                        "stack-overflow",
                                        "invalid-address-space",
                                        "invalid-jump",
                                        "other",
                                        "hang"};
constexpr std::string_view kFaultSpaces[] = {"?",        "global",    "shared", "local",
                                             "constant", "parameter", "generic"};
constexpr std::string_view kFaultAccesses[] = {"?", "load", "store", "atomic", "reduction", "copy"};
constexpr std::string_view kExecutionOps[] = {"?",       "not-run",  "stopped",  "not-selected",
                                              "totals",  "feature",  "run-over", "unwritten-copy",
                                              "refused", "unchecked"};
constexpr std::string_view kUnwrittenForms[] = {"?", "whole", "part", "tail"};

constexpr std::string_view kGuardMoments[] = {"free", "end", "launch"};

enum class Form : std::uint8_t {
  kHex,
  kDecimal,
  kName,
  kGrid,
  kBlock,
  kBlockIndex,
  kThreadIndex,
  kHandle,
  kText
};

struct Shown {
  Form form;
  ValueNames names = {};
};

// How each form of records.def is shown. Those of records that are no events are shown further
// below.
namespace forms {

constexpr Shown Hex{Form::kHex}, Decimal{Form::kDecimal}, Handle{Form::kHandle}, Text{Form::kText};
constexpr Shown Grid{Form::kGrid}, Block{Form::kBlock}, BlockIndex{Form::kBlockIndex},
  ThreadIndex{Form::kThreadIndex}, Halves{Form::kHex};
constexpr Shown MemoryKind{Form::kName, kMemoryKinds}, FreeFunction{Form::kName, kFrees};
constexpr Shown ObjectClass{Form::kName, kClasses}, LifeOp{Form::kName, kLifeOps};
constexpr Shown SyncOp{Form::kName, kSyncOps}, UseClass{Form::kName, kUses},
  GraphOp{Form::kName, kGraphOps};
constexpr Shown RangeOp{Form::kName, kRangeOps}, ExitWay{Form::kName, kExitWays};
constexpr Shown GuardMoment{Form::kName, kGuardMoments};
constexpr Shown FaultKind{Form::kName, kFaults}, FaultSpace{Form::kName, kFaultSpaces};
constexpr Shown FaultAccess{Form::kName, kFaultAccesses}, ExecutionOp{Form::kName, kExecutionOps};
constexpr Shown UnwrittenForm{Form::kName, kUnwrittenForms};
constexpr Shown LossCause{Form::kName, kCauses}, AccessTrouble{Form::kName, kTroubles};

} // namespace forms

struct Field {
  std::string_view column; // empty: it has none
  Shown shown;
};

// One table for each record, and what its kind is called where it is no call.
#define ALIAS(record, name, field, form, when)
#define REST(record, name, form, since, meaning)
#define RECORD(record, number, what, since, meaning) constexpr Field k##record##Fields[] = {
#define FIELD(record, number, name, form, column, since, meaning) {column, forms::form},
#define END_RECORD(record)                                                                         \
  }                                                                                                \
  ;
#include "trace/records.def"
#undef RECORD
#undef FIELD
#undef END_RECORD

#define FIELD(record, number, name, form, column, since, meaning)
#define END_RECORD(record)

std::span<const Field> fields_of(EventKind kind) {
  switch (static_cast<unsigned>(kind)) {
#define RECORD(record, number, what, since, meaning)                                               \
  case number: return k##record##Fields;
#include "trace/records.def"
#undef RECORD
  default: return {};
  }
}

} // namespace

std::string_view kind_word(EventKind kind) {
  switch (static_cast<unsigned>(kind)) {
#define RECORD(record, number, what, since, meaning)                                               \
  case number: return what;
#include "trace/records.def"
#undef RECORD
  default: return "?";
  }
}

namespace {

#undef FIELD
#undef END_RECORD
#undef ALIAS
#undef REST

std::string extents_text(trace::Index3 extents) {
  return cat(
    {std::to_string(extents.x), "x", std::to_string(extents.y), "x", std::to_string(extents.z)});
}

std::string index_text(trace::Index3 index) {
  return cat({std::to_string(index.x), ",", std::to_string(index.y), ",", std::to_string(index.z)});
}

std::string value_name(std::uint64_t value, ValueNames names) {
  return value < names.size() ? std::string(names[value]) : std::to_string(value);
}

std::string value_text(const Field& field, std::uint64_t value, const NameTable& names) {
  switch (field.shown.form) {
  case Form::kHex: return format_address(value);
  case Form::kDecimal: return std::to_string(value);
  case Form::kName: return value_name(value, field.shown.names);
  case Form::kGrid: return extents_text(trace::grid_of(value));
  case Form::kBlock: return extents_text(trace::block_extents_of(value));
  case Form::kBlockIndex: return index_text(trace::block_of(value));
  case Form::kThreadIndex: return index_text(trace::block_extents_of(value));
  case Form::kHandle: {
    const std::string_view name = names.handle_name(value);
    return name.empty() ? format_address(value) : cat({format_address(value), ":", name});
  }
  case Form::kText: return value == 0 ? "-" : in_quotes(names.text(value));
  }
  return {};
}

// What is no list of fields: strings, and the parameters of a kernel as offset:size.
std::string description(const Event& event, const NameTable& names) {
  switch (event.kind) {
  case EventKind::kName: {
    const std::uint64_t handle = event.name().handle;
    return cat(
      {column(trace::NameColumn::handle, format_address(handle)), " ", names.handle_name(handle)});
  }
  case EventKind::kText: {
    const std::uint64_t id = event.text().id;
    return cat({column(trace::TextColumn::id, format_address(id)), " ", in_quotes(names.text(id))});
  }
  case EventKind::kKernel: {
    const event::Kernel& kernel = event.kernel();
    std::string line =
      cat({column(trace::KernelColumn::function, format_address(kernel.function)), " parameters="});
    const char* separator = "";
    for (const auto& [offset, bytes] : kernel.parameters) {
      line += cat({separator, std::to_string(offset), ":", std::to_string(bytes)});
      separator = ",";
    }
    return line;
  }
  default: return {};
  }
}

// Possible pointers among a kernel's arguments, each with the number of its parameter.
std::string arguments_text(const Event& event) {
  std::string text;
  for (const Argument argument : arguments_of(event)) {
    if (argument.is_unused()) continue;
    const unsigned parameter = argument.parameter();
    const std::string number = parameter == kNoParameter ? "?" : std::to_string(parameter);
    text += cat({" #", number, "=", format_address(argument.address())});
  }
  return text;
}

std::string flags_text(const Event& event) {
  std::string text;
  if (event.kind == EventKind::kCopy && event.copy().is_batched) text += " batched";
  if (event.kind == EventKind::kUse) {
    if (event.use().reads) text += " reads";
    if (event.use().writes) text += " writes";
    if (event.use().is_of_recorded_copy) text += " told-before";
  }
  if (event.is_nested) text += " nested";
  return text;
}

std::string result_text(const Event& event) {
  if (event.in_flight()) return "in flight";
  return event.result == 0 ? "0" : error_name(event.result, event.from_runtime);
}

} // namespace

std::string dump_columns(const Event& event, std::span<const std::uint64_t> words,
                         const NameTable& names) {
  std::string text;
  const std::span<const Field> fields = fields_of(event.kind);
  for (unsigned i = 0; i < std::min(fields.size(), words.size()); ++i) {
    if (fields[i].column.empty() || (i >= trace::kFirstPayloadWords && words[i] == 0))
      continue; // or does not apply
    text += column(fields[i].column, value_text(fields[i], words[i], names));
  }
  return text + arguments_text(event);
}

std::string dump_line(const Event& event, std::span<const std::uint64_t> words,
                      const NameTable& names, std::string_view thread) {
  const bool call = is_call(event.kind);
  std::string line = cat({std::to_string(event.order), " ", thread, " ",
                          call ? names.symbol(event.api) : kind_word(event.kind)});
  if (event.via != trace::kNoApi && call) line += cat({" (", names.symbol(event.via), ")"});
  if (const std::string text = description(event, names); !text.empty()) return line + text;
  line += dump_columns(event, words, names);
  if (call) line += " = " + result_text(event);
  line += flags_text(event);
  if (event.ticks != 0) line += cat({" ticks=", std::to_string(event.ticks)});
  if (event.context != 0) line += " context=" + std::to_string(event.context);
  if (event.stack) line += " stack=" + std::to_string(event.stack.value);
  return line;
}

} // namespace gmt
