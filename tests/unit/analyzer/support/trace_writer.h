// SPDX-License-Identifier: Apache-2.0
// Writes synthetic traces in the real format (trace/format.h, trace/records.def): what the
// interposer would leave behind, without a process. Orders come from one counter, as in a process,
// unless a call names its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/analyzer/support/record_words.h"

namespace gmt::test {

using Stack = std::vector<std::uint64_t>; // return addresses, innermost first

// What every call has. Designated initialisers keep tests readable.
struct Call {
  std::string api = {}; // driver symbol, or runtime's with `runtime`
  std::string via = {}; // runtime call that led here
  std::uint16_t result = 0;
  Stack stack = {};
  std::uint16_t context = 1;
  std::uint64_t order = 0; // 0: the next one
  std::uint16_t flags = 0;
  std::uint64_t ticks = 0; // how long it took
};

class TraceWriter;

class LogWriter {
public:
  void alloc(const Call& call, trace::MemoryKind memory_kind, std::uint64_t address,
             std::uint64_t bytes, std::uint64_t stream = 0,
             std::initializer_list<std::uint64_t> shape = {});
  void release(const Call& call, trace::FreeFunction function, std::uint64_t address,
               std::uint64_t bytes = 0, std::uint64_t stream = 0);
  void copy(const Call& call, std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
            trace::Side to_side = trace::Side::kUnified,
            trace::Side from_side = trace::Side::kUnified);
  void set(const Call& call, std::uint64_t to, std::uint64_t bytes);
  void life(const Call& call, std::uint64_t handle, trace::ObjectClass object, trace::LifeOp op);
  void context(std::uint16_t id, std::uint64_t handle, std::uint64_t device, bool primary);
  void exit(trace::ExitWay way, int status);
  std::uint64_t text(const std::string& text); // a kText record; its id
  void name(std::uint64_t handle, const std::string& text);
  void range(trace::RangeOp op, const std::string& name, std::uint64_t what = 0,
             std::uint64_t domain = 0);

  void record(trace::Kind kind, const Call& call,
              const std::vector<std::uint64_t>& payload); // any record
  template <template <class> class Fields>
  void record(const Call& call, const Fields<PayloadWords>& fields,
              const std::vector<std::uint64_t>& rest = {}) {
    record(fields.kKind, call, words_of(fields, rest));
  }
  void slot(const trace::Slot& slot) { slots_.push_back(slot); } // as it stands, damage included
  void torn() { slots_.emplace_back(); }
  std::uint32_t stack_id(const Stack& stack);

  trace::LogHeader header;

private:
  friend class TraceWriter;
  explicit LogWriter(TraceWriter& trace);
  TraceWriter& trace_;
  std::vector<trace::Slot> slots_;
  std::map<Stack, std::uint32_t> stacks_;
};

// A trace of one process. Written by write(), or by the destructor's owner never: nothing happens
// by itself.
class TraceWriter {
public:
  TraceWriter();
  LogWriter& log(std::size_t number = 0); // made at first use
  std::uint16_t api(const std::string& name);
  std::uint64_t next_order() { return ++order_; }

  std::vector<std::string> info;    // lines of `info` besides the usual ones
  std::vector<std::string> modules; // lines of `modules`
  std::string format = "1.0";
  std::string complete = "how=exited\nstatus=0\nsignal=0\ncore=0\n"; // empty: no such file
  unsigned zero_slots = 8; // tail of each log, as posix_fallocate leaves it

  void write(const std::filesystem::path& directory) const;

private:
  std::vector<std::unique_ptr<LogWriter>> logs_;
  std::vector<std::string> apis_;
  std::map<std::string, std::uint16_t> api_ids_;
  std::uint64_t order_ = 0;
};

// A directory of its own for one test, removed with the object.
class TemporaryDirectory {
public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

void write_file(const std::filesystem::path& path, const std::string& content);
std::string read_file(const std::filesystem::path& path);

} // namespace gmt::test
