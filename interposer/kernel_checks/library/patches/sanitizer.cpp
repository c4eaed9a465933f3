// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/patches/sanitizer.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr const char* kNames[] = {"libsanitizer-public.so"};
// From a toolkit's lib64 (targets/x86_64-linux/lib, too), and from a wheel's nvidia/cu13/lib.
constexpr const char* kBesideRuntime[] = {"", "/../compute-sanitizer",
                                          "/../../../compute-sanitizer",
                                          "/../../cu13/compute-sanitizer", "/../../cu13/lib"};
constexpr const char* kInToolkit[] = {"/compute-sanitizer", "/extras/compute-sanitizer", "/lib64",
                                      "/lib"};

} // namespace

const char* open_sanitizer(const ToolkitSearch& search, Sanitizer& to) noexcept {
  if (search.find_symbol == nullptr) return "the core is older";
  void* library =
    find_in_toolkits(search, {"GPUMEMTRACE_SANITIZER", kNames, kBesideRuntime, kInToolkit});
  if (library == nullptr)
    return "libsanitizer-public.so was not found: it is in a toolkit's folder compute-sanitizer "
           "and in the wheel nvidia-cuda-sanitizer-api; GPUMEMTRACE_SANITIZER names the file";
  bool has_all = true;
  const auto look_up = [&](auto& function, const char* name) {
    void* symbol = search.find_symbol(library, name);
    has_all = has_all && symbol != nullptr;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
  };
  look_up(to.subscribe, "sanitizerSubscribe");
  look_up(to.unsubscribe, "sanitizerUnsubscribe");
  look_up(to.enable, "sanitizerEnableCallback");
  look_up(to.add_patches, "sanitizerAddPatches");
  look_up(to.patch_instructions, "sanitizerPatchInstructions");
  look_up(to.patch_module, "sanitizerPatchModule");
  look_up(to.set_launch_data, "sanitizerSetLaunchCallbackData");
  look_up(to.function_location, "sanitizerGetFunctionPcAndSize");
  return has_all ? nullptr : "libsanitizer-public.so lacks functions that are needed";
}

} // namespace gmt::interposer::kernel_checks
