// SPDX-License-Identifier: Apache-2.0
// object-leak: streams, events, graphs, modules and the like of one call stack that are alive when
// the program has ended, kFewest of them or more. Each takes memory of the driver's that no other
// finding counts.
//
// A program may make many at its beginning and keep them on purpose, one for each worker say. So it
// is a warning if they came through the run: in its second half too, or with other work between
// them, which code that is loaded piece by piece has as well. If not it is a note, unless there are
// kMany: no program has use for so many.

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/object_words.h"
#include "analyzer/detectors/shared/runtime_linkage.h"
#include "analyzer/detectors/shared/simulator_trouble.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

using trace::ObjectClass;

constexpr Wants kWantsOfObjects = wants(EventKind::kLife) | wants(EventKind::kExecution);
constexpr std::size_t kFewest = 100, kMany = 1000;

class ObjectLeak : public Detector {
public:
  explicit ObjectLeak(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap&, Findings&) override {
    if (trouble_.take(e, facts_)) return watch(kWantsOfObjects | trouble_.wants());
    linkage_.note(e);
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    std::map<Key, Group> groups;
    heap.cuda().objects.for_each_alive([&](ObjectClass object, std::uint64_t handle,
                                           const CudaObject& known) {
      if (!traits_of(object).takes_memory || heap.is_dead(known.created.context)) return;
      if (object == ObjectClass::kLibrary && !is_own_library(known)) return;
      groups[{object, known.created.stack.value, known.created.api}].all.push_back({known, handle});
    });
    std::erase_if(groups, [](const auto& entry) { return entry.second.all.size() < kFewest; });
    if (groups.empty()) return;
    if (const std::string excuse = why_not_a_leak(end.ending); !excuse.empty()) {
      return findings.not_checked(
        {"object-leak", cat({excuse, ", so objects alive then are not called a leak"})});
    }
    if (end.lost_records != 0) {
      return findings.not_checked(
        {"object-leak", "records were lost, and among them may be calls that destroyed objects"});
    }
    if (const std::string trouble = trouble_.why_given_up(end.ending); !trouble.empty())
      return findings.not_checked(
        {"object-leak", cat({trouble, ", so objects alive then are not called a leak"})});
    for (auto& [key, group] : groups) {
      std::ranges::sort(group.all, {}, [](const Alive& a) { return a.object.created.order; });
      findings.add(finding(std::get<ObjectClass>(key), group, heap));
    }
  }

private:
  using Key = std::tuple<ObjectClass, std::uint32_t, std::uint16_t>; // with stack and call
  struct Alive {
    CudaObject object;
    std::uint64_t handle = 0;
  };
  struct Group {
    std::vector<Alive> all; // by order
  };

  // The runtime makes one of each piece of code that is linked in, at its first use.
  bool is_own_library(const CudaObject& known) const {
    const std::string_view api = facts_.api_name(known.created.api);
    return is_runtime_name(api) ? api.starts_with("cudaLibraryLoad") : !linkage_.is_static();
  }

  static bool came_through_the_run(ObjectClass object, const Group& group, const Heap& heap) {
    const std::vector<Alive>& all = group.all;
    const std::uint64_t first = all.front().object.created.order;
    const std::uint64_t half = first + (heap.newest_order() - first) / 2;
    std::size_t late = 0, steps = 1;
    std::vector<std::uint32_t> threads;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].object.created.order > half) ++late;
      if (i > 0 && all[i].object.work_before != all[i - 1].object.work_before) ++steps;
      threads.push_back(all[i].object.thread);
    }
    std::ranges::sort(threads);
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
    const std::size_t makers = threads.size();
    const bool one_for_each_thread = makers * 2 >= all.size() && late == 0;
    const bool is_code = traits_of(object).is_code;
    return late * 4 >= all.size() || (steps * 2 >= all.size() && !one_for_each_thread && !is_code);
  }

  Finding finding(ObjectClass object, const Group& group, const Heap& heap) const {
    const std::string_view several = traits_of(object).several;
    const CudaObject& oldest = group.all.front().object;
    const std::string_view api = facts_.api_name(oldest.created.api);
    const std::size_t count = group.all.size();
    Finding f;
    f.kind = "object-leak";
    f.severity = Severity::kWarning;
    f.count = count;
    f.address = group.all.front().handle;
    f.group = several;
    f.message = {format_count(count), " ",           several,
                 " made by ",         CallName{api}, " were never destroyed"};
    f.advice = {"Call ", right_destroy_for(object, api),
                " for each when it is no longer needed, or make them once and use them again."};
    if (count < kMany && !came_through_the_run(object, group, heap)) {
      f.severity = Severity::kNote;
      f.message += "; all were made early in the run";
      f.advice = {"Nothing to do if the program needs them until its end; else call ",
                  right_destroy_for(object, api), " for each."};
    }
    f.stacks.push_back(stack_as(StackRole::kCreated, oldest.created.stack, api));
    return f;
  }

  const ProcessFacts& facts_;
  RuntimeLinkage linkage_;
  SimulatorTrouble trouble_;
};

const DetectorRegistration kObjectLeak{{
  .id = "object-leak",
  .severity = Severity::kWarning,
  .title = "streams, events, graphs or the like made again and again and never destroyed",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<ObjectLeak>(facts);
  },
  .wants = kWantsOfObjects,
  .owner_excuse = {
    .clause = [](const Owner& owner) { return cat({owner.name, " made them for itself"}); },
    .advice =
      [](const Owner& owner) {
        return cat({"Nothing to do, unless the program makes handles or plans of ", owner.name,
                    " without end: then destroy those."});
      }},
}};

} // namespace
} // namespace gmt
