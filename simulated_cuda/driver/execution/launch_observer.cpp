// SPDX-License-Identifier: Apache-2.0
// The structures of the two sides are alike; only texts change their form.
#include "simulated_cuda/driver/execution/launch_observer.h"

#include "simulated_cuda/driver/code/instance.h"
#include "simulated_cuda/driver/execution/choice.h"
#include "simulated_cuda/driver/execution/prints.h"
#include "simulated_cuda/driver/execution/used_memory.h"
#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/executor/program/program.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace gmt::sim {
namespace {

constexpr double kSecondsBeforeLine = 1;

// A location in the form of the ABI; the executor's location outlives it.
class LocationView {
public:
  explicit LocationView(const executor::Location& location) {
    for (const executor::SourceLine& line : location.lines)
      lines_.push_back({or_null(line.function), or_null(line.file), line.line, 0});
    view_.lines = lines_.data();
    view_.line_count = static_cast<std::uint32_t>(lines_.size());
    view_.has_thread = location.has_thread ? 1 : 0;
    view_.instruction = or_null(location.instruction);
    view_.function = or_null(location.function);
    view_.ptx_line = location.ptx_line;
    copy(location.block, view_.block);
    copy(location.thread, view_.thread);
  }
  const trace::ExecutionLocation& view() const { return view_; }

private:
  static const char* or_null(const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
  }
  static void copy(const executor::Extent& from, std::uint32_t (&to)[3]) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
  }

  std::vector<trace::ExecutionLine> lines_;
  trace::ExecutionLocation view_{};
};

trace::ExecutionReport kind_of(executor::ReportKind kind) {
  // In the order of executor::ReportKind.
  using enum trace::ExecutionReport;
  constexpr trace::ExecutionReport kKinds[] = {kOutOfBounds,
                                               kUseAfterFree,
                                               kMisaligned,
                                               kUninitializedRead,
                                               kSharedRace,
                                               kGlobalRace,
                                               kBarrierDivergence,
                                               kDeadlock,
                                               kAssert,
                                               kTrap,
                                               kIllegalInstruction,
                                               kStackOverflow,
                                               kInvalidAddressSpace,
                                               kInvalidJump,
                                               kHang,
                                               kOther};
  static_assert(std::size(kKinds) == static_cast<std::size_t>(executor::ReportKind::kOther) + 1);
  return kKinds[static_cast<std::size_t>(kind)];
}

// What a check finds; the others are how a kernel ends.
bool is_about_memory(executor::ReportKind kind) {
  using enum executor::ReportKind;
  return kind == kOutOfBounds || kind == kUseAfterFree || kind == kMisaligned ||
         kind == kUninitializedRead || kind == kSharedRace || kind == kGlobalRace ||
         kind == kBarrierDivergence;
}

trace::ExecutionSpace space_of(executor::Space space) {
  return static_cast<trace::ExecutionSpace>(space);
}
static_assert(static_cast<int>(executor::Space::kGeneric) ==
              static_cast<int>(trace::ExecutionSpace::kGeneric));

trace::ExecutionAccess access_of(executor::Access access) {
  return static_cast<trace::ExecutionAccess>(access);
}
static_assert(static_cast<int>(executor::Access::kCopy) ==
              static_cast<int>(trace::ExecutionAccess::kCopy));

// The driver holds signals back while it works: one that would end the program must not wait for
// the end of a kernel. A signal that is ignored waits as well.
bool program_should_end() {
  sigset_t waiting;
  if (sigpending(&waiting) != 0) return false;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action{};
    if (sigismember(&waiting, number) != 1 || sigaction(number, nullptr, &action) != 0) continue;
    if (action.sa_handler != SIG_IGN) return true;
  }
  return false;
}

} // namespace

LaunchObserver::~LaunchObserver() {
  if (line_drawn_) std::fputs("\r\033[K", stderr);
}

// The block of malloc() that the address lies in or behind. No space is said: it is the heap's.
void LaunchObserver::set_heap_block(trace::ExecutionFault& fault) const {
  const auto* context = reinterpret_cast<const Context*>(launch_.context);
  if (fault.has_address == 0 || fault.neighbour.bytes != 0 || context->heap == nullptr) return;
  if (fault.space != trace::ExecutionSpace::kGlobal &&
      fault.space != trace::ExecutionSpace::kGeneric)
    return;
  std::uint64_t begin = 0, bytes = 0;
  bool is_freed = false;
  if (!context->heap->heap()->block_at(fault.address, &begin, &bytes, &is_freed)) return;
  fault.neighbour.begin = begin;
  fault.neighbour.bytes = bytes;
  // Reports come when the launch has ended, and the block may have been freed since the access.
  fault.neighbour.is_freed = fault.kind == trace::ExecutionReport::kUseAfterFree ? 1 : 0;
  fault.neighbour.space = trace::ExecutionSpace::kUnknown;
}

// The variable that the address is closest to, if no other memory is closer. The host knows only
// those that it has looked up.
void LaunchObserver::set_variable(trace::ExecutionFault& fault, std::string& name) {
  if (fault.has_address == 0 || fault.neighbour.bytes != 0) return;
  if (fault.kind != trace::ExecutionReport::kOutOfBounds) return;
  if (fault.space != trace::ExecutionSpace::kGlobal &&
      fault.space != trace::ExecutionSpace::kGeneric)
    return;
  constexpr std::uint64_t kFarthest = std::uint64_t{16} << 20; // bytes
  const Block* block = state().blocks.nearest(fault.address);
  if (block == nullptr || block->contains(fault.address)) return;
  const std::uint64_t distance = fault.address < block->base
                                   ? block->base - fault.address
                                   : fault.address - (block->base + block->size);
  if (distance > kFarthest) return;
  name = variable_of(*block);
  if (name.empty()) return;
  fault.neighbour.begin = block->base;
  fault.neighbour.bytes = block->size;
  fault.neighbour.space = trace::ExecutionSpace::kGlobal;
  fault.neighbour.name = name.c_str();
}

// A pointer to a thread's own memory that has reached another thread, or a later kernel: the
// instruction takes it for one of global memory.
void LaunchObserver::set_local_memory(trace::ExecutionFault& fault) {
  const bool is_global =
    fault.space == trace::ExecutionSpace::kGlobal || fault.space == trace::ExecutionSpace::kGeneric;
  if (fault.has_address == 0 || fault.neighbour.bytes != 0 || !is_global) return;
  if (fault.address - executor::kLocalWindow >= executor::kWindowBytes) return;
  fault.neighbour.begin = executor::kLocalWindow;
  fault.neighbour.bytes = executor::kWindowBytes;
  fault.neighbour.space = trace::ExecutionSpace::kLocal;
}

// Threads that wait for each other are reported once for each side.
bool LaunchObserver::is_other_side(const executor::Report& report) {
  if (report.kind != executor::ReportKind::kDeadlock || !report.has_other) return false;
  const auto instruction = [](const executor::Location& location) {
    return std::pair(location.function, location.ptx_line);
  };
  if (other_sides_.contains(instruction(report.location))) return true;
  other_sides_.insert(instruction(report.other));
  return false;
}

void LaunchObserver::report(const executor::Report& report) {
  const trace::ExecutionObserver* observer = execution_observer();
  if (observer == nullptr || observer->fault == nullptr || is_other_side(report)) return;
  if (is_about_memory(report.kind) && !is_wanted_) return;
  const LocationView location(report.location), other(report.other);
  trace::ExecutionFault fault{};
  fault.size = sizeof fault;
  fault.kind = kind_of(report.kind);
  fault.launch = launch_;
  fault.location = location.view();
  fault.address = report.address;
  fault.has_address = report.has_address ? 1 : 0;
  fault.bytes = report.bytes;
  fault.space = space_of(report.space);
  fault.access = access_of(report.access);
  fault.count = report.count;
  fault.gpu_error = report.gpu_error;
  fault.has_other = report.has_other ? 1 : 0;
  fault.other = other.view();
  fault.other_access = access_of(report.other_access);
  fault.neighbour.begin = report.neighbour_begin;
  fault.neighbour.bytes = report.neighbour_bytes;
  fault.neighbour.space = fault.space;
  fault.neighbour.name = report.neighbour_name.empty() ? nullptr : report.neighbour_name.c_str();
  std::string variable;
  set_heap_block(fault);
  set_variable(fault, variable);
  set_local_memory(fault);
  fault.message = report.message.empty() ? nullptr : report.message.c_str();
  observer->fault(&fault);
}

// A free() of an address inside a block, and of shared or local memory (their windows lie above all
// device memory), changes nothing. Of other memory a GPU reads what stands in front of the address:
// at the beginning of a page nothing is mapped there.
std::uint32_t LaunchObserver::error_of(const executor::HeapEvent& event) const {
  using Kind = executor::HeapEvent::Kind;
  constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
  if (event.kind == Kind::kDoubleFree) return CUDA_ERROR_LAUNCH_FAILED;
  const bool in_window = (event.address >> 48) != 0;
  if (event.kind != Kind::kInvalidFree || in_window) return 0;
  const auto* context = reinterpret_cast<const Context*>(launch_.context);
  if (context->heap != nullptr && context->heap->contains(event.address)) return 0;
  const bool is_mapped =
    state().blocks.containing(event.address) != nullptr && event.address % kPage != 0;
  return is_mapped ? 0 : CUDA_ERROR_ILLEGAL_ADDRESS;
}

void LaunchObserver::heap_event(const executor::HeapEvent& event) {
  if (heap_error_ == 0) heap_error_ = error_of(event);
  const trace::ExecutionObserver* observer = execution_observer();
  if (observer == nullptr || observer->heap_call == nullptr) return;
  const LocationView location(event.location);
  trace::ExecutionHeapCall call{};
  call.size = sizeof call;
  call.is_free = event.kind == executor::HeapEvent::Kind::kMalloc ? 0 : 1;
  call.launch = launch_;
  call.location = location.view();
  call.pointer = event.address;
  call.bytes = event.bytes;
  call.heap_bytes = event.capacity;
  call.used_bytes = event.alive_bytes;
  observer->heap_call(&call);
}

void LaunchObserver::print(const std::string& text) { keep_print(text); }

void LaunchObserver::print_error(const std::string& text) { std::fputs(text.c_str(), stderr); }

bool LaunchObserver::progress(std::uint64_t done, std::uint64_t blocks, double seconds) {
  if (state().settings.show_progress != 0 && seconds >= kSecondsBeforeLine) {
    line_drawn_ = true;
    std::fprintf(stderr, "\r\033[Kgpumemtrace: executing %.60s: %llu of %llu blocks, %.0f s",
                 launch_.kernel, static_cast<unsigned long long>(done),
                 static_cast<unsigned long long>(blocks), seconds);
  }
  if (program_should_end()) why_ended_ = "a signal to the program interrupted it";
  run_is_over_ = seconds_left_ >= 0 && seconds > seconds_left_;
  if (run_is_over_) why_ended_ = "the time for all kernels of the run is over (--run-time)";
  return why_ended_.empty();
}

void LaunchObserver::accesses(const executor::Accesses& accesses) const {
  if (accesses.is_known) observe_accesses(launch_, accesses);
}

void LaunchObserver::skipped(trace::ExecutionEnd end, const std::string& reason,
                             const executor::Location& where, const executor::Outcome& outcome,
                             bool as_asked) const {
  const trace::ExecutionObserver* observer = execution_observer();
  if (observer == nullptr || observer->skipped == nullptr) return;
  const LocationView location(where);
  trace::ExecutionSkip skip{};
  skip.size = sizeof skip;
  skip.end = end;
  skip.launch = launch_;
  skip.location = location.view();
  skip.reason = reason.c_str();
  skip.blocks_done = outcome.blocks_done;
  skip.instructions_done = outcome.thread_instructions;
  skip.as_asked = as_asked ? 1 : 0;
  observer->skipped(&skip);
}

} // namespace gmt::sim
