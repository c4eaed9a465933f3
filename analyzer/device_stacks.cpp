// SPDX-License-Identifier: Apache-2.0
// Words and stacks for places in kernels, see device_stacks.h.

#include "analyzer/device_stacks.h"

#include <algorithm>
#include <utility>

#include "analyzer/words.h"

namespace gmt {
namespace {

std::array<std::uint32_t, 3> indices(trace::Index3 index) { return {index.x, index.y, index.z}; }

const char* label_of(const KernelLaunch& launch) {
  if (launch.by_hand) return "node made here";
  return launch.captured ? "captured here" : "launched here";
}

} // namespace

std::string kernel_of(const DevicePlace& place, const DeviceContext& context) {
  const KernelLaunch* launch = context.launches.find(place.grid);
  if (launch != nullptr && !context.launches.kernel(*launch).empty()) return context.launches.kernel(*launch);
  const std::string& function = context.heap.site(place.who).function;
  return function.empty() ? "a kernel" : function;
}

std::string source_of(const DevicePlace& place, const DeviceContext& context) {
  const DeviceSite& site = context.heap.site(place.who);
  if (site.file.empty()) return {};
  return cat({site.file.substr(site.file.rfind('/') + 1), ":", std::to_string(site.line)});
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
  std::uint64_t limit = 2 * DeviceContext::kDefaultLimit;
  while (limit <= context.limit || limit < 2 * wanted) limit *= 2;
  return limit;
}

std::string site_key(const DevicePlace& place, const DeviceContext& context) {
  const DeviceSite& site = context.heap.site(place.who);
  return cat({site.file, ":", std::to_string(site.line), ":", site.function, "\n"});
}

void add_device_stack(Finding& finding, std::string label, const DevicePlace& place,
                      const DeviceContext& context, const ProcessFacts& facts) {
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
  // The newest launch that the finding tells of.
  for (auto told = finding.stacks.rbegin(); told != finding.stacks.rend(); ++told) {
    if (told->device) continue;
    if (told->stack == launch->stack && told->label == label_of(*launch)) return;
    break;
  }
  if (const GraphLaunches* graph = launch->graph; graph != nullptr && graph->count != 0) {
    const char* there = graph->one_place ? "graph launched here" : "graph first launched here";
    finding.stacks.push_back(labelled(there, graph->stack, facts.api_name(graph->api)));
  }
  finding.stacks.push_back(labelled(label_of(*launch), launch->stack, facts.api_name(launch->api)));
}

} // namespace gmt
