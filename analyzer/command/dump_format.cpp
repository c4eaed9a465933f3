// SPDX-License-Identifier: Apache-2.0
// Events as text; see dump_format.h. One table per kind names the payload words in their order.
// Shows what the trace says, also where it makes no sense: numbers without a name are printed as they are.

#include "analyzer/command/dump_format.h"

#include <algorithm>
#include <span>

#include "analyzer/device_heap/device_heap.h"
#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

using Names = std::span<const std::string_view>; // by value

constexpr std::string_view kFamilies[] = {
    "unknown",  "device",    "pitched",       "managed",     "pinned",      "registered", "stream-ordered",
    "array",    "mipmapped", "vmm-handle",    "vmm-reserve", "vmm-mapping", "ipc",        "pool-import",
    "external", "graph",     "module-global", "graphics",    "multicast",   "region",     "managed-variable"};
constexpr std::string_view kFrees[] = {
    "unknown", "free",         "free-async", "free-host", "unregister", "destroy-array", "destroy-mipmapped",
    "release", "address-free", "unmap",      "ipc-close", "free()",     "unmap-graphics",
    "free-node", "unregister-region"};
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
constexpr std::string_view kLifeOps[] = {"?", "create", "destroy", "reset", "retain", "release", "use", "set", "trim"};
constexpr std::string_view kSyncOps[] = {
  "?", "stream-synchronize", "context-synchronize", "event-record", "event-synchronize",
  "stream-wait-event", "stream-query", "event-query", "host-function", "graph-launch", "begin-capture",
  "end-capture", "external-wait", "graph-upload", "elapsed-time", "context-record", "context-wait",
  "external-signal"};
constexpr std::string_view kUses[] = {"?",      "texture", "prefetch", "advise", "attach",
                                      "mem-op", "export",  "discard",  "access", "mem-op-wait",
                                      "surface", "tensor-map", "graph-node"};
constexpr std::string_view kGraphOps[] = {"?",          "child",      "update",  "remove",          "enable",
                                          "event-record", "event-wait", "host", "external-signal", "external-wait"};
constexpr std::string_view kRangeOps[] = {"?",    "push",        "pop",         "start",         "end",
                                          "mark", "name-domain", "name-thread", "name-resource", "thread"};
constexpr std::string_view kExitWays[] = {"?", "exit", "_exit", "exec", "exec-failed"};
constexpr std::string_view kTroubles[] = {"none", "no-library", "not-supported", "busy", "not-permitted", "error"};
constexpr std::string_view kCauses[] = {"?", "no-space", "trace-limit", "re-entry", "no-log", "no-ring"};

enum class Form : std::uint8_t { kHex, kDecimal, kName, kGrid, kBlock, kHandle, kText };

struct Field {
  std::string_view name;
  Form form = Form::kHex;
  Names names = {};
};

constexpr Field hex(std::string_view name) { return {name, Form::kHex, {}}; }
constexpr Field number(std::string_view name) { return {name, Form::kDecimal, {}}; }
constexpr Field named(std::string_view name, Names names) { return {name, Form::kName, names}; }

constexpr Field kAlloc[] = {hex("address"),   number("bytes"), named("family", kFamilies),
                            hex("stream"),    number("pitch"), number("width"),
                            number("height"), number("depth"), number("element"),
                            hex("pool"),      hex("flags")};
constexpr Field kFree[] = {hex("address"), named("by", kFrees), hex("stream"), number("bytes")};
constexpr Field kCopy[] = {hex("to"),          hex("from"),          number("bytes"),     hex("stream"),
                           number("to-pitch"), number("from-pitch"), number("width"),     number("height"),
                           number("depth"),    number("to-rows"),    number("from-rows"), number("to-x"),
                           number("to-y"),     number("to-z"),       number("from-x"),    number("from-y"),
                           number("from-z")};
constexpr Field kSet[] = {hex("to"),       number("bytes"), hex("value"),     hex("stream"),
                          number("pitch"), number("width"), number("height"), number("element")};
constexpr Field kLaunch[] = {{"function", Form::kHandle, {}},
                             hex("stream"),
                             {"grid", Form::kGrid, {}},
                             {"block", Form::kBlock, {}}};
constexpr Field kLife[] = {hex("handle"), named("class", kClasses), named("op", kLifeOps), hex("extra"),
                           number("value")};
constexpr Field kSync[] = {hex("stream"), hex("other"), named("op", kSyncOps)};
constexpr Field kNote[] = {hex("a"), hex("b"), hex("c"), hex("d")};
constexpr Field kUse[] = {hex("address"),  number("bytes"), named("class", kUses), hex("stream"),
                          number("pitch"), number("width"), number("height"),      number("element"),
                          hex("node"),     number("part"),  number("type"), // behind it a copy node's whole copy
    hex("to"), hex("from"), number("copied"), hex("on"), number("to-pitch"), number("from-pitch"), number("row"),
    number("rows"), number("slices"), number("to-rows"), number("from-rows"), number("to-x"), number("to-y"),
    number("to-z"), number("from-x"), number("from-y"), number("from-z"), hex("copy-flags")};
constexpr Field kGraphKernel[] = {{"function", Form::kHandle, {}},
                                  hex("graph"),
                                  {"grid", Form::kGrid, {}},
                                  {"block", Form::kBlock, {}},
                                  hex("node")};
constexpr Field kGraphChange[] = {hex("graph"), named("op", kGraphOps), hex("node"), hex("other")};
constexpr Field kDevice[] = {number("device"),
                             number("bytes"),
                             number("texture-alignment"),
                             number("texture-pitch"),
                             number("surface-alignment"),
                             number("pageable"),
                             number("host-page-tables"),
                             number("capability"),
                             number("concurrent-managed"),
                             {"name", Form::kText, {}},
                             number("largest-pitch")};
constexpr Field kMemoryInfo[] = {number("free"), number("total")};
constexpr Field kThread[] = {number("id"), number("number")};
constexpr Field kRange[] = {
    named("op", kRangeOps), number("domain"), {"text", Form::kText, {}}, hex("id")};
constexpr Field kContext[] = {hex("handle"), number("device"), number("primary")};
constexpr Field kExit[] = {named("way", kExitWays), number("status")};
constexpr Field kLoss[] = {named("cause", kCauses), number("records")};

std::span<const Field> fields_of(trace::Kind kind) {
  switch (kind) {
  case trace::Kind::kAlloc: return kAlloc;
  case trace::Kind::kFree: return kFree;
  case trace::Kind::kCopy: return kCopy;
  case trace::Kind::kSet: return kSet;
  case trace::Kind::kLaunch: return kLaunch;
  case trace::Kind::kLife: return kLife;
  case trace::Kind::kSync: return kSync;
  case trace::Kind::kUse: return kUse;
  case trace::Kind::kGraphKernel: return kGraphKernel;
  case trace::Kind::kGraphChange: return kGraphChange;
  case trace::Kind::kContext: return kContext;
  case trace::Kind::kExit: return kExit;
  case trace::Kind::kLoss: return kLoss;
  case trace::Kind::kDevice: return kDevice;
  case trace::Kind::kMemoryInfo: return kMemoryInfo;
  case trace::Kind::kRange: return kRange;
  case trace::Kind::kThread: return kThread;
  default: return kNote;
  }
}

// " executions=64": a figure that the chip has no metric for is a '-'.
std::string figure(std::string_view name, std::uint64_t value) {
  return cat({" ", name, "=", value == trace::kUnknownCount ? "-" : std::to_string(value)});
}

std::string_view kind_name(trace::Kind kind) {
  switch (kind) {
  case trace::Kind::kName: return "name";
  case trace::Kind::kContext: return "context";
  case trace::Kind::kExit: return "exit";
  case trace::Kind::kLoss: return "loss";
  case trace::Kind::kKernel: return "kernel";
  case trace::Kind::kDevice: return "device";
  case trace::Kind::kMemoryInfo: return "memory-info";
  case trace::Kind::kRange: return "range";
  case trace::Kind::kText: return "text";
  case trace::Kind::kThread: return "thread";
  default: return "?";
  }
}

// One line whatever the program wrote: control characters are shown as '?'.
std::string quoted(std::string_view text) {
  std::string line = cat({"\"", text, "\""});
  std::ranges::replace_if(line, [](char c) { return c >= 0 && c < ' '; }, '?');
  return line;
}

std::string value_text(const Field& field, std::uint64_t value, const EventStream& stream) {
  const auto part = [value](unsigned shift, unsigned bits) {
    return std::to_string(value >> shift & ((std::uint64_t{1} << bits) - 1));
  };
  switch (field.form) {
  case Form::kHex: return format_address(value);
  case Form::kDecimal: return std::to_string(value);
  case Form::kName:
    return value < field.names.size() ? std::string(field.names[value]) : std::to_string(value);
  case Form::kGrid: return part(0, 32) + "x" + part(32, 16) + "x" + part(48, 16);
  case Form::kBlock: return part(0, 16) + "x" + part(16, 16) + "x" + part(32, 16);
  case Form::kHandle: {
    const std::string_view name = stream.handle_name(value);
    return name.empty() ? format_address(value) : cat({format_address(value), ":", name});
  }
  case Form::kText: return value == 0 ? "-" : quoted(stream.text(value));
  }
  return {};
}

// What is no list of fields: strings, and the parameters of a kernel as offset:size.
std::string description(const Event& event, const EventStream& stream) {
  switch (event.kind) {
  case trace::Kind::kName:
    return cat({" handle=", format_address(event.p(0)), " ", stream.handle_name(event.p(0))});
  case trace::Kind::kText:
    return cat({" id=", format_address(event.p(0)), " ", quoted(stream.text(event.p(0)))});
  case trace::Kind::kKernel: {
    std::string line = cat({" handle=", format_address(event.p(0)), " parameters="});
    for (unsigned i = 0; i < event.p(1) && 2 + i < event.payload.size(); ++i) {
      const std::uint64_t word = event.p(2 + i);
      line += cat({i != 0 ? "," : "", std::to_string(word & 0xffffffff), ":", std::to_string(word >> 32)});
    }
    return line;
  }
  default: return {};
  }
}

// Possible pointers among a kernel's arguments, each with the number of its parameter.
std::string arguments_text(const Event& event) {
  std::string text;
  for (unsigned i = trace::first_argument(event.kind); i < event.payload.size(); ++i) {
    const std::uint64_t word = event.p(i);
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

std::string dump_line(const Event& event, const EventStream& stream, std::string_view thread) {
  const bool call = is_call(event.kind);
  std::string line = cat({std::to_string(event.order), " ", thread, " ",
                          call ? stream.trace().api_name(event.api) : kind_name(event.kind)});
  if (event.via != trace::kNoApi && call) line += cat({" (", stream.trace().api_name(event.via), ")"});
  if (const std::string text = description(event, stream); !text.empty()) return line + text;
  const std::span<const Field> fields = fields_of(event.kind);
  for (unsigned i = 0; i < std::min(fields.size(), event.payload.size()); ++i) {
    if (i >= trace::kFirstPayloadWords && event.p(i) == 0) continue; // what does not apply
    line += cat({" ", fields[i].name, "=", value_text(fields[i], event.p(i), stream)});
  }
  if (trace::first_argument(event.kind) != 0) line += arguments_text(event);
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
    return cat({log, " drained slots=", std::to_string(record.p(0)), " lost=", std::to_string(record.p(1)),
                " torn=", std::to_string(record.p(2)),
                " context=", std::to_string(record.host_slot().context)});
  }
  std::string line = cat({std::to_string(record.slot.time), " ", log, " "});
  if (record.head.kind == trace::Kind::kDeviceSite) {
    const DeviceSite site = site_of(record);
    return line + cat({"site id=", std::to_string(record.p(0)), " function=", gmt::quoted(site.function),
                       " file=", gmt::quoted(site.file), " line=", std::to_string(site.line)});
  }
  if (record.head.kind == trace::Kind::kDeviceGrid) {
    return line + cat({"grid id=", std::to_string(record.p(0)), " grid=", index(trace::block_of(record.p(1))),
                       " block=", index(trace::block_of(record.p(2)))});
  }
  line += cat({device_call(record.op()), " pointer=", format_address(record.p(0))});
  if (record.head.kind == trace::Kind::kDeviceAlloc) line += cat({" bytes=", std::to_string(record.p(1))});
  if (record.op() == trace::DeviceOp::kAlignedMalloc) {
    line += cat({" alignment=", std::to_string(record.p(4))});
  }
  if (record.space() != trace::DeviceSpace::kUnknown && record.head.kind == trace::Kind::kDeviceFree) {
    line += record.space() == trace::DeviceSpace::kShared ? " shared" : " local";
  }
  line += cat({" grid=", std::to_string(record.p(2)), " block=", index(trace::block_of(record.p(3))),
               " thread=", index(trace::thread_of(record.slot.who)),
               " site=", std::to_string(trace::site_of(record.slot.who))});
  return record.head.result == trace::kDeviceOutOfMemory ? line + " = NULL" : line;
}

std::string dump_lines(const AccessLog& log) {
  std::string text;
  if (const AccessWindows& w = log.windows; log.has_windows) {
    text += cat({log.name, " windows trouble=", kTroubles[static_cast<std::size_t>(w.trouble)],
                 figure("code", w.code), figure("opened", w.opened), figure("read", w.read),
                 figure("given-up", w.given_up), figure("launches", w.launches),
                 figure("launches-read", w.launches_read), figure("launches-given-up", w.launches_given_up),
                 figure("open-ns", w.open_nanoseconds), figure("graph-launches", w.graph_launches),
                 figure("unknown-graphs", w.unknown_graphs),
                 figure("graphs-in-windows", w.graphs_in_windows),
                 figure("put-off", w.put_off),
                 " counters-trouble=", kTroubles[static_cast<std::size_t>(w.counters_trouble)],
                 figure("counters-code", w.counters_code), figure("counted", w.counted),
                 figure("counted-lost", w.counted_lost), figure("measuring-ns", w.measuring_nanoseconds),
                 figure("elapsed-ns", w.elapsed_nanoseconds), "\n"});
  }
  for (const AccessFunction& f : log.functions) {
    text += cat({log.name, " function", figure("number", f.number), " name=", gmt::quoted(f.name),
                 " identity=", format_address(f.identity), figure("measured", f.measured),
                 figure("lost", f.lost), figure("launches", f.launches),
                 figure("measured-shared", f.shared_measured), figure("plain-ns", f.plain_nanoseconds),
                 figure("longest-ns", f.longest_nanoseconds), figure("too-costly", f.too_costly), "\n"});
    if (const KernelCounters& c = f.counters; c.launches != 0) {
      text += cat({log.name, " counters", figure("function", f.number), figure("launches", c.launches),
                   figure("read", c.read_bytes.sum), figure("written", c.written_bytes.sum),
                   figure("l1-sectors", c.l1_sectors.sum), figure("l1-hits", c.l1_hits.sum),
                   figure("l2-sectors", c.l2_sectors.sum), figure("loads", c.loads.sum),
                   figure("load-sectors", c.load_sectors.sum), figure("stores", c.stores.sum),
                   figure("store-sectors", c.store_sectors.sum), figure("nanoseconds", c.nanoseconds.sum),
                   figure("possible-bytes", c.possible_bytes.sum), figure("l2-launches", c.l2_hits.launches),
                   figure("l2-hits", c.l2_hits.sum), "\n"});
    }
    for (const AccessFunction::Instruction& i : f.instructions) {
      const AccessCounts& c = i.counts;
      text += cat({log.name, " instruction", figure("function", f.number),
                   " offset=", format_address(i.offset),
                   figure("executions", c.executions), figure("threads", c.thread_executions),
                   figure("sectors", c.sectors), figure("ideal-sectors", c.ideal_sectors),
                   figure("bytes", c.bytes), figure("wavefronts", c.wavefronts),
                   figure("ideal-wavefronts", c.ideal_wavefronts), figure("shared-bytes", c.shared_bytes),
                   figure("local-sectors", c.local_sectors), "\n"});
    }
  }
  return text;
}

} // namespace gmt
