// SPDX-License-Identifier: Apache-2.0
// leak: what is alive when the program has ended, grouped by allocation stack and kind of memory,
// and what its context's end took with it. Called a leak only if the program had the chance to free
// it: after a signal, a sticky error of its context or an unknown end it is listed under "not
// checked", and so it is where the simulated device let the program down. So is all that was alive
// when releases began to be lost.

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/context_end.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/runtime_linkage.h"
#include "analyzer/detectors/shared/simulator_trouble.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

constexpr Wants kWantsAlways =
  wants(EventKind::kLife) | wants(EventKind::kSync) | wants(EventKind::kExecution);

class Leak : public Detector {
public:
  explicit Leak(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (trouble_.take(e, facts_)) return watch(kWantsAlways | trouble_.wants());
    linkage_.note(e);
    if (!e.succeeded() || e.from_runtime) return;
    if (e.kind == EventKind::kSync) {
      if (e.sync().op == trace::SyncOp::kHostFunction) last_callback_ = e.order;
      return;
    }
    const event::Life& life = e.life();
    const trace::ObjectClass object = life.object;
    const trace::LifeOp op = life.op;
    const std::uint16_t api = e.via != trace::kNoApi ? e.via : e.api;
    const bool ends = op == trace::LifeOp::kDestroy || op == trace::LifeOp::kReset;
    if (is_owned(object) && op == trace::LifeOp::kCreate) {
      objects_[life.handle] = {object, e.stack, api, e.context};
    } else if (is_owned(object) && ends) {
      objects_.erase(life.handle);
    } else if (ends && object == trace::ObjectClass::kPrimaryContext) {
      end_device(static_cast<int>(life.device()), heap);
    }
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    Groups alive, alive_in_dead, ended, ended_in_dead, ended_behind_loss;
    heap.for_each_live([&](const Block& block) {
      if (!can_leak(block.memory_kind)) return;
      if (!has_memory(block)) return;
      (heap.is_dead(block.context) ? alive_in_dead : alive)
        .add(block, group_of(block), pool_end(block, heap));
    });
    heap.for_each_ended_with_context([&](const Block& block) {
      if (!can_leak(block.memory_kind)) return;
      const bool is_behind =
        end.releases_lost_from != 0 && block.freed_at >= end.releases_lost_from;
      Groups& by_context = heap.is_dead(block.context) ? ended_in_dead : ended;
      Groups& groups = is_behind ? ended_behind_loss : by_context;
      groups.add(block, group_of(block), nullptr);
    });
    const std::string dead =
      cat({"a kernel or the device failed with ", error_name(heap.sticky_code(), false),
           ", after which nothing can be freed"});
    const std::string trouble = trouble_.why_given_up(end.ending);
    const std::string lost =
      end.releases_lost_from != 0 ? "records of releases were lost before the end" : "";
    const std::string ending = why_not_a_leak(end.ending);
    const std::string& other = !lost.empty() ? lost : trouble;
    const std::string& excuse = !ending.empty() ? ending : other;
    report(alive, excuse, "memory alive then", findings);
    report(alive_in_dead, dead, "memory alive then", findings);
    // What a reset took before the program was killed is a leak.
    report(ended, trouble, "memory that ended with its context", findings);
    report(ended_in_dead, dead, "memory that ended with its context", findings);
    report(ended_behind_loss, lost, "memory that ended with its context", findings);
    if (!excuse.empty() || heap.sticky_error()) return;
    if (has_own(alive) && linkage_.is_static() && !facts_.simulated())
      findings.not_checked(
        {"late",
         "with a statically linked CUDA runtime, a free by the destructor of a static object "
         "or by a function of atexit is refused inside the runtime, where it cannot be seen: "
         "such memory is among the leaks; build with -cudart shared to tell them apart"});
    heap.cuda().pools.for_each_alive([this](std::uint64_t handle, const Pool& pool) {
      objects_[handle] = {trace::ObjectClass::kPool, pool.created->stack, pool.created->api,
                          pool.created->context};
    });
    for (const auto& [handle, object] : objects_) findings.add(finding(object));
  }

private:
  // What memory hangs on and what the program must destroy itself.
  struct Object {
    trace::ObjectClass what;
    StackId stack; // created here
    std::uint16_t api;
    std::uint16_t context;
  };
  static constexpr bool is_owned(trace::ObjectClass what) {
    return what == trace::ObjectClass::kExternalMemory ||
           what == trace::ObjectClass::kExternalSemaphore;
  }

  // Pools outlive contexts (cuda.h on cuCtxDestroy), these do not.
  void end_device(int device, const Heap& heap) {
    std::erase_if(objects_, [&](const auto& entry) {
      const int own = heap.device_of_context(entry.second.context);
      return own == device || own < 0;
    });
  }

  // The end of the pool that a live block came from, null if the pool is there.
  static const LifeCall* pool_end(const Block& block, const Heap& heap) {
    if (block.shape().pool == 0) return nullptr;
    const Pool* pool = heap.cuda().pools.find(block.shape().pool);
    const bool is_gone =
      pool != nullptr && pool->destroyed && pool->destroyed->order > block.allocated_at;
    return is_gone ? &*pool->destroyed : nullptr;
  }

  struct Group {
    Block example; // the oldest
    const LifeCall* pool_end = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;
  };

  // Groups in the order of their oldest block.
  struct Groups {
    std::vector<Group> groups;
    std::unordered_map<std::string, std::size_t> by_key;

    void add(const Block& block, Ranges::Path range, const LifeCall* pool_end) {
      std::string key;
      const StackId host_freed = block.shape().host_freed;
      for (const std::uint64_t part :
           {std::uint64_t{block.allocated.value}, std::uint64_t{block.api},
            static_cast<std::uint64_t>(block.memory_kind), std::uint64_t{block.freed.value},
            std::uint64_t{block.freed_api}, std::uint64_t{(block.flags & kWasHostFreed) != 0},
            std::uint64_t{host_freed.value}, std::uint64_t{range},
            std::uint64_t{block.shape().refused.call.stack.value},
            std::uint64_t{block.shape().refused.result},
            std::uint64_t{pool_end != nullptr ? pool_end->order : 0}}) {
        key.append(reinterpret_cast<const char*>(&part), sizeof part);
      }
      const auto [at, is_new] = by_key.try_emplace(std::move(key), groups.size());
      if (is_new) groups.push_back({.example = block, .pool_end = pool_end});
      groups[at->second].bytes += block.bytes;
      ++groups[at->second].blocks;
    }
  };

  // Memory that no known library allocated: those keep theirs until the end.
  bool has_own(const Groups& groups) const {
    return std::ranges::any_of(groups.groups, [this](const Group& group) {
      return facts_.caller(group.example.allocated).owner.empty();
    });
  }

  Ranges::Path group_of(const Block& block) const {
    return facts_.groups_by_range() ? facts_.ranges().path_of_allocation(block) : 0;
  }

  void report(const Groups& groups, const std::string& excuse, std::string_view what,
              Findings& findings) const {
    if (!excuse.empty()) {
      std::uint64_t bytes = 0, blocks = 0;
      for (const Group& group : groups.groups) {
        bytes += group.bytes;
        blocks += group.blocks;
      }
      if (blocks == 0) return;
      findings.not_checked(
        {"leak", cat({excuse, ", so ", what, " (", format_bytes(bytes), " in ",
                      format_plural(blocks, "block"), ") is not called a leak"})});
      return;
    }
    for (const Group& group : groups.groups) findings.add(finding(group));
  }

  Finding finding(const Group& group) const {
    const Block& block = group.example;
    const std::string_view api = facts_.api_name(block.api);
    const ApiWord release = right_release_for(block, api);
    const bool ended = block.end == Block::End::kContextEnded;
    const std::string_view end_api = facts_.api_name(block.freed_api);
    const std::string amount = describe_blocks(group.bytes, group.blocks, block.memory_kind);
    Finding f;
    f.kind = "leak";
    f.bytes = group.bytes;
    f.count = group.blocks;
    f.address = block.address;
    f.range = facts_.ranges().text(facts_.ranges().path_of_allocation(block));
    f.group = cat({memory_noun(block.memory_kind), ended ? " ended" : ""});
    f.stacks.push_back(allocation_stack(block, facts_));
    const std::string_view word = released_word(block.memory_kind);
    if (ended) {
      const bool is_of_pool = block.memory_kind == trace::MemoryKind::kSubAllocation;
      f.message = {amount,
                   " was still not ",
                   word,
                   " when ",
                   CallName{end_api},
                   " ended its ",
                   is_of_pool ? "pool" : "context"};
      f.advice = {"Call ", release, " before ", CallName{end_api}, note_on_context_end(end_api),
                  "."};
      f.stacks.push_back(stack_as(is_of_pool ? StackRole::kPoolEnded : StackRole::kContextEnded,
                                  block.freed, end_api));
    } else if ((block.flags & kWasHostFreed) != 0) {
      f.message = {amount, " was never ", word, ", though the host freed the memory behind it"};
      f.advice = {"Call ", release, " before the memory is freed."};
      f.stacks.push_back(stack_as(StackRole::kHostMemoryFreed, block.shape().host_freed, "free"));
    } else {
      const std::uint32_t references = block.shape().references;
      f.message = references <= 1 ? cat({amount, " was never ", word})
                                  : cat({amount, " was not ", word, " as often as it was opened: ",
                                         format_plural(references, "time"), " too few"});
      if (group.pool_end != nullptr) {
        const std::string_view destroy = facts_.api_name(group.pool_end->api);
        f.message += ", and its pool was destroyed in between";
        f.stacks.push_back(stack_as(StackRole::kPoolDestroyed, group.pool_end->stack, destroy));
      }
      f.advice = {"Call ", release, group.blocks == 1 ? " for it" : " for each block",
                  " when it is no longer needed, at the latest before the program ends."};
      if (block.shape().refused.result != 0) add_refusal(f, block.shape().refused);
      // Refused by such a runtime itself, so that no record shows it.
      if (linkage_.is_static() && last_callback_ > block.allocated_at) {
        f.advice +=
          " A host callback was given to a stream after the allocation, and may have tried to free it: "
          "CUDA does not allow that, and a static runtime refuses it before it can be seen.";
      }
    }
    return f;
  }

  // The program did call the right function.
  void add_refusal(Finding& f, const RefusedFree& refused) const {
    const std::string_view api = facts_.api_name(refused.call.api);
    f.message +=
      {", as ", CallName{api}, " failed with ", error_text(refused.result, is_runtime_name(api))};
    if (refused.stream_was_destroyed) {
      f.message += ": its stream had been destroyed";
      f.advice = {"Call ", CallName{api}, " before the stream is destroyed, or with another one."};
    } else {
      f.advice = {"Find out why ", CallName{api}, " failed, and free the memory after all."};
    }
    f.stacks.push_back(stack_as(StackRole::kFailed, refused.call.stack, api));
  }

  // A pool holds no more than what was freed into it, and a semaphore no memory at all: notes.
  Finding finding(const Object& object) const {
    const std::string_view api = facts_.api_name(object.api);
    const bool runtime = is_runtime_name(api);
    Finding f;
    f.kind = "leak";
    f.severity =
      object.what == trace::ObjectClass::kExternalMemory ? Severity::kError : Severity::kNote;
    if (object.what == trace::ObjectClass::kPool) {
      f.group = "pool";
      f.message = {"A memory pool made by ", CallName{api}, " was never destroyed"};
      f.advice = {"Call ", ApiWord{runtime, "cuMemPoolDestroy", "cudaMemPoolDestroy"},
                  ": until then the pool keeps the memory that was freed into it."};
    } else if (object.what == trace::ObjectClass::kExternalMemory) {
      f.group = "external memory";
      f.message = {"External memory imported by ", CallName{api}, " was never destroyed"};
      f.advice = {"Call ", ApiWord{runtime, "cuDestroyExternalMemory", "cudaDestroyExternalMemory"},
                  " once the buffers mapped from it are freed."};
    } else {
      f.group = "external semaphore";
      f.message = {"An external semaphore imported by ", CallName{api}, " was never destroyed"};
      f.advice = {"Call ",
                  ApiWord{runtime, "cuDestroyExternalSemaphore", "cudaDestroyExternalSemaphore"},
                  "."};
    }
    f.stacks.push_back(stack_as(object.what == trace::ObjectClass::kPool ? StackRole::kCreated
                                                                         : StackRole::kImported,
                                object.stack, api));
    return f;
  }

  const ProcessFacts& facts_;
  RuntimeLinkage linkage_;
  SimulatorTrouble trouble_;
  std::uint64_t last_callback_ = 0;         // order of the newest host function given to a stream
  std::map<std::uint64_t, Object> objects_; // alive, by handle
};

const DetectorRegistration kLeak{{
  .id = "leak",
  .severity = Severity::kError,
  .title = "memory that was never freed",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<Leak>(facts);
  },
  .wants = kWantsAlways,
  .measure = Measure::kLostBlocks,
  .owner_excuse = {
    .clause = [](const Owner& owner) { return cat({owner.name, " holds it: ", owner.why}); },
    .advice =
      [](const Owner&) { return std::string("Nothing to do, unless it grows from run to run."); }},
}};

} // namespace
} // namespace gmt
