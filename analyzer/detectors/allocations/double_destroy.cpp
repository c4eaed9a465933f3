// SPDX-License-Identifier: Apache-2.0
// double-free of what is no memory: a stream, event, graph, pool, texture and the like that is
// destroyed when it was destroyed before. Destroys count as frees.
//
// CUDA refuses that, or the process dies in it. To the second destruction of a texture or surface
// it answers with success (measured on an H200): a warning, as the handle may be another's by then.
// What a known library does with its own objects is left to api-error.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/library_calls.h"
#include "analyzer/detectors/shared/named_objects.h"
#include "analyzer/detectors/shared/object_words.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

using trace::ObjectClass;

class DoubleDestroy : public Detector {
public:
  explicit DoubleDestroy(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (e.is_nested || heap.is_dead(e.context)) return;
    const ObjectTable& objects = heap.cuda().objects;
    if (e.succeeded() ? !objects.is_destroyed_again(e) : !may_blame_handle(e)) return;
    const NamedObject named = destroyed_by(e, facts_.call_name(e));
    const CudaObject* known =
      named.handle != 0 ? objects.find_destroyed(named.object, named.handle) : nullptr;
    if (known == nullptr || known->ended->order >= e.order) return;
    const bool is_texture =
      named.object == ObjectClass::kTexture || named.object == ObjectClass::kSurface;
    if (e.succeeded() && !is_texture) return; // then its second creation went unseen
    if (by_libraries_.contain(e.stack) && by_libraries_.contain(known->created.stack)) return;
    findings.add(finding(e, named, *known));
    findings.claim_refusal();
  }

private:
  Finding finding(const Event& e, const NamedObject& named, const CudaObject& known) const {
    const ObjectTraits& words = traits_of(named.object);
    Finding f;
    f.kind = "double-free";
    f.api = facts_.call_name(e);
    f.message = {CallName{f.api}, " of ", words.one, " that was already destroyed, made by ",
                 CallName{facts_.api_name(known.created.api)}};
    f.advice = "Remove one of the two calls. Where the handle is a member of an object that is "
               "copied, each copy's destructor destroys it: let one owner have it alone.";
    if (e.succeeded()) {
      f.severity = Severity::kWarning;
      f.message += "; CUDA accepts that, and destroys another one that has got the handle since";
    }
    f.address = named.handle;
    f.group = cat({words.several, e.succeeded() ? " accepted" : ""});
    f.stacks.push_back(stack_as(StackRole::kDestroyed, e.stack, f.api, StackOrder::kAgain));
    add_life(f, known, StackOrder::kFirst, facts_);
    return f;
  }

  const ProcessFacts& facts_;
  LibraryCalls by_libraries_{facts_};
};

const DetectorRegistration kDoubleDestroy{{
  .id = "double-free",
  .severity = Severity::kError,
  .title = "object destroyed twice",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<DoubleDestroy>(facts);
  },
  .wants = kWantsFailures | wants(EventKind::kLife),
  .is_another_way = true,
}};

} // namespace
} // namespace gmt
