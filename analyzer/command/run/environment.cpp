// SPDX-License-Identifier: Apache-2.0
// The program's environment; see environment.h.

#include "analyzer/command/run/environment.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "analyzer/base/text_format.h"
#include "analyzer/command/command.h"
#include "analyzer/command/run/child_process.h"
#include "trace/kernel_check_words.h"
#include "trace/option_value.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

void set(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  const std::string start = name + "=";
  std::erase_if(environment, [&](const std::string& entry) {
    return entry.compare(0, start.size(), start) == 0;
  });
  environment.push_back(start + value);
}

std::string get(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

constexpr char kHostRaces[] = "GPUMEMTRACE_HOST_RACES";

bool turns_on(const std::string& value) { return !value.empty() && value != "0" && value != "off"; }

bool wants_host_races(const Instrumentation& in) {
  std::string value = get(kHostRaces);
  for (const auto& [name, given] : in.interposer) {
    if (name == kHostRaces) value = given;
  }
  return turns_on(value);
}

// Beside the interposer.
std::string host_library(const Instrumentation& in) {
  return (fs::path(in.install.interposer).parent_path() / "libgpumemtrace_host.so").string();
}

std::string preload_list(const Instrumentation& in) {
  std::vector<std::string> before, ours = {in.install.interposer}, after;
  if (!in.sanitizer.empty()) before.push_back(in.sanitizer);
  if (in.simulated) {
    for (const char* name : {"/libcudart.so.13", "/libcuda.so.1"})
      if (::access((in.install.simulated + name).c_str(), R_OK) == 0)
        ours.push_back(in.install.simulated + name);
  }
  if (const std::string library = host_library(in);
      wants_host_races(in) && ::access(library.c_str(), R_OK) == 0)
    ours.insert(ours.begin() + 1, library);
  const std::string existing = get("LD_PRELOAD");
  for (std::size_t at = 0; at < existing.size();) {
    const std::size_t end = std::min(existing.find_first_of(": ", at), existing.size());
    const std::string library = existing.substr(at, end - at);
    at = end + 1;
    const bool known = std::count(ours.begin(), ours.end(), library) ||
                       std::count(before.begin(), before.end(), library);
    if (library.empty() || known) continue;
    (is_sanitizer_runtime(library) ? before : after).push_back(library);
  }
  std::string list;
  for (const auto* part : {&before, &ours, &after})
    for (const std::string& library : *part) list += (list.empty() ? "" : ":") + library;
  return list;
}

// Tried, not asked: access() knows nothing of full disks and says yes to root. Sets errno.
bool writable(const fs::path& folder) {
  std::string probe = (folder / ".gpumemtrace-probe.XXXXXX").string();
  return ::mkdtemp(probe.data()) && ::rmdir(probe.c_str()) == 0;
}

// Of the words of --guard by their numbers: off, on, before, tensors, tensors-before.
bool names_tensors(const std::string& number) { return number == "3" || number == "4"; }

// --guard tensors and --kernel-checks tensors: the variables by which PyTorch, JAX and TensorFlow
// take each tensor from CUDA itself. What the user has set stays.
void turn_caches_off(std::vector<std::string>& environment) {
  constexpr std::pair<const char*, const char*> kCaches[] = {
    {"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"},
    {"XLA_PYTHON_CLIENT_ALLOCATOR", "platform"},
    {"TF_GPU_ALLOCATOR", "cuda_malloc_async"}};
  for (const auto& [name, value] : kCaches)
    if (!std::getenv(name)) set(environment, name, value);
}

constexpr char kGuard[] = "GPUMEMTRACE_GUARD";
constexpr char kRecordRange[] = "GPUMEMTRACE_RECORD_RANGE";
constexpr char kRange[] = "GPUMEMTRACE_RANGE";
constexpr char kKernelChecks[] = "GPUMEMTRACE_KERNEL_CHECKS";
constexpr char kKernelChecksSample[] = "GPUMEMTRACE_KERNEL_CHECKS_SAMPLE";

// The words of options that are one of several, as the command and the user may write them.
namespace choices {
#define GMT_OPTION(...)
#define GMT_TEXT(...)
#define GMT_CHOICE(name, environment, value, words, sentence) inline constexpr char name[] = words;
#include "trace/interposer_options.def"
} // namespace choices

// --kernel-checks, --capture and the simulated device: Triton (torch.compile as well) and CuPy give
// machine code to the driver, in which no check can be put and which the simulated device cannot
// run. These variables, which they document, make them give PTX. What they compiled before lies in
// their caches as machine code, so they get other folders, inside of those that the user has named:
// neither kind of run meets what the other compiled.
void keep_ptx(std::vector<std::string>& environment, const std::string& ptxas) {
  const std::string cache = cache_folder();
  if (cache.empty()) return;
  const auto set_cache = [&](const char* name, const char* folder) {
    const std::string given = get(name);
    set(environment, name, given.empty() ? cache + folder : given + "/gpumemtrace");
  };
  if (!std::getenv("TRITON_PTXAS_PATH") && ::access(ptxas.c_str(), X_OK) == 0) {
    set(environment, "TRITON_PTXAS_PATH", ptxas);
    if (!std::getenv("TRITON_PTXAS_BLACKWELL_PATH"))
      set(environment, "TRITON_PTXAS_BLACKWELL_PATH", ptxas);
    set_cache("TRITON_CACHE_DIR", "/triton");
    set_cache("TORCHINDUCTOR_CACHE_DIR", "/inductor");
  }
  if (!std::getenv("CUPY_COMPILE_WITH_PTX")) {
    set(environment, "CUPY_COMPILE_WITH_PTX", "1");
    set_cache("CUPY_CACHE_DIR", "/cupy");
  }
}

} // namespace

std::string cache_folder() {
  const std::string cache = get("XDG_CACHE_HOME"), home = get("HOME");
  if (!cache.empty()) return cache + "/gpumemtrace";
  return home.empty() ? "" : home + "/.cache/gpumemtrace";
}

bool Instrumentation::is_on(const char* option) const { return turns_on(value_of(option)); }

bool Instrumentation::wants_fence() const { return turns_on(value_of(kGuard)); }

bool Instrumentation::wants_kernel_checks() const {
  return !without_kernel_checks &&
         (turns_on(value_of(kKernelChecks)) || turns_on(value_of(kKernelChecksSample)));
}

bool Instrumentation::captures_a_launch() const { return !value_of("GPUMEMTRACE_CAPTURE").empty(); }

bool Instrumentation::wants_samples_alone() const {
  return wants_kernel_checks() && !turns_on(value_of(kKernelChecks));
}

bool Instrumentation::checks_tensors() const { return trace::checks_tensors(kernel_checks()); }

std::uint64_t Instrumentation::kernel_checks() const {
  std::uint64_t words = trace::kKernelChecksOff;
  trace::read_choice(value_of(kKernelChecks), choices::kernel_checks, words);
  return words;
}

namespace {

// What is not checked writes unseen, so that nothing could be said of memory that it may reach.
constexpr std::pair<const char*, const char*> kLeavesOut[] = {
  {"GPUMEMTRACE_ONLY_KERNELS", "--only-kernels"},
  {"GPUMEMTRACE_SKIP_KERNELS", "--skip-kernels"},
  {"GPUMEMTRACE_CHECKED_LAUNCHES", "--checked-launches"},
  {"GPUMEMTRACE_LAUNCHES", "--launches"},
  {"GPUMEMTRACE_RANGE", "--range"},
  {kKernelChecksSample, "--kernel-checks-sample"}};

} // namespace

std::string Instrumentation::why_not_together() const {
  if (is_on("GPUMEMTRACE_IDLE")) {
    for (const auto& [variable, option] :
         {std::pair(kGuard, "--guard"), std::pair(kKernelChecks, "--kernel-checks"),
          std::pair(kKernelChecksSample, "--kernel-checks-sample"),
          std::pair("GPUMEMTRACE_HOST_RACES", "--host-races"),
          std::pair("GPUMEMTRACE_COALESCING", "--coalescing"),
          std::pair("GPUMEMTRACE_COUNTERS", "--counters")}) {
      if (is_on(variable))
        return cat({"--idle cannot be used with ", option,
                    ", which must see the program from its first CUDA call on"});
    }
  }
  if (!value_of(kRecordRange).empty() && is_on(kHostRaces))
    return "--host-races cannot be used with --record-range: it must see each copy";
  if (captures_a_launch()) {
    const bool is_checked = wants_kernel_checks();
    if (is_checked || (wants_fence() && !without_fence))
      return cat(
        {"--capture cannot be used with ", is_checked ? "--kernel-checks" : "--guard",
         ": both stand in the driver's place; 'gpumemtrace replay' checks what was captured"});
  }
  if (wants_kernel_checks() && trace::checks_written(kernel_checks())) {
    for (const auto& [variable, option] : kLeavesOut) {
      const std::string value = value_of(variable);
      if (!value.empty() && value != "0")
        return cat({"--kernel-checks=init cannot be used with ", option,
                    ": kernels that run without checks write unseen"});
    }
  }
  constexpr std::string_view kBegin = "--kernel-checks=libraries cannot be used with ";
  if (!wants_kernel_checks() || !trace::patches_code(kernel_checks())) return {};
  for (const auto& [variable, option] : {std::pair("GPUMEMTRACE_COALESCING", "--coalescing"),
                                         std::pair("GPUMEMTRACE_COUNTERS", "--counters")}) {
    if (turns_on(value_of(variable)))
      return cat({kBegin, option, ": both patch the code of kernels; run one behind the other"});
  }
  if (turns_on(value_of(kKernelChecksSample)))
    return cat({kBegin, "--kernel-checks-sample: patched code is slow in each launch, whether that "
                        "is checked or not"});
  return {};
}

std::string Instrumentation::value_of(const char* option) const {
  std::string value = get(option);
  for (const auto& [name, given] : interposer) {
    if (name == option) value = given;
  }
  return value;
}

std::vector<std::string> inherited_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry; ++entry) entries.emplace_back(*entry);
  return entries;
}

std::vector<std::string> instrumented_environment(const Instrumentation& in) {
  std::vector<std::string> environment = inherited_environment();
  set(environment, "LD_PRELOAD", preload_list(in));
  if (in.simulated) {
    const std::string existing = get("LD_LIBRARY_PATH");
    set(environment, "LD_LIBRARY_PATH",
        in.install.simulated + (existing.empty() ? "" : ":" + existing));
  }
  if (const std::string range = in.value_of(kRecordRange); !range.empty())
    set(environment, kRange, range); // unless --range names another
  for (const auto& [name, value] : in.device_settings) set(environment, name, value);
  set(environment, "GPUMEMTRACE_RUN", in.run_id);
  set(environment, "GPUMEMTRACE_DIR", in.trace_dir);
  set(environment, "GPUMEMTRACE_DEVICE", in.simulated ? "simulated" : "real");
  set(environment, "GPUMEMTRACE_NOTES", in.notes_file);
  // NVTX looks for one tool only: a library that the user had named is called by ours.
  const std::string nvtx = get("NVTX_INJECTION64_PATH");
  if (!nvtx.empty() && nvtx != in.install.interposer)
    set(environment, "GPUMEMTRACE_NVTX_NEXT", nvtx);
  set(environment, "NVTX_INJECTION64_PATH", in.install.interposer);
  for (const auto& [name, value] : in.interposer) {
    set(environment, name, value);
    if (name == kGuard && names_tensors(value)) turn_caches_off(environment);
  }
  if (in.without_fence) set(environment, kGuard, "0");
  if (in.without_kernel_checks) {
    set(environment, kKernelChecks, "0");
    set(environment, kKernelChecksSample, "0");
  }
  if (in.simulated || in.wants_kernel_checks() || in.captures_a_launch())
    keep_ptx(environment, in.install.ptxas);
  if (!in.wants_kernel_checks()) return environment;
  if (in.wants_samples_alone()) set(environment, kKernelChecks, "1");
  if (in.checks_tensors()) turn_caches_off(environment);
  return environment;
}

std::string make_run_id() {
  std::uint64_t id = 0;
  // Early at boot
  if (::getrandom(&id, sizeof id, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof id))
    id = read_monotonic_ns() * 0x9e3779b97f4a7c15u ^ static_cast<std::uint64_t>(::getpid()) << 40;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return text;
}

std::string choose_trace_dir(const std::string& wanted) {
  std::error_code error;
  if (!wanted.empty()) {
    fs::create_directories(wanted, error);
    if (!error && !writable(wanted)) error.assign(errno, std::generic_category());
    if (error) {
      throw UserError("cannot make traces in '" + wanted + "': " + error.message() +
                        "; name a writable folder with --trace-dir",
                      kCannotStart);
    }
    return fs::canonical(wanted).string();
  }
  const fs::path here = fs::current_path(error);
  if (!error && writable(here)) return here.string();
  const fs::path temporary = fs::temp_directory_path(error);
  if (error || !writable(temporary)) {
    throw UserError(
      "can make traces neither in the current directory nor in the temporary one; name a writable "
      "folder with --trace-dir",
      kCannotStart);
  }
  say("the current directory is not writable: traces go to '" + temporary.string() +
      "' (see --trace-dir)");
  return fs::absolute(temporary).string();
}

} // namespace gmt
