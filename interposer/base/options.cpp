// SPDX-License-Identifier: Apache-2.0
#include "interposer/base/options.h"

#include <cstdlib>
#include <cstring>

#include "interposer/base/byte_file.h"
#include "trace/option_value.h"

namespace gmt::interposer {

namespace {

bool read_initial(const char* name, char* value, std::size_t size, bool& usable) noexcept {
  ByteFile environment("/proc/self/environ");
  usable = environment.is_open();
  const std::size_t n = std::strlen(name);
  for (int c = environment.next(); c >= 0; c = environment.next()) {
    std::size_t matched = 0;
    while (c > 0 && matched < n && c == name[matched]) {
      ++matched;
      c = environment.next();
    }
    const bool found = matched == n && c == '=';
    std::size_t length = 0;
    while (c > 0) {
      c = environment.next();
      if (found && c > 0 && length < size) value[length++] = static_cast<char>(c);
    }
    if (!found) continue;
    if (length == size) return false;
    value[length] = '\0';
    return true;
  }
  return false;
}

} // namespace

bool initial_environment(const char* name, char* value, std::size_t size) noexcept {
  bool usable = false;
  if (read_initial(name, value, size, usable)) return true;
  const char* now = usable ? nullptr : std::getenv(name); // no /proc here
  if (now == nullptr || std::strlen(now) >= size) return false;
  std::strcpy(value, now);
  return true;
}

bool is_device_simulated() noexcept {
  char value[16];
  return initial_environment("GPUMEMTRACE_DEVICE", value, sizeof value) && value[0] == 's';
}

namespace {

// What cannot be read leaves the default in force.
void read_number(const char* variable, trace::OptionForm form, const char* words,
                 std::uint64_t& value, BadValue report) noexcept {
  char text[64];
  if (!initial_environment(variable, text, sizeof text)) return;
  std::uint64_t read = 0;
  if (trace::read_option(form, text, words, read)) value = read;
  else if (report != nullptr) report(variable, text);
}

} // namespace

Options read_options(BadValue report) noexcept {
  using enum trace::OptionForm;
  Options options;
  char text[kMaxOptionText + 1];
#define GMT_FORM_UINT kUint
#define GMT_FORM_SIZE kSize
#define GMT_FORM_BOOL kBool
#define GMT_OPTION(type, name, environment, default_value, sentence)                               \
  read_number("GPUMEMTRACE_" #environment, GMT_FORM_##type, "", options.name, report);
#define GMT_CHOICE(name, environment, default_value, words, sentence)                              \
  read_number("GPUMEMTRACE_" #environment, kChoice, words, options.name, report);
#define GMT_TEXT(name, environment, default_value, form, sentence)                                 \
  if (initial_environment("GPUMEMTRACE_" #environment, text, sizeof text))                         \
    std::strcpy(options.name, text);
#include "trace/interposer_options.def"
#undef GMT_FORM_UINT
#undef GMT_FORM_SIZE
#undef GMT_FORM_BOOL
  if (options.stack_depth > 128) options.stack_depth = 128;
  return options;
}

bool launcher_rank(char* value, std::size_t size) noexcept {
  // Of torchrun, Open MPI, PMIx, MPICH and Slurm.
  constexpr const char* kNames[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                    "SLURM_PROCID"};
  for (const char* name : kNames) {
    if (!initial_environment(name, value, size)) continue;
    const std::size_t digits = std::strspn(value, "0123456789");
    if (digits != 0 && digits < 10 && value[digits] == '\0') return true;
  }
  return false;
}

} // namespace gmt::interposer
