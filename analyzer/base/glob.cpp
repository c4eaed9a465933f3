// SPDX-License-Identifier: Apache-2.0
// Only the last star's run is ever extended: earlier ones took the shortest that matched, and a
// longer one would leave no more for the rest.
#include "analyzer/base/glob.h"

namespace gmt {

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos,
              resume = 0; // the last star, and where its run may be extended to
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

} // namespace gmt
