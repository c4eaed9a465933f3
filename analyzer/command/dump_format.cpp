// SPDX-License-Identifier: Apache-2.0
// Events as text; see dump_format.h. trace/records.def names the columns, in the order of the
// payload's words. Shows what the trace says, also where it makes no sense: numbers without a name
// are printed as they are.

#include "analyzer/command/dump_format.h"

#include <algorithm>
#include <span>

#include "analyzer/base/text_format.h"
#include "analyzer/device_heap/device_heap.h"

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
constexpr std::string_view kTroubles[] = {"none", "no-library",    "not-supported",
                                          "busy", "not-permitted", "error"};
constexpr std::string_view kCauses[] = {"?",        "no-space", "trace-limit",
                                        "re-entry", "no-log",   "no-ring"};

enum class Form : std::uint8_t { kHex, kDecimal, kName, kGrid, kBlock, kHandle, kText };

struct Shown {
  Form form;
  ValueNames names = {};
};

// How each form of records.def is shown. Those of records that are no events are shown further
// below.
namespace forms {

constexpr Shown Hex{Form::kHex}, Decimal{Form::kDecimal}, Handle{Form::kHandle}, Text{Form::kText};
constexpr Shown Grid{Form::kGrid}, Block{Form::kBlock}, BlockIndex{Form::kHex}, Halves{Form::kHex};
constexpr Shown MemoryKind{Form::kName, kMemoryKinds}, FreeFunction{Form::kName, kFrees};
constexpr Shown ObjectClass{Form::kName, kClasses}, LifeOp{Form::kName, kLifeOps};
constexpr Shown SyncOp{Form::kName, kSyncOps}, UseClass{Form::kName, kUses},
  GraphOp{Form::kName, kGraphOps};
constexpr Shown RangeOp{Form::kName, kRangeOps}, ExitWay{Form::kName, kExitWays};
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

std::span<const Field> fields_of(trace::Kind kind) {
  switch (kind) {
#define RECORD(record, number, what, since, meaning)                                               \
  case trace::Kind::k##record: return k##record##Fields;
#include "trace/records.def"
#undef RECORD
  default: return {};
  }
}

std::string_view kind_name(trace::Kind kind) {
  switch (kind) {
#define RECORD(record, number, what, since, meaning)                                               \
  case trace::Kind::k##record: return what;
#include "trace/records.def"
#undef RECORD
  default: return "?";
  }
}

#undef FIELD
#undef END_RECORD
#undef ALIAS
#undef REST

// " executions=64": a figure that the chip has no metric for is a '-'.
std::string figure(std::string_view name, std::uint64_t value) {
  return cat({" ", name, "=", value == trace::kUnknownCount ? "-" : std::to_string(value)});
}

// One line whatever the program wrote: control characters are shown as '?'.
std::string quoted(std::string_view text) {
  std::string line = cat({"\"", text, "\""});
  std::ranges::replace_if(line, [](char c) { return c >= 0 && c < ' '; }, '?');
  return line;
}

std::string extents_text(trace::Index3 extents) {
  return cat(
    {std::to_string(extents.x), "x", std::to_string(extents.y), "x", std::to_string(extents.z)});
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
  case Form::kHandle: {
    const std::string_view name = names.handle_name(value);
    return name.empty() ? format_address(value) : cat({format_address(value), ":", name});
  }
  case Form::kText: return value == 0 ? "-" : quoted(names.text(value));
  }
  return {};
}

// " id=7": one column.
std::string column(std::string_view name, std::string_view value) {
  return cat({" ", name, "=", value});
}
std::string column(std::string_view name, std::uint64_t value) {
  return column(name, std::to_string(value));
}

// What is no list of fields: strings, and the parameters of a kernel as offset:size.
std::string description(const Event& event, const NameTable& names) {
  switch (event.kind) {
  case trace::Kind::kName: {
    const std::uint64_t handle = trace::NameView(event).handle();
    return cat(
      {column(trace::NameColumn::handle, format_address(handle)), " ", names.handle_name(handle)});
  }
  case trace::Kind::kText: {
    const std::uint64_t id = trace::TextView(event).id();
    return cat({column(trace::TextColumn::id, format_address(id)), " ", quoted(names.text(id))});
  }
  case trace::Kind::kKernel: {
    const trace::KernelView kernel(event);
    const trace::Payload words = kernel.parameters();
    std::string line = cat(
      {column(trace::KernelColumn::function, format_address(kernel.function())), " parameters="});
    for (std::size_t i = 0; i < kernel.parameter_count() && i < words.size(); ++i) {
      const auto [offset, bytes] = trace::halves_of(words[i]);
      line += cat({i != 0 ? "," : "", std::to_string(offset), ":", std::to_string(bytes)});
    }
    return line;
  }
  default: return {};
  }
}

// Possible pointers among a kernel's arguments, each with the number of its parameter.
std::string arguments_text(const Event& event) {
  std::string text;
  for (const std::uint64_t word : arguments_of(event)) {
    if (word == 0) continue;
    const unsigned parameter = trace::argument_parameter(word);
    const std::string number = parameter == trace::kNoParameter ? "?" : std::to_string(parameter);
    text += cat({" #", number, "=", format_address(trace::argument_address(word))});
  }
  return text;
}

std::string flags_text(const Event& event) {
  std::string text;
  const auto flag = [&](std::uint16_t bit, std::string_view name) {
    if ((event.flags & bit) != 0) text += cat({" ", name});
  };
  if (event.kind == trace::Kind::kCopy) flag(trace::kCopyBatched, "batched");
  if (event.kind == trace::Kind::kUse) {
    flag(trace::kUseReads, "reads");
    flag(trace::kUseWrites, "writes");
    flag(trace::kUseToldBefore, "told-before");
  }
  flag(trace::kFlagNested, "nested");
  return text;
}

std::string result_text(const Event& event) {
  if (event.in_flight()) return "in flight";
  return event.result == 0 ? "0" : error_name(event.result, event.from_runtime());
}

} // namespace

std::string dump_line(const Event& event, const NameTable& names, std::string_view thread) {
  const bool call = is_call(event.kind);
  std::string line = cat({std::to_string(event.order), " ", thread, " ",
                          call ? names.symbol(event.api) : kind_name(event.kind)});
  if (event.via != trace::kNoApi && call) line += cat({" (", names.symbol(event.via), ")"});
  if (const std::string text = description(event, names); !text.empty()) return line + text;
  const std::span<const Field> fields = fields_of(event.kind);
  for (unsigned i = 0; i < std::min(fields.size(), event.payload.size()); ++i) {
    const std::uint64_t value = event.payload[i];
    if (fields[i].column.empty() || (i >= trace::kFirstPayloadWords && value == 0))
      continue; // or does not apply
    line += column(fields[i].column, value_text(fields[i], value, names));
  }
  line += arguments_text(event);
  if (call) line += " = " + result_text(event);
  line += flags_text(event);
  if (event.ticks != 0) line += cat({" ticks=", std::to_string(event.ticks)});
  if (event.context != 0) line += " context=" + std::to_string(event.context);
  if (event.stack) line += " stack=" + std::to_string(event.stack.value);
  return line;
}

std::string dump_line(const DeviceRecord& record, std::string_view log) {
  const auto index = [](trace::Index3 i) {
    return cat({std::to_string(i.x), ",", std::to_string(i.y), ",", std::to_string(i.z)});
  };
  if (record.head.kind == trace::Kind::kDeviceDrained) {
    const trace::DeviceDrainedView drained(record);
    using Column = trace::DeviceDrainedColumn;
    return cat({log, " drained", column(Column::slots, drained.slots()),
                column(Column::lost, drained.lost()), column(Column::torn, drained.torn()),
                " context=", std::to_string(record.host_slot().context)});
  }
  std::string line = cat({std::to_string(record.slot.time), " ", log, " "});
  if (record.head.kind == trace::Kind::kDeviceSite) {
    const DeviceSite site = site_of(record);
    using Column = trace::DeviceSiteColumn;
    return line + cat({"site", column(Column::id, trace::DeviceSiteView(record).id()),
                       " function=", gmt::quoted(site.function), " file=", gmt::quoted(site.file),
                       column(Column::line, site.line)});
  }
  if (record.head.kind == trace::Kind::kDeviceGrid) {
    const trace::DeviceGridView grid(record);
    using Column = trace::DeviceGridColumn;
    return line +
           cat({"grid", column(Column::id, grid.id()), column(Column::grid, index(grid.grid())),
                column(Column::block, index(grid.block()))});
  }
  // The words of a release are the same, as far as it has them
  const trace::DeviceAllocView call(record);
  using Column = trace::DeviceAllocColumn;
  line += cat({device_call(record.op()), column(Column::pointer, format_address(call.pointer()))});
  if (record.head.kind == trace::Kind::kDeviceAlloc) line += column(Column::bytes, call.bytes());
  if (record.op() == trace::DeviceOp::kAlignedMalloc)
    line += column(Column::alignment, call.alignment());
  if (record.space() != trace::DeviceSpace::kUnknown &&
      record.head.kind == trace::Kind::kDeviceFree) {
    line += record.space() == trace::DeviceSpace::kShared ? " shared" : " local";
  }
  line += cat({column(Column::grid, call.grid()), column(Column::block, index(call.block())),
               " thread=", index(trace::thread_of(record.slot.who)),
               " site=", std::to_string(trace::site_of(record.slot.who))});
  return record.head.result == trace::kDeviceOutOfMemory ? line + " = NULL" : line;
}

std::string dump_lines(const AccessLog& log) {
  using WindowsColumn = trace::AccessWindowsColumn;
  using FunctionColumn = trace::AccessFunctionColumn;
  using CountersColumn = trace::AccessCountersColumn;
  using InstructionColumn = trace::AccessInstructionColumn;
  std::string text;
  if (const AccessWindows& w = log.windows; log.has_windows) {
    text += cat({log.name,
                 " windows",
                 column(WindowsColumn::trouble, kTroubles[static_cast<std::size_t>(w.trouble)]),
                 figure(WindowsColumn::code, w.code),
                 figure(WindowsColumn::opened, w.opened),
                 figure(WindowsColumn::read, w.read),
                 figure(WindowsColumn::given_up, w.given_up),
                 figure(WindowsColumn::launches, w.launches),
                 figure(WindowsColumn::launches_read, w.launches_read),
                 figure(WindowsColumn::launches_given_up, w.launches_given_up),
                 figure(WindowsColumn::open_nanoseconds, w.open_nanoseconds),
                 figure(WindowsColumn::graph_launches, w.graph_launches),
                 figure(WindowsColumn::unknown_graphs, w.unknown_graphs),
                 figure(WindowsColumn::graphs_in_windows, w.graphs_in_windows),
                 figure(WindowsColumn::put_off, w.put_off),
                 column(WindowsColumn::counters_trouble,
                        kTroubles[static_cast<std::size_t>(w.counters_trouble)]),
                 figure(WindowsColumn::counters_code, w.counters_code),
                 figure(WindowsColumn::counted, w.counted),
                 figure(WindowsColumn::counted_lost, w.counted_lost),
                 figure(WindowsColumn::measuring_nanoseconds, w.measuring_nanoseconds),
                 figure(WindowsColumn::elapsed_nanoseconds, w.elapsed_nanoseconds),
                 "\n"});
  }
  for (const AccessFunction& f : log.functions) {
    text += cat({log.name, " function", figure(FunctionColumn::number, f.number),
                 " name=", gmt::quoted(f.name), " identity=", format_address(f.identity),
                 figure(FunctionColumn::measured, f.measured), figure(FunctionColumn::lost, f.lost),
                 figure(FunctionColumn::launches, f.launches),
                 figure(FunctionColumn::more_shared, f.shared_measured),
                 figure(FunctionColumn::plain_nanoseconds, f.plain_nanoseconds),
                 figure(FunctionColumn::longest_nanoseconds, f.longest_nanoseconds),
                 figure(FunctionColumn::too_costly, f.too_costly), "\n"});
    if (const KernelCounters& c = f.counters; c.launches != 0) {
      text += cat({log.name, " counters", figure(CountersColumn::function, f.number),
                   figure(CountersColumn::first_pass, c.launches),
                   figure(CountersColumn::read_bytes, c.read_bytes.sum),
                   figure(CountersColumn::written_bytes, c.written_bytes.sum),
                   figure(CountersColumn::l1_sectors, c.l1_sectors.sum),
                   figure(CountersColumn::l1_hits, c.l1_hits.sum),
                   figure(CountersColumn::l2_sectors, c.l2_sectors.sum),
                   figure(CountersColumn::loads, c.loads.sum),
                   figure(CountersColumn::load_sectors, c.load_sectors.sum),
                   figure(CountersColumn::stores, c.stores.sum),
                   figure(CountersColumn::store_sectors, c.store_sectors.sum),
                   figure(CountersColumn::nanoseconds, c.nanoseconds.sum),
                   figure(CountersColumn::possible_bytes, c.possible_bytes.sum),
                   figure(CountersColumn::second_pass, c.l2_hits.launches),
                   figure(CountersColumn::l2_hits, c.l2_hits.sum), "\n"});
    }
    for (const AccessFunction::Instruction& i : f.instructions) {
      const AccessCounts& c = i.counts;
      text += cat({log.name, " instruction", figure(InstructionColumn::place, f.number), " offset=",
                   format_address(i.offset), figure(InstructionColumn::executions, c.executions),
                   figure(InstructionColumn::thread_executions, c.thread_executions),
                   figure(InstructionColumn::sectors, c.sectors),
                   figure(InstructionColumn::ideal_sectors, c.ideal_sectors),
                   figure(InstructionColumn::bytes, c.bytes),
                   figure(InstructionColumn::wavefronts, c.wavefronts),
                   figure(InstructionColumn::ideal_wavefronts, c.ideal_wavefronts),
                   figure(InstructionColumn::shared_bytes, c.shared_bytes),
                   figure(InstructionColumn::local_sectors, c.local_sectors), "\n"});
    }
  }
  return text;
}

} // namespace gmt
