// SPDX-License-Identifier: Apache-2.0
// Shared variables of a module that checked forms have for themselves. A linker gives a variable of
// two kernels one place in both, so that each gets holes for what others have: kernels need more
// shared memory then than they may have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ptx/syntax/ptx.h"
#include "rewriter/functions.h"

namespace gmt::rewriter {

class SharedCopies {
public:
  SharedCopies() = default;
  // Of what functions with two forms use, and no function that exists once.
  SharedCopies(const ptx::Module& module, const std::vector<Form>& forms);

  std::string declarations() const;
  // The same module with the declarations.
  void find_in(const ptx::Module& module);
  // In a checked form beside a plain one.
  void use_in(ptx::Body& body) const;

private:
  struct Copy {
    std::string of;
    std::uint64_t bytes;
    std::uint32_t alignment;
  };
  std::vector<Copy> copies_;
  std::map<std::uint32_t, std::uint32_t> copy_of_; // variables of the module
};

} // namespace gmt::rewriter
