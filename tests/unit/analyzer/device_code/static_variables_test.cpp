// SPDX-License-Identifier: Apache-2.0
// Which static variable is at an address, and whether it is the host's shadow of one of the device.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analyzer/device_code/static_variables.h"
#include "analyzer/symbols/elf_file.h"

namespace gmt {
namespace {

using Kind = StaticVariable::Kind;

constexpr std::uint64_t kBias = 0x7f0000000000;

Module target() {
  Module module;
  module.path = GMT_VARIABLES_TARGET;
  module.bias = kBias;
  module.build_id = ElfFile::open(module.path)->build_id();
  return module;
}

TEST(StaticVariables, ShadowsAreDistinguishedFromTheHostsOwn) {
  const std::map<std::string, Kind> expected{
    {"table", Kind::kShadow},    {"names::hidden", Kind::kShadow},
    {"scalar", Kind::kShadow},   {"managed", Kind::kHost},
    {"host_table", Kind::kHost}, {"coefs", Kind::kHost},   // of another size
    {"tables", Kind::kHost},     {"twin", Kind::kUnknown}, // which of the two?
    {"lonely", Kind::kShadow},
  };
  const Module module = target();
  StaticVariables variables;
  std::map<std::string, Kind> found;
  for (const DataSymbol& symbol : ElfFile::open(module.path)->variables()) {
    const StaticVariable first = variables.find(module, kBias + symbol.address);
    const StaticVariable last = variables.find(module, kBias + symbol.address + symbol.bytes - 1);
    EXPECT_EQ(first.name, last.name);
    if (expected.contains(first.name)) found[first.name] = first.kind; // else the linker's
  }
  EXPECT_EQ(found, expected);
}

TEST(StaticVariables, AnotherBuildIsNotAsked) {
  Module module = target();
  module.build_id = "00";
  StaticVariables variables;
  EXPECT_EQ(variables.find(module, kBias + 0x4010).kind, Kind::kUnknown);
  module.path = "/no/such/file";
  EXPECT_EQ(variables.find(module, kBias).kind, Kind::kUnknown);
}

TEST(StaticVariables, NothingIsThere) {
  StaticVariables variables;
  const StaticVariable none = variables.find(target(), kBias + 1); // the file's header
  EXPECT_EQ(none.kind, Kind::kUnknown);
  EXPECT_EQ(none.name, "");
}

} // namespace
} // namespace gmt
