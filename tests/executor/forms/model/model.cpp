// SPDX-License-Identifier: Apache-2.0
// Finds the model of a form and applies it to all threads.
#include "tests/executor/forms/model/model.h"

#include "tests/executor/forms/operands.h"

#include <cstring>

namespace gmt::forms::model {

Words::Words(const std::string& name) {
  words_.emplace_back();
  for (const char c : name) {
    if (c == '.' || c == ' ') words_.emplace_back();
    else words_.back() += c;
  }
}

bool Words::has(std::string_view word) const {
  for (const std::string& each : words_) {
    if (each == word) return true;
  }
  return false;
}

int bits_of(const std::string& type) {
  int bits = 0;
  for (const char c : type) {
    if (c == 'x' && bits != 0) break;
    if (c >= '0' && c <= '9') bits = bits * 10 + (c - '0');
  }
  return bits;
}

namespace {

Evaluate model_of(const Form& form) {
  const Words words(form.name);
  for (const auto model : {integer_model, carry_model, bit_model, float_model, compare_model,
                           convert_model, atomic_model, approximate_model, video_model}) {
    if (Evaluate evaluate = model(form, words)) return evaluate;
  }
  return nullptr;
}

std::vector<Thread> threads_of(const Form& form, std::span<const std::byte> operands,
                               std::span<const std::byte> found) {
  std::vector<Thread> threads(form.count);
  for (std::uint32_t i = 0; i < form.count; ++i) {
    for (std::size_t k = 0; k < form.operands.size(); ++k)
      threads[i].in[k] = element(operands, form.operands, form.count, k, i);
    for (std::size_t k = 0; k < form.results.size(); ++k)
      threads[i].found[k] = element(found, form.results, form.count, k, i);
  }
  return threads;
}

} // namespace

std::vector<std::byte> expected(const Form& form, std::span<const std::byte> operands,
                                std::span<const std::byte> found) {
  std::vector<Thread> threads = threads_of(form, operands, found);
  if (const Evaluate evaluate = model_of(form)) {
    for (Thread& thread : threads) evaluate(thread);
  } else {
    for (std::size_t i = 0; i < threads.size(); i += 32) {
      if (!warp_model(form, std::span(threads).subspan(i, 32))) return {};
    }
  }
  std::vector<std::byte> results(bytes_of(form.results, form.count));
  for (std::uint32_t i = 0; i < form.count; ++i) {
    for (std::size_t k = 0; k < form.results.size(); ++k) {
      const std::size_t size = size_of(form.results[k]);
      std::memcpy(results.data() + offset_of(form.results, form.count, k) + i * size,
                  &threads[i].out[k], size);
    }
  }
  return results;
}

} // namespace gmt::forms::model
