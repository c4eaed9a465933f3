// SPDX-License-Identifier: Apache-2.0
// use-after-free through textures and surfaces: a kernel is given an object whose memory was freed,
// or one that was destroyed. Asleep until the first such object is made.
//
// These objects are small numbers, and a kernel's count may be equal to one. So only a parameter
// counts that is declared as they are, `unsigned long long`; of kernels with C names, which declare
// nothing, it is a warning. A destroyed object's number means one only where the parameter has held
// a live one before.

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/declared_pointers.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/object_words.h"
#include "analyzer/symbols/demangle.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

using Kind = EventKind;
using trace::ObjectClass;

constexpr Wants kBinds = wants(Kind::kUse);
constexpr Wants kBindsAndLaunches = kBinds | wants(Kind::kLaunch);

class EndedTexture : public Detector {
public:
  explicit EndedTexture(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    const ObjectTable& objects = heap.cuda().objects;
    if (e.kind == Kind::kUse) {
      if (objects.any(ObjectClass::kTexture) || objects.any(ObjectClass::kSurface))
        watch(kBindsAndLaunches);
      return;
    }
    if (e.kind != Kind::kLaunch || e.is_nested || e.from_runtime || heap.is_dead(e.context)) return;
    for (const Argument word : e.launch().arguments) {
      if (word.is_unused()) continue;
      if (const auto meant = object_of(word.address(), e, heap))
        check(e, word, meant->object, *meant->known, heap, findings);
    }
  }

private:
  struct Meant {
    ObjectClass object;
    const CudaObject* known;
  };

  // A GPU gives a destroyed texture's number to the next surface, and the other way round: one that
  // is alive is meant, else the newer one.
  static std::optional<Meant> object_of(std::uint64_t number, const Event& e, const Heap& heap) {
    std::optional<Meant> meant;
    for (const ObjectClass object : {ObjectClass::kTexture, ObjectClass::kSurface}) {
      const CudaObject* known = heap.cuda().objects.find(object, number);
      if (known == nullptr || known->created.order >= e.order) continue;
      const bool is_meant = !meant || rank(*known, heap) > rank(*meant->known, heap);
      if (is_meant) meant = {object, known};
    }
    return meant;
  }

  static std::pair<int, std::uint64_t> rank(const CudaObject& known, const Heap& heap) {
    if (known.ended) return {0, known.created.order};
    return {freed_memory(known, heap) != nullptr ? 1 : 2, known.created.order};
  }

  void check(const Event& e, Argument word, ObjectClass object, const CudaObject& known,
             const Heap& heap, Findings& findings) {
    const std::uint64_t function = e.launch().function;
    const unsigned parameter = word.parameter();
    const Kernel* kernel = facts_.kernel(function);
    const bool is_whole = kernel != nullptr && parameter < kernel->parameters.size() &&
                          kernel->parameters[parameter].bytes == sizeof(std::uint64_t);
    if (!is_whole || !parameters_.may_be_object(function, parameter)) return;
    const Block* freed = freed_memory(known, heap);
    if (known.ended) {
      if (held_one_.contains({function, parameter}))
        findings.add(of_object(e, word, object, known));
    } else if (freed != nullptr) {
      findings.add(of_memory(e, word, object, known, *freed));
    } else {
      held_one_.insert({function, parameter});
    }
  }

  // The memory that the object shows, if it was freed since and nothing was allocated there.
  static const Block* freed_memory(const CudaObject& object, const Heap& heap) {
    if (object.memory == 0) return nullptr;
    const Block* freed = heap.find_freed_array(object.memory);
    if (freed == nullptr && heap.find_array(object.memory).block == nullptr &&
        heap.find_live(object.memory) == nullptr)
      freed = heap.find_freed(object.memory);
    const bool is_its = freed != nullptr && freed->allocated_at < object.created.order &&
                        object.created.order < freed->freed_at;
    return is_its ? freed : nullptr;
  }

  // "The launch of blur(...) passes as parameter 2 a texture object"
  std::string passes(const Event& e, Argument word, ObjectClass object) const {
    const std::string name = demangle(facts_.handle_name(e.launch().function));
    return cat({"The launch of ", name.empty() ? "a kernel" : shorten_function(name, kLongestName),
                " passes as parameter ", std::to_string(word.parameter() + 1), " ",
                traits_of(object).one});
  }

  Finding finding(const Event& e, Argument word, ObjectClass object) {
    Finding f;
    f.kind = "use-after-free";
    f.api = facts_.call_name(e);
    f.address = word.address();
    f.stacks.push_back(stack_as(StackRole::kLaunched, e.stack, f.api));
    const std::uint64_t function = e.launch().function;
    const unsigned parameter = word.parameter();
    const bool is_sure = parameters_.of(function, parameter) != Declared::kUnknown ||
                         held_one_.contains({function, parameter});
    if (!is_sure) {
      f.severity = Severity::kWarning;
      f.advice = cat(
        {" It is no mistake if this parameter is a number, and not ", traits_of(object).one, "."});
    }
    f.group = cat({traits_of(object).several, is_sure ? "" : " maybe"});
    return f;
  }

  Finding of_memory(const Event& e, Argument word, ObjectClass object, const CudaObject& known,
                    const Block& block) {
    Finding f = finding(e, word, object);
    const bool ended = block.end == Block::End::kContextEnded;
    f.message = {passes(e, word, object), " whose memory ",
                 ended ? "ended with its context"
                       : cat({"was already ", released_word(block.memory_kind)}),
                 ": ", describe_block(block, facts_)};
    const Text more = f.advice;
    f.advice = {
      "Free the memory after the last launch that reads it, and destroy the object first.", more};
    f.bytes = block.bytes;
    f.stacks.push_back(stack_as(ended ? StackRole::kContextEnded : release_role(block.memory_kind),
                                block.freed, facts_.api_name(block.freed_api)));
    f.stacks.push_back(allocation_stack(block, facts_));
    add_life(f, known, StackOrder::kOnly, facts_);
    return f;
  }

  Finding of_object(const Event& e, Argument word, ObjectClass object, const CudaObject& known) {
    Finding f = finding(e, word, object);
    f.message = {passes(e, word, object),
                 known.with_context ? " that ended with its context"
                                    : " that was already destroyed",
                 ", made by ", CallName{facts_.api_name(known.created.api)}};
    f.advice = "Destroy the object after the last launch that uses it.";
    f.group += " destroyed";
    add_life(f, known, StackOrder::kOnly, facts_);
    return f;
  }

  const ProcessFacts& facts_;
  DeclaredPointers parameters_{facts_};
  // Functions' parameters that have been given live objects
  std::set<std::pair<std::uint64_t, unsigned>> held_one_;
};

const DetectorRegistration kEndedTexture{{
  .id = "use-after-free",
  .severity = Severity::kError,
  .title = "texture of freed memory given to a kernel",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<EndedTexture>(facts);
  },
  .wants = kBinds,
  .is_another_way = true,
}};

} // namespace
} // namespace gmt
