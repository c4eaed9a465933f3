// SPDX-License-Identifier: Apache-2.0
// docs/top.md names the file: gpumemtrace-idle.<pid>. Whose it is stands in it, as the number may
// come again.
#include "interposer/log/idle.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interposer/base/byte_file.h"
#include "interposer/base/options.h"
#include "interposer/base/slow_lock.h"
#include "trace/idle_request.h"

namespace gmt::interposer {

constinit std::atomic<IdlePage*> idle_page{nullptr};

namespace {

constexpr std::size_t kIdlePage = 4096;
constinit char request_file[3200] = ""; // under the slow lock

void* map_page(int flags, int file) noexcept {
  void* page = mmap(nullptr, kIdlePage, PROT_READ | PROT_WRITE, flags, file, 0);
  return page == MAP_FAILED ? nullptr : page;
}

bool map_idle_page() noexcept {
  if (idle_page.load() != nullptr) return true;
  void* page = map_page(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (page == nullptr) return false;
  if (madvise(page, kIdlePage, MADV_WIPEONFORK) != 0) {
    pthread_atfork(nullptr, nullptr, [] { idle_page.load()->state.store(IdleState::kUnknown); });
  }
  idle_page.store(static_cast<IdlePage*>(page), std::memory_order_release);
  return true;
}

// Field 22 of /proc/self/stat: see proc(5). The name in the second field may hold anything; behind
// it there is no ')'.
std::uint64_t start_time() noexcept {
  constexpr int kStartTime = 22;
  ByteFile stat("/proc/self/stat");
  std::uint64_t value = 0;
  int field = 0;
  for (int c = stat.next(); c >= 0; c = stat.next()) {
    if (c == ')') field = 2, value = 0;
    else if (c == ' ') ++field;
    else if (field == kStartTime && c >= '0' && c <= '9')
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::uint64_t process_namespace() noexcept {
  struct stat status{};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

// A file of another process that had this number is gone first.
const std::atomic<std::uint32_t>* make_request() noexcept {
  char folder[3072];
  if (!initial_environment("GPUMEMTRACE_DIR", folder, sizeof folder)) std::strcpy(folder, ".");
  std::snprintf(request_file, sizeof request_file, "%s/gpumemtrace-idle.%d", folder, process_id());
  unlink(request_file);
  const int file =
    open(request_file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
  if (file < 0) return nullptr;
  trace::IdleRequest request{};
  request.process_namespace = process_namespace();
  request.started = start_time();
  const bool is_written = write(file, &request, sizeof request) == sizeof request;
  void* page = is_written ? map_page(MAP_SHARED, file) : nullptr;
  close(file);
  if (page == nullptr) unlink(request_file);
  return static_cast<const std::atomic<std::uint32_t>*>(page);
}

} // namespace

bool begins_idle() noexcept {
  if (!map_idle_page()) return false;
  IdlePage& page = *idle_page.load();
  switch (page.state.load()) {
  case IdleState::kRecording: return false;
  case IdleState::kWaits:
    if (page.request.load()->load(std::memory_order_acquire) == 0) return true;
    unlink(request_file);
    page.state.store(IdleState::kRecording);
    return false;
  case IdleState::kUnknown: break;
  }
  static Options options;
  options = read_options([](const char*, const char*) noexcept {}); // the session says what is
                                                                    // wrong
  const std::atomic<std::uint32_t>* request = options.idle != 0 ? make_request() : nullptr;
  page.request.store(request);
  page.state.store(request != nullptr ? IdleState::kWaits : IdleState::kRecording,
                   std::memory_order_release);
  return request != nullptr;
}

} // namespace gmt::interposer
