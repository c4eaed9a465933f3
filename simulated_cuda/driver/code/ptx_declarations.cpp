// SPDX-License-Identifier: Apache-2.0
// The declarations of PTX that the executor cannot read; see declarations.h.
#include "simulated_cuda/driver/code/declarations.h"

#include <algorithm>
#include <cstdlib>

namespace gmt::sim {
namespace {

std::string_view next_word(std::string_view* text) {
  const std::size_t start = text->find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return *text = {};
  std::size_t end = text->find_first_of(" \t\r\n(),;[", start);
  if (end == std::string_view::npos) end = text->size();
  if (end == start) ++end;
  const std::string_view word = text->substr(start, end - start);
  text->remove_prefix(end);
  return word;
}

std::size_t size_of_ptx_type(std::string_view type) {
  const std::size_t digits = type.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  return static_cast<std::size_t>(std::atoi(std::string(type.substr(digits)).c_str())) / 8;
}

// ".global .align 4 .b8 table[400];" after the state space: a variable's size, or a parameter's.
std::size_t read_ptx_declaration(std::string_view* text, std::string* name) {
  std::size_t element = 0;
  std::string_view word = next_word(text);
  while (!word.empty() && word[0] == '.') {
    if (word == ".align") next_word(text);
    else element = size_of_ptx_type(word) != 0 ? size_of_ptx_type(word) : element;
    word = next_word(text);
  }
  *name = word;
  if (text->empty() || text->front() != '[') return element;
  text->remove_prefix(1);
  return element * static_cast<std::size_t>(std::atoll(std::string(next_word(text)).c_str()));
}

} // namespace

void read_ptx_declarations(std::string_view text, Image* image) {
  std::string kernel;
  while (!text.empty()) {
    const std::string_view word = next_word(&text);
    std::string name;
    if (word == ".entry") {
      kernel = next_word(&text);
      image->kernels[kernel];
    } else if (word == ".func" || word == "{") {
      kernel.clear(); // .param now belongs to calls inside a body
    } else if (word == ".param" && !kernel.empty()) {
      auto& parameters = image->kernels[kernel];
      const std::size_t size = read_ptx_declaration(&text, &name);
      const std::size_t before =
        parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
      const std::size_t alignment = std::clamp(size, std::size_t{1}, std::size_t{8});
      parameters.push_back({(before + alignment - 1) / alignment * alignment, size});
    } else if (word == ".global" || word == ".const") {
      const std::size_t size = read_ptx_declaration(&text, &name);
      if (size != 0) image->variables[name].size = size;
    } else if (word == "malloc") {
      image->uses_device_heap = true;
    }
  }
}

} // namespace gmt::sim
