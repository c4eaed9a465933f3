// SPDX-License-Identifier: Apache-2.0
// device-heap-leak: what kernels allocated and no kernel freed before their context ended, grouped by
// kernel and line. Across launches memory of the device heap is no leak: it lives as long as its context.
// As for the host's memory, a program that was killed, or whose context died of an error, had no chance to
// free; and where the ring lost records, what looks alive may have been freed. What a reset took with it is a
// leak, whatever happened later.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analyzer/device_stacks.h"
#include "analyzer/words.h"

namespace gmt {
namespace {

class DeviceHeapLeak : public Detector {
public:
  explicit DeviceHeapLeak(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const Heap& heap, Findings& findings) override {
    for (const auto& context : facts_.device_heaps().contexts()) {
      if (context->heap.live_blocks() == 0) continue;
      const std::string excuse = heap.is_dead(context->heap.context())
                                   ? "a kernel failed, after which nothing can be freed"
                                 : context->heap.lost() != 0
                                   ? "the ring was full, and frees may be among what it lost"
                                 : context->end ? std::string()
                                                : why_not_a_leak(facts_.ending());
      if (!excuse.empty()) {
        findings.not_checked(
          {"device-heap-leak",
           cat({excuse, ", so what kernels had allocated then (", format_bytes(context->heap.live_bytes()),
                " in ", format_plural(context->heap.live_blocks(), "block"), ") is not called a leak"})});
        continue;
      }
      for (const auto& [key, group] : groups(*context)) findings.add(finding(group, *context));
    }
  }

private:
  struct Group {
    DeviceBlock example;      // the oldest
    std::uint64_t newest = 0; // time of the newest
    std::uint64_t bytes = 0, blocks = 0;
    std::set<std::uint64_t> grids;
  };

  static std::map<std::string, Group> groups(const DeviceContext& context) {
    std::map<std::string, Group> groups;
    context.heap.for_each_live([&](const DeviceBlock& block) {
      Group& group = groups[site_key(block.allocated, context) + kernel_of(block.allocated, context)];
      if (group.blocks == 0 || block.allocated.time < group.example.allocated.time) group.example = block;
      group.newest = std::max(group.newest, block.allocated.time);
      group.bytes += block.bytes;
      ++group.blocks;
      group.grids.insert(block.allocated.grid);
    });
    return groups;
  }

  Finding finding(const Group& group, const DeviceContext& context) const {
    const DeviceBlock& block = group.example;
    const std::string_view call = device_call(block.allocated.op);
    const std::string where = source_of(block.allocated, context);
    Finding f;
    f.kind = "device-heap-leak";
    f.bytes = group.bytes;
    f.count = group.blocks;
    f.address = block.address;
    f.message = cat({format_bytes(group.bytes), " of the device heap",
                     group.blocks == 1 ? "" : cat({" in ", format_plural(group.blocks, "block")}),
                     ", allocated by ", call, " in ", launches(group, context),
                     where.empty() ? "" : " at ", where, graph_launches(group, context)});
    const std::string_view end = context.end ? facts_.api_name(context.end->api) : std::string_view();
    f.message +=
      context.end ? cat({", was still not freed when ", end, " ended its context"}) : ", was never freed";
    f.message += cat({growth(group, context), "."});
    f.advice = cat({"Call ", device_call(device_release(block.allocated.op)), " for ",
                    group.blocks == 1 ? "it" : "each block", " in a kernel, in this one or in a later launch",
                    context.end ? cat({" before ", end}) : "", ": the host's cudaFree cannot free it."});
    add_device_stack(f, "allocated here", block.allocated, context, facts_);
    if (context.end) f.stacks.push_back(labelled("context ended here", context.end->stack, end));
    return f;
  }

  // "launches 1 to 4 of step(int*)"; the kernel alone where launches are not known.
  static std::string launches(const Group& group, const DeviceContext& context) {
    const std::string kernel = kernel_of(group.example.allocated, context);
    const KernelLaunch* first = context.launches.find(*group.grids.begin());
    const KernelLaunch* last = context.launches.find(*group.grids.rbegin());
    if (first == nullptr || last == nullptr || first->captured || last->captured) return kernel;
    if (first->number == last->number) return cat({"launch ", format_count(first->number), " of ", kernel});
    return cat(
      {"launches ", format_count(first->number), " to ", format_count(last->number), " of ", kernel});
  }

  // Of the graph whose kernel this group is of; none if there is no such graph.
  static GraphLaunches::Range range_of(const Group& group, const DeviceContext& context) {
    const KernelLaunch* launch = context.launches.find(*group.grids.begin());
    if (group.grids.size() != 1 || launch == nullptr || launch->graph == nullptr) return {};
    return {launch->graph->at(group.example.allocated.time).first, launch->graph->at(group.newest).last};
  }

  // " in launch 2 of its graph", " in one of launches 2 to 5 of its graph"
  static std::string graph_launches(const Group& group, const DeviceContext& context) {
    const GraphLaunches::Range range = range_of(group, context);
    if (range.last == 0) return {};
    if (range.is_one()) return cat({" in launch ", format_count(range.first), " of its graph"});
    const GraphLaunches& graph = *context.launches.find(*group.grids.begin())->graph;
    const bool is_sure = graph.at(group.example.allocated.time).is_one() && graph.at(group.newest).is_one();
    const char* which = is_sure ? "launches " : group.blocks == 1 ? "one of launches " : "some of launches ";
    return cat({" in ", which, format_count(range.first), " to ", format_count(range.last), " of its graph"});
  }

  // What the next launches will leave behind, if each leaves as much as these did.
  static std::string growth(const Group& group, const DeviceContext& context) {
    const KernelLaunch* first = context.launches.find(*group.grids.begin());
    const KernelLaunch* last = context.launches.find(*group.grids.rbegin());
    const bool numbered = first != nullptr && last != nullptr && !first->captured && !last->captured;
    const GraphLaunches::Range of_graph = range_of(group, context);
    const std::uint64_t launches = numbered             ? last->number - first->number + 1
                                   : of_graph.last != 0 ? of_graph.last - of_graph.first + 1
                                                        : group.grids.size();
    const std::uint64_t each = group.bytes / launches;
    if (each == 0) return {};
    const std::string pace =
      cat({"; at ", format_bytes(each), " a launch the heap of ", format_bytes(context.limit)});
    const std::uint64_t left = context.limit - std::min(context.limit, context.heap.live_bytes());
    if (left < each) return cat({pace, " is full"});
    const std::uint64_t more = left / each + 1;
    if (!numbered) {
      return cat({pace, " is full after ", format_count(more), more == 1 ? " more launch" : " more launches"});
    }
    return cat({pace, " is full at launch ", format_count(last->number + more), " at the latest"});
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kDeviceHeapLeak{{
  .id = "device-heap-leak",
  .severity = Severity::kError,
  .title = "memory of a kernel's malloc that was never freed",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DeviceHeapLeak>(facts);
  },
  .wants = kWantsNothing,
}};

} // namespace
} // namespace gmt
