// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/options/wrong_value.h"

#include "analyzer/base/user_error.h"

namespace gmt {

void wrong_value(const std::string& name, const std::string& value, const std::string& allowed) {
  const std::string subject =
    name.starts_with("GPUMEMTRACE_") ? "the variable " + name : "option '--" + name + "'";
  throw UserError("'" + value + "' is no value of " + subject + "; it takes " + allowed,
                  ExitStatus::kUsage);
}

std::string any_of(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_last = i + 1 == words.size();
    if (i != 0) text += is_last ? " or " : ", ";
    text += words[i];
  }
  return text;
}

} // namespace gmt
