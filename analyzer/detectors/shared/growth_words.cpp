// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/growth_words.h"

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/heap/memory_use.h"

namespace gmt {
namespace {

constexpr std::size_t kMostStacksOfGrowth = 5;

std::string bytes_a_step(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(std::max(bytes + 0.5, 1.0)));
}

// "Each of 200 steps (range train)"
std::string each_step(const Steps::Found& steps) {
  const std::string of = steps.of.empty() ? std::string() : cat({" (", steps.of, ")"});
  return cat({"Each of ", format_count(steps.count), " steps", of});
}

} // namespace

void Grown::finish(double orders_per_step) {
  for (Site& s : sites) {
    s.bytes_per_step *= orders_per_step;
    s.blocks_per_step *= orders_per_step;
    bytes_per_step += s.bytes_per_step;
    whole += s.of->series.bytes_then();
  }
  std::ranges::sort(sites, [](const Site& a, const Site& b) {
    return a.bytes_per_step != b.bytes_per_step ? a.bytes_per_step > b.bytes_per_step
                                                : a.stack.value < b.stack.value;
  });
}

std::string GrowthWords::when_full(int device, double bytes_per_step, const Steps::Found& steps,
                                   const Heap& heap) const {
  const DeviceFacts* facts = facts_.device(device);
  if (facts == nullptr || facts->bytes <= heap.peak_device_bytes()) return {};
  const double left = static_cast<double>(facts->bytes - heap.peak_device_bytes());
  const double step = static_cast<double>(steps.count) + left / bytes_per_step;
  constexpr double kFarthestStep = 1e8;
  if (step > kFarthestStep) return {};
  return cat({"; at this rate device ", std::to_string(device), ", which has ",
              format_bytes(facts->bytes), ", is full at about step ",
              format_count(static_cast<std::uint64_t>(step))});
}

Text GrowthWords::message(const Grown& grown, const Steps::Found& steps, const Heap& heap) const {
  using What = Grown::What;
  const Grown::Site& first = grown.sites.front();
  Text where = first.what == What::kTensor ? Text{"tensors made ", TensorSite{}}
               : first.what == What::kPinned
                 ? Text{"pinned host buffers made ", TensorSite{}}
                 : Text{"blocks allocated by ", CallName{facts_.api_name(first.of->api)}};
  std::size_t others = grown.sites.size() - 1;
  if (first.what != What::kBlock && others != 0 && grown.sites[1].what == first.what) {
    --others;
    where += Text{others == 0 ? " and " : ", ", TensorSite{}};
  }
  if (others != 0) where += cat({" and ", format_plural(others, "other call stack")});
  double of_device = 0;
  for (const Grown::Site& s : grown.sites)
    of_device += s.what == What::kPinned ? 0 : s.bytes_per_step;
  return {each_step(steps),
          " leaves ",
          bytes_a_step(grown.bytes_per_step),
          " behind, ",
          format_bytes(grown.whole),
          " in all: ",
          where,
          first.what == What::kPinned ? std::string()
                                      : when_full(first.of->device, of_device, steps, heap)};
}

void GrowthWords::add_stacks(Finding& f, const Grown& grown, std::uint64_t steps) const {
  for (std::size_t i = 0; i < std::min(grown.sites.size(), kMostStacksOfGrowth); ++i) {
    const Grown::Site& s = grown.sites[i];
    f.stacks.push_back(
      stack_as(StackRole::kAllocated, s.stack,
               s.what == Grown::What::kTensor ? std::string_view() : facts_.api_name(s.of->api)));
    if (grown.sites.size() == 1) continue;
    const double all = static_cast<double>(steps);
    f.stacks.back().amount = {static_cast<std::uint64_t>(s.bytes_per_step * all),
                              static_cast<std::uint64_t>(s.blocks_per_step * all + 0.5)};
  }
}

Finding GrowthWords::of(const Grown& grown, const std::optional<CacheGrowth::Found>& cache,
                        const Steps::Found& steps, const Heap& heap) const {
  Finding f;
  f.kind = "growth";
  f.severity = Severity::kWarning;
  f.message = message(grown, steps, heap);
  if (cache)
    f.message += cat({"; PyTorch's cache grows by ", bytes_a_step(cache->rise.bytes * steps.orders),
                      " a step with them"});
  f.advice =
    grown.sites.front().what != Grown::What::kBlock
      ? "Look for what keeps them from step to step: a list or dict that they are added to, "
        "a hook, a closure, a loss that is kept with its graph (keep loss.item() or "
        "loss.detach() instead)."
      : "Free them in the step that allocates them, or use them again.";
  f.bytes = grown.whole;
  f.count = 0;
  for (const Grown::Site& s : grown.sites)
    f.count +=
      static_cast<std::uint64_t>(s.blocks_per_step * static_cast<double>(steps.count) + 0.5);
  add_stacks(f, grown, steps.count);
  return f;
}

Finding GrowthWords::of_cache(const CacheGrowth::Found& cache, const Steps::Found& steps,
                              const Heap& heap) const {
  const double bytes_per_step = cache.rise.bytes * steps.orders;
  Finding f;
  f.kind = "growth";
  f.severity = Severity::kWarning;
  f.message = {each_step(steps),
               " adds ",
               bytes_a_step(bytes_per_step),
               " to PyTorch's cache, which gets ",
               format_bytes(cache.bytes),
               " so, while tensors never had more than ",
               format_bytes(heap.use().tensors().peak_bytes()),
               ": segments were taken for tensors made ",
               TensorSite{},
               when_full(cache.device, bytes_per_step, steps, heap)};
  f.advice =
    "What was freed is not used again: look for a torch.cuda.MemPool, a CUDA graph or streams of "
    "each step's own, whose memory is no other's, or for sizes that grow. Pieces between tensors "
    "that stay are put together with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.";
  f.bytes = cache.bytes;
  f.count = cache.segments;
  for (const CacheGrowth::Site& site : cache.sites) {
    if (f.stacks.size() == kMostStacksOfGrowth) break;
    f.stacks.push_back(stack_as(StackRole::kAllocated, site.stack, facts_.api_name(site.api)));
    if (cache.sites.size() > 1) f.stacks.back().amount = {site.most_bytes, site.most_segments};
  }
  return f;
}

Finding breach_of(const PolicyRule& rule, Finding f) {
  f.kind = "policy";
  f.severity = Severity::kError;
  f.message += cat({" (rule '", rule.text, "')"});
  f.group = rule.text;
  f.count = 1;
  return f;
}

} // namespace gmt
