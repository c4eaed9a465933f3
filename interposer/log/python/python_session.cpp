// SPDX-License-Identifier: Apache-2.0
// Lines of `info`: `python=3.13.0` and `python_frames=<word>`, of which the last one holds. The
// words are those of trace/FORMAT.md.
#include "interposer/log/python/python_session.h"

#include <atomic>
#include <cstdio>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/log/process.h"

namespace gmt::interposer {
namespace {

constexpr int kPythonLockMilliseconds = 50;
constinit std::atomic<bool> python_is_locked{false};
constinit std::atomic<bool> interpreter_is_noted{false};
constinit std::atomic<bool> noted_subinterpreters{false};

void note_frames(const char* word) noexcept {
  char line[64];
  const int n = std::snprintf(line, sizeof line, "python_frames=%s\n", word);
  Process::append_line("info", line, static_cast<std::size_t>(n));
}

const char* word_of(python::State state) noexcept {
  switch (state) {
  case python::State::kUnknownVersion: return "unknown-version";
  case python::State::kFreeThreaded: return "free-threaded";
  case python::State::kUnlikeHeaders: return "unlike-headers";
  case python::State::kNone:
  case python::State::kFound:
  case python::State::kSound: break;
  }
  return "on";
}

void note_version(const python::Found& found) noexcept {
  char line[64];
  const int n = found.version == 0
                  ? std::snprintf(line, sizeof line, "python=before 3.11\n")
                  : std::snprintf(line, sizeof line, "python=%u.%u.%u\n", found.version >> 24,
                                  found.version >> 16 & 0xff, found.version >> 8 & 0xff);
  Process::append_line("info", line, static_cast<std::size_t>(n));
  note_frames(word_of(found.state));
}

} // namespace

void look_for_python() noexcept {
  if (interpreter_is_noted.load(std::memory_order_relaxed) || Process::options().python_frames == 0)
    return;
  const SignalGuard signals;
  const BoundedLock lock(python_is_locked, kPythonLockMilliseconds);
  if (!lock.held()) return; // the next new stack looks again
  const python::Found found = python::find_interpreter();
  if (found.state == python::State::kNone || interpreter_is_noted.exchange(true)) return;
  note_version(found);
}

void check_python() noexcept {
  if (!interpreter_is_noted.load(std::memory_order_relaxed)) return;
  const SignalGuard signals;
  const BoundedLock lock(python_is_locked, kPythonLockMilliseconds);
  if (lock.held() && !python::check_interpreter())
    interpreter_is_noted.store(false); // another one may come
}

void forget_python() noexcept {
  interpreter_is_noted.store(false);
  noted_subinterpreters.store(false);
  python_is_locked.store(false); // a thread of the parent may have held it at the fork
}

bool verify_python(const python::Interpreter& python, const char* frame) noexcept {
  const SignalGuard signals;
  const BoundedLock lock(python_is_locked, kPythonLockMilliseconds);
  if (!lock.held()) return false;
  if (python::is_verified()) return true;
  if (python::verify(python, frame)) return python::is_verified();
  note_frames(word_of(python::State::kUnlikeHeaders));
  return false;
}

void note_subinterpreters() noexcept {
  if (noted_subinterpreters.exchange(true)) return;
  const SignalGuard signals;
  note_frames("sub-interpreters");
}

} // namespace gmt::interposer
