// SPDX-License-Identifier: Apache-2.0
// A function whose code could be read before must be readable afterwards.
#include "tests/fuzz/fuzz_rewriter.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "ptx/syntax/ptx.h"
#include "rewriter/rewriter.h"

namespace gmt::test {
namespace {

void require(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  std::abort();
}

bool is_readable(const ptx::Module& module, const ptx::Function& function, std::string& why) {
  try {
    ptx::parse_body(module, function);
  } catch (const ptx::ParseError& error) {
    why = error.what();
    return false;
  }
  return true;
}

void check(const ptx::Module& given, const rewriter::Rewritten& rewritten) {
  const ptx::Module written = ptx::parse_module(rewritten.text);
  std::string why;
  for (const ptx::Function& function : given.functions()) {
    const ptx::Function* found = written.find_function(function.name);
    require(found != nullptr, "no function " + std::string(function.name));
    if (function.has_body && is_readable(given, function, why))
      require(is_readable(written, *found, why), std::string(function.name) + ": " + why);
  }
  for (const std::string& kernel : rewritten.kernels) {
    const ptx::Function* found = written.find_function(std::string(rewriter::kChecked) + kernel);
    require(found != nullptr && found->has_body, "no checked form of " + kernel);
    require(is_readable(written, *found, why), "checked " + kernel + ": " + why);
  }
}

} // namespace

void rewrite_ptx_input(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const rewriter::Bounds bounds : {rewriter::Bounds::kNever, rewriter::Bounds::kAlways}) {
    rewriter::Options options;
    options.bounds = bounds;
    options.table = bounds == rewriter::Bounds::kNever ? 0 : 0x500000000000;
    if (bounds == rewriter::Bounds::kAlways) options.window = 0;
    try {
      const ptx::Module given = ptx::parse_module(text);
      check(given, rewriter::rewrite(text, options));
    } catch (const ptx::ParseError& error) {
      bool is_ptx = true;
      try {
        ptx::parse_module(text);
      } catch (const ptx::ParseError&) {
        is_ptx = false;
      }
      require(!is_ptx, error.what());
    }
  }
}

} // namespace gmt::test
