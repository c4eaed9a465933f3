// SPDX-License-Identifier: Apache-2.0
// Reads and writes the `core-dump` file, see core_dump_file.h.
#include "analyzer/trace_reader/core_dump_file.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <span>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_files.h"
#include "analyzer/base/text_format.h"
#include "analyzer/base/text_lines.h"

namespace gmt {
namespace {

constexpr std::size_t kMostDumpEntries = 100'000; // of anything in one file; more is damage
constexpr std::array<std::string_view, 4> kEvidence{"warp", "processor", "stopped", "grid"};
using Fields = std::span<const std::string_view>;

template <class Number> bool read(std::string_view text, Number& into, int base = 10) {
  const std::optional<Number> value = parse_number<Number>(text, base);
  if (value) into = *value;
  return value.has_value();
}

bool read_extents(Fields fields, std::size_t at, Extents& into) {
  return fields.size() >= at + 3 && read(fields[at], into[0]) && read(fields[at + 1], into[1]) &&
         read(fields[at + 2], into[2]);
}

std::string or_none(std::string_view text) { return text == "-" ? std::string() : unescape(text); }
std::string none_if_empty(const std::string& text) {
  return text.empty() ? std::string("-") : escape(text);
}

class Reader {
public:
  explicit Reader(std::vector<CoreDump>& into) : into_(into) {}

  // False if the line makes no sense.
  bool take(std::string_view line) {
    const std::vector<std::string_view> fields = split_tabs(line);
    if (fields[0] == "dump") return dump(fields);
    if (into_.empty()) return false;
    if (fields[0] == "grid") return grid(fields);
    if (fields[0] == "fault") return fault(fields);
    const bool of_fault = fields[0] == "extents" || fields[0] == "only" || fields[0] == "failed" ||
                          fields[0] == "condition" || fields[0] == "place" ||
                          fields[0] == "lanes" || fields[0] == "low-halves";
    if (!of_fault) return true; // of a later version
    if (into_.back().faults.empty() || !open_) return false;
    DumpFault& f = into_.back().faults.back();
    if (fields[0] == "extents")
      return read_extents(fields, 1, f.grid) && read_extents(fields, 4, f.block);
    if (fields[0] == "only") return only(fields, f);
    if (fields[0] == "failed") return failed(fields, f);
    if (fields[0] == "condition") return condition(fields, f);
    if (fields[0] == "place") return source_line(fields, f);
    return lanes(fields, fields[0] == "lanes" ? f.addresses : f.low_halves);
  }

private:
  bool dump(Fields fields) {
    open_ = false;
    CoreDump read_dump;
    if (fields.size() < 4 || into_.size() == kMostDumpEntries || !read(fields[1], read_dump.bytes))
      return false;
    read_dump.device = or_none(fields[2]);
    read_dump.problem = or_none(fields[3]);
    into_.push_back(std::move(read_dump));
    return true;
  }

  bool grid(Fields fields) {
    DumpGrid read_grid;
    const bool sound = fields.size() >= 9 && read(fields[1], read_grid.id) &&
                       read_extents(fields, 3, read_grid.grid) &&
                       read_extents(fields, 6, read_grid.block) &&
                       into_.back().grids.size() < kMostDumpEntries;
    if (!sound) return false;
    read_grid.kernel = or_none(fields[2]);
    into_.back().grids.push_back(std::move(read_grid));
    return true;
  }

  bool fault(Fields fields) {
    open_ = false;
    DumpFault f;
    unsigned more = 0;
    const bool sound = fields.size() >= 14 && read(fields[1], f.exception) &&
                       read(fields[3], f.grid_id) && read(fields[9], f.bytes) &&
                       read(fields[10], f.warps) && read(fields[11], f.threads) &&
                       read(fields[12], f.without_address) && read(fields[13], more);
    const auto evidence = sound ? std::ranges::find(kEvidence, fields[2]) : kEvidence.end();
    if (evidence == kEvidence.end() || into_.back().faults.size() == kMostDumpEntries) return false;
    f.evidence = static_cast<DumpFault::Evidence>(evidence - kEvidence.begin());
    f.kernel = or_none(fields[4]);
    f.function = or_none(fields[5]);
    std::uint64_t offset = 0;
    if (fields[6] != "-") {
      if (!read(fields[6], offset, 16)) return false;
      f.offset = offset;
    }
    f.operation = or_none(fields[7]);
    f.space = or_none(fields[8]);
    f.has_more_addresses = more != 0;
    into_.back().faults.push_back(std::move(f));
    return open_ = true;
  }

  static bool only(Fields fields, DumpFault& f) {
    Extents block, thread;
    if (!read_extents(fields, 1, block)) return false;
    f.only_block = block;
    if (fields.size() < 7) return true;
    if (!read_extents(fields, 4, thread)) return false;
    f.only_thread = thread;
    return true;
  }

  static bool failed(Fields fields, DumpFault& f) {
    Extents block, thread;
    if (!read_extents(fields, 1, block) || !read_extents(fields, 4, thread)) return false;
    f.failed_block = block;
    f.failed_thread = thread;
    return true;
  }

  static bool condition(Fields fields, DumpFault& f) {
    if (fields.size() < 2) return false;
    f.condition = or_none(fields[1]);
    return true;
  }

  static bool source_line(Fields fields, DumpFault& f) {
    KernelLine line;
    if (fields.size() < 4 || !read(fields[1], line.line) || f.lines.size() == kMostDumpEntries)
      return false;
    line.function = or_none(fields[2]);
    line.file = or_none(fields[3]);
    f.lines.push_back(std::move(line));
    return true;
  }

  static bool lanes(Fields fields, std::vector<DumpLanes>& runs) {
    DumpLanes run;
    const bool sound = read_extents(fields, 1, run.block) && fields.size() >= 8 &&
                       read(fields[4], run.first_thread) && read(fields[5], run.count) &&
                       read(fields[6], run.address, 16) && read(fields[7], run.stride) &&
                       run.count != 0 && runs.size() < kMostDumpEntries;
    constexpr std::uint32_t kMostThreads = 1024; // of a block
    if (!sound || run.count > kMostThreads) return false;
    runs.push_back(run);
    return true;
  }

  std::vector<CoreDump>& into_;
  bool open_ = false; // a fault, whose further lines may follow
};

void write_extents(std::ostream& out, const Extents& e) {
  out << '\t' << e[0] << '\t' << e[1] << '\t' << e[2];
}

void write_lanes(std::ostream& out, std::string_view word, const std::vector<DumpLanes>& runs) {
  for (const DumpLanes& run : runs) {
    out << word;
    write_extents(out, run.block);
    out << '\t' << run.first_thread << '\t' << run.count << '\t' << hex(run.address) << '\t'
        << run.stride << '\n';
  }
}

void write_fault(std::ostream& out, const DumpFault& f) {
  out << "fault\t" << f.exception << '\t' << kEvidence[static_cast<std::size_t>(f.evidence)] << '\t'
      << f.grid_id << '\t' << none_if_empty(f.kernel) << '\t' << none_if_empty(f.function) << '\t'
      << (f.offset ? hex(*f.offset) : std::string("-")) << '\t' << none_if_empty(f.operation)
      << '\t' << none_if_empty(f.space) << '\t' << f.bytes << '\t' << f.warps << '\t' << f.threads
      << '\t' << f.without_address << '\t' << (f.has_more_addresses ? 1 : 0) << "\nextents";
  write_extents(out, f.grid);
  write_extents(out, f.block);
  out << '\n';
  if (f.only_block) {
    out << "only";
    write_extents(out, *f.only_block);
    if (f.only_thread) write_extents(out, *f.only_thread);
    out << '\n';
  }
  if (f.failed_block && f.failed_thread) {
    out << "failed";
    write_extents(out, *f.failed_block);
    write_extents(out, *f.failed_thread);
    out << '\n';
  }
  if (!f.condition.empty()) out << "condition\t" << escape(f.condition) << '\n';
  for (const KernelLine& line : f.lines)
    out << "place\t" << line.line << '\t' << none_if_empty(line.function) << '\t'
        << none_if_empty(line.file) << '\n';
  write_lanes(out, "lanes", f.addresses);
  write_lanes(out, "low-halves", f.low_halves);
}

void write_dump(std::ostream& out, const CoreDump& dump) {
  out << "dump\t" << dump.bytes << '\t' << none_if_empty(dump.device) << '\t'
      << none_if_empty(dump.problem) << '\n';
  for (const DumpGrid& grid : dump.grids) {
    out << "grid\t" << grid.id << '\t' << none_if_empty(grid.kernel);
    write_extents(out, grid.grid);
    write_extents(out, grid.block);
    out << '\n';
  }
  for (const DumpFault& f : dump.faults) write_fault(out, f);
}

} // namespace

std::vector<CoreDump> parse_core_dumps(std::string_view text, std::uint64_t& damaged_lines) {
  std::vector<CoreDump> dumps;
  Reader reader(dumps);
  for_each_line(text, [&](std::string_view line) {
    if (!line.empty() && !reader.take(line)) ++damaged_lines;
  });
  return dumps;
}

std::optional<std::string> write_core_dumps(const std::filesystem::path& trace,
                                            const std::vector<CoreDump>& dumps) {
  const std::filesystem::path path = trace / "core-dump";
  const WriteFailure failure = replace_file(path, Into::kOwnTrace, [&dumps](std::ostream& out) {
    for (const CoreDump& dump : dumps) write_dump(out, dump);
  });
  if (!failure) return std::nullopt;
  return cat({"What the GPU's core dump says could not be ", failure.what, " ", path.string(), " (",
              failure.why, ")."});
}

} // namespace gmt
