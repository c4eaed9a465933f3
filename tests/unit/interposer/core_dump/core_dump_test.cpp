// SPDX-License-Identifier: Apache-2.0
// What the driver is asked for before a core dump, and how the GPU is asked whether it stands
// still. The driver is the test's. CTest sets GPUMEMTRACE_CORE_DUMP.
#include "interposer/core_dump/core_dump.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "interposer/core_dump/device_probe.h"
#include "interposer/core_dump/waits.h"
#include "interposer/loader/driver_function.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/thread_session.h"
#include "tests/unit/interposer/support/recorded.h"
#include "trace/api_id.h"

namespace gmt::interposer {

constinit const SessionParts session_parts{nullptr, 0};

namespace {

enum class Settings { kAll, kNoFlags, kNone };

struct Driver {
  bool is_initialized = true;
  Settings settings = Settings::kAll;
  bool enabled = false; // already, by the program
  bool refuses_changes = false;
  std::vector<std::string> changes; // in order
  unsigned flags = 0;
  // The probe
  std::uint64_t context = 1;
  int not_ready = 0; // answers, until the GPU is done
  unsigned sets = 0, streams = 0, queries = 0;
  bool allocates = true;
};
Driver driver;

int count_devices(int* count) {
  *count = 1;
  return driver.is_initialized ? 0 : CUDA_ERROR_NOT_INITIALIZED;
}
int get_setting(int setting, void* value, std::size_t*) {
  if (setting == CU_COREDUMP_ENABLE_ON_EXCEPTION) *static_cast<bool*>(value) = driver.enabled;
  return setting == CU_COREDUMP_GENERATION_FLAGS && driver.settings == Settings::kNoFlags
           ? CUDA_ERROR_INVALID_VALUE
           : 0;
}
int change_setting(int setting, void* value, std::size_t* size) {
  if (driver.refuses_changes) return CUDA_ERROR_NOT_PERMITTED;
  if (setting == CU_COREDUMP_GENERATION_FLAGS) {
    driver.flags = *static_cast<unsigned*>(value);
    driver.changes.emplace_back("flags");
  } else if (setting == CU_COREDUMP_FILE) {
    driver.changes.emplace_back(static_cast<char*>(value), *size - 1);
  } else if (setting == CU_COREDUMP_ENABLE_ON_EXCEPTION) {
    driver.changes.emplace_back(*static_cast<bool*>(value) ? "on" : "off");
  }
  return 0;
}

int context_id(CUcontext, unsigned long long* id) {
  *id = driver.context;
  return driver.context != 0 ? 0 : CUDA_ERROR_INVALID_CONTEXT;
}
int priorities(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return 0;
}
int priority_of_stream = 0;
int make_stream(CUstream* stream, unsigned, int priority) {
  *stream = reinterpret_cast<CUstream>(++driver.streams);
  priority_of_stream = priority;
  return 0;
}
int host_memory(void** memory, std::size_t, unsigned) {
  static unsigned word = 0;
  *memory = &word;
  return driver.allocates ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}
int device_address(CUdeviceptr* address, void* memory, unsigned) {
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return 0;
}
int set(CUdeviceptr, unsigned char, std::size_t, CUstream) {
  ++driver.sets;
  return 0;
}
int query(CUstream) {
  ++driver.queries;
  return driver.not_ready-- > 0 ? CUDA_ERROR_NOT_READY : 0;
}
CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
int exchange_mode(CUstreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return 0;
}

void* find_function(const char* name) noexcept {
  static const std::map<std::string, void*> kFunctions = {
    {"cuDeviceGetCount", reinterpret_cast<void*>(&count_devices)},
    {"cuCoredumpGetAttributeGlobal", reinterpret_cast<void*>(&get_setting)},
    {"cuCoredumpSetAttributeGlobal", reinterpret_cast<void*>(&change_setting)},
    {"cuCtxGetId", reinterpret_cast<void*>(&context_id)},
    {"cuCtxGetStreamPriorityRange", reinterpret_cast<void*>(&priorities)},
    {"cuStreamCreateWithPriority", reinterpret_cast<void*>(&make_stream)},
    {"cuMemHostAlloc", reinterpret_cast<void*>(&host_memory)},
    {"cuMemHostGetDevicePointer_v2", reinterpret_cast<void*>(&device_address)},
    {"cuMemsetD8Async", reinterpret_cast<void*>(&set)},
    {"cuStreamQuery", reinterpret_cast<void*>(&query)},
    {"cuThreadExchangeStreamCaptureMode", reinterpret_cast<void*>(&exchange_mode)}};
  const auto found = kFunctions.find(name);
  return found != kFunctions.end() ? found->second : nullptr;
}
int init(unsigned) { return 0; }

class InterposerCoreDump : public RecordedTest {
protected:
  void SetUp() override {
    driver = {};
    set_driver_look_up(find_function);
    driver_forwards[trace::kApi_cuInit].store(reinterpret_cast<void*>(&init));
    ASSERT_NE(thread_log(), nullptr);
    ASSERT_NE(Process::options().core_dump, 0u) << "CTest sets GPUMEMTRACE_CORE_DUMP";
    forget_core_dump();
    said_before_ = info_of_trace().size();
  }
  // What `info` says of it since the test began.
  std::string said() const { return info_of_trace().substr(said_before_); }

private:
  std::size_t said_before_ = 0;
};

TEST_F(InterposerCoreDump, TheDriverGetsFlagsAndFileBeforeItIsSwitchedOn) {
  begin_core_dump();
  EXPECT_TRUE(core_dump_is_on());
  const std::string file = (trace_folder() / "gpu-core.%p").string();
  EXPECT_EQ(driver.changes, (std::vector<std::string>{"flags", file, "on"}));
  EXPECT_EQ(driver.flags & CU_COREDUMP_SKIP_ABORT, 0u) << "the program would go on";
  constexpr unsigned kMemory =
    CU_COREDUMP_SKIP_GLOBAL_MEMORY | CU_COREDUMP_SKIP_SHARED_MEMORY | CU_COREDUMP_SKIP_LOCAL_MEMORY;
  EXPECT_EQ(driver.flags & kMemory, kMemory) << "no data of the program";
  EXPECT_EQ(said(), "core_dump=on\n");
}

// CTest sets GPUMEMTRACE_KERNEL_CHECKS, too.
class InterposerCoreDumpBesideChecks : public InterposerCoreDump {};

TEST_F(InterposerCoreDumpBesideChecks, TheProgramGoesOnAndReportsWhatTheChecksFound) {
  ASSERT_NE(Process::options().kernel_checks, 0u);
  begin_core_dump();
  EXPECT_EQ(driver.flags & CU_COREDUMP_SKIP_ABORT, CU_COREDUMP_SKIP_ABORT);
}

TEST_F(InterposerCoreDump, ADriverThatIsNotInitializedIsAskedLater) {
  driver.is_initialized = false;
  begin_core_dump();
  EXPECT_FALSE(core_dump_is_on());
  EXPECT_TRUE(driver.changes.empty());
  driver.is_initialized = true;
  prepare_core_dump();
  EXPECT_TRUE(core_dump_is_on());
  prepare_core_dump();
  EXPECT_EQ(driver.changes.size(), 3u) << "once";
}

TEST_F(InterposerCoreDump, TheProgramsOwnSettingStays) {
  driver.enabled = true;
  begin_core_dump();
  EXPECT_FALSE(core_dump_is_on());
  EXPECT_TRUE(driver.changes.empty());
  EXPECT_EQ(said(), "core_dump=program\n");
}

TEST_F(InterposerCoreDump, ADriverThatWouldWriteAllMemoryIsNotAsked) {
  driver.settings = Settings::kNoFlags;
  begin_core_dump();
  EXPECT_TRUE(driver.changes.empty());
  EXPECT_EQ(said(), "core_dump=unknown-flags\n");
}

TEST_F(InterposerCoreDump, ARefusalIsSaid) {
  driver.refuses_changes = true;
  begin_core_dump();
  EXPECT_FALSE(core_dump_is_on());
  EXPECT_EQ(said(), "core_dump=refused\n");
  prepare_core_dump();
  EXPECT_EQ(said(), "core_dump=refused\n");
}

TEST_F(InterposerCoreDump, NothingIsHeldWithoutWork) {
  begin_core_dump();
  hold_for_core_dump();
  EXPECT_EQ(driver.sets, 0u);
}

// ---- the probe

TEST_F(InterposerCoreDump, TheGpuIsAskedOnAStreamOfTheHighestPriority) {
  driver.not_ready = 3;
  EXPECT_TRUE(wait_for_device_probe());
  EXPECT_EQ(priority_of_stream, -5);
  EXPECT_EQ(driver.sets, 1u);
  EXPECT_EQ(driver.queries, 4u);
  EXPECT_TRUE(wait_for_device_probe());
  EXPECT_EQ(driver.streams, 1u) << "one a context";
  driver.context = 2;
  EXPECT_TRUE(wait_for_device_probe());
  EXPECT_EQ(driver.streams, 2u);
}

TEST_F(InterposerCoreDump, ACaptureIsNotEndedByTheProbe) {
  EXPECT_TRUE(wait_for_device_probe());
  EXPECT_EQ(capture_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

TEST_F(InterposerCoreDump, WithoutAContextOrMemoryNothingIsAsked) {
  driver.context = 0;
  EXPECT_FALSE(wait_for_device_probe());
  driver.context = 3;
  driver.allocates = false;
  EXPECT_FALSE(wait_for_device_probe());
  driver.allocates = true;
  EXPECT_FALSE(wait_for_device_probe()) << "not tried again";
  EXPECT_EQ(driver.sets, 0u);
}

TEST_F(InterposerCoreDump, AGpuThatStandsStillIsWaitedForOnceAndThenOnlyAsked) {
  driver.not_ready = 1 << 30;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(wait_for_device_probe());
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, std::chrono::seconds(2));
  const unsigned sets = driver.sets, queries = driver.queries;
  EXPECT_TRUE(wait_for_device_probe());
  EXPECT_EQ(driver.sets, sets) << "the first set is not done";
  EXPECT_EQ(driver.queries, queries + 1);
  driver.not_ready = 0;
  EXPECT_TRUE(wait_for_device_probe());
  EXPECT_EQ(driver.sets, sets + 1);
}

} // namespace
} // namespace gmt::interposer
