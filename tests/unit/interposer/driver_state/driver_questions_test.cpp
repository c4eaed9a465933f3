// SPDX-License-Identifier: Apache-2.0
// What the driver is asked beside the program's calls: contexts, devices, limits, memory that was
// made elsewhere. The driver is the test's.
#include <cuda.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "interposer/driver_state/context_ids.h"
#include "interposer/driver_state/device_facts.h"
#include "interposer/driver_state/memory_queries.h"
#include "interposer/loader/driver_function.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/thread_session.h"
#include "tests/unit/interposer/support/recorded.h"

namespace gmt::interposer {

constinit const SessionPart kParts[] = {
  {forget_contexts, nullptr}, {forget_devices, nullptr}, {forget_texts, nullptr}};
constinit const SessionParts session_parts{kParts, std::size(kParts)};

namespace {

using trace::Kind;

constexpr int kRefused = CUDA_ERROR_INVALID_VALUE;

std::uint64_t context_now = 0;
int device_now = 0;
bool is_function = true; // what is launched; else a CUkernel
unsigned attributes_asked = 0;

int current_context_of_driver(std::uint64_t* context) {
  *context = context_now;
  return 0;
}
int current_device(int* device) {
  *device = device_now;
  return 0;
}
int name_device(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "Made-up GPU");
  return 0;
}
int device_attribute(int* value, int attribute, int) {
  ++attributes_asked;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; return 0;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 3; return 0;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: *value = 32; return 0;
  case CU_DEVICE_ATTRIBUTE_MAX_PITCH: *value = 0x7fffffff; return 0;
  default: return kRefused;
  }
}
int device_memory(std::size_t* bytes, int) {
  *bytes = 1 << 30;
  return 0;
}
int memory_info(std::size_t* free_bytes, std::size_t* all) {
  *free_bytes = 4096;
  *all = 1 << 30;
  return 0;
}
int function_attribute(int* value, int attribute, std::uint64_t) {
  if (!is_function) return CUDA_ERROR_INVALID_HANDLE;
  *value = 100 + attribute;
  return 0;
}
int kernel_attribute(int* value, int attribute, std::uint64_t, int) {
  *value = 200 + attribute;
  return 0;
}
int address_range(std::uint64_t* base, std::size_t* bytes, std::uint64_t address) {
  if (address < 0x1000 || address >= 0x1800) return kRefused;
  *base = 0x1000;
  *bytes = 0x800;
  return 0;
}
int module_variable(std::uint64_t*, std::size_t* bytes, std::uint64_t, const char* name) {
  if (std::string(name) != "table") return CUDA_ERROR_NOT_FOUND;
  *bytes = 400;
  return 0;
}
int library_variable(std::uint64_t*, std::size_t* bytes, std::uint64_t, const char*) {
  *bytes = 8;
  return 0;
}
int pointer_attribute(void* value, CUpointer_attribute, std::uint64_t address) {
  *static_cast<unsigned char*>(value) = address == 0x2000; // a boolean, as a driver may write it
  return address == 0x3000 ? kRefused : 0;
}
int allocation_properties(CUmemAllocationProp* properties, std::uint64_t handle) {
  if (handle != 5) return CUDA_ERROR_INVALID_HANDLE;
  properties->location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  return 0;
}

void* find_function(const char* name) noexcept {
  static const std::map<std::string, void*> kFunctions = {
    {"cuCtxGetCurrent", reinterpret_cast<void*>(&current_context_of_driver)},
    {"cuCtxGetDevice", reinterpret_cast<void*>(&current_device)},
    {"cuDeviceGetName", reinterpret_cast<void*>(&name_device)},
    {"cuDeviceGetAttribute", reinterpret_cast<void*>(&device_attribute)},
    {"cuDeviceTotalMem_v2", reinterpret_cast<void*>(&device_memory)},
    {"cuMemGetInfo_v2", reinterpret_cast<void*>(&memory_info)},
    {"cuFuncGetAttribute", reinterpret_cast<void*>(&function_attribute)},
    {"cuKernelGetAttribute", reinterpret_cast<void*>(&kernel_attribute)},
    {"cuMemGetAddressRange_v2", reinterpret_cast<void*>(&address_range)},
    {"cuModuleGetGlobal_v2", reinterpret_cast<void*>(&module_variable)},
    {"cuLibraryGetGlobal", reinterpret_cast<void*>(&library_variable)},
    {"cuPointerGetAttribute", reinterpret_cast<void*>(&pointer_attribute)},
    {"cuMemGetAllocationPropertiesFromHandle",
     reinterpret_cast<void*>(&allocation_properties)}}; // no cuLibraryGetManaged
  const auto found = kFunctions.find(name);
  return found != kFunctions.end() ? found->second : nullptr;
}

class InterposerDriverQuestions : public RecordedTest {
protected:
  void SetUp() override {
    set_driver_look_up(find_function);
    ASSERT_NE(thread_log(), nullptr);
    forget_contexts();
    forget_devices();
    context_now = 0;
    device_now = 0;
    is_function = true;
    attributes_asked = 0;
    RecordedTest::SetUp();
  }
};

TEST_F(InterposerDriverQuestions, ContextsAreNumberedAsTheyAreMet) {
  EXPECT_EQ(current_context(*thread_log()), 0) << "there is none";
  context_now = 0xa0;
  EXPECT_EQ(known_context(0xa0), 0);
  EXPECT_EQ(current_context(*thread_log()), 1);
  context_now = 0xb0;
  device_now = 1;
  remember_primary_context(0xb0);
  EXPECT_EQ(current_context(*thread_log()), 2);
  context_now = 0xa0;
  EXPECT_EQ(current_context(*thread_log()), 1);
  EXPECT_EQ(known_context(0xb0), 2);
  const std::vector<Recorded> records = fresh(Kind::kContext);
  ASSERT_EQ(records.size(), 2u) << "each once";
  const trace::ContextView first(records[0]), second(records[1]);
  EXPECT_EQ(first.handle(), 0xa0u);
  EXPECT_EQ(first.is_primary(), 0u);
  EXPECT_EQ(records[1].context, 2);
  EXPECT_EQ(second.device(), 1u);
  EXPECT_EQ(second.is_primary(), 1u);
  EXPECT_EQ(fresh(Kind::kDevice).size(), 2u);
}

TEST_F(InterposerDriverQuestions, SeveralContextsAreNoticed) {
  note_context(0xa0);
  note_context(0xa0);
  EXPECT_FALSE(has_several_contexts());
  note_context(0xb0);
  EXPECT_TRUE(has_several_contexts());
  forget_contexts();
  EXPECT_FALSE(has_several_contexts());
}

TEST_F(InterposerDriverQuestions, ADeviceIsDescribedOnceWithWhatTheDriverSays) {
  describe_device(*thread_log(), 1);
  const unsigned asked = attributes_asked;
  describe_device(*thread_log(), 1);
  describe_device(*thread_log(), -1);
  describe_device(*thread_log(), 64);
  EXPECT_EQ(attributes_asked, asked);
  const Recorded record = only(Kind::kDevice);
  const trace::DeviceView device(record);
  EXPECT_EQ(device.ordinal(), 1u);
  EXPECT_EQ(device.bytes(), 1u << 30);
  EXPECT_EQ(device.compute_capability(), 93u);
  EXPECT_EQ(device.texture_pitch_alignment(), 32u);
  EXPECT_EQ(device.texture_alignment(), 0u) << "refused";
  EXPECT_EQ(device.largest_pitch(), 0x7fffffffu);
  EXPECT_EQ(text_of_id(device.name()), "Made-up GPU");
}

TEST_F(InterposerDriverQuestions, MemoryBehindAnAllocationThatFailed) {
  append_memory_info(*thread_log(), 3);
  const Recorded record = only(Kind::kMemoryInfo);
  EXPECT_EQ(trace::MemoryInfoView(record).free_bytes(), 4096u);
  EXPECT_EQ(trace::MemoryInfoView(record).total_bytes(), 1u << 30);
  EXPECT_EQ(record.context, 3);
}

TEST_F(InterposerDriverQuestions, LimitsBehindALaunchThatFailed) {
  const LaunchRequest request{1024, {7, 8, 9}, {32, 2, 1}};
  append_launch_limits(*thread_log(), 77, 0xf0, request);
  is_function = false;
  append_launch_limits(*thread_log(), 78, 0xf1, request);
  const std::vector<Recorded> records = fresh(Kind::kLaunchLimits);
  ASSERT_EQ(records.size(), 2u);
  const trace::LaunchLimitsView function(records[0]), kernel(records[1]);
  EXPECT_EQ(function.launch(), 77u);
  EXPECT_EQ(function.shared_bytes(), 1024u);
  EXPECT_EQ(function.grid_z(), 9u);
  EXPECT_EQ(function.block_y(), 2u);
  EXPECT_EQ(function.most_threads(), 100u);
  EXPECT_EQ(function.static_shared_bytes(), 101u);
  EXPECT_EQ(function.registers(), 104u);
  EXPECT_EQ(function.most_shared_bytes(), 108u);
  EXPECT_EQ(kernel.registers(), 204u) << "a CUkernel is asked for by another function";
  EXPECT_TRUE(may_exceed_limits(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
  EXPECT_FALSE(may_exceed_limits(CUDA_ERROR_OUT_OF_MEMORY));
}

TEST_F(InterposerDriverQuestions, RefusedLaunchesWithoutEndAreNotExplainedWithoutEnd) {
  for (unsigned i = 0; i < 5000; ++i) append_launch_limits(*thread_log(), i, 0xf0, {});
  EXPECT_EQ(fresh(Kind::kLaunchLimits).size(), 4096u);
}

TEST_F(InterposerDriverQuestions, MemoryThatWasMadeElsewhere) {
  EXPECT_EQ(ask_bytes(0x1000), 0x800u);
  EXPECT_EQ(ask_bytes(0x1008), 0u) << "inside of the block";
  EXPECT_EQ(ask_bytes(0x2000), 0u);
  EXPECT_EQ(ask_bytes_of_variable(VariableOf::kModule, 1, "table"), 400u);
  EXPECT_EQ(ask_bytes_of_variable(VariableOf::kModule, 1, "chair"), 0u);
  EXPECT_EQ(ask_bytes_of_variable(VariableOf::kLibrary, 1, "table"), 8u);
  EXPECT_EQ(ask_bytes_of_variable(VariableOf::kLibraryManaged, 1, "table"), 0u)
    << "the driver lacks the function";
  EXPECT_TRUE(ask_is_managed(0x2000));
  EXPECT_FALSE(ask_is_managed(0x2008));
  EXPECT_FALSE(ask_is_managed(0x3000));
  CUmemLocation location{};
  EXPECT_TRUE(ask_location(5, location));
  EXPECT_EQ(location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(location.id, 1);
  EXPECT_FALSE(ask_location(6, location));
}

} // namespace
} // namespace gmt::interposer
