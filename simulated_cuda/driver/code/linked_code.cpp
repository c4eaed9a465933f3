// SPDX-License-Identifier: Apache-2.0
// A head, and texts that each end with a zero; see linked_code.h.
#include "simulated_cuda/driver/code/linked_code.h"

#include <cstdint>
#include <cstring>

namespace gmt::sim {
namespace {

struct Head {
  char magic[8];
  std::uint64_t texts;
};
constexpr char kMagic[8] = {'g', 'm', 't', 'L', 'I', 'N', 'K', '1'};

} // namespace

bool is_linked_code(const void* code) { return std::memcmp(code, kMagic, sizeof kMagic) == 0; }

std::vector<std::string> linked_texts(const void* code) {
  Head head;
  std::memcpy(&head, code, sizeof head);
  const char* at = static_cast<const char*>(code) + sizeof head;
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < head.texts; ++i) {
    texts.emplace_back(at);
    at += texts.back().size() + 1;
  }
  return texts;
}

std::vector<std::byte> make_linked_code(const std::vector<std::string>& texts) {
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.texts = texts.size();
  std::vector<std::byte> code(sizeof head);
  std::memcpy(code.data(), &head, sizeof head);
  for (const std::string& text : texts) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.c_str());
    code.insert(code.end(), bytes, bytes + text.size() + 1);
  }
  return code;
}

} // namespace gmt::sim
