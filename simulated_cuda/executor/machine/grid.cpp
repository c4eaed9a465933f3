// SPDX-License-Identifier: Apache-2.0
// The dispatch of blocks, limits, and what a launch prepares: constants with its parameters, the
// layout of shared memory, the workspace of a cooperative grid.
#include "simulated_cuda/executor/machine/grid.h"

#include "simulated_cuda/executor/machine/counted.h"
#include "simulated_cuda/executor/machine/handlers/forms.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/program/contraction.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace gmt::executor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kRoundsOfBlock = 16; // while a warp of it spins
constexpr double kProgressSeconds = 0.1;

struct AlignedFree {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};

// When a launch has had enough, and when its observer is asked.
class Watch {
public:
  Watch(const Launch& launch, Observer& observer)
      : launch_(launch), observer_(observer), start_(Clock::now()), asked_(start_) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // Why the launch ends here; null: it goes on.
  const char* stop(const Grid& grid, std::uint64_t blocks_done) {
    if (launch_.limits.instructions != 0 && grid.instructions > launch_.limits.instructions)
      return "it executed as many instructions as are allowed";
    if (++calls_ % 16 != 0 && grid.instructions - at_last_look_ < 200000) return nullptr;
    at_last_look_ = grid.instructions;
    const Clock::time_point now = Clock::now();
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    if (launch_.limits.seconds > 0 && elapsed > launch_.limits.seconds)
      return "it ran for as long as is allowed";
    if (std::chrono::duration<double>(now - asked_).count() < kProgressSeconds) return nullptr;
    asked_ = now;
    if (!observer_.progress(blocks_done, grid.blocks, elapsed)) return "it was interrupted";
    return nullptr;
  }

private:
  const Launch& launch_;
  Observer& observer_;
  Clock::time_point start_, asked_;
  std::uint64_t calls_ = 0, at_last_look_ = 0;
};

void fill_constants(Grid& grid, const Program& program) {
  std::memcpy(grid.constants, program.constants.data(), program.constants.size());
  for (const ParameterConstant& each : program.parameters) {
    std::byte* to = grid.constants + (each.constant.offset);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      std::memcpy(to + lane * each.constant.bytes, grid.parameters.data() + each.parameter_offset,
                  each.constant.bytes);
  }
}

// Variables are allocated, with gaps between them; dynamic memory stands behind.
void lay_out_shared(Grid& grid, const Program& program, std::uint64_t dynamic_bytes) {
  const bool has_dynamic = dynamic_bytes != 0;
  std::uint64_t size = 0;
  for (const SharedVariable& variable : program.shared) {
    if (!variable.is_dynamic) size = std::max(size, variable.offset + variable.bytes);
  }
  if (has_dynamic) size = program.static_shared_bytes + dynamic_bytes;
  grid.shared_bytes = static_cast<std::uint32_t>((size + 3) / 4 * 4);
  grid.shared_pattern.assign(grid.shared_bytes / 4, 0);
  const auto allocate = [&](std::uint64_t from, std::uint64_t bytes) {
    for (std::uint64_t at = from; at < from + bytes; ++at)
      grid.shared_pattern[at / 4] |= static_cast<std::uint8_t>(1u << (at % 4));
  };
  for (const SharedVariable& variable : program.shared) {
    if (!variable.is_dynamic) allocate(variable.offset, variable.bytes);
  }
  if (has_dynamic) allocate(program.static_shared_bytes, dynamic_bytes);
}

// 0: there is no memory for those that have to run at the same time.
std::uint64_t resident_blocks(const Launch& launch, const Grid& grid, const Program& program) {
  const auto frames = [&](const Code& code) {
    const std::uint64_t of_lanes = std::uint64_t{code.local_bytes} + code.parameter_bytes;
    return grid.warps * (code.register_bytes + of_lanes * kLanes);
  };
  constexpr std::uint64_t kRaceBytes = 16; // of a granule
  const std::uint64_t of_shared = 2 + kRaceBytes / program.shared_granule;
  std::uint64_t each = grid.shared_bytes * of_shared + 4096;
  const std::uint64_t least = each + frames(*program.functions.front());
  for (const auto& code : program.functions) each += frames(*code);
  const std::uint64_t most = launch.limits.memory_bytes / least;
  if (most == 0) return 0;
  if (launch.cooperative) return grid.blocks <= most ? grid.blocks : 0;
  const std::uint64_t by_memory = std::max<std::uint64_t>(launch.limits.memory_bytes / each, 1);
  const std::uint64_t by_warps =
    std::max<std::uint64_t>(launch.limits.resident_warps / grid.warps, 1);
  return std::min({grid.blocks, by_memory, by_warps});
}

// Blocks are given to contexts in order; a context that spins lets the next have a turn, and a new
// block start.
class Dispatcher {
public:
  Dispatcher(Grid& grid, std::uint64_t most, bool all_at_once)
      : grid_(grid), most_(most), all_at_once_(all_at_once) {}

  // Null: the grid is done, or has ended.
  const char* run(Watch& watch) {
    if (all_at_once_) {
      while (contexts_.size() < most_) add_context();
    }
    std::size_t at = 0;
    while (!grid_.ended) {
      if (at >= contexts_.size()) {
        at = 0;
        const bool room = contexts_.size() < most_ && next_ < grid_.blocks;
        if (contexts_.empty() || room) add_context();
        if (contexts_.empty()) return nullptr;
        if (room) at = contexts_.size() - 1;
      }
      Block& block = *contexts_[at];
      if (const char* why = run_block(block, watch)) return why;
      if (!block.done) {
        ++at;
        continue;
      }
      ++done_;
      if (next_ < grid_.blocks) {
        block.start(next_++);
        at = 0; // the earliest first
        continue;
      }
      contexts_.erase(contexts_.begin() + static_cast<std::ptrdiff_t>(at));
      if (contexts_.empty()) return nullptr;
      at = 0;
    }
    return nullptr;
  }

  std::uint64_t done() const { return done_; }
  const Place& stood() const { return stood_; } // a thread of a block that was stopped

private:
  void add_context() {
    if (next_ >= grid_.blocks) return;
    auto block = std::make_unique<Block>();
    block->prepare(grid_);
    block->start(next_++);
    contexts_.push_back(std::move(block));
  }

  const char* run_block(Block& block, Watch& watch) {
    for (std::uint64_t round = 0; !block.done && !grid_.ended; ++round) {
      const bool ran = block.run();
      if (grid_.ended) return nullptr;
      if (const char* why = watch.stop(grid_, done_)) {
        stood_ = grid_.checks->place(block.standing());
        return why;
      }
      if (!ran && !block.done) block.stuck();
      if (block.spinning && round >= kRoundsOfBlock) return nullptr;
    }
    return nullptr;
  }

  Grid& grid_;
  std::uint64_t most_;
  bool all_at_once_;
  std::uint64_t next_ = 0, done_ = 0;
  Place stood_;
  std::vector<std::unique_ptr<Block>> contexts_;
};

} // namespace

const Instruction* Grid::end_grid(Warp& w, std::uint32_t error) {
  if (gpu_error == 0) gpu_error = error;
  ended = true;
  w.stop();
  return nullptr;
}

void bind(Program& program) {
  if (program.bound || !program.unsupported.reason.empty()) return;
  const FormTable& table = forms();
  const Handler guard = table.find("guard");
  std::uint32_t number = 0;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    Code& code = *program.functions[f];
    for (Instruction& in : code.instructions) in.number = number++ & 0x7fffffffu;
    for (Instruction& in : code.instructions) {
      const std::string& form = program.forms[in.form];
      const Handler handler = table.find(form);
      if (handler == nullptr) {
        const std::string_view text = in.source != ptx::kNone
                                        ? code.body->mnemonic(program.source_of(code, in)).text
                                        : std::string_view(form);
        const std::string reason = std::string(text) + " is not executed";
        if (f >= program.directly_reached) {
          code.unsupported = reason;
          break;
        }
        program.unsupported = {reason, f, in.source};
        return;
      }
      in.go = is_inexact(form) ? counting(program, code, in, form, handler) : handler;
      if (in.guard == kNoOperand || form.starts_with("bra.p")) continue;
      in.guarded = in.go;
      in.go = guard;
    }
  }
  for (const auto& code : program.functions) {
    if (code->body == nullptr) continue;
    for (const std::string& feature : joinable_operations(*code->body))
      feature_of(program, feature);
  }
  program.bound = true;
}

Outcome run_grid(const Launch& launch, Program& program, ReportSink& checks, Observer& observer) {
  static const Region kNoRegion;
  Outcome outcome;
  Grid grid;
  grid.launch = &launch;
  grid.program = &program;
  grid.memory = launch.memory;
  grid.checks = &checks;
  grid.heap = launch.heap;
  grid.first_region = &kNoRegion;
  grid.check_atomics = grid.check_races = launch.checks != Checks::kNone;
  grid.check_loads = launch.checks == Checks::kDefault;
  const std::uint32_t extent[] = {launch.grid.x, launch.grid.y, launch.grid.z};
  const std::uint32_t block[] = {launch.block.x, launch.block.y, launch.block.z};
  std::copy(extent, extent + 3, grid.extent);
  std::copy(block, block + 3, grid.block_extent);
  grid.blocks = launch.grid.count();
  grid.threads = static_cast<std::uint32_t>(launch.block.count());
  grid.warps = (grid.threads + kLanes - 1) / kLanes;
  grid.parameters.assign(launch.parameters.begin(), launch.parameters.end());
  const std::unique_ptr<std::byte, AlignedFree> constants(
    static_cast<std::byte*>(std::aligned_alloc(128, (program.constants.size() + 255) / 128 * 128)));
  grid.constants = constants.get();
  fill_constants(grid, program);
  lay_out_shared(grid, program, launch.dynamic_shared_bytes);
  std::vector<std::byte> workspace;
  if (launch.cooperative) {
    workspace.resize(4096);
    grid.workspace = kWorkspaceBase;
    launch.memory->add_host_memory(kWorkspaceBase, workspace.size(), workspace.data());
  }
  Watch watch(launch, observer);
  const std::uint64_t resident = resident_blocks(launch, grid, program);
  Dispatcher dispatcher(grid, resident, launch.cooperative);
  const char* stopped = "its threads need more memory than is allowed";
  if (resident != 0) stopped = dispatcher.run(watch);
  if (launch.cooperative) launch.memory->remove_region(kWorkspaceBase);
  if (stopped != nullptr || !grid.stopped.empty()) {
    outcome.end = End::kStopped;
    outcome.reason = stopped != nullptr ? stopped : grid.stopped;
    outcome.place = dispatcher.stood();
  }
  if (grid.ended && grid.stopped.empty()) outcome.end = End::kFault;
  outcome.gpu_error = grid.gpu_error;
  outcome.thread_instructions = grid.lane_instructions;
  outcome.warp_instructions = grid.instructions;
  outcome.blocks_done = dispatcher.done();
  outcome.seconds = watch.seconds();
  return outcome;
}

} // namespace gmt::executor
