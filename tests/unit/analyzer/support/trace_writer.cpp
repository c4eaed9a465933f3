// SPDX-License-Identifier: Apache-2.0
// Independent of the analyzer's reader on purpose: only the format is shared.

#include "tests/unit/analyzer/support/trace_writer.h"

#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <stdlib.h>

namespace gmt::test {
namespace fs = std::filesystem;
using trace::Kind;

namespace {

// Without them the log's end is missing. They stand first, so that tests say what is last.
void append_last_words(std::string& log) {
  trace::Slot slot{};
  slot.head = trace::pack({Kind::kExit, 1, trace::kNoApi, 0, 0});
  trace::SlotWords words{slot};
  trace::ExitFields(words).way(trace::ExitWay::kExit);
  log.append(reinterpret_cast<const char*>(&slot), sizeof slot);
}

} // namespace

LogWriter::LogWriter(TraceWriter& trace) : header{}, trace_(trace) {
  std::memcpy(header.magic, trace::kLogMagic, sizeof header.magic);
  header.major = trace::kFormatMajor;
  header.minor = trace::kFormatMinor;
  header.pid = 4242;
}

std::uint32_t LogWriter::stack_id(const Stack& stack) {
  if (stack.empty()) return 0;
  const auto [at, is_new] =
    stacks_.try_emplace(stack, static_cast<std::uint32_t>(stacks_.size() + 1));
  if (is_new) {
    record({}, Made<trace::StackFields>().id(at->second).frame_count(stack.size()), stack);
  }
  return at->second;
}

void LogWriter::record(Kind kind, const Call& call, const std::vector<std::uint64_t>& payload) {
  const std::uint32_t stack = stack_id(call.stack);
  const unsigned slots = trace::slots_for(static_cast<unsigned>(payload.size()));
  trace::Slot first{};
  const bool is_call = kind >= Kind::kAlloc;
  first.order = call.order != 0 ? call.order : is_call ? trace_.next_order() : 0;
  first.time = 1000 * first.order;
  if (call.ticks != 0) first.order = trace::with_ticks(first.order, call.ticks);
  first.stack = stack;
  first.context = call.context;
  first.via = call.via.empty() ? trace::kNoApi : trace_.api(call.via);
  const std::uint16_t api = call.api.empty() ? trace::kNoApi : trace_.api(call.api);
  first.head = trace::pack({kind, static_cast<std::uint8_t>(slots), api, call.flags, call.result});
  for (std::size_t i = 0; i < payload.size() && i < trace::kFirstPayloadWords; ++i)
    first.a[i] = payload[i];
  slots_.push_back(first);
  std::size_t at = trace::kFirstPayloadWords;
  for (unsigned s = 1; s < slots; ++s) {
    trace::MoreSlot more{};
    more.head = trace::pack({Kind::kMore, 1, 0, 0, 0});
    for (unsigned i = 0; i < trace::kMorePayloadWords && at < payload.size(); ++i)
      more.payload[i] = payload[at++];
    trace::Slot raw;
    std::memcpy(&raw, &more, sizeof raw);
    slots_.push_back(raw);
  }
}

void LogWriter::alloc(const Call& call, trace::MemoryKind memory_kind, std::uint64_t address,
                      std::uint64_t bytes, std::uint64_t stream,
                      std::initializer_list<std::uint64_t> shape) {
  Made<trace::AllocFields> made;
  std::vector<std::uint64_t> words =
    words_of(made.address(address).bytes(bytes).memory_kind(memory_kind).stream(stream));
  words.insert(words.end(), shape.begin(), shape.end());
  record(Kind::kAlloc, call, words);
}

void LogWriter::release(const Call& call, trace::FreeFunction function, std::uint64_t address,
                        std::uint64_t bytes, std::uint64_t stream) {
  record(call,
         Made<trace::FreeFields>().address(address).function(function).stream(stream).bytes(bytes));
}

void LogWriter::copy(const Call& call, std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
                     trace::Side to_side, trace::Side from_side) {
  Call with = call;
  with.flags =
    static_cast<std::uint16_t>(with.flags | trace::copy_flags(to_side, from_side, false));
  record(with, Made<trace::CopyFields>().destination(to).source(from).bytes(bytes));
}

void LogWriter::set(const Call& call, std::uint64_t to, std::uint64_t bytes) {
  record(call, Made<trace::SetFields>().destination(to).bytes(bytes));
}

void LogWriter::life(const Call& call, std::uint64_t handle, trace::ObjectClass object,
                     trace::LifeOp op) {
  record(call, Made<trace::LifeFields>().handle(handle).object(object).op(op));
}

std::uint64_t LogWriter::text(const std::string& text) {
  std::uint64_t id = 0xcbf29ce484222325; // FNV-1a
  for (const char c : text) id = (id ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  record({.order = trace_.next_order()}, Made<trace::TextFields>().id(id).length(text.size()),
         string_words(text));
  return id;
}

void LogWriter::name(std::uint64_t handle, const std::string& text) {
  record({}, Made<trace::NameFields>().handle(handle).length(text.size()), string_words(text));
}

void LogWriter::range(trace::RangeOp op, const std::string& name, std::uint64_t what,
                      std::uint64_t domain) {
  const std::uint64_t id = name.empty() ? 0 : text(name);
  record({.order = trace_.next_order()},
         Made<trace::RangeFields>().op(op).domain(domain).text(id).id(what));
}

void LogWriter::context(std::uint16_t id, std::uint64_t handle, std::uint64_t device,
                        bool primary) {
  Call call;
  call.context = id;
  call.order = trace_.next_order();
  record(call,
         Made<trace::ContextFields>().handle(handle).device(device).is_primary(primary ? 1 : 0));
}

void LogWriter::exit(trace::ExitWay way, int status) {
  Call call;
  call.order = trace_.next_order();
  record(call, Made<trace::ExitFields>().way(way).status(static_cast<std::uint64_t>(status)));
}

TraceWriter::TraceWriter() = default;

LogWriter& TraceWriter::log(std::size_t number) {
  while (logs_.size() <= number) logs_.emplace_back(new LogWriter(*this));
  return *logs_[number];
}

std::uint16_t TraceWriter::api(const std::string& name) {
  const auto [at, is_new] = api_ids_.try_emplace(name, static_cast<std::uint16_t>(apis_.size()));
  if (is_new) apis_.push_back(name);
  return at->second;
}

void TraceWriter::write(const fs::path& directory) const {
  fs::create_directories(directory);
  std::string text = "format=" + format +
                     "\ntool=0.1.0\nrun=test\npid=4242\nppid=1\nhost=box\nexe=/no/such/program\n" +
                     "cwd=/\ndevice=real\n";
  for (const std::string& line : info) text += line + "\n";
  write_file(directory / "info", text);
  text.clear();
  for (const std::string& name : apis_) text += name + "\n";
  write_file(directory / "apis", text);
  text.clear();
  for (const std::string& line : modules) text += line + "\n";
  if (modules.empty())
    text = "+\t0\t1\t2\t0\t-\t/no/such/program\n"; // a trace without any is damaged
  write_file(directory / "modules", text);
  if (!complete.empty()) write_file(directory / "complete", complete);
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    const LogWriter& log = *logs_[i];
    std::string bytes(trace::kLogHeaderBytes, '\0');
    std::memcpy(bytes.data(), &log.header, sizeof log.header);
    if (i == 0 && !log.slots_.empty() && complete.starts_with("how=exited"))
      append_last_words(bytes);
    bytes.append(reinterpret_cast<const char*>(log.slots_.data()),
                 log.slots_.size() * sizeof(trace::Slot));
    bytes.append(zero_slots * sizeof(trace::Slot), '\0');
    write_file(directory / ("t" + std::to_string(1000 + i) + "-0.log"), bytes);
  }
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (fs::temp_directory_path() / "gpumemtrace-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_file(const fs::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace gmt::test
