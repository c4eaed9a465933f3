// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/code/ptx_header.h"

#include <algorithm>
#include <charconv>

namespace gmt::sim {
namespace {

// The last minor version of each major one, from 1 on. A driver of CUDA 13.0 stops at 9.0. What
// later compilers of CUDA 13 write is taken all the same, as by the drivers that go with them.
constexpr unsigned kLastMinor[] = {5, 3, 2, 3, 0, 5, 8, 8};
constexpr unsigned kNewestMajor = 9;

bool is_version(unsigned major, unsigned minor) {
  if (major == 0 || major > kNewestMajor) return false;
  return major == kNewestMajor || minor <= kLastMinor[major - 1];
}

// Reads words of a text, behind comments.
class Words {
public:
  explicit Words(std::string_view text) : text_(text) {}

  std::string_view next() {
    skip_comments();
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n,", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }
  std::size_t line() const {
    return 1 + static_cast<std::size_t>(std::count(text_.begin(), text_.begin() + at(), '\n'));
  }

private:
  std::ptrdiff_t at() const { return static_cast<std::ptrdiff_t>(at_); }
  void skip_comments() {
    while (at_ < text_.size()) {
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
      const std::string_view rest = text_.substr(at_);
      const bool is_line = rest.starts_with("//");
      if (!is_line && !rest.starts_with("/*")) return;
      const std::size_t end = text_.find(is_line ? "\n" : "*/", at_ + 2);
      at_ = end == text_.npos ? text_.size() : end + (is_line ? 1 : 2);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// False: it is no number, or not all of one.
bool read_number(std::string_view word, unsigned* value) {
  const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), *value);
  return wrong == std::errc() && end == word.data() + word.size();
}

} // namespace

CUresult check_ptx_header(std::string_view text, unsigned most_target, std::string* errors) {
  Words words(text);
  if (words.next() != ".version") return CUDA_SUCCESS;
  const std::string_view version = words.next();
  const std::size_t line = words.line(), point = version.find('.');
  unsigned major = 0, minor = 0, target = 0;
  if (point == version.npos || !read_number(version.substr(0, point), &major) ||
      !read_number(version.substr(point + 1), &minor))
    return CUDA_SUCCESS;
  if (!is_version(major, minor)) {
    *errors = "ptxas application ptx input, line " + std::to_string(line) +
              "; fatal   : Unsupported .version " + std::string(version) +
              "; current version is '9.0'\n";
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  if (words.next() != ".target") return CUDA_SUCCESS;
  std::string_view name = words.next();
  const std::size_t digits = std::min(name.find_first_of("0123456789"), name.size());
  name.remove_prefix(digits);
  name = name.substr(0, name.find_first_not_of("0123456789")); // sm_100a
  if (!read_number(name, &target) || target <= most_target) return CUDA_SUCCESS;
  *errors = "ptxas fatal   : SM version specified by .target is higher than default SM version "
            "assumed\n";
  return CUDA_ERROR_INVALID_PTX;
}

} // namespace gmt::sim
