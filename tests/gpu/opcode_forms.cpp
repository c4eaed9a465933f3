// SPDX-License-Identifier: Apache-2.0
// Runs every form on a GPU. It records the results in a file, or compares them with such a file.
// Kernels are PTX that the driver assembles; a form that it refuses is named and left out. Exit
// status: 0 recorded or equal, 1 different or a call failed, 2 bad usage, 77 no GPU.
//
// Usage: opcode_forms record [FILE [GROUP]] | compare FILE... | ptx
//   FILE of record: $OUT/h200.forms if it is not given, or h200.forms    GROUP: these forms alone
//   compare: with the files together    ptx: the text of all kernels
#include "tests/executor/forms/operands.h"
#include "tests/executor/forms/recording.h"

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace gmt::forms {
namespace {

constexpr std::size_t kFormsOfModule = 64;

[[noreturn]] void fail(const std::string& what) {
  std::printf("opcode_forms: %s\n", what.c_str());
  std::exit(1);
}
[[noreturn]] void skip(const char* why) {
  std::printf("skipped: no GPU: %s\n", why);
  std::exit(77);
}

// The driver's functions, which a machine without a GPU lacks.
class Driver {
public:
  Driver() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (library_ == nullptr) skip("there is no libcuda.so.1");
    load(initialise_, "cuInit");
    load(device_get_, "cuDeviceGet");
    load(name_, "cuDeviceGetName");
    load(version_, "cuDriverGetVersion");
    load(retain_, "cuDevicePrimaryCtxRetain");
    load(set_current_, "cuCtxSetCurrent");
    load(allocate_, "cuMemAlloc_v2");
    load(upload_, "cuMemcpyHtoD_v2");
    load(download_, "cuMemcpyDtoH_v2");
    load(fill_, "cuMemsetD8_v2");
    load(load_module_, "cuModuleLoadDataEx");
    load(unload_module_, "cuModuleUnload");
    load(function_, "cuModuleGetFunction");
    load(launch_, "cuLaunchKernel");
    if (initialise_(0) != CUDA_SUCCESS) skip("cuInit failed");
    CUdevice device = 0;
    CUcontext context = nullptr;
    if (device_get_(&device, 0) != CUDA_SUCCESS) skip("there is no device");
    char name[128] = "";
    int version = 0;
    check(name_(name, sizeof name, device), "cuDeviceGetName");
    check(version_(&version), "cuDriverGetVersion");
    check(retain_(&context, device), "cuDevicePrimaryCtxRetain");
    check(set_current_(context), "cuCtxSetCurrent");
    description_ = std::string(name) + ", driver for CUDA " + std::to_string(version / 1000) + "." +
                   std::to_string(version % 1000 / 10);
    check(allocate_(&operands_, kBytes), "cuMemAlloc");
    check(allocate_(&results_, kBytes), "cuMemAlloc");
  }
  const std::string& description() const { return description_; }

  // Null if the assembler refuses the text; `log` has its words.
  CUmodule load_module(const std::string& text, std::string* log) {
    char words[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {words, reinterpret_cast<void*>(sizeof words)};
    CUmodule module = nullptr;
    const CUresult result = load_module_(&module, text.c_str(), 2, options, values);
    *log = words;
    if (result == CUDA_SUCCESS) return module;
    if (result != CUDA_ERROR_INVALID_PTX && result != CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
      check(result, "cuModuleLoadDataEx");
    return nullptr;
  }
  void unload(CUmodule module) { check(unload_module_(module), "cuModuleUnload"); }

  std::vector<std::byte> run(CUmodule module, const std::string& kernel, const Form& form,
                             std::span<const std::byte> operands) {
    CUfunction function = nullptr;
    check(function_(&function, module, kernel.c_str()), "cuModuleGetFunction");
    std::vector<std::byte> results(bytes_of(form.results, form.count));
    if (operands.size() > kBytes || results.size() > kBytes) fail(form.name + " needs more memory");
    check(upload_(operands_, operands.data(), operands.size()), "cuMemcpyHtoD");
    check(fill_(results_, 0, results.size()), "cuMemsetD8");
    void* parameters[] = {&operands_, &results_};
    check(
      launch_(function, form.count / kBlock, 1, 1, kBlock, 1, 1, 0, nullptr, parameters, nullptr),
      form.name.c_str());
    check(download_(results.data(), results_, results.size()), form.name.c_str());
    return results;
  }

private:
  static constexpr std::size_t kBytes = std::size_t{1} << 20;

  template <class Function>
  void load(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) fail(std::string("the driver has no ") + name);
  }
  static void check(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS)
      fail(std::string(what) + " failed: " + std::to_string(static_cast<int>(result)));
  }

  void* library_ = nullptr;
  CUdeviceptr operands_ = 0, results_ = 0;
  std::string description_;
  decltype(::cuInit)* initialise_ = nullptr;
  decltype(::cuDeviceGet)* device_get_ = nullptr;
  decltype(::cuDeviceGetName)* name_ = nullptr;
  decltype(::cuDriverGetVersion)* version_ = nullptr;
  decltype(::cuDevicePrimaryCtxRetain)* retain_ = nullptr;
  decltype(::cuCtxSetCurrent)* set_current_ = nullptr;
  decltype(::cuMemAlloc)* allocate_ = nullptr;
  decltype(::cuMemcpyHtoD)* upload_ = nullptr;
  decltype(::cuMemcpyDtoH)* download_ = nullptr;
  decltype(::cuMemsetD8)* fill_ = nullptr;
  decltype(::cuModuleLoadDataEx)* load_module_ = nullptr;
  decltype(::cuModuleUnload)* unload_module_ = nullptr;
  decltype(::cuModuleGetFunction)* function_ = nullptr;
  decltype(::cuLaunchKernel)* launch_ = nullptr;
};

std::string kernel_name(std::size_t index) { return "k" + std::to_string(index); }

std::string text_of(std::span<const Form> forms) {
  std::string text(text_head());
  for (std::size_t i = 0; i < forms.size(); ++i) text += kernel_text(forms[i], kernel_name(i));
  return text;
}

// Runs some forms as one module; if the assembler refuses it, each form as a module of its own.
void record_forms(Driver& driver, std::span<const Form> forms, Recording* recording) {
  std::string log;
  CUmodule module = driver.load_module(text_of(forms), &log);
  if (module == nullptr && forms.size() > 1) {
    for (const Form& form : forms) record_forms(driver, {&form, 1}, recording);
    return;
  }
  if (module == nullptr) {
    std::printf("refused: %s: %s\n", forms[0].name.c_str(), log.c_str());
    recording->of_form[forms[0].name].refused = true;
    return;
  }
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const std::vector<std::byte> operands = operands_of(forms[i]);
    Results& results = recording->of_form[forms[i].name];
    results.fingerprint = fingerprint_of(forms[i], operands);
    results.bytes = driver.run(module, kernel_name(i), forms[i], operands);
  }
  driver.unload(module);
}

Recording record_all(Driver& driver, const std::string& only) {
  Recording recording;
  recording.device = driver.description();
  for (const Group& group : groups()) {
    if (!only.empty() && only != group.name) continue;
    const std::vector<Form> forms = group.forms();
    for (std::size_t i = 0; i < forms.size(); i += kFormsOfModule)
      record_forms(driver, std::span(forms).subspan(i, std::min(kFormsOfModule, forms.size() - i)),
                   &recording);
    std::printf("%s: %zu forms\n", group.name, forms.size());
  }
  return recording;
}

int compare_all(const Recording& expected, const Recording& found) {
  std::size_t equal = 0, different = 0;
  for (const Group& group : groups()) {
    const std::vector<Form> forms = group.forms();
    const auto is_recorded = [&](const Form& form) { return expected.of_form.contains(form.name); };
    if (std::ranges::none_of(forms, is_recorded)) {
      std::printf("%s: in no recording\n", group.name);
      continue;
    }
    for (const Form& form : forms) {
      const auto old = expected.of_form.find(form.name);
      const Results& now = found.of_form.at(form.name);
      if (old == expected.of_form.end() || old->second.refused != now.refused ||
          (!now.refused && old->second.fingerprint != now.fingerprint)) {
        std::printf("%s: not as recorded: record the forms anew\n", form.name.c_str());
        ++different;
        continue;
      }
      if (now.refused) continue;
      const Difference difference = compare(form, operands_of(form), old->second.bytes, now.bytes);
      if (difference.wrong == 0) {
        ++equal;
        continue;
      }
      ++different;
      std::printf("%s: %u of %u differ: %s\n", form.name.c_str(), difference.wrong, form.count,
                  difference.first.c_str());
    }
  }
  std::printf("%zu forms equal, %zu different\n", equal, different);
  return different == 0 ? 0 : 1;
}

int print_ptx() {
  std::vector<Form> all;
  for (const Group& group : groups()) {
    for (const Form& form : group.forms()) all.push_back(form);
  }
  std::fputs(text_head().data(), stdout);
  for (std::size_t i = 0; i < all.size(); ++i)
    std::printf("// %s\n%s", all[i].name.c_str(), kernel_text(all[i], kernel_name(i)).c_str());
  return 0;
}

int run(const std::string& mode, std::span<char* const> paths) {
  if (mode == "ptx") return print_ptx();
  Recording expected;
  const bool compares = mode == "compare";
  for (const char* path : compares ? paths : std::span<char* const>()) {
    const std::string error = read_recording(path, &expected);
    if (!error.empty()) fail(error);
  }
  Driver driver;
  std::printf("%s\n", driver.description().c_str());
  const Recording found = record_all(driver, !compares && paths.size() > 1 ? paths[1] : "");
  if (compares) return compare_all(expected, found);
  const char* folder = std::getenv("OUT");
  const std::string here = (folder != nullptr ? std::string(folder) + "/" : "") + "h200.forms";
  const std::string path = paths.empty() ? here : paths[0];
  const std::string error = write_recording(found, path);
  if (!error.empty()) fail(error);
  std::printf("%zu forms recorded in %s\n", found.of_form.size(), path.c_str());
  return 0;
}

} // namespace
} // namespace gmt::forms

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool known = (mode == "ptx" && argc == 2) || (mode == "record" && argc <= 4) ||
                     (mode == "compare" && argc >= 3);
  if (!known) {
    std::fputs("usage: opcode_forms record [FILE [GROUP]] | compare FILE... | ptx\n", stderr);
    return 2;
  }
  return gmt::forms::run(mode, {argv + 2, argv + argc});
}
