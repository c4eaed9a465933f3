// SPDX-License-Identifier: Apache-2.0
// Words and stacks for calls in kernels, see device_stacks.h.

#include "analyzer/detectors/shared/device_stacks.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

std::array<std::uint32_t, 3> indices(trace::Index3 index) { return {index.x, index.y, index.z}; }

StackRole role_of(const KernelLaunch& launch) {
  if (launch.by_hand) return StackRole::kNodeMade;
  return launch.captured ? StackRole::kCaptured : StackRole::kLaunched;
}

// From where the host had the kernel run that made a call at that time.
std::vector<FindingStack> launch_stacks(const KernelLaunch& launch, std::uint64_t time,
                                        const TraceNames& names) {
  std::vector<FindingStack> stacks;
  const auto add = [&](StackRole role, const auto& made) {
    stacks.push_back(stack_as(role, made.stack, names.api_name(made.api)));
  };
  if (const GraphLaunches* graph = launch.graph; graph != nullptr && graph->count() != 0) {
    const GraphLaunches::Range range = graph->at(time);
    const bool is_one_site = graph->is_one_site(range);
    add(is_one_site ? StackRole::kGraphLaunched : StackRole::kGraphFirstLaunched,
        graph->launch(range.first));
    if (!is_one_site) add(StackRole::kGraphLastLaunched, graph->launch(range.last));
  }
  add(role_of(launch), launch);
  return stacks;
}

// Whether the newest of the host's stacks in the finding are these.
bool host_stacks_end_with(const Finding& finding, const std::vector<FindingStack>& stacks) {
  const auto on_host =
    std::ranges::find_if(finding.stacks.rbegin(), finding.stacks.rend(),
                         [](const FindingStack& stack) { return !stack.device; });
  if (static_cast<std::size_t>(finding.stacks.rend() - on_host) < stacks.size()) return false;
  const auto is_same = [](const FindingStack& a, const FindingStack& b) {
    return a.stack == b.stack && a.role == b.role;
  };
  return std::equal(stacks.rbegin(), stacks.rend(), on_host, is_same);
}

} // namespace

std::string kernel_of(const DeviceCall& call, const DeviceContext& context) {
  const KernelLaunch* launch = context.launches.find(call.grid);
  if (launch != nullptr && !context.launches.kernel(*launch).empty())
    return context.launches.kernel(*launch);
  const std::string& function = context.heap.site(call.thread).function;
  return function.empty() ? "a kernel" : function;
}

std::string source_of(const DeviceCall& call, const DeviceContext& context) {
  const DeviceSite& site = context.heap.site(call.thread);
  if (site.file.empty()) return {};
  return cat({base_name(site.file), ":", std::to_string(site.line)});
}

Text describe_block(const DeviceBlock& block, const DeviceContext& context) {
  return {format_bytes(block.bytes), " of the device heap allocated by ",
          CallName{device_call(block.allocated.op)}, " in ", kernel_of(block.allocated, context)};
}

const Block* host_block_of(const DeviceMistake& mistake, const Heap& heap) {
  if (mistake.what != DeviceMistake::What::kNeverAllocated) return nullptr;
  const Block* live = heap.find_live(mistake.address);
  return live != nullptr ? live : heap.find_freed(mistake.address);
}

std::uint64_t sufficient_limit(const DeviceContext& context) {
  const std::uint64_t wanted = std::min(context.heap.wanted_bytes(), std::uint64_t{1} << 60);
  // Where small blocks filled the heap, the allocator had taken a multiple of what it gave, and
  // will again.
  std::uint64_t factor = 2;
  for (const DeviceRefusal& refusal : context.heap.refusals()) {
    if (refusal.live_bytes == 0 || refusal.asked > refusal.live_bytes)
      continue; // perhaps too much alone
    factor = std::max(factor, std::min<std::uint64_t>(context.limit / refusal.live_bytes + 1, 8));
  }
  std::uint64_t limit = 2 * DeviceContext::kDefaultLimit;
  while (limit <= context.limit || limit < factor * wanted) limit *= 2;
  return limit;
}

std::optional<RefusedMalloc> refusal_in(const DeviceContexts& contexts, std::uint16_t context,
                                        std::uint64_t grid) {
  for (const auto& each : contexts) {
    const bool fits = context == 0 || each->heap.context() == 0 || each->heap.context() == context;
    if (!fits) continue;
    for (const DeviceRefusal& refusal : each->heap.refusals()) {
      if (refusal.first.grid == grid) return RefusedMalloc{refusal.first, each.get()};
    }
  }
  return std::nullopt;
}

std::string site_key(const DeviceCall& call, const DeviceContext& context) {
  const DeviceSite& site = context.heap.site(call.thread);
  return cat({site.file, ":", std::to_string(site.line), ":", site.function, "\n",
              kernel_of(call, context), "\n"});
}

std::vector<DeviceMistake> mistakes_of(const DeviceContext& context) {
  using What = DeviceMistake::What;
  return merged(context.heap.mistakes(), [&](const DeviceMistake& m) {
    const bool of_block =
      m.what == What::kDoubleFree || m.what == What::kInside || m.what == What::kMismatched;
    const DeviceBlock& block = m.block;
    return cat({std::to_string(static_cast<unsigned>(m.what)), " ", device_call(m.at.op), " ",
                m.what == What::kNeverAllocated ? format_address(m.address) : "", " ",
                of_block ? device_call(block.allocated.op) : "", " ", site_key(m.at, context),
                of_block ? site_key(block.allocated, context) : "",
                block.is_freed ? site_key(block.freed, context) : ""});
  });
}

void add_device_stack(Finding& finding, StackRole role, const DeviceCall& call,
                      const DeviceContext& context, const TraceNames& names, StackOrder order) {
  const DeviceSite& site = context.heap.site(call.thread);
  const KernelLaunch* launch = context.launches.find(call.grid);
  const std::string kernel = launch != nullptr ? context.launches.kernel(*launch) : std::string();
  const bool in_kernel = launch != nullptr && context.launches.is_called(*launch, site.function);
  FindingStack stack = stack_as(role, {}, device_call(call.op), order);
  Frame& frame = stack.frames.emplace_back();
  frame.function = in_kernel || site.function.empty() ? kernel : site.function;
  frame.file = site.file;
  frame.line = site.line;
  stack.device = {.kernel = kernel,
                  .launch = launch != nullptr && !launch->captured ? launch->number : 0,
                  .block = indices(call.block.index()),
                  .thread = indices(call.thread.index())};
  finding.stacks.push_back(std::move(stack));
  if (launch == nullptr) return;
  std::vector<FindingStack> stacks =
    launch_stacks(*launch, context.heap.host_time(call.time), names);
  if (!host_stacks_end_with(finding, stacks))
    std::ranges::move(stacks, std::back_inserter(finding.stacks));
}

} // namespace gmt
