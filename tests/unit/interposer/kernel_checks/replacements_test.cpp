// SPDX-License-Identifier: Apache-2.0
// Each function of the driver that has a replacement has a row, without which it would not be
// reached, and so have all its forms.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "interposer/kernel_checks/library/peers.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "made_up_driver.h"

namespace gmt::interposer::kernel_checks {
namespace {

struct Row {
  std::string symbol, base;
};
const Row kRows[] = {
#define DRV(symbol, base, ...) {#symbol, #base},
#include "trace/cuda_api.def"
};

// Of CUDA 3.1 and before, with addresses of 32 bits; and what is not followed yet.
const std::set<std::string> kOthers = {
  "cuMemAlloc",
  "cuMemAllocPitch",
  "cuMemFree",
  "cuMemAllocHost",
  "cuMemGetAddressRange",
  "cuIpcOpenMemHandle",
  "cuMemcpyDtoD",
  "cuMemcpyDtoDAsync",
  "cuMemcpyHtoD",
  "cuMemcpyHtoDAsync",
  "cuMemcpyAtoD",
  "cuMemcpy2D",
  "cuMemcpyDtoH",
  "cuMemcpyDtoHAsync",
  "cuMemcpyAtoH",
  "cuMemcpyAtoHAsync",
  "cuMemcpy2DAsync",
  "cuMemcpy2DUnaligned",
  "cuMemcpy3D",
  "cuMemcpy3DAsync",
  "cuMemsetD8",
  "cuMemsetD16",
  "cuMemsetD32",
  "cuMemsetD2D8",
  "cuMemsetD2D16",
  "cuMemsetD2D32",
  "cuModuleGetGlobal",
  "cuGraphicsResourceGetMappedPointer",
};

TEST(KernelCheckReplacements, AllFormsOfAFunctionHaveRowsAndReplacements) {
  begin_made_up_driver();
  replace_memory();
  replace_pools();
  replace_mapped();
  replace_shared_memory();
  replace_peers();
  replace_code();
  replace_launches();
  replace_graphs();
  replace_attributes();
  replace_writes();
  std::map<std::string, std::string> bases;
  for (const Row& row : kRows) bases[row.symbol] = row.base;
  std::set<std::string> replaced_bases;
  for (const std::string& name : replaced_names()) {
    EXPECT_TRUE(bases.contains(name)) << name;
    replaced_bases.insert(bases[name]);
  }
  const std::set<std::string> names = replaced_names();
  for (const Row& row : kRows) {
    const bool is_wanted = replaced_bases.contains(row.base) && !kOthers.contains(row.symbol);
    EXPECT_TRUE(!is_wanted || names.contains(row.symbol)) << row.symbol;
  }
  EXPECT_EQ(names.size(), 192u);
}

} // namespace
} // namespace gmt::interposer::kernel_checks
