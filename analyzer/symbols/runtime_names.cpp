// SPDX-License-Identifier: Apache-2.0
// See runtime_names.h. The outermost of CUDA's own frames is what the program wrote: below it lie the runtime's other
// functions, as in cudaMallocHost, an inline wrapper that calls cudaHostAlloc.
#include "analyzer/symbols/runtime_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/symbols/frame_trim.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

// The driver's calls as advice names them, and what a runtime program calls instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kAdvised{{
  {"cuMemAllocAsync", "cudaMallocAsync"},
  {"cuMemAllocHost", "cudaMallocHost"},
  {"cuMemHostRegister", "cudaHostRegister"},
  {"cuMemPoolSetAttribute", "cudaMemPoolSetAttribute"},
  {"CU_MEMPOOL_ATTR_RELEASE_THRESHOLD", "cudaMemPoolAttrReleaseThreshold"},
  {"cuMemFree", "cudaFree"},
  {"cuMemFreeAsync", "cudaFreeAsync"},
  {"cuMemFreeHost", "cudaFreeHost"},
  {"cuMemHostUnregister", "cudaHostUnregister"},
  {"cuArrayDestroy", "cudaFreeArray"},
  {"cuMipmappedArrayDestroy", "cudaFreeMipmappedArray"},
  {"cuIpcCloseMemHandle", "cudaIpcCloseMemHandle"},
}};

bool is_runtime_function(std::string_view name) {
  return name.size() > 4 && name.starts_with("cuda") && std::isupper(static_cast<unsigned char>(name[4])) != 0;
}

bool is_driver_name(std::string_view name) {
  return name.size() > 2 && name.starts_with("cu") && std::isupper(static_cast<unsigned char>(name[2])) != 0;
}

// Empty where no runtime function stands on the stack. `inlined`: only those that CUDA's header defines.
std::string runtime_call(const std::vector<Frame>& frames, bool inlined) {
  std::string found;
  for (auto frame = frames.begin(); frame != frames.end() && is_cuda_frame(*frame); ++frame) {
    const std::string_view name = bare_function(frame->function);
    if (!is_runtime_function(name) || (inlined && frame->file.empty())) continue;
    found = name.substr(0, name.find('<')); // cudaMalloc<float> is the header's wrapper
  }
  return found;
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void replace_word(std::string& text, std::string_view word, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    const std::size_t end = at + word.size();
    const bool whole =
      (at == 0 || !is_word_character(text[at - 1])) && (end == text.size() || !is_word_character(text[end]));
    if (whole) text.replace(at, word.size(), by);
    at += whole ? by.size() : 1;
  }
}

// CUDA_ERROR_INVALID_VALUE (1) is cudaErrorInvalidValue (1) to a program that calls the runtime.
void name_runtime_errors(std::string& text) {
  constexpr std::string_view kDriver = "CUDA_ERROR_";
  for (std::size_t at = 0; (at = text.find(kDriver, at)) != std::string::npos;) {
    const std::size_t number = text.find(" (", at), end = text.find(')', at);
    std::uint16_t code = 0;
    if (number < end && end != std::string::npos)
      std::from_chars(text.data() + number + 2, text.data() + end, code);
    const std::string driver = error_name(code, false), runtime = error_name(code, true);
    const bool whole = text.compare(at, driver.size(), driver) == 0;
    if (whole) text.replace(at, driver.size(), runtime);
    at += whole ? runtime.size() : kDriver.size();
  }
}

} // namespace

// A shared runtime's own name may be that of a function below the one that the program wrote.
void name_runtime_call(LabelledStack& stack) {
  const bool driver = is_driver_name(stack.api);
  if (stack.api.starts_with("__cuda")) stack.api.erase(0, 2); // nvcc makes __cudaLaunchKernel of <<<>>>
  if (!driver && !is_runtime_function(stack.api)) return;
  std::string runtime = runtime_call(stack.frames, !driver);
  if (!runtime.empty()) stack.api = std::move(runtime);
}

void name_runtime_calls(Finding& finding) {
  bool named = false;
  for (LabelledStack& stack : finding.stacks) {
    const std::string recorded = stack.api;
    name_runtime_call(stack);
    if (stack.api == recorded) continue;
    replace_word(finding.message, recorded, stack.api);
    replace_word(finding.advice, recorded, stack.api);
    if (finding.api == recorded) finding.api = stack.api;
    named |= is_driver_name(recorded);
  }
  if (!named) return;
  name_runtime_errors(finding.message);
  for (const auto& [driver, runtime] : kAdvised) replace_word(finding.advice, driver, runtime);
}

} // namespace gmt
