// SPDX-License-Identifier: Apache-2.0
#include "made_up_sanitizer.h"

#include <cstring>
#include <string_view>

namespace gmt::interposer::kernel_checks {

MadeUpSanitizer sanitizer;

namespace {

int subscribe(SanitizerHandle* subscriber, SanitizerCallback callback, void*) {
  *subscriber = &sanitizer;
  sanitizer.callback = callback;
  return 0;
}
int unsubscribe(SanitizerHandle) { return 0; }
int enable(std::uint32_t, SanitizerHandle, std::uint32_t, std::uint32_t) { return 0; }
int add_patches(const void* image, CUcontext) {
  ++sanitizer.times_added;
  return image != nullptr ? 0 : 1;
}
int patch_instructions(std::uint32_t instruction, CUmodule, const char* function) {
  return instruction == kGlobalAccess && std::strcmp(function, "gmt_check_access") == 0 ? 0 : 1;
}
int patch_module(CUmodule module) {
  if (sanitizer.answer_of_patch_module == 0) sanitizer.patched.push_back(module);
  return sanitizer.answer_of_patch_module;
}
int set_launch_data(SanitizerHandle, CUfunction, SanitizerHandle, const void* data) {
  sanitizer.data.push_back(reinterpret_cast<std::uint64_t>(data));
  return 0;
}
int function_location(CUmodule, const char* name, std::uint64_t* pc, std::uint64_t* bytes) {
  *pc = kCode;
  *bytes = kCodeBytes;
  return std::strcmp(name, "k") == 0 ? 0 : 1;
}

void* find_symbol(void*, const char* name) {
  static const std::map<std::string_view, void*> all = {
    {"sanitizerSubscribe", reinterpret_cast<void*>(subscribe)},
    {"sanitizerUnsubscribe", reinterpret_cast<void*>(unsubscribe)},
    {"sanitizerEnableCallback", reinterpret_cast<void*>(enable)},
    {"sanitizerAddPatches", reinterpret_cast<void*>(add_patches)},
    {"sanitizerPatchInstructions", reinterpret_cast<void*>(patch_instructions)},
    {"sanitizerPatchModule", reinterpret_cast<void*>(patch_module)},
    {"sanitizerSetLaunchCallbackData", reinterpret_cast<void*>(set_launch_data)},
    {"sanitizerGetFunctionPcAndSize", reinterpret_cast<void*>(function_location)},
  };
  const auto found = all.find(name);
  return found != all.end() ? found->second : nullptr;
}
bool initial_environment(const char* name, char* value, std::size_t size) {
  const auto found = sanitizer.environment.find(name);
  if (found == sanitizer.environment.end() || found->second.size() >= size) return false;
  std::strcpy(value, found->second.c_str());
  return true;
}
void no_object(const char*, bool (*)(void*, const char*), void*) {}

} // namespace

const ToolkitSearch made_up_sanitizer_search = {initial_environment, no_object, find_symbol};

} // namespace gmt::interposer::kernel_checks
