// SPDX-License-Identifier: Apache-2.0
// Copies by what their two sides are: declared host or device against what the memory is, sides
// that overlap.

#include "tests/unit/analyzer/detectors/copies/rows_fixture.h"

namespace gmt::test {
namespace {

enum CopyKind : std::uint16_t {
  kHostToHost,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kDefault
};

class CopySides : public RowsTest {
protected:
  CopySides() { expect_only({"api-error", "copy-direction", "copy-overlap"}); }
  // As the shared runtime does: the driver's function for the kind, and the kind in the flags.
  void copy(CopyKind kind, std::uint64_t to, std::uint64_t from, std::uint16_t code = 0,
            std::uint64_t bytes = 100) {
    static constexpr const char* kNames[] = {"cuMemcpy", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
                                             "cuMemcpyDtoD_v2", "cuMemcpy"};
    static constexpr Side kTo[] = {Side::kUnified, Side::kDevice, Side::kHost, Side::kDevice,
                                   Side::kUnified};
    static constexpr Side kFrom[] = {Side::kUnified, Side::kHost, Side::kDevice, Side::kDevice,
                                     Side::kUnified};
    log().copy({.api = kNames[kind],
                .via = "cudaMemcpy",
                .result = code,
                .stack = {0x300},
                .flags = static_cast<std::uint16_t>((kind + 1) << 8)},
               to, from, bytes, kTo[kind], kFrom[kind]);
  }
  // The memory of each kind: kA and kB device, kC managed, kPinned, kRegistered, kHost.
  void memory() {
    cuda_malloc(kA, kMiB);
    cuda_malloc(kB, kMiB, 0x101);
    for (const std::uint64_t address : {kA, kB}) log().set({.api = "cuMemsetD8_v2"}, address, kMiB);
    log().alloc({.api = "cuMemAllocManaged", .via = "cudaMallocManaged"}, MemoryKind::kManaged, kC,
                kMiB);
    cuda_malloc_host(kPinned, kMiB);
    log().alloc({.api = "cuMemHostRegister_v2", .via = "cudaHostRegister"}, MemoryKind::kRegistered,
                kRegistered, kMiB);
  }
  void free_memory() {
    for (const std::uint64_t address : {kA, kB, kC}) cuda_free(address);
    log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kPinned);
    log().release({.api = "cuMemHostUnregister"}, FreeFunction::kHostUnregister, kRegistered);
  }
  void copy_2d(std::uint64_t to, std::uint64_t to_pitch, std::uint64_t from,
               std::uint64_t from_pitch, Rows rows) {
    copy_rows({.flags = trace::copy_flags(Side::kDevice, Side::kDevice, false)}, to, to_pitch, from,
              from_pitch, rows);
  }

  static constexpr std::uint64_t kPinned = 0x7f3300000000, kRegistered = 0x7f3400000000;
  static constexpr std::uint64_t kManagedVariable = 0x7f3500000000;
};

// A program whose variables lie from kHost on; what is there depends on the file.
class CopiesOfVariables : public CopySides {
protected:
  void SetUp() override {
    trace.modules = {"+\t0\t55d000000000\t55d000005000\t55d000000000\t-\t/no/such/program",
                     "=\t55d000000000\t55d000001000\t55d000003000"};
    cuda_malloc(kA, kMiB);
    log().set({.api = "cuMemsetD8_v2"}, kA, kMiB);
  }
  void variable_is(StaticVariable::Kind kind) {
    options.find_static = [kind](const Module&, std::uint64_t) {
      return StaticVariable{kind, "table"};
    };
  }
  std::string advice() {
    cuda_free(kA);
    run();
    return kinds() == "copy-direction" ? result.findings[0].advice : kinds();
  }
};

TEST_F(CopiesOfVariables, ShadowsAreNoMemory) {
  variable_is(StaticVariable::Kind::kShadow);
  copy(kHostToDevice, kHost, kHost + 4096, 1);
  EXPECT_EQ(advice(), "Use cudaMemcpyToSymbol, or the address that cudaGetSymbolAddress gives.");
  EXPECT_EQ(
    result.findings[0].message,
    "cudaMemcpy with cudaMemcpyHostToDevice takes its destination for device memory, but that is the host's shadow "
    "of the __device__ or __constant__ variable table (0x55d000001000); CUDA refused it.");
}

TEST_F(CopiesOfVariables, ShadowsAreNoMemoryWhereCudaIsSilent) {
  variable_is(StaticVariable::Kind::kShadow);
  copy(kHostToDevice, kA, kHost); // from the shadow
  EXPECT_EQ(advice(), "Use cudaMemcpyFromSymbol, or the address that cudaGetSymbolAddress gives.");
  EXPECT_NE(result.findings[0].message.find("; CUDA accepted it silently."), std::string::npos);
}

TEST_F(CopiesOfVariables, WhereNothingIsKnownBothAreNamed) {
  copy(kHostToDevice, kHost, kHost + 4096, 1);
  EXPECT_EQ(
    advice(),
    "Use cudaMemcpyHostToHost (cuMemcpy), or cudaMemcpyDefault, which takes the direction from the "
    "pointers. For a __device__ or __constant__ variable use cudaMemcpyToSymbol, or the address that "
    "cudaGetSymbolAddress gives.");
}

TEST_F(CopiesOfVariables, OfTheHostAreOrdinary) {
  variable_is(StaticVariable::Kind::kHost);
  copy(kHostToDevice, kA, kHost);
  copy(kDeviceToHost, kHost, kA);
  EXPECT_EQ(advice(), "");
  copy(kDeviceToDevice, kHost, kHost, 1);
  EXPECT_EQ(advice().find("Symbol"), std::string::npos);
}

TEST_F(CopySides, RightDirections) {
  memory();
  copy(kHostToDevice, kA, kHost);
  copy(kDeviceToHost, kHost, kA);
  copy(kDeviceToDevice, kA, kB);
  copy(kHostToHost, kHost, kHost + 4096);
  copy(kDefault, kHost, kA);
  copy(kHostToDevice, kA, kPinned);
  copy(kDeviceToHost, kRegistered, kA);
  log().alloc({.api = "cuLibraryGetManaged"}, MemoryKind::kManagedVariable, kManagedVariable, kMiB);
  for (const CopyKind kind : {kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice}) {
    copy(kind, kC, kC + 4096); // managed memory is both
    copy(kind, kManagedVariable, kManagedVariable + 4096);
  }
  // The device reaches pinned and registered memory at the host's address.
  copy(kDeviceToDevice, kA, kPinned);
  copy(kDeviceToDevice, kRegistered, kA);
  copy(kDeviceToDevice, kHost, kHost + 4096); // of unseen origin, and CUDA took it
  free_memory();
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(CopySides, DeviceDeclaredHostInSilence) {
  memory();
  copy(kHostToDevice, kA, kB);
  copy(kDeviceToHost, kA, kB);
  copy(kHostToHost, kHost, kB);
  free_memory();
  run();
  ASSERT_EQ(kinds(), "copy-direction copy-direction copy-direction");
  EXPECT_EQ(result.findings[0].severity, Severity::kError);
  EXPECT_EQ(
    result.findings[0].message,
    "cudaMemcpy with cudaMemcpyHostToDevice takes its source for host memory, but that is 1.0 MiB of device "
    "memory allocated by cudaMalloc; CUDA accepted it silently.");
  EXPECT_EQ(result.findings[0].advice,
            "Use cudaMemcpyDeviceToDevice (cuMemcpyDtoD), or cudaMemcpyDefault, which takes "
            "the direction from the pointers.");
  EXPECT_EQ(labels(result.findings[0]), "copied here|allocated here");
  EXPECT_EQ(address_of(result.findings[0].stacks[1]), 0x101u);
  EXPECT_NE(result.findings[1].message.find("takes its destination for host memory"),
            std::string::npos);
  EXPECT_NE(result.findings[2].advice.find("cudaMemcpyDeviceToHost"), std::string::npos);
}

TEST_F(CopySides, RefusalsAreExplained) {
  memory();
  copy(kHostToDevice, kHost, kA, 1); // both sides
  copy(kDeviceToDevice, kA, kHost, 1);
  copy(kDeviceToHost, kA, kHost, 1);
  log().set({.api = "cuMemsetD8_v2", .via = "cudaMemset", .result = 1}, kHost, 100);
  free_memory();
  run();
  ASSERT_EQ(kinds(), "copy-direction copy-direction copy-direction copy-direction");
  EXPECT_NE(result.findings[0].message.find(
              "the destination is a host pointer (0x55d000001000, in no memory that "
              "CUDA gave out) and the source is 1.0 MiB of device memory"),
            std::string::npos);
  EXPECT_NE(
    result.findings[0].advice.find("Swap source and destination, or if the direction is meant, use "
                                   "cudaMemcpyDeviceToHost"),
    std::string::npos);
  EXPECT_NE(result.findings[1].message.find(
              "takes its source for device memory, but that is a host pointer"),
            std::string::npos);
  EXPECT_NE(result.findings[1].message.find("; CUDA refused it."), std::string::npos);
  EXPECT_EQ(result.findings[3].advice, "Pass a device pointer, or set host memory with memset.");
}

TEST_F(CopySides, OtherRefusalsAreNot) {
  memory();
  copy(kHostToDevice, kA, kHost, 1);   // fits: for another reason
  copy(kHostToDevice, kA, kHost, 700); // a kernel's fault
  free_memory();
  run();
  EXPECT_EQ(find("copy-direction"), nullptr);
}

TEST_F(CopySides, DevicesThatReadPageableMemory) {
  log().context(1, 0xc0, 0, true);
  log().record({}, Made<trace::DeviceFields>()
                     .bytes(96ull << 30)
                     .texture_alignment(512)
                     .texture_pitch_alignment(32)
                     .surface_alignment(512)
                     .reads_pageable_memory(1)
                     .uses_host_page_tables(1)
                     .compute_capability(90)
                     .concurrent_managed(1));
  memory();
  copy(kDeviceToDevice, kA, kHost, 1);
  free_memory();
  run();
  EXPECT_EQ(kinds(), "api-error");
}

TEST_F(CopySides, TheDriversNamesDeclareToo) {
  memory();
  log().copy({.api = "cuMemcpyHtoD_v2"}, kA, kB, 100, Side::kDevice, Side::kHost);
  free_memory();
  run();
  ASSERT_EQ(kinds(), "copy-direction");
  EXPECT_EQ(find("copy-direction")->message.find("cuMemcpyHtoD takes its source for host memory"),
            0u);
}

TEST_F(CopySides, Overlap) {
  memory();
  copy(kDeviceToDevice, kA, kA + 60, 0, 100);
  copy(kDeviceToDevice, kA, kA + 100, 0, 100); // side by side
  copy(kDeviceToDevice, kA, kB, 0, 100);
  copy(kDeviceToDevice, kA, kA + 60, 1, 100); // refused: nothing was copied
  free_memory();
  run();
  ASSERT_EQ(kinds(), "copy-overlap api-error");
  const ReportedFinding& f = *find("copy-overlap");
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(
    f.message,
    "cudaMemcpy copies 100 bytes from 0x7f32a000003c to 0x7f32a0000000, which overlap in 40 bytes: "
    "what arrives is undefined.");
  EXPECT_EQ(f.bytes, 40u);
  EXPECT_EQ(labels(f), "copied here|allocated here");
}

TEST_F(CopySides, CopyOntoItselfIsANote) {
  memory();
  copy(kDeviceToDevice, kA, kA);
  copy_2d(kA, 512, kA, 512, {400, 10});
  free_memory();
  run();
  ASSERT_EQ(kinds(), "copy-overlap copy-overlap");
  EXPECT_EQ(result.findings[0].severity, Severity::kNote);
  EXPECT_EQ(result.findings[1].severity, Severity::kNote);
}

TEST_F(CopySides, RowsAreComparedExactly) {
  memory();
  copy_2d(kA, 512, kA + 256, 512, {256, 10});           // right half into left half
  copy_2d(kA + 256, 512, kA + 512 * 3, 512, {256, 10}); // and further down
  copy_2d(kA, 512, kA + 512 * 10, 512, {512, 10});      // the next rows
  copy_2d(kA, 1024, kA + 512, 1024, {512, 10, 5, 10});  // every second row of a volume
  copy_2d(kA, 512, kA + 512 * 4, 512, {512, 4, 5, 8});  // the lower half of each slice
  copy_2d(kA, 1024, kA + 256, 512, {256, 2});           // pitches differ
  free_memory();
  run();
  EXPECT_EQ(find("copy-overlap"), nullptr);
}

TEST_F(CopySides, RowsThatOverlap) {
  memory();
  const auto overlaps = [this] {
    run();
    const ReportedFinding* f = find("copy-overlap");
    return f != nullptr ? f->count : 0;
  };
  copy_2d(kA, 512, kA + 255, 512, {256, 10});
  EXPECT_EQ(overlaps(), 1u);
  copy_2d(kA, 512, kA + 512 * 9 - 255, 512, {256, 10}); // the last row only
  EXPECT_EQ(overlaps(), 2u);
  copy_2d(kA, 512, kA + 512 * 4 - 1, 512, {512, 4, 5, 8});
  EXPECT_EQ(overlaps(), 3u);
  copy_2d(kA, 1024, kA + 300, 500, {256, 10});
  EXPECT_EQ(overlaps(), 4u);
}

TEST_F(CopySides, DamagedShapesDoNotOverflow) {
  memory();
  copy_2d(kA, UINT64_MAX, kA + 1, UINT64_MAX, {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX});
  copy_2d(1ull << 63, 512, 0, 512, {400, 10});
  run();
  EXPECT_EQ(find("copy-overlap"), nullptr);
}

} // namespace
} // namespace gmt::test
