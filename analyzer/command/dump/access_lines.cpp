// SPDX-License-Identifier: Apache-2.0
// Access logs as text; see dump_format.h.

#include "analyzer/base/text_format.h"
#include "analyzer/command/dump/columns.h"
#include "analyzer/command/dump/dump_format.h"
#include "trace/records.h"
#include "trace/vocabulary_words.h"

namespace gmt {
namespace {

// " executions=64": a figure that the chip has no metric for is a '-'.
std::string figure(std::string_view name, std::uint64_t value) {
  return cat({" ", name, "=", value == trace::kUnknownCount ? "-" : std::to_string(value)});
}

std::string windows_line(std::string_view log, const AccessWindows& w) {
  using WindowsColumn = trace::AccessWindowsColumn;
  return cat({log,
              " windows",
              column(WindowsColumn::trouble, trace::word_of(w.trouble)),
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
              column(WindowsColumn::counters_trouble, trace::word_of(w.counters_trouble)),
              figure(WindowsColumn::counters_code, w.counters_code),
              figure(WindowsColumn::counted, w.counted),
              figure(WindowsColumn::counted_lost, w.counted_lost),
              figure(WindowsColumn::measuring_nanoseconds, w.measuring_nanoseconds),
              figure(WindowsColumn::elapsed_nanoseconds, w.elapsed_nanoseconds),
              "\n"});
}

std::string function_line(std::string_view log, const AccessFunction& f) {
  using FunctionColumn = trace::AccessFunctionColumn;
  return cat({log, " function", figure(FunctionColumn::number, f.number),
              " name=", in_quotes(f.name), " identity=", format_address(f.identity),
              figure(FunctionColumn::measured, f.measured), figure(FunctionColumn::lost, f.lost),
              figure(FunctionColumn::launches, f.launches),
              figure(FunctionColumn::more_shared, f.shared_measured),
              figure(FunctionColumn::plain_nanoseconds, f.plain_nanoseconds),
              figure(FunctionColumn::longest_nanoseconds, f.longest_nanoseconds),
              figure(FunctionColumn::too_costly, f.too_costly), "\n"});
}

std::string counters_line(std::string_view log, const AccessFunction& f) {
  using CountersColumn = trace::AccessCountersColumn;
  const KernelCounters& c = f.counters;
  return cat({log, " counters", figure(CountersColumn::function, f.number),
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

std::string instruction_line(std::string_view log, const AccessFunction& f,
                             const AccessFunction::Instruction& i) {
  using InstructionColumn = trace::AccessInstructionColumn;
  const AccessCounts& c = i.counts;
  return cat(
    {log, " instruction", figure(InstructionColumn::location, f.number),
     " offset=", format_address(i.offset), figure(InstructionColumn::executions, c.executions),
     figure(InstructionColumn::thread_executions, c.thread_executions),
     figure(InstructionColumn::sectors, c.sectors),
     figure(InstructionColumn::ideal_sectors, c.ideal_sectors),
     figure(InstructionColumn::bytes, c.bytes), figure(InstructionColumn::wavefronts, c.wavefronts),
     figure(InstructionColumn::ideal_wavefronts, c.ideal_wavefronts),
     figure(InstructionColumn::shared_bytes, c.shared_bytes),
     figure(InstructionColumn::local_sectors, c.local_sectors), "\n"});
}

} // namespace

std::string dump_lines(const AccessLog& log) {
  std::string text;
  if (log.has_windows) text += windows_line(log.name, log.windows);
  for (const AccessFunction& f : log.functions) {
    text += function_line(log.name, f);
    if (f.counters.launches != 0) text += counters_line(log.name, f);
    for (const AccessFunction::Instruction& i : f.instructions)
      text += instruction_line(log.name, f, i);
  }
  return text;
}

} // namespace gmt
