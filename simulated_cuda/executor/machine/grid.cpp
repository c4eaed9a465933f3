// SPDX-License-Identifier: Apache-2.0
// A launch from its beginning to its end: the handlers of its instructions, the team of workers
// that runs its blocks, and what it says when it is over.
#include "simulated_cuda/executor/machine/grid.h"

#include "simulated_cuda/executor/machine/accesses.h"
#include "simulated_cuda/executor/machine/counted.h"
#include "simulated_cuda/executor/machine/grid_ordering.h"
#include "simulated_cuda/executor/machine/grid_preparation.h"
#include "simulated_cuda/executor/machine/handlers/forms.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/tracking/twin.h"
#include "simulated_cuda/executor/machine/workers/dispatcher.h"
#include "simulated_cuda/executor/machine/workers/thread_pool.h"
#include "simulated_cuda/executor/machine/workers/watch.h"
#include "simulated_cuda/executor/program/access_strength.h"
#include "simulated_cuda/executor/program/contraction.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace gmt::executor {
namespace {

struct AlignedFree {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};

// Of a cooperative grid: where its blocks count who has arrived.
class Workspace {
public:
  explicit Workspace(Memory& memory) : memory_(memory), bytes_(4096) {
    memory_.add_region(kWorkspaceBase, bytes_.size(), bytes_.data());
    memory_.allocate(kWorkspaceBase, bytes_.size());
    memory_.mark_initialized(kWorkspaceBase, bytes_.size());
  }
  ~Workspace() { memory_.remove_region(kWorkspaceBase); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

private:
  Memory& memory_;
  std::vector<std::byte> bytes_;
};

// A program may have set how its own threads round.
class DefaultArithmetic {
public:
  DefaultArithmetic() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultArithmetic() { std::fesetenv(&saved_); }
  DefaultArithmetic(const DefaultArithmetic&) = delete;
  DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;

private:
  std::fenv_t saved_;
};

// The workers of a launch: the thread that makes it, and helpers once it has run for a while.
class Team {
public:
  Team(const Launch& launch, const Grid& grid, const Residents& resident, ReportSinks& sinks,
       Watch& watch)
      : launch_(launch), sinks_(sinks), watch_(watch), together_(grid.cluster_blocks),
        clusters_(grid.blocks / together_),
        count_(std::clamp<std::uint64_t>(std::min(resident.usual / together_, clusters_), 1,
                                         std::max(launch.workers, 1u))),
        most_(launch.cooperative ? clusters_
                                 : std::max<std::uint64_t>(resident.usual / together_ / count_, 1)),
        workers_(count_),
        run_(clusters_, together_,
             BlockOrder(clusters_, grid.seed, most_, launch.mixed_blocks / together_),
             workers_.data(), count_) {
    rules_.starts_all = launch.cooperative;
    const std::uint64_t each = count_ * together_;
    rules_.most = std::max(most_, (resident.most + each - 1) / each) * together_;
    rules_.fill_gpu = resident.fill_gpu;
    rules_.cluster_blocks = together_;
    rules_.counts_instructions = launch.limits.instructions != 0;
    rules_.keeps_real_time = launch.others_may_write;
    for (std::size_t i = 0; i < count_; ++i) {
      workers_[i].grid = &grid;
      workers_[i].run = &run_;
      workers_[i].checks = &sinks.of_worker(i);
      workers_[i].executed.resize(grid.program->features.size());
      workers_[i].notes_lines = launch.accesses != nullptr;
    }
  }
  // After an exception no worker may go on.
  ~Team() { run_.halt("it could not go on"); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void run() {
    work(0);
    while (!helpers_.finish_within(kPoll)) {
      watch_.look(run_);
      sinks_.deliver();
    }
    sinks_.deliver();
  }

  const GridRun& result() const { return run_; }
  // Nanoseconds from the launch's beginning.
  std::uint64_t end_of_time() {
    for (const Worker& worker : workers_)
      run_.time().at_least(worker.instructions + worker.time.skipped());
    return run_.time().latest();
  }
  const std::vector<Worker>& workers() const { return workers_; }

private:
  static constexpr std::chrono::milliseconds kPoll{2};

  void work(std::size_t number) {
    const DefaultArithmetic arithmetic;
    std::function<void()> after_turn;
    if (number == 0) after_turn = [this] { this->after_turn(); };
    Dispatcher(workers_[number], rules_, after_turn).run();
  }

  void after_turn() {
    const std::uint64_t instructions = workers_[0].instructions;
    if (!helpers_.are_started() && count_ > 1 && instructions >= launch_.alone_instructions &&
        run_.has_blocks_left())
      helpers_.start(count_ - 1, [this](std::size_t number) { help(number); });
    watch_.after_turn(run_, instructions);
    sinks_.deliver();
  }

  void help(std::size_t number) {
    try {
      work(number);
    } catch (const std::exception& bad) { // no memory
      run_.halt(bad.what());
    }
  }

  const Launch& launch_;
  ReportSinks& sinks_;
  Watch& watch_;
  const std::uint64_t together_, clusters_; // blocks of a cluster
  const std::size_t count_;
  const std::uint64_t most_; // clusters that a worker may have at a time
  Dispatcher::Rules rules_;
  std::vector<Worker> workers_;
  GridRun run_;
  Helpers helpers_;
};

Location location_of_stopped(const std::vector<Worker>& workers) {
  for (const Worker& worker : workers) {
    if (!worker.stood.function.empty()) return worker.stood;
  }
  return {};
}

void add_results(Outcome& outcome, const Program& program, const Team& team) {
  const GridRun& run = team.result();
  outcome.blocks_done = std::min(run.done(), run.last());
  std::uint64_t first = kNoBlock;
  for (const Worker& worker : team.workers()) {
    outcome.warp_instructions += worker.instructions;
    outcome.thread_instructions += worker.lane_instructions;
    if (worker.error_block > run.last() || worker.error_block >= first) continue;
    first = worker.error_block;
    outcome.gpu_error = worker.gpu_error;
  }
  outcome.reason = run.why();
  if (run.has_ended() || run.is_faulted()) outcome.end = End::kFault;
  if (!outcome.reason.empty()) outcome.end = End::kStopped;
  if (outcome.end == End::kStopped) outcome.location = location_of_stopped(team.workers());
  std::vector<std::uint64_t> executed(program.features.size());
  for (const Worker& worker : team.workers()) {
    for (std::size_t i = 0; i < executed.size(); ++i) executed[i] += worker.executed[i];
  }
  outcome.inexact = inexact_features(program, executed);
}

bool has_strong_accesses(const Program& program) {
  return std::ranges::any_of(program.functions, [&](const auto& code) {
    return std::ranges::any_of(code->instructions,
                               [&](const Instruction& in) { return is_strong(program, in); });
  });
}

bool has_form(const Program& program, std::string_view form) {
  return std::ranges::find(program.forms, form) != program.forms.end();
}

// Which memory the launch used, where that is known of all of its blocks.
void say_accesses(const Launch& launch, const Grid& grid, const Team& team,
                  const Outcome& outcome) {
  if (grid.ordering == nullptr || !grid.ordering->left_out().empty()) return;
  UsedLines used;
  for (const Worker& worker : team.workers()) used.add(worker.used_lines);
  *launch.accesses = read_accesses(used, grid.ordering->entries(), launch.block_at);
  launch.accesses->is_whole &= outcome.end == End::kDone;
  launch.accesses->may_wait = has_strong_accesses(*grid.program);
}

} // namespace

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
      const Shape& shape = program.shapes[in.form];
      in.go = shape.is_inexact ? counting(program, code, in, form, handler) : handler;
      if (in.guard == kNoOperand || shape.kind == Shape::Kind::kBranch) continue;
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

Outcome run_grid(const Launch& launch, Program& program, TrackedTwin& twin, ReportSinks& sinks,
                 Observer& observer) {
  static const Region kNoRegion;
  Outcome outcome;
  Grid grid;
  grid.launch = &launch;
  grid.program = &program;
  grid.twin = &twin;
  grid.memory = launch.memory;
  grid.reach = &launch.reach;
  grid.heap = launch.heap;
  grid.first_region = &kNoRegion;
  grid.check_atomics = grid.check_races = launch.checks != Checks::kNone;
  grid.check_loads = launch.checks == Checks::kDefault;
  const std::uint32_t extent[] = {launch.grid.x, launch.grid.y, launch.grid.z};
  const std::uint32_t block[] = {launch.block.x, launch.block.y, launch.block.z};
  std::copy(extent, extent + 3, grid.extent);
  std::copy(block, block + 3, grid.block_extent);
  grid.blocks = launch.grid.count();
  const std::uint32_t cluster[] = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
  std::copy(cluster, cluster + 3, grid.cluster_extent);
  grid.cluster_blocks = static_cast<std::uint32_t>(launch.cluster.count());
  grid.has_clusters = launch.has_clusters;
  if (launch.seed != 0) grid.seed = Random(launch.seed, launch.grid_id).next() | 1;
  grid.threads = static_cast<std::uint32_t>(launch.block.count());
  grid.warps = (grid.threads + kLanes - 1) / kLanes;
  grid.parameters.assign(launch.parameters.begin(), launch.parameters.end());
  const std::size_t constant_bytes = (program.constants.size() + kTwinConstants + 255) / 128 * 128;
  const std::unique_ptr<std::byte, AlignedFree> constants(
    static_cast<std::byte*>(std::aligned_alloc(128, constant_bytes)));
  grid.constants = constants.get();
  std::memset(grid.constants, 0, constant_bytes);
  fill_constants(grid, program);
  lay_out_shared(grid, program, launch.dynamic_shared_bytes);
  std::optional<Workspace> workspace;
  if (launch.cooperative) {
    workspace.emplace(*launch.memory);
    grid.workspace = kWorkspaceBase;
  }
  Watch watch(launch, observer);
  const Residents resident = residents_of(launch, grid, program);
  if (resident.usual == 0) {
    outcome.end = End::kStopped;
    outcome.reason = "its threads need more memory than is allowed";
    return outcome;
  }
  std::optional<GridOrdering> ordering;
  if (grid.check_races) {
    ordering.emplace(*launch.memory, grid.blocks, program.instruction_count(),
                     launch.limits.race_bytes);
    if (ordering->is_on()) grid.ordering = &*ordering;
    const bool lets_begin = has_form(program, "griddepcontrol.launch_dependents");
    if (lets_begin) ordering->expect_triggers(grid.warps);
    if (launch.tree != nullptr) ordering->follow(*launch.tree);
    else ordering->follow(launch.primary);
    // Another launch may write the memory meanwhile
    const bool is_beside = lets_begin || launch.tree != nullptr || ordering->beside() != nullptr;
    if (launch.accesses == nullptr && !is_beside) find_never_written(launch, program, grid);
  }
  Team team(launch, grid, resident, sinks, watch);
  team.run();
  add_results(outcome, program, team);
  if (launch.nanoseconds != nullptr) *launch.nanoseconds += team.end_of_time();
  if (ordering) outcome.races_left_out = ordering->left_out();
  if (ordering) become_earlier(launch, program, *ordering, outcome.end == End::kDone);
  else if (launch.tree != nullptr) launch.tree->forget();
  if (launch.accesses != nullptr) say_accesses(launch, grid, team, outcome);
  sinks.finish(team.result().last());
  outcome.seconds = watch.seconds();
  return outcome;
}

} // namespace gmt::executor
