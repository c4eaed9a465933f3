// SPDX-License-Identifier: Apache-2.0
// See interpreter.h. A version is known if tests have run with it: its frames are then read by the
// offsets of its headers, and from 3.13 on by those that it says itself.
#include "interposer/python/interpreter.h"

#include <cstddef>
#include <iterator>
#include <link.h>

#include "interposer/base/readable.h"
#include "interposer/loader/exported_symbol.h"
#include "interposer/loader/loaded_object.h"

namespace gmt::interposer::python {

constinit std::atomic<const Interpreter*> current_interpreter{nullptr};

namespace {

struct VersionLayout {
  std::uint32_t version; // major << 8 | minor
  Layout layout;
};
constexpr VersionLayout kLayouts[] = {
#define LAYOUT(major, minor, ...) {(major) << 8 | (minor), {__VA_ARGS__}},
#include "interposer/python/layouts.def"
#undef LAYOUT
};

// The beginning of _PyRuntime from 3.13 on.
struct DebugOffsets {
  char cookie[8];
  std::uint64_t version, free_threaded;
  std::uint64_t runtime_state[3];
  std::uint64_t interpreter_state[13];
  struct {
    std::uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id,
      datastack_chunk, status;
  } thread_state;
  struct {
    std::uint64_t size, previous, executable, instr_ptr, localsplus, owner;
  } interpreter_frame;
  struct {
    std::uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames,
      localspluskinds, co_code_adaptive;
  } code_object;
};
constexpr std::uint32_t kFirstWithOffsets = 3 << 8 | 13;

// A program that loads another Python after it has unloaded one gets another of these.
constinit Interpreter interpreters[4] = {};
constinit unsigned interpreter_count = 0;
constinit Found found{State::kNone, 0};
constinit std::atomic<bool> verified{false};
constinit std::uint64_t found_in = 0; // start of its object file

// False if one is no offset of the structures that are known.
bool take_offsets(const DebugOffsets& from, Layout& layout) noexcept {
  struct {
    std::uint64_t said;
    std::uint16_t& here;
  } const pairs[] = {{from.thread_state.current_frame, layout.thread_frame},
                     {from.interpreter_frame.executable, layout.code},
                     {from.interpreter_frame.previous, layout.previous},
                     {from.interpreter_frame.instr_ptr, layout.instruction},
                     {from.interpreter_frame.owner, layout.owner},
                     {from.code_object.filename, layout.filename},
                     {from.code_object.qualname, layout.qualname},
                     {from.code_object.linetable, layout.linetable},
                     {from.code_object.firstlineno, layout.first_line},
                     {from.code_object.co_code_adaptive, layout.instructions}};
  constexpr std::uint64_t kFarthest = 1024;
  for (const auto& pair : pairs) {
    if (pair.said > kFarthest) return false;
    pair.here = static_cast<std::uint16_t>(pair.said);
  }
  return true;
}

template <class Function> bool take(const dl_phdr_info& object, const char* name,
                                    Function& function) noexcept {
  function = reinterpret_cast<Function>(const_cast<char*>(exported_symbol(object, name)));
  return function != nullptr;
}

State describe(const dl_phdr_info& object, std::uint32_t version, Interpreter& python) noexcept {
  constexpr std::uint32_t kFinal = 0xf; // alphas and betas may differ
  const VersionLayout* known = nullptr;
  for (const VersionLayout& candidate : kLayouts) {
    if (candidate.version == version >> 16 && (version >> 4 & 0xf) == kFinal) known = &candidate;
  }
  if (known == nullptr) return State::kUnknownVersion;
  python.layout = known->layout;
  python.start = bounds_of(object).start;
  const bool has_all = take(object, "PyGILState_GetThisThreadState", python.thread_state) &&
                       (take(object, "Py_IsFinalizing", python.is_finalizing) ||
                        take(object, "_Py_IsFinalizing", python.is_finalizing)) &&
                       take(object, "PyInterpreterState_Head", python.newest_interpreter) &&
                       take(object, "PyInterpreterState_Main", python.main_interpreter) &&
                       take(object, "PyCode_Type", python.code_type) &&
                       take(object, "PyUnicode_Type", python.text_type) &&
                       take(object, "PyBytes_Type", python.bytes_type);
  if (!has_all) return State::kUnlikeHeaders;
  if (known->version < kFirstWithOffsets) return State::kFound;
  const char* runtime = exported_symbol(object, "_PyRuntime");
  if (runtime == nullptr) return State::kUnlikeHeaders;
  DebugOffsets offsets;
  std::memcpy(&offsets, runtime, sizeof offsets);
  if (std::memcmp(offsets.cookie, "xdebugpy", sizeof offsets.cookie) != 0 ||
      offsets.version != version)
    return State::kUnlikeHeaders;
  if (offsets.free_threaded != 0) return State::kFreeThreaded;
  return take_offsets(offsets, python.layout) ? State::kFound : State::kUnlikeHeaders;
}

int look_into(dl_phdr_info* object, std::size_t, void*) noexcept {
  if (exported_symbol(*object, "PyGILState_GetThisThreadState") == nullptr) return 0;
  found_in = bounds_of(*object).start;
  unsigned long version = 0;
  if (const char* at = exported_symbol(*object, "Py_Version")) version = load<unsigned long>(at, 0);
  found = {State::kUnknownVersion, static_cast<std::uint32_t>(version)};
  if (interpreter_count == std::size(interpreters)) return 1;
  Interpreter& python = interpreters[interpreter_count];
  found.state = describe(*object, found.version, python);
  if (found.state != State::kFound) return 1;
  ++interpreter_count;
  verified.store(false);
  current_interpreter.store(&python, std::memory_order_release);
  return 1;
}

// ---- verify(): each word is asked of the kernel before it is read

bool is_object(const char* object, const char* type, unsigned bytes) noexcept {
  if (object == nullptr || reinterpret_cast<std::uintptr_t>(object) % 8 != 0) return false;
  if (!is_readable(object) || !is_readable(object + bytes)) return false;
  return load(object, kObjectType) == type;
}

bool is_frame(const Interpreter& python, const char* frame) noexcept {
  constexpr unsigned kFrameBytes = 80;
  if (reinterpret_cast<std::uintptr_t>(frame) % 8 != 0) return false;
  return is_readable(frame) && is_readable(frame + kFrameBytes - 1) &&
         load<std::uint8_t>(frame, python.layout.owner) <= kOwnedByC;
}

bool has_code(const Interpreter& python, const char* frame) noexcept {
  const Layout& l = python.layout;
  const char* code = load(frame, l.code);
  constexpr unsigned kTextBytes = 40;
  if (!is_object(code, python.code_type, l.instructions) ||
      !is_object(load(code, l.filename), python.text_type, kTextBytes) ||
      !is_object(load(code, l.qualname), python.text_type, kTextBytes) ||
      !is_object(load(code, l.linetable), python.bytes_type, kBytesData))
    return false;
  // A frame that has run nothing yet stands one instruction before the first one.
  constexpr std::int64_t kInstructionBytes = 2;
  const auto units = load<std::int64_t>(code, kObjectSize);
  const std::int64_t at = load(frame, l.instruction) - (code + l.instructions);
  return units > 0 && at >= -kInstructionBytes && at < units * kInstructionBytes;
}

} // namespace

Found find_interpreter() noexcept {
  if (found.state == State::kNone) walk_objects(look_into, nullptr);
  return found;
}

bool check_interpreter() noexcept {
  if (found.state == State::kNone) return false;
  const bool there =
    walk_objects(
      [](dl_phdr_info* object, std::size_t, void*) noexcept -> int {
        return bounds_of(*object).start == found_in &&
                   exported_symbol(*object, "PyGILState_GetThisThreadState") != nullptr
                 ? 1
                 : 0;
      },
      nullptr) != 0;
  if (there) return true;
  current_interpreter.store(nullptr);
  found = {State::kNone, 0};
  return false;
}

bool is_verified() noexcept { return verified.load(std::memory_order_relaxed); }

bool verify(const Interpreter& python, const char* frame) noexcept {
  const Layout& l = python.layout;
  constexpr unsigned kMostFrames = 1000;
  bool sound = true, any = false;
  for (unsigned i = 0; frame != nullptr && sound && i < kMostFrames; ++i) {
    sound = is_frame(python, frame);
    if (sound && load<std::uint8_t>(frame, l.owner) < kOwnedByC) {
      sound = has_code(python, frame);
      if (sound && l.is_entry != kAbsent) sound = load<std::uint8_t>(frame, l.is_entry) <= 1;
      any = true;
    }
    if (sound) frame = load(frame, l.previous);
  }
  if (!sound) {
    current_interpreter.store(nullptr);
    found.state = State::kUnlikeHeaders;
    return false;
  }
  if (any) {
    found.state = State::kSound;
    verified.store(true);
  }
  return true;
}

} // namespace gmt::interposer::python
