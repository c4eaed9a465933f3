// SPDX-License-Identifier: Apache-2.0
// Walks the tables of a core dump, see core_dump.h. Numbers of bytes are where fields stand in
// their rows.
#include "analyzer/core_dump/core_dump.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/core_dump/dump_modules.h"
#include "analyzer/core_dump/dump_tables.h"
#include "analyzer/core_dump/lane_address.h"
#include "analyzer/core_dump/lane_runs.h"

namespace gmt {
namespace {

using Section = DumpTables::Section;
using Evidence = DumpFault::Evidence;

constexpr std::array<std::string_view, 6> kOps{"load",      "store", "atomic",
                                               "reduction", "copy",  "bulk-copy"};
constexpr std::array<std::string_view, 5> kCodeSpaces{"global", "shared", "local", "generic",
                                                      "constant"};
constexpr std::size_t kMostGrids = 10'000;

Extents extents_at(const DumpRow& row, std::uint64_t at) {
  return {row.u32(at), row.u32(at + 4), row.u32(at + 8)};
}

struct Processor {
  std::uint32_t exception = 0;
  bool names_instruction = false;
  std::uint64_t instruction = 0;
  explicit Processor(const DumpRow& row)
      : exception(row.u32(8)), names_instruction(row.u32(12) != 0), instruction(row.u64(16)) {}
};

struct Warp {
  std::uint64_t instruction = 0;
  std::uint32_t valid = 0;
  bool is_broken = false, names_instruction = false;
  explicit Warp(const DumpRow& row)
      : instruction(row.u64(0)), valid(row.u32(12)), is_broken(row.u32(20) != 0),
        names_instruction(row.u32(24) != 0) {}
};

struct Lane {
  std::uint64_t pc = 0;
  Extents thread{};
  std::uint32_t exception = 0;
  explicit Lane(const DumpRow& row)
      : pc(row.u64(0)), thread(extents_at(row, 20)), exception(row.u32(32)) {}
};

struct Parameters { // of a grid
  std::span<const char> bytes;
  std::uint64_t at = 0; // where they begin in constant bank 0
};

class DumpReader {
public:
  DumpReader(const DumpTables& tables, CoreDump& into) : tables_(tables), into_(into) {}

  void read() {
    const Section* devices = tables_.first(DumpTable::kDevices);
    for (std::uint64_t d = 0; d < tables_.row_count(devices); ++d) read_device(devices, d);
    for (auto& [key, collected] : faults_) {
      collected.runs.move_to(collected.fault);
      into_.faults.push_back(std::move(collected.fault));
    }
  }

private:
  // Equal faults: the same instruction, grid and exception. The strongest evidence counts.
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;
  struct Collected {
    DumpFault fault;
    LaneRuns runs;
  };

  void read_device(const Section* devices, std::uint64_t d) {
    const DumpRow device = tables_.row(devices, d);
    if (into_.device.empty()) into_.device = tables_.text(device.u64(0));
    modules_.clear();
    const Section* contexts = tables_.below(DumpTable::kContexts, devices, d);
    for (std::uint64_t c = 0; c < tables_.row_count(contexts); ++c)
      modules_.emplace_back(tables_, tables_.below(DumpTable::kModules, contexts, c));
    read_grids(tables_.below(DumpTable::kGrids, devices, d));
    const std::size_t before = faults_.size();
    const Section* processors = tables_.below(DumpTable::kProcessors, devices, d);
    for (std::uint64_t p = 0; p < tables_.row_count(processors); ++p) read_processor(processors, p);
    if (faults_.size() == before) add_bare_grids();
  }

  void read_grids(const Section* grids) {
    grids_.clear();
    parameters_.clear();
    for (std::uint64_t g = 0; g < tables_.row_count(grids) && g < kMostGrids; ++g) {
      const DumpRow row = tables_.row(grids, g);
      const DumpCode* code = find(row.u64(24));
      DumpGrid grid{.id = row.u64(0),
                    .kernel = code != nullptr ? std::string(code->location.kernel) : std::string(),
                    .grid = extents_at(row, 72),
                    .block = extents_at(row, 84)};
      grids_[grid.id] = grid;
      parameters_[grid.id] = {tables_.data(tables_.below(DumpTable::kParameters, grids, g)),
                              row.u64(48)};
      into_.grids.push_back(std::move(grid));
    }
  }

  void read_processor(const Section* processors, std::uint64_t p) {
    const Processor processor(tables_.row(processors, p));
    const Section* blocks = tables_.below(DumpTable::kBlocks, processors, p);
    bool named = false; // an instruction
    for (std::uint64_t b = 0; b < tables_.row_count(blocks); ++b) {
      const DumpRow block = tables_.row(blocks, b);
      const Section* warps = tables_.below(DumpTable::kWarps, blocks, b);
      for (std::uint64_t w = 0; w < tables_.row_count(warps); ++w)
        named |= read_warp(processor, block, warps, w);
    }
    if (processor.exception == 0 || named) return;
    // No block is left, or none of its threads stands at the instruction
    const DumpCode* code = processor.names_instruction ? find(processor.instruction) : nullptr;
    const DumpGrid* grid = blocks != nullptr && tables_.row_count(blocks) != 0
                             ? grid_of(tables_.row(blocks, 0).u64(0))
                             : only_grid();
    collect(code, processor.instruction, grid,
            code != nullptr ? Evidence::kProcessor : Evidence::kGrid, processor.exception);
  }

  // Whether the warp belongs to a fault.
  bool read_warp(const Processor& processor, const DumpRow& block, const Section* warps,
                 std::uint64_t w) {
    const Warp warp(tables_.row(warps, w));
    const Section* lanes = tables_.below(DumpTable::kLanes, warps, w);
    const DumpGrid* grid = grid_of(block.u64(0));
    const std::uint64_t lane_count = tables_.row_count(lanes);
    std::uint32_t exception = processor.exception;
    for (std::uint64_t l = 0; l < lane_count && l < 32; ++l)
      exception = std::max(exception, Lane(tables_.row(lanes, l)).exception);
    Evidence evidence = Evidence::kProcessor;
    std::uint64_t at = processor.instruction;
    if (warp.names_instruction) {
      evidence = Evidence::kWarp;
      at = warp.instruction;
    } else if (exception == DumpFault::kAssert || (exception == 0 && warp.is_broken)) {
      evidence = Evidence::kStopped;
      at = stopped_at(lanes);
    } else if (!processor.names_instruction || exception == 0) {
      return false;
    }
    const DumpCode* code = find(at);
    if (code == nullptr) return false;
    Collected* collected = collect(code, at, grid, evidence, exception);
    if (collected != nullptr) add_lanes(*collected, *code, at, block, warps, w);
    return true;
  }

  // Threads stand behind the call of an assert and behind __trap(). Others of the same warp may be
  // elsewhere: what calls __assertfail comes first, then any call or trap.
  std::uint64_t stopped_at(const Section* lanes) {
    std::uint64_t stopped = 0;
    const std::uint64_t count = std::min<std::uint64_t>(tables_.row_count(lanes), 32);
    for (std::uint64_t l = 0; l < count; ++l) {
      const std::uint64_t before = Lane(tables_.row(lanes, l)).pc - kInstructionBytes;
      const DumpCode* code = find(before);
      if (code == nullptr) continue;
      if (!code->assertion().empty()) return before;
      const DumpCode::Words words = code->words(0);
      const RegisterEffect effect = register_effect(words.low, words.high, code->architecture);
      if (stopped == 0 && (effect.is_jump || effect.is_trap)) stopped = before;
    }
    if (stopped != 0 || count == 0) return stopped;
    return Lane(tables_.row(lanes, 0)).pc;
  }

  void add_lanes(Collected& collected, const DumpCode& code, std::uint64_t at, const DumpRow& block,
                 const Section* warps, std::uint64_t w) {
    const Section* lanes = tables_.below(DumpTable::kLanes, warps, w);
    const Section* uniform = tables_.below(DumpTable::kUniformRegisters, warps, w);
    const Extents index = extents_at(block, 8);
    DumpFault& fault = collected.fault;
    const Parameters parameters = parameters_of(block.u64(0));
    ++fault.warps;
    for (std::uint64_t l = 0; l < tables_.row_count(lanes) && l < 32; ++l) {
      const Lane lane(tables_.row(lanes, l));
      // The exception is the warp's: a thread that is elsewhere has passed the assert.
      const bool is_assert = fault.exception == DumpFault::kAssert;
      if (is_assert && lane.pc != at && lane.pc != at + kInstructionBytes) continue;
      ++fault.threads;
      collected.runs.see(index, lane.thread);
      if (is_assert) see_failed(index, lane.thread, fault);
      if (fault.evidence == Evidence::kStopped || !code.access) continue;
      const bool same_function = lane.pc >= at && lane.pc - at < code.location.rest;
      const auto address =
        same_function
          ? lane_address(code, static_cast<std::int64_t>(lane.pc - at),
                         {tables_, tables_.below(DumpTable::kRegisters, lanes, l), uniform,
                          tables_.below(DumpTable::kPredicates, lanes, l), parameters.bytes,
                          parameters.at, index, lane.thread, fault.block, fault.grid})
          : std::nullopt;
      if (address) collected.runs.add(index, lane.thread, fault.block, *address);
      if (!address || address->is_low_half) ++fault.without_address;
    }
  }

  // The lowest block and thread, numbered with x fastest.
  static void see_failed(const Extents& block, const Extents& thread, DumpFault& fault) {
    const auto order = [](const Extents& b, const Extents& t) {
      return std::array{b[2], b[1], b[0], t[2], t[1], t[0]};
    };
    if (fault.failed_block &&
        order(*fault.failed_block, *fault.failed_thread) <= order(block, thread))
      return;
    fault.failed_block = block;
    fault.failed_thread = thread;
  }

  // Null where there are too many.
  Collected* collect(const DumpCode* code, std::uint64_t at, const DumpGrid* grid,
                     Evidence evidence, std::uint32_t exception) {
    const Key key{at, grid != nullptr ? grid->id : 0, exception};
    const auto known = faults_.find(key);
    if (known != faults_.end()) {
      DumpFault& fault = known->second.fault;
      fault.evidence = std::min(fault.evidence, evidence);
      return &known->second;
    }
    if (faults_.size() >= kMostFaults) {
      into_.problem = "it has more faults than are kept";
      return nullptr;
    }
    DumpFault fault;
    fault.exception = exception;
    fault.evidence = evidence;
    if (grid != nullptr) {
      fault.kernel = grid->kernel;
      fault.grid_id = grid->id;
      fault.grid = grid->grid;
      fault.block = grid->block;
    }
    if (code != nullptr) describe(*code, fault);
    return &faults_.emplace(key, Collected{std::move(fault), {}}).first->second;
  }

  static void describe(const DumpCode& code, DumpFault& fault) {
    if (fault.kernel.empty()) fault.kernel = code.location.kernel;
    fault.function = code.location.function;
    fault.offset = code.location.offset;
    if (code.access) {
      fault.operation = kOps[static_cast<std::size_t>(code.access->op)];
      fault.space = kCodeSpaces[static_cast<std::size_t>(code.access->space)];
      fault.bytes = code.access->bytes;
    }
    if (fault.exception == DumpFault::kAssert) fault.condition = code.assertion();
    for (const SourceLine& line : code.location.lines)
      fault.lines.push_back({line.function, line.file, line.line});
  }

  // The dump exists because something happened, and says no more than what ran.
  void add_bare_grids() {
    for (const auto& [id, grid] : grids_)
      collect(nullptr, 0, &grid, Evidence::kGrid, DumpFault::kNone);
  }

  const DumpCode* find(std::uint64_t address) {
    for (DumpModules& modules : modules_) {
      if (const DumpCode* code = modules.find(address)) return code;
    }
    return nullptr;
  }
  Parameters parameters_of(std::uint64_t id) const {
    const auto at = parameters_.find(id);
    return at != parameters_.end() ? at->second : Parameters{};
  }
  const DumpGrid* grid_of(std::uint64_t id) const {
    const auto at = grids_.find(id);
    return at != grids_.end() ? &at->second : nullptr;
  }
  const DumpGrid* only_grid() const {
    return grids_.size() == 1 ? &grids_.begin()->second : nullptr;
  }

  const DumpTables& tables_;
  CoreDump& into_;
  std::vector<DumpModules> modules_; // of the device's contexts
  std::map<std::uint64_t, DumpGrid> grids_;
  std::map<std::uint64_t, Parameters> parameters_; // by grid, like grids_
  std::map<Key, Collected> faults_;
};

} // namespace

CoreDump read_core_dump(std::span<const char> bytes) {
  CoreDump result;
  result.bytes = bytes.size();
  const auto tables = DumpTables::open(bytes);
  if (!tables) {
    result.problem = "it is no core dump of a GPU";
    return result;
  }
  DumpReader(*tables, result).read();
  if (tables->is_cut()) result.problem = "it ends too early";
  else if (result.faults.empty() && result.problem.empty())
    result.problem = "it has no grid and no exception";
  return result;
}

} // namespace gmt
