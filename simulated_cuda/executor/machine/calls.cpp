// SPDX-License-Identifier: Apache-2.0
// Calls: a frame for the callee, its parameters and results, and local memory, which is a stack for
// each lane. A call is a join: lanes that returned wait for the others of the same call.
#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kMostDepth = 1024;
constexpr std::uint32_t kMostLocal = 512 * 1024;

std::size_t bytes_of_frame(const Code& code) {
  return code.register_bytes + std::size_t{code.parameter_bytes} * kLanes;
}

// The address that the first lane calls, and which lanes call the same.
std::uint64_t first_target(const Warp& w, const CallSite& site, std::uint32_t* lanes) {
  const std::byte* operand = w.base[site.target >> 31] + (site.target & 0x7fffffffu);
  const auto* targets = reinterpret_cast<const std::uint64_t*>(operand);
  const std::uint64_t target = targets[__builtin_ctz(w.mask)];
  *lanes = 0;
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    if (targets[lane] == target) *lanes |= 1u << lane;
  }
  return target;
}

// kNone: no function that can be called. A kernel cannot: its frame is no function's.
std::uint32_t function_at(const Program& program, std::uint64_t address) {
  const std::uint64_t offset = address - kFunctionWindow; // of another address: too large
  if (offset >= kWindowBytes || offset % 16 != 0) return ptx::kNone;
  const auto found = program.function_of_linked.find(static_cast<std::uint32_t>(offset / 16));
  if (found == program.function_of_linked.end()) return ptx::kNone;
  const bool is_kernel = program.linked->functions()[found->first].function->is_entry;
  return is_kernel ? ptx::kNone : found->second;
}

// From the caller's area of parameters into the callee's.
void pass_arguments(Frame& to, std::uint32_t lanes) {
  const Frame& from = *to.caller;
  const CallSite& site = *to.site;
  const Code& code = *to.code;
  const std::size_t arguments =
    std::min(site.argument_offsets.size(), code.parameter_offsets.size());
  for (std::size_t i = 0; i < arguments; ++i) {
    const std::uint32_t bytes = std::min(site.argument_sizes[i], code.parameter_sizes[i]);
    for (std::uint32_t m = lanes; m != 0; m &= m - 1) {
      const auto lane = static_cast<std::size_t>(__builtin_ctz(m));
      std::memcpy(to.parameters + lane * code.parameter_bytes + code.parameter_offsets[i],
                  from.parameters + lane * from.code->parameter_bytes + site.argument_offsets[i],
                  bytes);
    }
  }
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
  const std::size_t bytes = (bytes_of_frame(code) + 127) / 128 * 128 + 128;
  all_frames.push_back(made);
  made->registers = static_cast<std::byte*>(std::aligned_alloc(128, bytes));
  if (made->registers == nullptr) throw std::bad_alloc();
  std::memset(made->registers, 0, bytes);
  made->parameters = made->registers + code.register_bytes;
  worker->run->hold(bytes);
  return made;
}

void Warp::free_frame(Frame* old) { spare_frames.push_back(old); }

void Warp::reset_frames() {
  spare_frames.clear();
  for (Frame* each : all_frames) {
    if (each != first_frame) spare_frames.push_back(each);
  }
}

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
  const auto grow = [&](std::vector<std::byte>& memory) {
    std::vector<std::byte> grown(std::size_t{stride} * kLanes);
    for (std::size_t lane = 0; lane < kLanes && local_stride != 0; ++lane)
      std::memcpy(grown.data() + lane * stride, memory.data() + lane * local_stride, local_stride);
    memory = std::move(grown);
    worker->run->hold(std::uint64_t{stride - local_stride} * kLanes);
  };
  grow(local);
  if (is_tracked) grow(local_shadow);
  local_stride = stride;
}

const Instruction* Warp::call(const Instruction* in) {
  if (--calls < 0) return pause(in);
  const CallSite& site = frame->code->calls[in->extra];
  std::uint32_t lanes = mask;
  std::uint32_t callee = site.function;
  if (callee == ptx::kNone) {
    const std::uint64_t target = first_target(*this, site, &lanes);
    callee = function_at(*program, target);
    if (callee == ptx::kNone) return invalid_call(*this, in, target);
    if (lanes != mask) { // the others call something else
      part(in, mask & ~lanes);
      set_mask(lanes);
    }
  }
  const Code& code = *program->functions[callee];
  if (!code.unsupported.empty())
    return end_grid(*this, 0,
                    "it called " + std::string(code.name) + ", where " + code.unsupported);
  if (frame->depth >= kMostDepth || frame->local_end + code.local_bytes > kMostLocal)
    return stack_overflow(*this, in);
  if (worker->run->held_bytes() > grid->launch->limits.memory_bytes)
    return end_grid(*this, 0, "its calls needed more memory than is allowed");
  Frame* next = new_frame(code);
  next->caller = frame;
  next->site = &site;
  next->local_base = frame->local_end;
  next->local_end = next->local_base + code.local_bytes;
  next->depth = frame->depth + 1;
  reserve_local(next->local_end);
  pass_arguments(*next, lanes);
  Join* made = open_join(in + 1);
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
