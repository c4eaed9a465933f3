// SPDX-License-Identifier: Apache-2.0
// What does not fit into the tables here is left out: of a function all of it.
#include "interposer/execution/traffic.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "interposer/base/bounded_lock.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/execution/records.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/process.h"
#include "interposer/log/slot_words.h"
#include "interposer/log/thread_log.h"
#include "trace/records.h"

namespace gmt::interposer {

namespace {

using trace::ExecutionFunctionTraffic;
using trace::ExecutionInstructionTraffic;
using trace::ExecutionTraffic;

constexpr unsigned kMostSummedContexts = 64, kFunctions = 1u << 12, kInstructions = 1u << 15;
constexpr int kTrafficLockMilliseconds = 2000;

struct ContextSums {
  std::uint64_t context; // CUcontext; 0: free
  ThreadLog* log;
  trace::Slot* windows;
  std::uint32_t functions;
};

struct FunctionSums {
  std::uint64_t key; // 0: free
  std::uint32_t number;
  trace::Slot* slot;
};

struct InstructionSums {
  std::uint64_t key; // 0: free
  trace::Slot* slot;
};

constinit ContextSums context_sums[kMostSummedContexts] = {};
constinit FunctionSums function_sums[kFunctions] = {};
constinit InstructionSums instruction_sums[kInstructions] = {};
constinit unsigned function_count = 0, instruction_count = 0;
constinit std::uint64_t written_code[kFunctions] = {}; // identities
constinit std::atomic<bool> in_use{false};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  std::uint64_t h = (a ^ (b * kFactor)) * kFactor;
  h ^= h >> 29;
  return h | 1; // 0 is free
}

// The entry of a key, or a free one for it. Tables are never more than three quarters full.
template <class Entry, unsigned kSize> Entry& entry_of(Entry (&table)[kSize],
                                                       std::uint64_t key) noexcept {
  std::size_t at = (key >> 7) % kSize;
  while (table[at].key != 0 && table[at].key != key) at = (at + 1) % kSize;
  return table[at];
}

void add(trace::Slot* slot, unsigned word, std::uint64_t by) noexcept {
  if (slot == nullptr || by == 0) return;
  std::uint64_t* at = word_at(slot, word);
  __atomic_store_n(at, *at + by, __ATOMIC_RELEASE);
}

ContextSums* sums_of(std::uint64_t context) noexcept {
  for (ContextSums& sums : context_sums) {
    if (sums.context == context) return sums.windows != nullptr ? &sums : nullptr;
    if (sums.context != 0) continue;
    sums.context = context;
    sums.log = ThreadLog::create_for_sums(static_cast<std::uint32_t>(&sums - context_sums));
    if (sums.log == nullptr) return nullptr;
    trace::Words<trace::AccessWindowsWord> words;
    if (Process::options().counters != 0)
      trace::AccessWindowsFields(words).counters_trouble(trace::AccessTrouble::kNotSupported);
    sums.windows = sums.log->append_words(trace::Kind::kAccessWindows, words.w, words.kCount,
                                          known_context(context), true);
    return sums.windows != nullptr ? &sums : nullptr;
  }
  return nullptr;
}

// Lines of `code`, written in pieces of whole lines.
class CodeLines {
public:
  ~CodeLines() { flush(); }

  void begin() noexcept { line_ = used_; }
  void add(std::string_view text) noexcept {
    for (const char c : text) put(c);
  }
  void add_escaped(std::string_view text) noexcept { // what ends a field or a line is in no name
    for (const char c : text) put(c == '\t' || c == '\n' || c == '\\' ? ' ' : c);
  }
  // A line that is too long is left out.
  void end() noexcept {
    put('\n');
    if (used_ > sizeof buffer_) used_ = line_;
    if (sizeof buffer_ - used_ < kLongest) flush();
  }

private:
  static constexpr std::size_t kLongest = 8192;

  void put(char c) noexcept {
    if (used_ < sizeof buffer_) buffer_[used_] = c;
    ++used_;
  }
  void flush() noexcept {
    if (used_ != 0 && Process::take_budget(used_, 2)) Process::append_line("code", buffer_, used_);
    used_ = line_ = 0;
  }

  static char buffer_[32768]; // one thread at a time; stacks may be small
  std::size_t used_ = 0, line_ = 0;
};
constinit char CodeLines::buffer_[32768] = {};

const char* word_of(trace::ExecutionAccess access) noexcept {
  switch (access) {
  case trace::ExecutionAccess::kStore: return "store";
  case trace::ExecutionAccess::kAtomic: return "atomic";
  case trace::ExecutionAccess::kReduction: return "reduction";
  case trace::ExecutionAccess::kCopy: return "copy";
  default: return "load";
  }
}

const char* word_of(trace::ExecutionSpace space) noexcept {
  switch (space) {
  case trace::ExecutionSpace::kGlobal: return "global";
  case trace::ExecutionSpace::kShared: return "shared";
  default: return "generic";
  }
}

void write_code(const ExecutionTraffic& traffic, unsigned at) noexcept {
  const ExecutionFunctionTraffic& function = traffic.functions[at];
  CodeLines out;
  bool has_lines = false;
  for (unsigned i = 0; i < function.instruction_count && !has_lines; ++i) {
    const trace::ExecutionLine* lines = nullptr;
    has_lines = traffic.lines(traffic.owner, at, i, &lines) != 0;
  }
  out.begin();
  out.add(has_lines ? "function\t1\t" : "function\t0\t");
  out.add_escaped(as_text(function.name));
  out.add("\tPTX");
  out.end();
  for (unsigned i = 0; i < function.instruction_count; ++i) {
    const ExecutionInstructionTraffic& one = function.instructions[i];
    char text[96];
    const int length =
      std::snprintf(text, sizeof text, "access\t%x\t%s\t%s\t%u\t%u\t%d", one.number,
                    word_of(one.access), word_of(one.space), one.bytes, one.base, one.offset);
    out.begin();
    out.add({text, static_cast<std::size_t>(length)});
    out.end();
    const trace::ExecutionLine* lines = nullptr;
    const std::uint32_t count = traffic.lines(traffic.owner, at, i, &lines);
    for (std::uint32_t k = 0; k < count; ++k) {
      const int digits = std::snprintf(text, sizeof text, "place\t%u\t", lines[k].line);
      out.begin();
      out.add({text, static_cast<std::size_t>(digits)});
      const std::string_view inlined = as_text(lines[k].function);
      out.add_escaped(inlined.empty() ? as_text(function.name) : inlined);
      out.add("\t");
      out.add_escaped(as_text(lines[k].file));
      out.end();
    }
  }
}

void write_code_once(const ExecutionTraffic& traffic, unsigned at) noexcept {
  for (std::uint64_t& identity : written_code) {
    if (identity == traffic.functions[at].identity) return;
    if (identity != 0) continue;
    identity = traffic.functions[at].identity;
    return write_code(traffic, at);
  }
}

FunctionSums* function_of(ContextSums& sums, const ExecutionTraffic& traffic,
                          unsigned at) noexcept {
  const ExecutionFunctionTraffic& function = traffic.functions[at];
  FunctionSums& entry = entry_of(function_sums, mixed(sums.context, function.identity));
  if (entry.key != 0) return &entry;
  if (function_count >= kFunctions / 4 * 3) return nullptr;
  trace::Words<trace::AccessFunctionWord> words;
  trace::AccessFunctionFields(words)
    .number(sums.functions + 1)
    .name(write_text(*sums.log, as_text(function.name)))
    .identity(trace::halves_of(function.identity));
  entry.slot = sums.log->append_words(trace::Kind::kAccessFunction, words.w, words.kCount,
                                      known_context(sums.context), true);
  if (entry.slot == nullptr) return nullptr;
  entry.key = mixed(sums.context, function.identity);
  entry.number = ++sums.functions;
  ++function_count;
  write_code_once(traffic, at);
  return &entry;
}

trace::Slot* instruction_of(ContextSums& sums, const FunctionSums& function,
                            const ExecutionInstructionTraffic& one) noexcept {
  const std::uint64_t key = mixed(function.key, one.number);
  InstructionSums& entry = entry_of(instruction_sums, key);
  if (entry.key != 0) return entry.slot;
  if (instruction_count >= kInstructions / 4 * 3) return nullptr;
  ++instruction_count;
  entry.key = key;
  trace::Words<trace::AccessInstructionWord> words;
  trace::AccessInstructionFields(words)
    .location({function.number, one.number})
    .bytes(trace::kUnknownCount)
    .shared_bytes(trace::kUnknownCount)
    .local_sectors(trace::kUnknownCount);
  entry.slot = sums.log->append_words(trace::Kind::kAccessInstruction, words.w, words.kCount,
                                      known_context(sums.context), true);
  return entry.slot;
}

void add_instruction(trace::Slot* slot, const ExecutionInstructionTraffic& one) noexcept {
  using Word = trace::AccessInstructionWord;
  add(slot, Word::executions, one.executions);
  add(slot, Word::thread_executions, one.threads);
  add(slot, Word::sectors, one.sectors);
  add(slot, Word::ideal_sectors, one.ideal_sectors);
  add(slot, Word::wavefronts, one.wavefronts);
  add(slot, Word::ideal_wavefronts, one.ideal_wavefronts);
}

void add_function(ContextSums& sums, const ExecutionTraffic& traffic, unsigned at) noexcept {
  using Word = trace::AccessFunctionWord;
  const ExecutionFunctionTraffic& function = traffic.functions[at];
  if (function.is_kernel == 0 && function.was_used == 0) return;
  FunctionSums* entry = function_of(sums, traffic, at);
  if (entry == nullptr) return;
  add(entry->slot, Word::measured, 1);
  if (function.is_kernel != 0) add(entry->slot, Word::launches, 1);
  for (unsigned i = 0; i < function.instruction_count; ++i) {
    const ExecutionInstructionTraffic& one = function.instructions[i];
    if (one.executions != 0) add_instruction(instruction_of(sums, *entry, one), one);
  }
}

} // namespace

void record_traffic(const ExecutionTraffic& traffic) noexcept {
  using Word = trace::AccessWindowsWord;
  const BoundedLock lock(in_use, kTrafficLockMilliseconds);
  if (!lock.held()) return;
  ContextSums* sums = sums_of(traffic.launch.context);
  if (sums == nullptr) return;
  for (const unsigned word : {Word::opened, Word::read, Word::launches, Word::launches_read})
    add(sums->windows, word, 1);
  for (unsigned i = 0; i < traffic.function_count; ++i) add_function(*sums, traffic, i);
}

void forget_traffic() noexcept {
  for (ContextSums& sums : context_sums) sums = {};
  for (FunctionSums& function : function_sums) function = {};
  for (InstructionSums& instruction : instruction_sums) instruction = {};
  for (std::uint64_t& identity : written_code) identity = 0;
  function_count = instruction_count = 0;
  in_use.store(false);
}

} // namespace gmt::interposer
