// SPDX-License-Identifier: Apache-2.0
// Calls: a frame for the callee, its parameters and results, and local memory, which is a stack for
// each lane. A call is a join: lanes that returned wait for the others of the same call.
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kMostDepth = 1024;
constexpr std::uint32_t kMostLocal = 512 * 1024;

std::size_t frame_bytes(const Code& code) {
  return code.register_bytes + std::size_t{code.parameter_bytes} * kLanes;
}

} // namespace

Frame* Warp::new_frame(const Code& code) {
  for (std::size_t i = spare_frames.size(); i-- > 0;) {
    if (spare_frames[i]->code != &code) continue;
    Frame* found = spare_frames[i];
    spare_frames.erase(spare_frames.begin() + static_cast<std::ptrdiff_t>(i));
    return found;
  }
  auto* made = new Frame;
  made->code = &code;
  const std::size_t bytes = (frame_bytes(code) + 127) / 128 * 128 + 128;
  made->registers = static_cast<std::byte*>(std::aligned_alloc(128, bytes));
  std::memset(made->registers, 0, bytes);
  made->parameters = made->registers + code.register_bytes;
  all_frames.push_back(made);
  return made;
}

void Warp::free_frame(Frame* old) { spare_frames.push_back(old); }

Warp::~Warp() {
  for (Frame* each : all_frames) {
    std::free(each->registers);
    delete each;
  }
  for (Join* each : all_joins) delete each;
}

// A lane's memory keeps its bytes when it grows.
void Warp::reserve_local(std::uint32_t bytes) {
  if (bytes <= local_stride) return;
  const std::uint32_t stride = std::max(bytes, local_stride * 2);
  std::vector<std::byte> grown(std::size_t{stride} * kLanes);
  for (std::size_t lane = 0; lane < kLanes && local_stride != 0; ++lane)
    std::memcpy(grown.data() + lane * stride, local.data() + lane * local_stride, local_stride);
  local = std::move(grown);
  local_stride = stride;
}

const Instruction* Warp::call(const Instruction* in) {
  const CallSite& site = frame->code->calls[in->extra];
  std::uint32_t lanes = mask;
  std::uint32_t callee = site.function;
  if (callee == ptx::kNone) {
    const auto* targets =
      reinterpret_cast<const std::uint64_t*>(base[site.target >> 31] + (site.target & 0x7fffffffu));
    const std::uint64_t target = targets[__builtin_ctz(mask)];
    lanes = 0;
    for (std::uint32_t m = mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
      if (targets[lane] == target) lanes |= 1u << lane;
    }
    const Program& program = *grid->program;
    const std::uint64_t index = (target - kFunctionWindow) / 16;
    const auto found = target < kFunctionWindow || target % 16 != 0
                         ? program.function_of_linked.end()
                         : program.function_of_linked.find(static_cast<std::uint32_t>(index));
    if (found == program.function_of_linked.end()) return invalid_call(*this, in, target);
    callee = found->second;
    if (lanes != mask) { // the others call something else
      Fragment others;
      others.at = in;
      others.mask = mask & ~lanes;
      others.frame = frame;
      others.join = join;
      ready.push_back(others);
      set_mask(lanes);
    }
  }
  const Code& code = *grid->program->functions[callee];
  if (!code.unsupported.empty()) {
    return end_grid(*this, 0,
                    "it called " + std::string(code.name) + ", where " + code.unsupported);
  }
  const std::uint32_t local_base = frame->local_end;
  if (frame->depth >= kMostDepth || local_base + code.local_bytes > kMostLocal)
    return stack_overflow(*this, in);
  Frame* next = new_frame(code);
  next->caller = frame;
  next->site = &site;
  next->local_base = local_base;
  next->local_end = local_base + code.local_bytes;
  next->depth = frame->depth + 1;
  reserve_local(next->local_end);
  const std::size_t arguments =
    std::min(site.argument_offsets.size(), code.parameter_offsets.size());
  for (std::size_t i = 0; i < arguments; ++i) {
    const std::uint32_t bytes = std::min(site.argument_sizes[i], code.parameter_sizes[i]);
    for (std::uint32_t m = lanes; m != 0; m &= m - 1) {
      const auto lane = static_cast<std::size_t>(__builtin_ctz(m));
      std::memcpy(
        next->parameters + lane * code.parameter_bytes + code.parameter_offsets[i],
        frame->parameters + lane * frame->code->parameter_bytes + site.argument_offsets[i], bytes);
    }
  }
  Join* made = new_join();
  made->expected = lanes;
  made->resume = in + 1;
  made->parent = join;
  made->frame = frame;
  made->finished = next;
  next->exit = made;
  join = made;
  frame = next;
  base[0] = next->registers;
  return code.instructions.data();
}

// Into the caller's area of parameters, for lanes that go on there.
void Warp::take_results(Frame* from, std::uint32_t lanes) {
  const CallSite& site = *from->site;
  Frame* to = from->caller;
  const std::size_t results =
    std::min(site.return_offsets.size(), from->code->return_offsets.size());
  for (std::size_t i = 0; i < results; ++i) {
    const std::uint32_t bytes = std::min(site.return_sizes[i], from->code->return_sizes[i]);
    for (std::uint32_t m = lanes; m != 0; m &= m - 1) {
      const auto lane = static_cast<std::size_t>(__builtin_ctz(m));
      std::memcpy(to->parameters + lane * to->code->parameter_bytes + site.return_offsets[i],
                  from->parameters + lane * from->code->parameter_bytes +
                    from->code->return_offsets[i],
                  bytes);
    }
  }
}

const Instruction* Warp::return_(const Instruction* in) {
  Join* exit = frame->exit;
  if (exit == nullptr) return leave(in);
  drop_lanes(join, exit, mask);
  exit->arrived |= mask;
  settle(exit);
  return next_fragment();
}

} // namespace gmt::executor
