// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/replay/result.h"

#include "ptx/syntax/ptx.h"

#include <cuda.h>

#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace gmt::replay {
namespace {

void compare_block(const trace::CapturedBlock& block, const std::string& found, Comparison& to) {
  const std::string& on_gpu = block.result();
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < on_gpu.size(); ++i) {
    if (on_gpu[i] == found[i]) continue;
    if (to.different == 0 && different == 0) {
      to.block = block.address;
      to.offset = i;
      to.variable = block.variable;
      to.on_gpu = static_cast<std::uint8_t>(on_gpu[i]);
      to.here = static_cast<std::uint8_t>(found[i]);
    }
    ++different;
  }
  for (std::size_t i = 0; i < block.after.size(); ++i)
    to.changed += block.after[i] != block.before[i] ? 1 : 0;
  to.compared += on_gpu.size();
  to.different += different;
  to.different_blocks += different != 0 ? 1 : 0;
}

// The kernel's own text, and that of all functions if it calls one.
std::string code_of(const trace::Capture& capture) {
  const ptx::Module module = ptx::parse_module(capture.ptx);
  const auto body = [](const ptx::Function& function, std::string_view text) {
    return text.substr(function.body_begin, function.body_end - function.body_begin);
  };
  const ptx::Function* kernel = module.find_function(capture.kernel);
  if (kernel == nullptr || !kernel->has_body) return {};
  std::string code(body(*kernel, module.text()));
  if (code.find("call") == std::string::npos) return code;
  for (const ptx::Function& function : module.functions()) {
    if (!function.is_entry && function.has_body) code += body(function, module.text());
  }
  return code;
}

struct Uses {
  bool float_atomics = false, other_atomics = false, clocks = false, numbers = false,
       approx = false, textures = false, tensors = false, heap = false;
};

// Of a word such as "atom.global.add.f32".
void look_at(std::string_view word, Uses& uses) {
  const auto has = [word](std::string_view part) { return word.find(part) != word.npos; };
  if (word.starts_with("atom") || word.starts_with("red.")) {
    const bool is_float = has(".f32") || has(".f64") || has(".f16") || has(".bf16");
    (is_float ? uses.float_atomics : uses.other_atomics) |= is_float || word.starts_with("atom");
  }
  uses.approx |= has(".approx");
  uses.textures |= word.starts_with("tex.") || word.starts_with("tld4.") ||
                   word.starts_with("suld.") || word.starts_with("sust.");
  uses.tensors |= has(".tensor");
  for (const std::string_view clock : {"%clock", "%globaltimer"}) uses.clocks |= has(clock);
  for (const std::string_view number : {"%smid", "%nsmid", "%warpid", "%gridid"})
    uses.numbers |= word.starts_with(number);
  uses.heap |= word.starts_with("malloc") || word.starts_with("free");
}

} // namespace

Comparison compare(const trace::Capture& capture) {
  Comparison comparison;
  for (const trace::CapturedBlock& block : capture.blocks) {
    if (!block.has_after) continue;
    std::string found(block.before.size(), '\0');
    CUdeviceptr address = block.address;
    if (cuMemcpyDtoH(found.data(), address, found.size()) != CUDA_SUCCESS)
      comparison.could_read = false;
    else compare_block(block, found, comparison);
  }
  return comparison;
}

std::string reasons_to_differ(const trace::Capture& capture) {
  Uses uses;
  try {
    const std::string code = code_of(capture);
    constexpr std::string_view kBetween = " \t\r\n,;()[]{}";
    for (std::size_t at = 0; at < code.size();) {
      const std::size_t end = std::min(code.find_first_of(kBetween, at), code.size());
      if (end != at) look_at(std::string_view(code).substr(at, end - at), uses);
      at = end + 1;
    }
  } catch (const std::exception&) { // it is no PTX, and was not launched either
    return {};
  }
  const std::pair<bool, const char*> all[] = {
    {uses.float_atomics, "atomics of floating-point numbers, whose sum depends on the order"},
    {uses.other_atomics, "atomics that return what was there, which depends on the order"},
    {uses.clocks, "clocks"},
    {uses.numbers, "the number of its multiprocessor or warp"},
    {uses.approx, "approximate instructions"},
    {uses.textures, "textures or surfaces, which no capture holds"},
    {uses.tensors && capture.maps.empty(), "tensor maps that no call made which was seen"},
    {uses.heap, "malloc in kernels, whose heap no capture holds"},
    {!capture.left_out.empty(), "memory that was left out of the capture"}};
  std::string text;
  for (const auto& [is_used, words] : all) {
    if (is_used) text += (text.empty() ? "" : "; ") + std::string(words);
  }
  return text;
}

} // namespace gmt::replay
