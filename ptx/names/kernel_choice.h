// SPDX-License-Identifier: Apache-2.0
// Which kernels are meant by names as people write them: --only-kernels and --skip-kernels.
//
// A list has names, separated by commas: of a function with or without its namespaces, template
// arguments and parameters, or as it is linked. '*' and '?' stand for any characters, or one.
// /TEXT/ is a POSIX extended regular expression, looked for in the whole name as people read it and
// as it is linked. Spaces do not count, but for those of an expression.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gmt::ptx {

class KernelChoice {
public:
  KernelChoice(); // all kernels
  // Empty: not given. Throws std::invalid_argument with the expression that is none, and why.
  KernelChoice(std::string_view only, std::string_view skip);
  ~KernelChoice();
  KernelChoice(KernelChoice&&) noexcept;
  KernelChoice& operator=(KernelChoice&&) noexcept;

  bool is_all() const noexcept { return only_.empty() && skip_.empty(); }
  // By the kernel's name as it is linked: named by the first list, if there is one, and not by the
  // second.
  bool includes(std::string_view linked) const;

private:
  struct Pattern;
  using Patterns = std::vector<Pattern>;
  static Patterns read(std::string_view list);

  Patterns only_, skip_;
};

} // namespace gmt::ptx
