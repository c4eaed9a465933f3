// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/replay/result.h"

#include "ptx/syntax/ptx.h"
#include "simulated_cuda/replay/textures.h"

#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace gmt::replay {
namespace {

std::string name_of(const trace::CapturedBlock& block) {
  char address[24];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(block.address));
  return (block.variable.empty() ? "the block" : block.variable) + " at " + address;
}

std::string name_of_level(std::size_t array, std::size_t level) {
  return "level " + std::to_string(level) + " of array " + std::to_string(array + 1);
}

// `part` has what was there before the launch and behind it; `name` says what it is.
template <class Part, class Name>
void compare_part(const Part& part, const std::string& found, const Name& name, Comparison& to) {
  const std::string& on_gpu = part.after.empty() ? part.before : part.after;
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < on_gpu.size(); ++i) {
    if (on_gpu[i] == found[i]) continue;
    if (to.different == 0 && different == 0) {
      to.where = name();
      to.offset = i;
      to.on_gpu = static_cast<std::uint8_t>(on_gpu[i]);
      to.here = static_cast<std::uint8_t>(found[i]);
    }
    ++different;
  }
  for (std::size_t i = 0; i < part.after.size(); ++i)
    to.changed += part.after[i] != part.before[i] ? 1 : 0;
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

Comparison compare(const trace::Capture& capture, const Textures& textures) {
  Comparison comparison;
  for (const trace::CapturedBlock& block : capture.blocks) {
    if (!block.has_after) continue;
    std::string found(block.before.size(), '\0');
    CUdeviceptr address = block.address;
    if (cuMemcpyDtoH(found.data(), address, found.size()) != CUDA_SUCCESS)
      comparison.could_read = false;
    else compare_part(block, found, [&] { return name_of(block); }, comparison);
  }
  const auto& arrays = capture.textures.arrays;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    for (std::size_t l = 0; l < arrays[a].levels.size(); ++l) {
      const trace::CapturedLevel& level = arrays[a].levels[l];
      if (!level.has_after) continue;
      std::string found(level.before.size(), '\0');
      if (!textures.read(a, l, &found)) comparison.could_read = false;
      else compare_part(level, found, [&] { return name_of_level(a, l); }, comparison);
    }
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
    {uses.textures && (capture.textures.textures.empty() || capture.textures.left_out != 0),
     "textures or surfaces that the capture does not hold"},
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
