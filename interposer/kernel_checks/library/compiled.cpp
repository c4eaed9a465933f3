// SPDX-License-Identifier: Apache-2.0
// What the cache has from the driver: the machine code of a text, and what it depends on.
#include <algorithm>
#include <cstdint>
#include <elf.h>
#include <exception>
#include <fstream>
#include <iterator>
#include <link.h>
#include <sched.h>
#include <string>

#include "interposer/kernel_checks/library/choice.h"
#include "interposer/kernel_checks/library/code_cache.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/register_limits.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct BuildId {
  std::uintptr_t code;
  std::string bytes;
};

// Of the file whose code this is.
int find_build_id(dl_phdr_info* info, std::size_t, void* found) {
  auto& id = *static_cast<BuildId*>(found);
  bool is_own = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    is_own |= part.p_type == PT_LOAD && id.code >= begin && id.code - begin < part.p_memsz;
  }
  for (int i = 0; is_own && i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr); // NOLINT
    const char* const end = at + part.p_memsz;
    while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* content = at + sizeof *note + (note->n_namesz + 3) / 4 * 4;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= 64)
        id.bytes.assign(content, note->n_descsz);
      at = content + (note->n_descsz + 3) / 4 * 4;
    }
  }
  return is_own ? 1 : 0;
}

// The kernel's part of the driver says which one it is, to the last digit.
std::string exact_driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Machine code is for devices of one kind: a library's may be loaded on each.
bool add_devices(CodeKey& key) {
  int count = 0, first_major = 0, first_minor = 0;
  if (driver.device_count(&count) != 0 || count == 0) return false;
  for (int i = 0; i < count; ++i) {
    int major = 0, minor = 0;
    if (driver.attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i) != 0 ||
        driver.attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i) != 0)
      return false;
    if (i == 0) first_major = major, first_minor = minor;
    if (major != first_major || minor != first_minor) return false;
  }
  char name[256] = "";
  if (driver.device_name(name, sizeof name - 1, 0) != 0) return false;
  key.add(std::string_view(name));
  key.add(static_cast<std::uint64_t>(first_major * 10 + first_minor));
  return true;
}

} // namespace

std::optional<CodeKey> key_of_machine() noexcept {
  try {
    BuildId id{reinterpret_cast<std::uintptr_t>(&find_build_id), {}};
    dl_iterate_phdr(find_build_id, &id);
    int version = 0;
    CodeKey key;
    if (id.bytes.empty() || driver.version(&version) != 0 || !add_devices(key)) return std::nullopt;
    key.add(id.bytes);
    key.add(static_cast<std::uint64_t>(version));
    key.add(exact_driver());
    const rewriter::Options& options = table().options();
    for (const std::uint64_t one :
         {options.table, options.window, std::uint64_t{options.window_bits}, options.lowest_address,
          options.address_end, static_cast<std::uint64_t>(options.bounds),
          std::uint64_t{options.checks_by_pointer}, std::uint64_t{options.checks_written},
          std::uint64_t{options.records}})
      key.add(one);
    key.add(std::string_view(core->settings.only_kernels));
    key.add(std::string_view(core->settings.skip_kernels));
    return key;
  } catch (const std::exception&) { // of memory
    return std::nullopt;
  }
}

namespace {

// What CUDA 13 calls CU_JIT_SPLIT_COMPILE: by how many threads the kernels of a text are compiled.
constexpr auto kSplitCompile = static_cast<CUjit_option>(34);
constexpr std::uintptr_t kMostThreads = 16;

std::uintptr_t compiling_threads() noexcept {
  cpu_set_t usable;
  const bool is_known = sched_getaffinity(0, sizeof usable, &usable) == 0;
  const auto count = static_cast<std::uintptr_t>(is_known ? CPU_COUNT(&usable) : 1);
  return std::clamp<std::uintptr_t>(count, 1, kMostThreads);
}

// Older drivers refuse the option.
int add_text(CUlinkState link, const std::string& text) noexcept {
  auto* const code = const_cast<char*>(text.c_str());
  CUjit_option option = kSplitCompile;
  void* threads = reinterpret_cast<void*>(compiling_threads()); // NOLINT: a number, as CUDA has it
  const int result = driver.add_to_link(link, CU_JIT_INPUT_PTX, code, text.size() + 1, "checked", 1,
                                        &option, &threads);
  if (result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_NOT_SUPPORTED) return result;
  return driver.add_to_link(link, CU_JIT_INPUT_PTX, code, text.size() + 1, "checked", 0, nullptr,
                            nullptr);
}

std::string first_line(std::string_view log) { return std::string(log.substr(0, log.find('\n'))); }

// The compiler names the text's fault. What it lacks it may have the next time, such as memory:
// "ptxas fatal   : Memory allocation failure", which may stand behind other lines.
bool is_fault_of_text(int result, std::string_view log) {
  constexpr std::string_view kOfMachine[] = {"emory alloc", "out of memory", "Out of memory",
                                             "resource", "file"};
  const auto is_in_log = [log](std::string_view words) { return log.find(words) != log.npos; };
  return result != CUDA_ERROR_OUT_OF_MEMORY && result != CUDA_ERROR_JIT_COMPILER_NOT_FOUND &&
         result != CUDA_ERROR_JIT_COMPILATION_DISABLED && !log.empty() &&
         std::ranges::none_of(kOfMachine, is_in_log);
}

Compiled compile_once(const std::string& text) noexcept {
  CUlinkState link = nullptr;
  void* code = nullptr;
  std::size_t bytes = 0;
  Compiled compiled;
  char log[1024] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)}; // NOLINT: a number
  if (driver.begin_link(std::size(options), options, values, &link) != 0) return compiled;
  compiled.was_tried = true;
  int result = add_text(link, text);
  if (result == CUDA_SUCCESS) result = driver.complete_link(link, &code, &bytes);
  try {
    if (result == CUDA_SUCCESS && code != nullptr) {
      compiled.machine.assign(static_cast<const char*>(code), bytes);
    } else {
      compiled.why_not = first_line(log);
      compiled.is_final = is_fault_of_text(result, log);
    }
  } catch (const std::exception&) { // of memory
    compiled.was_tried = false;
  }
  driver.end_link(link);
  return compiled;
}

// By checked form: as many as leave it the threads of its plain form, if it takes more.
RegisterCounts limits_of_checked_forms(const std::string& machine_code) {
  const RegisterCounts counts = registers_of(machine_code);
  RegisterCounts limits;
  for (const auto& [kernel, registers] : counts) {
    const std::string checked = std::string(rewriter::kChecked) + kernel;
    const auto found = counts.find(checked);
    const std::uint32_t most = most_for_equal_threads(registers);
    if (found != counts.end() && found->second > most) limits.emplace(checked, most);
  }
  return limits;
}

} // namespace

Compiled compile(const std::string& text) noexcept {
  Compiled compiled = compile_once(text);
  try {
    const RegisterCounts limits = limits_of_checked_forms(compiled.machine);
    if (limits.empty()) return compiled;
    const std::string limited = limit_registers(text, [&](std::string_view kernel) {
      const auto limit = limits.find(kernel);
      return limit == limits.end() ? 0 : limit->second;
    });
    if (limited == text)
      return compiled; // __launch_bounds__ allows the checked forms what they take
    Compiled again = compile_once(limited);
    if (!again.machine.empty()) return again;
  } catch (const std::exception&) { // of memory: launches that do not fit run plain
  }
  return compiled;
}

} // namespace gmt::interposer::kernel_checks
