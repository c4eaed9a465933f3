// SPDX-License-Identifier: Apache-2.0
// What used freed memory, and the finding that says so: a call, a kernel's argument, or a node of a
// graph that is launched.
#pragma once

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/declared_pointers.h"

namespace gmt {

class FreedUses {
public:
  explicit FreedUses(const ProcessFacts& facts) : facts_(facts) {}

  Finding finding(const Event& e, const Verdict& j, const Heap& heap);

  // Of a launch, or of a kernel of the graph that is launched.
  static bool is_argument(const Event& e, const Verdict& j);
  // The kernel of such an argument.
  static std::uint64_t function_of(const Event& e, const Verdict& j);
  // The words of a structure passed by value count too, but a field that the kernel does not use
  // may hold an old pointer.
  bool is_whole_parameter(const Event& e, const Verdict& j) const;
  // The kernel declares it as a number, not as a pointer.
  bool is_number(const Event& e, const Verdict& j);

private:
  // Why it may be no mistake, as further sentences of the advice; empty if it is one.
  std::string excuse_of(const Event& e, const Verdict& j, const Heap& heap);
  // How the sentence begins: who uses the memory, and what for.
  Text use_of(const Event& e, const Verdict& j, std::string_view call);
  std::string pass_of(const Event& e, const Verdict& j);

  const ProcessFacts& facts_;
  DeclaredPointers pointers_{facts_};
};

} // namespace gmt
