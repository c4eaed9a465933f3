// SPDX-License-Identifier: Apache-2.0
// Words and stacks for places in kernels, see device_stacks.h.

#include "analyzer/detectors/shared/device_stacks.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "analyzer/detectors/shared/wording.h"
#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

std::array<std::uint32_t, 3> indices(trace::Index3 index) { return {index.x, index.y, index.z}; }

const char* label_of(const KernelLaunch& launch) {
  if (launch.by_hand) return "node made here";
  return launch.captured ? "captured here" : "launched here";
}

// From where the host had the kernel run that made a call at that time of the device's clock.
std::vector<LabelledStack> launch_stacks(const KernelLaunch& launch, std::uint64_t time,
                                         const TraceNames& names) {
  std::vector<LabelledStack> stacks;
  const auto add = [&](const char* label, const auto& made) {
    stacks.push_back(labelled(label, made.stack, names.api_name(made.api)));
  };
  if (const GraphLaunches* graph = launch.graph; graph != nullptr && graph->count() != 0) {
    const GraphLaunches::Range range = graph->at(time);
    const bool is_one_place = graph->is_one_site(range);
    add(is_one_place ? "graph launched here" : "graph first launched here", graph->launch(range.first));
    if (!is_one_place) add("graph last launched here", graph->launch(range.last));
  }
  add(label_of(launch), launch);
  return stacks;
}

// Whether the newest of the host's stacks in the finding are these.
bool tells_last(const Finding& finding, const std::vector<LabelledStack>& stacks) {
  const auto on_host = std::ranges::find_if(finding.stacks.rbegin(), finding.stacks.rend(),
                                            [](const LabelledStack& stack) { return !stack.device; });
  if (static_cast<std::size_t>(finding.stacks.rend() - on_host) < stacks.size()) return false;
  const auto is_same = [](const LabelledStack& a, const LabelledStack& b) {
    return a.stack == b.stack && a.label == b.label;
  };
  return std::equal(stacks.rbegin(), stacks.rend(), on_host, is_same);
}

} // namespace

std::string kernel_of(const DeviceCall& place, const DeviceContext& context) {
  const KernelLaunch* launch = context.launches.find(place.grid);
  if (launch != nullptr && !context.launches.kernel(*launch).empty()) return context.launches.kernel(*launch);
  const std::string& function = context.heap.site(place.who).function;
  return function.empty() ? "a kernel" : function;
}

std::string source_of(const DeviceCall& place, const DeviceContext& context) {
  const DeviceSite& site = context.heap.site(place.who);
  if (site.file.empty()) return {};
  return cat({base_name(site.file), ":", std::to_string(site.line)});
}

std::string describe_block(const DeviceBlock& block, const DeviceContext& context) {
  return cat({format_bytes(block.bytes), " of the device heap allocated by ", device_call(block.allocated.op),
              " in ", kernel_of(block.allocated, context)});
}

const Block* host_block_of(const DeviceMistake& mistake, const Heap& heap) {
  if (mistake.what != DeviceMistake::What::kNeverAllocated) return nullptr;
  const Block* live = heap.find_live(mistake.address);
  return live != nullptr ? live : heap.find_freed(mistake.address);
}

std::uint64_t sufficient_limit(const DeviceContext& context) {
  const std::uint64_t wanted = std::min(context.heap.wanted_bytes(), std::uint64_t{1} << 60);
  // Where small blocks filled the heap, the allocator had taken a multiple of what it gave, and will again.
  std::uint64_t factor = 2;
  for (const DeviceRefusal& refusal : context.heap.refusals()) {
    if (refusal.live_bytes == 0 || refusal.asked > refusal.live_bytes) continue; // perhaps too much alone
    factor = std::max(factor, std::min<std::uint64_t>(context.limit / refusal.live_bytes + 1, 8));
  }
  std::uint64_t limit = 2 * DeviceContext::kDefaultLimit;
  while (limit <= context.limit || limit < factor * wanted) limit *= 2;
  return limit;
}

std::string place_key(const DeviceCall& place, const DeviceContext& context) {
  const DeviceSite& site = context.heap.site(place.who);
  return cat({site.file, ":", std::to_string(site.line), ":", site.function, "\n",
              kernel_of(place, context), "\n"});
}

std::vector<DeviceMistake> mistakes_of(const DeviceContext& context) {
  using What = DeviceMistake::What;
  return merged(context.heap.mistakes(), [&](const DeviceMistake& m) {
    const bool of_block = m.what == What::kDoubleFree || m.what == What::kInside || m.what == What::kMismatched;
    const DeviceBlock& block = m.block;
    return cat({std::to_string(static_cast<unsigned>(m.what)), " ", device_call(m.at.op), " ",
                m.what == What::kNeverAllocated ? format_address(m.address) : "", " ",
                of_block ? device_call(block.allocated.op) : "", " ", place_key(m.at, context),
                of_block ? place_key(block.allocated, context) : "",
                block.is_freed ? place_key(block.freed, context) : ""});
  });
}

void add_device_stack(Finding& finding, std::string label, const DeviceCall& place,
                      const DeviceContext& context, const TraceNames& names) {
  const DeviceSite& site = context.heap.site(place.who);
  const KernelLaunch* launch = context.launches.find(place.grid);
  const std::string kernel = launch != nullptr ? context.launches.kernel(*launch) : std::string();
  const bool in_kernel = launch != nullptr && context.launches.is_called(*launch, site.function);
  LabelledStack stack = labelled(std::move(label), {}, device_call(place.op));
  Frame& frame = stack.frames.emplace_back();
  frame.function = in_kernel || site.function.empty() ? kernel : site.function;
  frame.file = site.file;
  frame.line = site.line;
  stack.device = {.kernel = kernel,
                  .launch = launch != nullptr && !launch->captured ? launch->number : 0,
                  .block = indices(trace::block_of(place.block)),
                  .thread = indices(trace::thread_of(place.who))};
  finding.stacks.push_back(std::move(stack));
  if (launch == nullptr) return;
  std::vector<LabelledStack> stacks = launch_stacks(*launch, place.time, names);
  if (!tells_last(finding, stacks)) std::ranges::move(stacks, std::back_inserter(finding.stacks));
}

} // namespace gmt
