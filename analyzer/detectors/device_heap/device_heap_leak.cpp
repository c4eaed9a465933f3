// SPDX-License-Identifier: Apache-2.0
// device-heap-leak: what kernels allocated and no kernel freed before their context ended, grouped
// by kernel and line. Across launches memory of the device heap is no leak: it lives as long as its
// context. As for the host's memory, a program that was killed, or whose context died of an error,
// had no chance to free; and where the ring lost records, what looks alive may have been freed.
// What a reset took with it is a leak, whatever happened later.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/device_stacks.h"
#include "trace/kernel_faults.h"

namespace gmt {
namespace {

// The allocator's own part of a block is no more than this and the block's size: 64 bytes for 16,
// 37 for 123, 1,024 for 1,024, 0.22 MiB for 1 MiB (H200, driver 580).
constexpr std::uint64_t kMostOverhead = 128;

class DeviceHeapLeak : public Detector {
public:
  explicit DeviceHeapLeak(const ProcessFacts& facts) : facts_(facts) {}

  // On the simulated device.
  void on_event(const Event& e, std::span<const Verdict>, const Heap&, Findings&) override {
    using trace::ExecutionOp;
    const auto op = static_cast<ExecutionOp>(e.execution().op);
    has_unrun_ = has_unrun_ || op == ExecutionOp::kNotRun || op == ExecutionOp::kStopped ||
                 op == ExecutionOp::kNotSelected;
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    std::map<std::string, Group> groups;
    std::set<int> devices;
    for (const auto& context : end.device_contexts) {
      const int device = heap.device_of_context(context->heap.context());
      devices.insert(device);
      if (context->heap.live_blocks() == 0) continue;
      const std::string excuse = excuse_of(*context, end.ending, heap);
      if (excuse.empty()) {
        collect(*context, device, groups);
        continue;
      }
      findings.not_checked(
        {"device-heap-leak",
         cat({excuse, ", so what kernels had allocated then (",
              format_bytes(context->heap.live_bytes()), " in ",
              format_plural(context->heap.live_blocks(), "block"), ") is not called a leak"})});
    }
    for (const auto& [key, group] : groups) findings.add(finding(group, devices.size() > 1));
  }

private:
  // Blocks of one kernel and line that are left on one device and whose contexts ended in one way.
  struct Group {
    const DeviceContext* context; // the first
    int device;
    DeviceBlock example = {};           // its oldest
    std::uint64_t newest = 0;           // time of its newest
    std::set<std::uint64_t> grids = {}; // its
    std::uint64_t contexts = 0, bytes = 0, blocks = 0;
    // What the allocator takes for a block beside its bytes: no more than the least that lies
    // between two neighbours, unless that is so much that other memory must lie between them.
    std::uint64_t previous_end = 0, overhead = UINT64_MAX;

    std::uint64_t taken() const { return bytes + (overhead == UINT64_MAX ? 0 : overhead * blocks); }
  };

  // Why what is alive in the context is no leak; empty if it is one.
  std::string excuse_of(const DeviceContext& context, const Ending& ending,
                        const Heap& heap) const {
    if (heap.is_dead(context.heap.context()))
      return "a kernel failed, after which nothing can be freed";
    if (context.heap.lost() != 0) return "the ring was full, and frees may be among what it lost";
    if (has_unrun_) return "launches did not run to their end, and may be those that free";
    return context.end ? std::string() : why_not_a_leak(ending);
  }

  static void collect(const DeviceContext& context, int device,
                      std::map<std::string, Group>& groups) {
    const std::string where =
      context.end ? cat({std::to_string(device), " ", std::to_string(context.end->api), " ",
                         std::to_string(context.end->stack.value), " "})
                  : cat({std::to_string(device), " "});
    std::set<Group*> seen;
    context.heap.for_each_live([&](const DeviceBlock& block) {
      const std::string key = where + site_key(block.allocated, context);
      Group& group = groups.try_emplace(key, Group{&context, device}).first->second;
      if (seen.insert(&group).second) ++group.contexts;
      group.bytes += block.bytes;
      ++group.blocks;
      if (group.context != &context) return;
      const std::uint64_t gap = block.address - std::min(block.address, group.previous_end);
      if (group.previous_end != 0 && gap <= kMostOverhead + block.bytes)
        group.overhead = std::min(group.overhead, gap);
      group.previous_end = block.address + block.bytes;
      if (group.grids.empty() || block.allocated.time < group.example.allocated.time)
        group.example = block;
      group.newest = std::max(group.newest, block.allocated.time);
      group.grids.insert(block.allocated.grid);
    });
  }

  Finding finding(const Group& group, bool several_devices) const {
    const DeviceBlock& block = group.example;
    const DeviceContext& context = *group.context;
    const bool is_one = group.contexts == 1;
    const std::string_view call = device_call(block.allocated.op);
    const std::string where = source_of(block.allocated, context);
    const std::string device =
      several_devices ? cat({" of device ", std::to_string(group.device)}) : "";
    Finding f;
    f.kind = "device-heap-leak";
    f.bytes = group.bytes;
    f.count = group.blocks;
    f.address = block.address;
    f.group = device;
    f.message = {format_bytes(group.bytes),
                 " of the device heap",
                 is_one ? "" : cat({"s of ", format_count(group.contexts), " contexts"}),
                 device,
                 group.blocks == 1 ? "" : cat({" in ", format_plural(group.blocks, "block")}),
                 ", allocated by ",
                 CallName{call},
                 " in ",
                 is_one ? launches(group) : kernel_of(block.allocated, context),
                 where.empty() ? "" : " at ",
                 where,
                 is_one ? graph_launches(group) : "",
                 is_one ? ", was" : ", were"};
    const std::string_view end =
      context.end ? facts_.api_name(context.end->api) : std::string_view();
    if (context.end) {
      f.message +=
        {" still not freed when ", CallName{end}, " ended ", is_one ? "its context" : "these"};
    } else {
      f.message += " never freed";
    }
    if (is_one) f.message += growth(group);
    f.advice = {"Call ",
                device_call(device_release(block.allocated.op)),
                " for ",
                group.blocks == 1 ? "it" : "each block",
                " in a kernel, in this one or in a later launch",
                context.end ? Text{" before ", CallName{end}} : "",
                ": the host's cudaFree cannot free it."};
    add_device_stack(f, StackRole::kAllocated, block.allocated, context, facts_);
    if (context.end)
      f.stacks.push_back(stack_as(StackRole::kContextEnded, context.end->stack, end));
    return f;
  }

  // "launches 1 to 4 of step(int*)"; the kernel alone where launches are not known.
  static std::string launches(const Group& group) {
    const DeviceContext& context = *group.context;
    const std::string kernel = kernel_of(group.example.allocated, context);
    const KernelLaunch* first = context.launches.find(*group.grids.begin());
    const KernelLaunch* last = context.launches.find(*group.grids.rbegin());
    if (first == nullptr || last == nullptr || first->captured || last->captured) return kernel;
    if (first->number == last->number)
      return cat({"launch ", format_count(first->number), " of ", kernel});
    return cat({"launches ", format_count(first->number), " to ", format_count(last->number),
                " of ", kernel});
  }

  // Of the graph whose kernel this group is of; none if there is no such graph.
  static GraphLaunches::Range range_of(const Group& group) {
    const KernelLaunch* launch = group.context->launches.find(*group.grids.begin());
    if (group.grids.size() != 1 || launch == nullptr || launch->graph == nullptr) return {};
    const DeviceHeap& heap = group.context->heap;
    return {launch->graph->at(heap.host_time(group.example.allocated.time)).first,
            launch->graph->at(heap.host_time(group.newest)).last};
  }

  // " in launch 2 of its graph", " in one of launches 2 to 5 of its graph"
  static std::string graph_launches(const Group& group) {
    const GraphLaunches::Range range = range_of(group);
    if (range.last == 0) return {};
    if (range.is_one()) return cat({" in launch ", format_count(range.first), " of its graph"});
    const GraphLaunches& graph = *group.context->launches.find(*group.grids.begin())->graph;
    const DeviceHeap& heap = group.context->heap;
    const bool is_sure = graph.at(heap.host_time(group.example.allocated.time)).is_one() &&
                         graph.at(heap.host_time(group.newest)).is_one();
    const char* some = group.blocks == 1 ? "one of launches " : "some of launches ";
    return cat({" in ", is_sure ? "launches " : some, format_count(range.first), " to ",
                format_count(range.last), " of its graph"});
  }

  // Of the launches of the kernel, or of its graph: how many left something, how many there were,
  // and how many came after the newest of those that did. All 0 where launches are not known.
  struct Course {
    std::uint64_t leaking = 0, launches = 0, later = 0;
    // What a kernel does once, or at its beginning, it will not do in each launch to come.
    bool goes_on() const { return 2 * leaking > launches && later <= 1; }
  };

  static Course course_of(const Group& group) {
    const DeviceLaunches& launches = group.context->launches;
    const KernelLaunch* last = launches.find(*group.grids.rbegin());
    if (last == nullptr) return {};
    if (!last->captured)
      return {group.grids.size(), launches.launches(*last), launches.later(*last)};
    const GraphLaunches::Range range = range_of(group);
    if (range.last == 0) return {};
    return {std::min(group.blocks, range.last - range.first + 1), last->graph->count(),
            last->graph->count() - range.last};
  }

  // When the heap will be full if later launches leave as much as these did. The allocator takes
  // more than it gives, 80 bytes for 16 and 160 for 123 (H200, driver 580): counted as far as the
  // addresses show it.
  static std::string growth(const Group& group) {
    const DeviceContext& context = *group.context;
    if (!context.heap.refusals().empty())
      return {}; // it is full: device-heap-exhausted says when and why
    const Course course = course_of(group);
    if (!course.goes_on()) return {};
    const std::uint64_t each = group.taken() / course.launches;
    if (each == 0) return {};
    const std::string given = format_bytes(group.bytes / course.launches),
                      with_overhead = format_bytes(each);
    const std::string added = cat({", ", with_overhead, " with what the allocator adds,"});
    const std::string pace = cat({"; at ", given, " a launch", given == with_overhead ? "" : added,
                                  " the heap of ", format_bytes(context.limit), " is full"});
    const std::uint64_t taken = context.heap.live_bytes() - group.bytes + group.taken();
    const std::uint64_t left = context.limit - std::min(context.limit, taken);
    if (left < each) return pace;
    const std::uint64_t more = left / each + 1;
    const KernelLaunch& last = *context.launches.find(*group.grids.rbegin());
    if (last.captured) {
      return cat(
        {pace, " after ", format_count(more), more == 1 ? " more launch" : " more launches"});
    }
    return cat(
      {pace, " at launch ", format_count(last.number + course.later + more), " at the latest"});
  }

  const ProcessFacts& facts_;
  bool has_unrun_ = false; // launches that did not run to their end
};

const DetectorRegistration kDeviceHeapLeak{{
  .id = "device-heap-leak",
  .severity = Severity::kError,
  .title = "memory of a kernel's malloc that was never freed",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DeviceHeapLeak>(facts);
  },
  .wants = wants(EventKind::kExecution),
  .measure = Measure::kLostBlocks,
}};

} // namespace
} // namespace gmt
