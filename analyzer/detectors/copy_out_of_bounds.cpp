// SPDX-License-Identifier: Apache-2.0
// copy-out-of-bounds: a copy or set that begins in living memory and passes the end of what was requested,
// whatever CUDA answered. The verdict and the byte count are the heap's.

#include "analyzer/detector.h"
#include "analyzer/words.h"

namespace gmt {
namespace {

class CopyOutOfBounds : public Detector {
public:
  explicit CopyOutOfBounds(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Judgement> judgements, const Heap&,
                Findings& findings) override {
    for (const Judgement& j : judgements) {
      if (j.verdict == Judgement::Verdict::kOutOfBounds) findings.add(finding(e, j));
    }
  }

private:
  Finding finding(const Event& e, const Judgement& j) const {
    const Block& block = *j.block;
    const std::string_view call = facts_.call_name(e), birth = facts_.api_name(block.api);
    const bool source = j.side == Judgement::Side::kSource;
    const std::string at = j.offset == 0 ? std::string() : cat({" at offset ", format_count(j.offset)});
    Finding f;
    f.kind = "copy-out-of-bounds";
    f.message =
      cat({call, source ? " reads " : " writes ", format_exact_bytes(j.bytes_past), " past the end of its ",
           source ? "source" : "destination", ": ", format_exact_bytes(j.range_bytes), at, " of a block of ",
           size_of(block), " of ", family_noun(block.family),
           block.family == trace::Family::kRegistered ? " registered by " : " allocated by ", birth, "."});
    f.advice =
      block.shape().pitch != 0 || e.payload.size() > trace::kFirstPayloadWords
        ? "Check width, height and pitch: the last row needs its width only, all rows before it the pitch."
        : cat({"Copy at most ", format_exact_bytes(block.bytes - j.offset), ", or allocate ",
               format_exact_bytes(j.bytes_past), " more: sizes are in bytes, not elements."});
    if (e.kind == trace::Kind::kSet && f.advice.starts_with("Copy")) f.advice.replace(0, 4, "Set");
    f.bytes = j.bytes_past;
    f.address = j.range_begin;
    f.api = call;
    f.group = source ? "source" : "destination";
    f.stacks.push_back(labelled(e.kind == trace::Kind::kSet   ? "set here"
                                : e.kind == trace::Kind::kUse ? "node made here"
                                                              : "copied here",
                                e.stack, call));
    f.stacks.push_back(birth_stack(block, facts_));
    return f;
  }

  // "1,000 bytes", or "1,024 bytes (4 rows at a pitch of 256)".
  static std::string size_of(const Block& block) {
    const BlockDetail& shape = block.shape();
    const std::string bytes = format_exact_bytes(block.bytes);
    if (shape.pitch == 0) return bytes;
    return cat({bytes, " (", format_plural(block.bytes / shape.pitch, "row"), " at a pitch of ",
                format_count(shape.pitch), ")"});
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kCopyOutOfBounds{{
  .id = "copy-out-of-bounds",
  .severity = Severity::kError,
  .title = "copy or set past the end of an allocation",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<CopyOutOfBounds>(facts);
  },
  .wants = kWantsMistakes,
}};

} // namespace
} // namespace gmt
