// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/tracking/reaching.h"

#include "simulated_cuda/executor/program/tracking.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gmt::executor {
namespace {

class Reaching {
public:
  Reaching(const Program& program, const Code& code)
      : program_(program), code_(code),
        registers_((code.register_bytes - kTrackedTemporaryBytes) / 2),
        before_(code.instructions.size()) {
    const auto count = static_cast<std::int64_t>(code.instructions.size());
    const auto add = [&](std::int64_t from, std::int64_t to) {
      if (to >= 0 && to < count) before_[static_cast<std::size_t>(to)].push_back(index(from));
    };
    for (std::int64_t i = 0; i < count; ++i) {
      const Instruction& in = code.instructions[static_cast<std::size_t>(i)];
      const std::string_view form = form_of(in);
      const bool is_branch = form.starts_with("bra"), is_table = form.starts_with("brx");
      const bool is_end = form == "exit" || form == "ret" || form == "trap";
      if (is_branch) add(i, i + in.immediate);
      for (const auto& table : code.tables) {
        if (!is_table) break;
        for (const std::int32_t target : table) add(i, target);
      }
      const bool goes_on = in.guard != kNoOperand || !(is_branch || is_table || is_end);
      if (goes_on) add(i, i + 1);
    }
  }

  std::set<const Instruction*> loads(const Instruction* at, std::uint32_t operand) {
    look_before(index(at - code_.instructions.data()), operand);
    while (!open_.empty()) {
      if (seen_.size() > kMostSteps) return {};
      const auto [i, wanted] = open_.back();
      open_.pop_back();
      look_at(i, wanted);
    }
    return std::move(found_);
  }

private:
  static constexpr std::size_t kMostSteps = std::size_t{1} << 20; // some 40 MB

  static std::uint32_t index(std::int64_t i) { return static_cast<std::uint32_t>(i); }
  std::string_view form_of(const Instruction& in) const { return program_.forms[in.form]; }

  void look_before(std::uint32_t i, std::uint32_t wanted) {
    for (const std::uint32_t each : before_[i]) {
      if (seen_.insert(std::uint64_t{each} << 32 | wanted).second) open_.emplace_back(each, wanted);
    }
  }

  void look_at(std::uint32_t i, std::uint32_t wanted) {
    const Instruction& in = code_.instructions[i];
    if (form_of(in).starts_with("track.product")) return look_at_product(i, wanted);
    const std::uint8_t results = code_.tracked_results[i];
    const std::uint32_t first = results == kTrackedWhole ? 4 : 0;
    const std::uint32_t end = results == kTrackedWhole ? 5 : results;
    if (std::find(in.r + first, in.r + end, wanted) == in.r + end) return look_before(i, wanted);
    const std::string_view form = form_of(in);
    const bool is_load = form == "track.ld";
    if (is_load || form.starts_with("track.shfl")) found_.insert(&in);
    if (!is_load) {
      for (std::uint32_t at = 0; at < std::size(in.r); ++at) {
        const bool is_shadow = (in.r[at] & kConstantOperand) == 0 && in.r[at] >= registers_;
        if (is_shadow && (at < first || at >= end)) look_before(i, in.r[at]);
      }
    }
    // It leaves the shadow as it is in some lanes
    if (in.guard != kNoOperand || form == "track.spoil") look_before(i, wanted);
  }

  void look_at_product(std::uint32_t i, std::uint32_t wanted) {
    const Product& product = code_.products[code_.instructions[i].extra];
    if (std::ranges::find(product.d, wanted) == product.d.end()) return look_before(i, wanted);
    for (const auto* sources : {&product.a, &product.b, &product.c}) {
      for (const std::uint32_t each : *sources) {
        if ((each & kConstantOperand) == 0) look_before(i, each);
      }
    }
  }

  const Program& program_;
  const Code& code_;
  const std::uint32_t registers_;                  // bytes; shadows follow
  std::vector<std::vector<std::uint32_t>> before_; // of each instruction, those that lead to it
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open_; // instruction and shadow behind it
  std::unordered_set<std::uint64_t> seen_;
  std::set<const Instruction*> found_;
};

} // namespace

std::set<const Instruction*> reaching_loads(const Program& program, const Code& code,
                                            const Instruction* at, std::uint32_t operand) {
  return Reaching(program, code).loads(at, operand);
}

} // namespace gmt::executor
