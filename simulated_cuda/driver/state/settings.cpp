// SPDX-License-Identifier: Apache-2.0
// Reads GPUMEMTRACE_SIM_* from the environment. Called once, by the constructor of State.
// Sizes take an optional K, M or G (powers of 1024). A value that makes no sense is named on stderr
// and ignored. Runs inside the simulated driver, so it must not call CUDA.
#include "simulated_cuda/driver/state/settings.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace gmt::sim {
namespace {

void complain(const char* name, const char* text) {
  std::fprintf(stderr, "gpumemtrace: simulated device: ignoring %s=%s\n", name, text);
}

void read_number(const char* name, unsigned long long least, unsigned long long most, auto* out) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return;
  char* end = nullptr;
  errno = 0;
  unsigned long long value = std::strtoull(text, &end, 0);
  unsigned shift = 0;
  switch (*end) {
  case 'K':
  case 'k': shift = 10; break;
  case 'M':
  case 'm': shift = 20; break;
  case 'G':
  case 'g': shift = 30; break;
  default: break;
  }
  if (shift != 0) ++end;
  if (errno != 0 || end == text || *end != '\0' || value > (most >> shift) ||
      (value << shift) < least) {
    complain(name, text);
    return;
  }
  *out = static_cast<std::remove_pointer_t<decltype(out)>>(value << shift);
}

// False: it is not given, or is no time.
bool read_seconds(const char* name, double* out) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return false;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0 && value <= 1e9)) {
    complain(name, text);
    return false;
  }
  *out = value;
  return true;
}

void read_checks(std::string* out) {
  const char* name = "GPUMEMTRACE_SIM_DEVICE_CHECKS";
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return;
  const std::string value = text;
  if (value != "none" && value != "default" && value != "full") return complain(name, text);
  *out = value;
}

void read_after_fault(bool* ends_context) {
  const char* name = "GPUMEMTRACE_SIM_AFTER_FAULT";
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return;
  const std::string value = text;
  if (value != "stop" && value != "continue") return complain(name, text);
  *ends_context = value == "stop";
}

bool is_power_of_two(std::size_t value) { return (value & (value - 1)) == 0; }

} // namespace

Settings read_settings() {
  Settings settings;
  read_number("GPUMEMTRACE_SIM_MEMORY", 1 << 20, 1ull << 44, &settings.memory_bytes);
  read_number("GPUMEMTRACE_SIM_USED_BY_OTHERS", 0, 1ull << 44, &settings.others_bytes);
  read_number("GPUMEMTRACE_SIM_PITCH_ALIGNMENT", 16, 1 << 20, &settings.pitch_alignment);
  read_number("GPUMEMTRACE_SIM_TEXTURE_PITCH_ALIGNMENT", 1, 1 << 20,
              &settings.texture_pitch_alignment);
  read_number("GPUMEMTRACE_SIM_TEXTURE_ALIGNMENT", 1, 1 << 20, &settings.texture_alignment);
  read_number("GPUMEMTRACE_SIM_DEVICES", 0, 64, &settings.device_count);
  read_number("GPUMEMTRACE_SIM_PEER_ACCESS", 0, 1, &settings.peer_access);
  read_number("GPUMEMTRACE_SIM_COPY_MILLISECONDS", 0, 60000, &settings.copy_milliseconds);
  read_number("GPUMEMTRACE_SIM_GAPS", 0, 1, &settings.gaps);
  read_number("GPUMEMTRACE_SIM_RESTING", 0, 1ull << 40, &settings.resting_bytes);
  read_number("GPUMEMTRACE_SIM_CAPABILITY", 50, 999, &settings.capability);
  settings.is_kernel_time_asked =
    read_seconds("GPUMEMTRACE_SIM_KERNEL_TIME", &settings.kernel_seconds);
  read_seconds("GPUMEMTRACE_SIM_RUN_TIME", &settings.run_seconds);
  read_number("GPUMEMTRACE_SIM_KERNEL_LAUNCHES", 0, 1ull << 40, &settings.kernel_launches);
  read_number("GPUMEMTRACE_SIM_DEVICE_THREADS", 1, 1024, &settings.device_threads);
  read_number("GPUMEMTRACE_SIM_DEVICE_SEED", 0, 1ull << 62, &settings.device_seed);
  read_number("GPUMEMTRACE_SIM_RACES_SCHEDULES", 1, 1000, &settings.races_schedules);
  read_seconds("GPUMEMTRACE_SIM_LATE", &settings.late_seconds);
  read_number("GPUMEMTRACE_SIM_ALONE_INSTRUCTIONS", 0, 1ull << 40, &settings.alone_instructions);
  read_number("GPUMEMTRACE_SIM_PROGRESS", 0, 1, &settings.show_progress);
  read_checks(&settings.device_checks);
  read_after_fault(&settings.faults_end_context);
  if (settings.others_bytes >= settings.memory_bytes) {
    complain("GPUMEMTRACE_SIM_USED_BY_OTHERS", std::getenv("GPUMEMTRACE_SIM_USED_BY_OTHERS"));
    settings.others_bytes = 0;
  }
  if (!is_power_of_two(settings.pitch_alignment)) {
    complain("GPUMEMTRACE_SIM_PITCH_ALIGNMENT", std::getenv("GPUMEMTRACE_SIM_PITCH_ALIGNMENT"));
    settings.pitch_alignment = 512;
  }
  return settings;
}

} // namespace gmt::sim
