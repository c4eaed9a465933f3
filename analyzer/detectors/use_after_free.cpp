// SPDX-License-Identifier: Apache-2.0
// use-after-free: a copy, set, texture bind, prefetch or launch argument that points into memory freed
// before; of a graph's nodes, before the launch of the graph. The verdict is the heap's, which holds back where
// the addresses may belong to somebody else by now.

#include "analyzer/detector.h"
#include "analyzer/function_name.h"
#include "analyzer/words.h"

namespace gmt {
namespace {

class UseAfterFree : public Detector {
public:
  explicit UseAfterFree(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Judgement> judgements, const Heap&,
                Findings& findings) override {
    for (const Judgement& j : judgements) {
      if (j.verdict == Judgement::Verdict::kUseAfterFree) findings.add(finding(e, j));
    }
  }

private:
  Finding finding(const Event& e, const Judgement& j) const {
    const Block& block = *j.block;
    const std::string_view call = facts_.call_name(e);
    const std::string where = j.offset == 0 ? std::string() : cat({format_exact_bytes(j.offset), " into "});
    const bool ended = block.end == Block::End::kContextEnded;
    Finding f;
    f.kind = "use-after-free";
    f.message = cat({does(e, j, call), format_address(j.range_begin), ", ", where, "memory that ",
                     ended ? "ended with its context" : cat({"was already ", released_word(block.family)}),
                     ": ", describe_block(block, facts_), "."});
    f.advice = "Free the memory after its last use, or do not use the pointer after the free.";
    if (is_argument(e, j) && !is_whole_parameter(e, j)) {
      f.severity = Severity::kWarning;
      f.advice += " It is a mistake only if the kernel uses that field.";
    }
    if (j.work != nullptr && j.work->may_run) {
      f.severity = Severity::kWarning;
      f.advice += " It is a mistake only if the body of the conditional node runs.";
    }
    f.bytes = j.range_bytes;
    f.address = j.range_begin;
    f.api = call;
    f.group = j.side == Judgement::Side::kSource ? "source" : "destination";
    f.stacks.push_back(labelled(label(e, j), e.stack, call));
    if (j.work != nullptr) {
      f.stacks.push_back(labelled(j.work->captured ? "captured here" : "node made here", j.work->made,
                                  facts_.api_name(j.work->api)));
    }
    f.stacks.push_back(
      labelled(ended ? std::string("context ended here") : cat({released_word(block.family), " here"}),
               block.freed, facts_.api_name(block.freed_api)));
    f.stacks.push_back(birth_stack(block, facts_));
    return f;
  }

  static bool is_argument(const Event& e, const Judgement& j) {
    return e.kind == trace::Kind::kLaunch ||
           (j.work != nullptr && j.work->kind == GraphWork::Kind::kKernel);
  }
  static std::uint64_t function_of(const Event& e, const Judgement& j) {
    return j.work != nullptr ? j.work->function : e.p(0);
  }

  // The words of a structure passed by value count too, but a field that the kernel does not use may hold
  // an old pointer.
  bool is_whole_parameter(const Event& e, const Judgement& j) const {
    const Kernel* kernel = facts_.kernel(function_of(e, j));
    if (kernel == nullptr || j.parameter >= kernel->parameters.size()) return false;
    return kernel->parameters[j.parameter].bytes == sizeof(std::uint64_t);
  }

  // The parameters are counted from 1, as people count.
  std::string passes(const Event& e, const Judgement& j) const {
    const std::string name = demangle(facts_.handle_name(function_of(e, j)));
    const std::string kernel = name.empty() ? "a kernel" : shorten_function(name, kLongestName);
    const std::string does =
      cat({j.work != nullptr ? "The graph that is launched gives " : "The launch of ", kernel,
           j.work != nullptr ? "" : " passes"});
    if (j.parameter >= trace::kNoParameter) return cat({does, " the pointer "});
    return cat({does, " ", is_whole_parameter(e, j) ? "as" : "in", " parameter ",
                std::to_string(j.parameter + 1), " the pointer "});
  }

  std::string does(const Event& e, const Judgement& j, std::string_view call) const {
    if (is_argument(e, j)) return passes(e, j);
    const bool reads = j.side == Judgement::Side::kSource;
    if (j.work != nullptr) {
      const bool copies = j.work->kind == GraphWork::Kind::kCopy;
      return cat({"The graph that is launched ", copies && reads  ? "copies from "
                                                 : copies         ? "copies to "
                                                 : j.work->kind == GraphWork::Kind::kSet ? "sets "
                                                                                         : "uses "});
    }
    if (j.side == Judgement::Side::kNone) return cat({call, " uses "});
    return cat({call, reads ? " reads " : " writes ", format_bytes(j.range_bytes), reads ? " from " : " to "});
  }

  static std::string label(const Event& e, const Judgement& j) {
    if (j.work != nullptr) return "graph launched here";
    if (e.kind == trace::Kind::kCopy) return "copied here";
    if (is_argument(e, j)) return "launched here";
    return e.kind == trace::Kind::kSet ? "set here" : "called here";
  }

  static constexpr std::size_t kLongestName = 120; // of a kernel: templates make them long

  const ProcessFacts& facts_;
};

const DetectorRegistration kUseAfterFree{{
  .id = "use-after-free",
  .severity = Severity::kError,
  .title = "freed memory used in a copy, set, bind or launch",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<UseAfterFree>(facts);
  },
  .wants = kWantsMistakes,
}};

} // namespace
} // namespace gmt
