// SPDX-License-Identifier: Apache-2.0
// The one exception of the analyzer: thrown where something the user can mend is wrong, caught once
// in main(). The message says what failed, on which path, and what to do next; the statuses are the
// README's.
#pragma once

#include <stdexcept>
#include <string>

namespace gmt {

enum class ExitStatus : int {
  kClean = 0,
  kFindings = 1,
  kUsage = 2,
  kUnreadableTrace = 3,
  kInternal = 4
};

class UserError : public std::runtime_error {
public:
  UserError(const std::string& message, ExitStatus status)
      : std::runtime_error(message), status_(status) {}
  ExitStatus status() const { return status_; }

private:
  ExitStatus status_;
};

} // namespace gmt
