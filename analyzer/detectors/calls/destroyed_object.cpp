// SPDX-License-Identifier: Apache-2.0
// use-after-free of what is no memory: a call that names a stream, event, graph or pool which was
// destroyed before. Only calls that CUDA refused for a handle, and those that the process died in:
// a handle that CUDA accepts may be another object's by now.
//
// What a known library does with its own objects is left to api-error.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/library_calls.h"
#include "analyzer/detectors/shared/named_objects.h"
#include "analyzer/detectors/shared/object_words.h"

namespace gmt {
namespace {

class DestroyedObject : public Detector {
public:
  explicit DestroyedObject(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (e.succeeded() || e.is_nested || !may_blame_handle(e)) return;
    if (heap.is_dead(e.context) || destroyed_by(e, facts_.call_name(e)).handle != 0) return;
    for (const NamedObject& named : NamedObjects(e)) {
      const CudaObject* known = heap.cuda().objects.find_destroyed(named.object, named.handle);
      if (known == nullptr || known->ended->order >= e.order) continue;
      if (by_libraries_.contain(e.stack) && by_libraries_.contain(known->created.stack)) continue;
      findings.add(finding(e, named, *known));
      return findings.claim_refusal();
    }
  }

private:
  static StackRole role_of(const Event& e) {
    switch (e.kind) {
    case EventKind::kCopy: return StackRole::kCopied;
    case EventKind::kSet: return StackRole::kSet;
    case EventKind::kLaunch: return StackRole::kLaunched;
    case EventKind::kSync:
      return e.sync().op == trace::SyncOp::kGraphLaunch ? StackRole::kGraphLaunched
                                                        : StackRole::kCalled;
    default: return StackRole::kCalled;
    }
  }

  Finding finding(const Event& e, const NamedObject& named, const CudaObject& known) const {
    const ObjectTraits& words = traits_of(named.object);
    Finding f;
    f.kind = "use-after-free";
    f.api = facts_.call_name(e);
    f.message = {CallName{f.api}, " uses ", words.one, " that was already destroyed, made by ",
                 CallName{facts_.api_name(known.created.api)}};
    const bool frees = e.kind == EventKind::kFree;
    if (frees) f.message += ", so the memory was not freed";
    f.advice = {"Destroy it after its last use: ", right_destroy_for(named.object, f.api),
                frees ? " came before the memory that is freed on it." : " came too early."};
    f.address = named.handle;
    f.group = words.several;
    f.stacks.push_back(stack_as(role_of(e), e.stack, f.api));
    add_life(f, known, StackOrder::kOnly, facts_);
    return f;
  }

  const ProcessFacts& facts_;
  LibraryCalls by_libraries_{facts_};
};

const DetectorRegistration kDestroyedObject{{
  .id = "use-after-free",
  .severity = Severity::kError,
  .title = "destroyed object used",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DestroyedObject>(facts);
  },
  .wants = kWantsFailures,
  .is_another_way = true,
}};

} // namespace
} // namespace gmt
