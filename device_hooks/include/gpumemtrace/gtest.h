// SPDX-License-Identifier: Apache-2.0
// Opens an NVTX range for each test of GoogleTest, so that reports name the test of each finding:
//
//   static const bool has_ranges = gpumemtrace::add_test_ranges(); // or in main()
//
//   gpumemtrace check --group-by range --format junit=memory.xml ./tests
//
// The range "Suite.Test" is one of the whole process: it covers the threads that the test starts.
// Without a tool that listens to NVTX nothing happens. NVTX's own headers are not needed: the
// library that NVTX_INJECTION64_PATH names is given a table of functions, as those headers do it
// (nvtx3/nvtxDetail/nvtxInit.h and nvtxTypes.h). Needs C++14, and libdl before glibc 2.34.
#ifndef GPUMEMTRACE_GTEST_H
#define GPUMEMTRACE_GTEST_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <dlfcn.h>

#include <gtest/gtest.h>

namespace gpumemtrace {
namespace detail {

class NvtxRanges {
public:
  using Function = void (*)();

  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

  static NvtxRanges& instance() {
    static NvtxRanges ranges; // the library keeps addresses of it until the process ends
    return ranges;
  }

  // 0 if there is no tool.
  std::uint64_t start(const char* name) const {
    if (functions_[kStart] == nullptr || functions_[kEnd] == nullptr) return 0;
    return reinterpret_cast<std::uint64_t (*)(const char*)>(functions_[kStart])(name);
  }
  void end(std::uint64_t range) const {
    if (range != 0) reinterpret_cast<void (*)(std::uint64_t)>(functions_[kEnd])(range);
  }

private:
  static constexpr unsigned kSize = 16, kStart = 5, kEnd = 7; // NVTX_CBID_CORE_SIZE, _RangeStartA,
                                                              // _RangeEnd
  static constexpr unsigned kCore = 1;                        // NVTX_CB_MODULE_CORE
  static constexpr std::uint32_t kCallbacks = 1;              // NVTX_ETID_CALLBACKS

  struct ExportTable { // NvtxExportTableCallbacks
    std::size_t size;
    int (*table_of)(unsigned module, Function*** table, unsigned* size);
  };

  NvtxRanges() {
    for (unsigned i = 0; i < kSize; ++i) slots_[i] = &functions_[i];
    const char* path = std::getenv("NVTX_INJECTION64_PATH");
    void* library = path != nullptr ? ::dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
    void* symbol = library != nullptr ? ::dlsym(library, "InitializeInjectionNvtx2") : nullptr;
    if (symbol == nullptr) return;
    making() = this;
    reinterpret_cast<int (*)(const void* (*)(std::uint32_t))>(symbol)(&exported);
  }

  static NvtxRanges*& making() {
    static NvtxRanges* ranges = nullptr;
    return ranges;
  }
  static const void* exported(std::uint32_t what) {
    static const ExportTable table{sizeof(ExportTable), &table_of};
    return what == kCallbacks ? &table : nullptr;
  }
  static int table_of(unsigned module, Function*** table, unsigned* size) {
    if (module != kCore) return 0;
    *table = making()->slots_;
    *size = kSize;
    return 1;
  }

  Function functions_[kSize] = {};
  Function* slots_[kSize] = {};
};

} // namespace detail

class TestRanges : public testing::EmptyTestEventListener {
public:
  void OnTestStart(const testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    range_ = detail::NvtxRanges::instance().start(name.c_str());
  }
  void OnTestEnd(const testing::TestInfo&) override {
    detail::NvtxRanges::instance().end(range_);
    range_ = 0;
  }

private:
  std::uint64_t range_ = 0;
};

// Once a program, at any time before RUN_ALL_TESTS(). Returns true.
inline bool add_test_ranges() {
  testing::UnitTest::GetInstance()->listeners().Append(new TestRanges); // which deletes it
  return true;
}

} // namespace gpumemtrace

#endif
