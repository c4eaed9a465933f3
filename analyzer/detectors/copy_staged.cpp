// SPDX-License-Identifier: Apache-2.0
// copy-staged: copies between two devices of which neither may reach the other's memory. They work, but by
// way of host memory (CUDA C++ programming guide, peer-to-peer memory copy). Added up by call stack and pair
// of devices.

#include <array>
#include <set>
#include <unordered_map>

#include "analyzer/detector.h"
#include "analyzer/words.h"

namespace gmt {
namespace {

// Memory whose peers are set by cuCtxEnablePeerAccess: pools and mappings have access lists of their own.
bool follows_contexts(trace::Family family) {
  return family == trace::Family::kDevice || family == trace::Family::kPitched;
}

constexpr Wants kOneDevice = wants(trace::Kind::kContext) | wants(trace::Kind::kLife);
constexpr Wants kSeveralDevices = kOneDevice | wants(trace::Kind::kCopy);

class CopyStaged : public Detector {
public:
  explicit CopyStaged(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Judgement>, const Heap& heap, Findings&) override {
    if (!e.succeeded() || (e.flags & trace::kFlagNested) != 0) return;
    switch (e.kind) {
    case trace::Kind::kContext: note_context(e); break;
    case trace::Kind::kLife: note_life(e); break;
    default: judge_copy(e, heap); break;
    }
  }

  void finish(const Heap&, Findings& findings) override {
    for (Finding& finding : copies_) {
      const std::string amount = format_bytes(finding.bytes);
      finding.message +=
        cat({" (", amount, " in ",
             finding.count == 1 ? "1 copy" : cat({format_count(finding.count), " copies"}), ")."});
      findings.add(std::move(finding));
    }
  }

private:
  using Pair = std::pair<int, int>;

  static Pair pair_of(int a, int b) { return a < b ? Pair{a, b} : Pair{b, a}; }

  int device_of(std::uint64_t context) const {
    const auto at = devices_.find(context);
    return at != devices_.end() ? at->second : -1;
  }

  // Copies matter from the second device on.
  void note_context(const Event& e) {
    const int device = static_cast<int>(e.p(1));
    if (first_device_ < 0) first_device_ = device;
    if (device != first_device_) watch(kSeveralDevices);
    devices_[e.p(0)] = device;
  }

  // Which device a context belongs to, and which devices reach each other: P0 the peer's context, P3 the one
  // that gains access. One direction is enough for the copy engine.
  void note_life(const Event& e) {
    using trace::LifeOp, trace::ObjectClass;
    const auto object = static_cast<ObjectClass>(e.p(1));
    const auto op = static_cast<LifeOp>(e.p(2));
    if (object == ObjectClass::kPrimaryContext && op == LifeOp::kRetain) {
      devices_[e.p(3)] = static_cast<int>(e.p(0));
    } else if (object == ObjectClass::kContext && op == LifeOp::kCreate) {
      devices_[e.p(0)] = static_cast<int>(e.p(3));
    }
    if (object != ObjectClass::kPeerAccess) return;
    const int peer = device_of(e.p(0)), own = device_of(e.p(3));
    const std::pair<Pair, bool> direction{pair_of(peer, own), own < peer};
    if (peer < 0 || own < 0) {
      unknown_access_ = true;
    } else if (op == LifeOp::kCreate) {
      reachable_.insert(direction);
    } else if (op == LifeOp::kDestroy) {
      reachable_.erase(direction);
    }
  }

  void judge_copy(const Event& e, const Heap& heap) {
    const Block *to = nullptr, *from = nullptr;
    for (const Touch& touch : heap.touched()) {
      (touch.access == Touch::Access::kRead ? from : to) = touch.block;
    }
    if (to == nullptr || from == nullptr || to->context == from->context || unknown_access_) return;
    if (!follows_contexts(to->family) || !follows_contexts(from->family)) return;
    const int into = heap.device_of(*to), out_of = heap.device_of(*from);
    if (into < 0 || out_of < 0 || into == out_of) return;
    const Pair pair = pair_of(into, out_of);
    if (reachable_.contains({pair, false}) || reachable_.contains({pair, true})) return;
    add(e, into, out_of);
  }

  void add(const Event& e, int into, int out_of) {
    const std::array<std::uint64_t, 3> key{
      e.stack.value, e.api, static_cast<std::uint64_t>(into) << 32 | static_cast<unsigned>(out_of)};
    std::string name(reinterpret_cast<const char*>(key.data()), sizeof key);
    const auto [at, is_new] = by_stack_.try_emplace(std::move(name), copies_.size());
    if (is_new) {
      Finding f;
      f.kind = "copy-staged";
      f.severity = Severity::kNote;
      f.api = facts_.call_name(e);
      f.count = 0;
      f.group = cat({std::to_string(out_of), " to ", std::to_string(into)});
      f.message =
        cat({f.api, " copies from device ", std::to_string(out_of), " to device ", std::to_string(into),
             ", neither of which has access to the other, so that the data is staged through the host"});
      f.advice = "If cudaDeviceCanAccessPeer says that they can, call cudaDeviceEnablePeerAccess once before "
                 "the first copy.";
      f.stacks.push_back(labelled("copied here", e.stack, f.api));
      copies_.push_back(std::move(f));
    }
    ++copies_[at->second].count;
    copies_[at->second].bytes += e.p(2);
  }

  const ProcessFacts& facts_;
  int first_device_ = -1;
  std::unordered_map<std::uint64_t, int> devices_; // by CUcontext
  std::set<std::pair<Pair, bool>> reachable_;      // pairs, and whether the lower number has access
  bool unknown_access_ = false;                    // given between contexts that were not described
  std::vector<Finding> copies_;
  std::unordered_map<std::string, std::size_t> by_stack_;
};

const DetectorRegistration kCopyStaged{{
  .id = "copy-staged",
  .severity = Severity::kNote,
  .title = "copy between devices that goes through host memory",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<CopyStaged>(facts);
  },
  .wants = kOneDevice,
}};

} // namespace
} // namespace gmt
