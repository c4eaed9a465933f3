// SPDX-License-Identifier: Apache-2.0
// The words of exceptions, see core_dump.h. The numbers are those of CUDBGException_t.
#include "analyzer/model/core_dump.h"

#include <iterator>
#include <string_view>

namespace gmt {

std::string_view exception_words(std::uint32_t exception) {
  static constexpr std::string_view kWords[] = {"no exception",
                                                "illegal address",
                                                "stack overflow",
                                                "stack overflow",
                                                "illegal instruction",
                                                "address out of range",
                                                "misaligned address",
                                                "invalid address space",
                                                "invalid program counter",
                                                "stack overflow",
                                                "illegal address",
                                                "misaligned address",
                                                "assert",
                                                "error in a system call",
                                                "illegal address",
                                                "atomic that cannot migrate",
                                                "invalid atomic",
                                                "address outside the cluster",
                                                "block that is not in the cluster",
                                                "overwritten stack",
                                                "illegal access of tensor memory",
                                                "tensor memory that was not freed",
                                                "call that needs a newer driver"};
  return exception < std::size(kWords) ? kWords[exception] : "unknown exception";
}

} // namespace gmt
