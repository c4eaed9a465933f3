// SPDX-License-Identifier: Apache-2.0
// Numbers and names as a person reads them.
#include "analyzer/base/text_format.h"

#include <gtest/gtest.h>

namespace gmt {
namespace {

TEST(AsWritten, LeavesOutWhatHeadersPutBehindNames) {
  EXPECT_EQ(as_written("cuMemAlloc_v2"), "cuMemAlloc");
  EXPECT_EQ(as_written("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
  EXPECT_EQ(as_written("cuMemcpy_ptds"), "cuMemcpy");
  EXPECT_EQ(as_written("cuGraphAddKernelNode_v12"), "cuGraphAddKernelNode");
  EXPECT_EQ(as_written("cudaMalloc3D"), "cudaMalloc3D");
  EXPECT_EQ(as_written("cuMemcpy2D"), "cuMemcpy2D");
}

TEST(FormatPlural, GroupsDigitsAndKnowsOne) {
  EXPECT_EQ(format_plural(0, "error"), "0 errors");
  EXPECT_EQ(format_plural(1, "error"), "1 error");
  EXPECT_EQ(format_plural(1234, "error"), "1,234 errors");
  EXPECT_EQ(format_plural(2, "other process"), "2 other processes");
}

TEST(FormatBytes, HasUnitsOfTwoDigits) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1), "1 byte");
  EXPECT_EQ(format_bytes(1023), "1,023 bytes");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(1536ull << 30), "1.5 TiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16.0 EiB");
  EXPECT_EQ(format_exact_bytes(1234567), "1,234,567 bytes");
  EXPECT_EQ(format_address(0x7f32a0000000), "0x7f32a0000000");
}

TEST(ErrorName, IsThatOfTheApi) {
  EXPECT_EQ(error_name(700, false), "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  EXPECT_EQ(error_name(700, true), "cudaErrorIllegalAddress (700)");
  EXPECT_EQ(error_name(0, true), "cudaSuccess (0)");
  EXPECT_EQ(error_name(12, true), "cudaErrorInvalidPitchValue (12)");
  EXPECT_EQ(error_name(12, false), "error 12");
  EXPECT_EQ(error_name(222, false), "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)");
  EXPECT_EQ(error_name(223, false), "CUDA_ERROR_JIT_COMPILATION_DISABLED (223)");
  EXPECT_EQ(error_name(224, true), "cudaErrorUnsupportedExecAffinity (224)");
  EXPECT_EQ(error_name(226, true), "cudaErrorContained (226)");
  EXPECT_EQ(error_name(999, false), "CUDA_ERROR_UNKNOWN (999)");
}

} // namespace
} // namespace gmt
