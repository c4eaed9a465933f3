// SPDX-License-Identifier: Apache-2.0
// A source of its own: the commit changes more often than all else, and no other source is compiled
// anew for it.

#include "analyzer/command/build_facts.h"

#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

} // namespace

std::string build_facts() {
  const std::string commit = GPUMEMTRACE_COMMIT;
  const std::string cuda = GPUMEMTRACE_CUDA_HEADERS;
  return cat({"commit: ", commit.empty() ? "not known: no build of scripts/release" : commit,
              "\ncompiler: ", kCompiler, "\nCUDA headers: ", cuda.empty() ? "none" : cuda, "\n"});
}

} // namespace gmt
