// SPDX-License-Identifier: Apache-2.0
// Frames are hashed by their instruction and by the key of their code object, so that a code object
// that takes the address of an older one makes another stack.
#include "interposer/log/python/python_stacks.h"

#include <iterator>

#include "interposer/base/mix.h"
#include "interposer/base/own_stack.h"
#include "interposer/base/signal_guard.h"
#include "interposer/loader/object_files.h"
#include "interposer/log/python/python_session.h"
#include "interposer/log/record.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/unwinder.h"
#include "interposer/python/code.h"
#include "interposer/python/frames.h"
#include "trace/format.h"

namespace gmt::interposer {
namespace {

constexpr unsigned kMostWords = trace::kMaxStackFrames; // entries from C included

// Which part of the stack each native frame has, innermost first.
class NativeFrames {
public:
  NativeFrames() noexcept {
    unwind_with_stack_pointers(
      [](void* self, std::uint64_t address, std::uint64_t stack_pointer) noexcept {
        return static_cast<NativeFrames*>(self)->add(address, stack_pointer);
      },
      this);
  }
  // The number, from 1, of the frame that has the variable; 0 if none does.
  std::uint32_t owner_of(const char* variable) const noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(variable);
    for (unsigned i = 0; i + 1 < count_; ++i) {
      if (stack_pointers_[i] <= address && address < stack_pointers_[i + 1]) return i + 1;
    }
    return 0;
  }

private:
  bool add(std::uint64_t address, std::uint64_t stack_pointer) noexcept {
    if (count_ == 0 && is_own_code(reinterpret_cast<const void*>(address))) return true;
    stack_pointers_[count_++] = stack_pointer;
    return count_ < std::size(stack_pointers_);
  }

  std::uint64_t stack_pointers_[trace::kMaxStackFrames + 1];
  unsigned count_ = 0;
};

} // namespace

struct PythonStacks::Capture {
  ThreadLog& log;
  const python::Interpreter& python;
  const char* frame;
  std::uint32_t native;
  unsigned depth;
  std::uint64_t hash;
  std::uint32_t& next_id;
};

// Calls visit(code, instruction) for the frames that a stack keeps.
template <class Visit> static void walk_kept(const python::Interpreter& python, const char* frame,
                                             unsigned depth, Visit&& visit) noexcept {
  unsigned frames = 0, words = 0;
  python::walk(python, frame, [&](const char* code, const char* instruction) noexcept {
    if (code != nullptr && frames++ == depth) return false;
    if (words++ == kMostWords) return false;
    visit(code, instruction);
    return true;
  });
}

std::uint32_t PythonStacks::here(ThreadLog& log, const python::Interpreter& python,
                                 std::uint32_t native, unsigned depth,
                                 std::uint32_t& next_id) noexcept {
  const char* frame = python::innermost_frame(python);
  if (frame == nullptr) return native;
  if (python::has_several(python)) [[unlikely]] {
    with_room([](bool) noexcept { note_subinterpreters(); });
    return native;
  }
  if (!python::is_verified()) [[unlikely]] {
    bool sound = false;
    with_room([&](bool) noexcept { sound = verify_python(python, frame); });
    if (!sound) return native;
  }
  std::uint64_t hash = native;
  walk_kept(python, frame, depth, [&](const char* code, const char* instruction) noexcept {
    hash = mix(hash, code == nullptr ? 1
                                     : reinterpret_cast<std::uint64_t>(instruction) +
                                         python::code_key(python, code));
  });
  const std::uint32_t known = stacks_.find(hash);
  if (known != 0) [[likely]]
    return known;
  return add({log, python, frame, native, depth, hash, next_id});
}

std::uint32_t PythonStacks::add(const Capture& capture) noexcept {
  const SignalGuard signals;
  if (!stacks_.make_room()) return capture.native;
  const std::uint32_t id = ++capture.next_id;
  with_room<kRoomForCapture>([&](bool) noexcept { write(capture, id); });
  stacks_.add(capture.hash, id);
  return id;
}

void PythonStacks::write(const Capture& capture, std::uint32_t id) noexcept {
  constexpr unsigned kFrames = trace::PythonStackWord::kCount; // the first of them
  PayloadWords<kFrames + kMostWords> words;
  const NativeFrames native;
  unsigned count = 0;
  walk_kept(capture.python, capture.frame, capture.depth,
            [&](const char* code, const char* instruction) noexcept {
              trace::Halves frame{native.owner_of(instruction), trace::kPythonEntry};
              if (code != nullptr) {
                frame = {python::line_of(capture.python, code, instruction),
                         code_id(capture, code)};
              }
              words.w[kFrames + count++] = trace::pack_halves(frame);
            });
  trace::PythonStackFields(words).id(id).native(capture.native).frame_count(count);
  capture.log.append_words(trace::Kind::kPythonStack, words.w, kFrames + count);
}

// Its number in this log; 0 if there is no memory, and then the frame has no name.
std::uint32_t PythonStacks::code_id(const Capture& capture, const char* code) noexcept {
  const std::uint64_t key = mix(0, python::code_key(capture.python, code));
  std::uint32_t id = codes_.find(key);
  if (id != 0 || !codes_.make_room()) return id;
  id = ++last_code_;
  write_code(capture, code, id);
  codes_.add(key, id);
  return id;
}

void PythonStacks::write_code(const Capture& capture, const char* code, std::uint32_t id) noexcept {
  constexpr unsigned kText = trace::PythonCodeWord::kCount;
  constexpr std::size_t kMaxBytes = (kMaxPayloadWords - kText) * sizeof(std::uint64_t);
  constexpr std::size_t kMaxName = kMaxBytes / 3;
  PayloadWords<kMaxPayloadWords> words;
  char text[kMaxBytes];
  const std::size_t name = python::name_of(capture.python, code, text, kMaxName);
  const std::size_t file =
    python::file_of(capture.python, code, text + name, sizeof text - kMaxName);
  trace::PythonCodeFields(words)
    .id(id)
    .first_line(python::first_line_of(capture.python, code))
    .function_length(name)
    .file_length(file);
  const unsigned count = words.set_text(kText, {text, name + file});
  capture.log.append_words(trace::Kind::kPythonCode, words.w, count);
}

void PythonStacks::clear() noexcept {
  stacks_.clear();
  codes_.clear();
}

} // namespace gmt::interposer
