// SPDX-License-Identifier: Apache-2.0
// A version is known if tests have run with it: its frames are then read by the offsets of its
// headers, and from 3.13 on by those that it says itself.
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
#define OFFSETS(...)
#define LAYOUT(major, minor, ...) {(major) << 8 | (minor), {__VA_ARGS__}},
#include "interposer/python/layouts.def"
#undef LAYOUT
#undef OFFSETS
};

// From 3.13 on _PyRuntime begins with words that say where members are (_Py_DebugOffsets): first
// these three, then a group for each structure, which begin elsewhere in each version.
struct OffsetGroups {
  std::uint32_t version;
  std::uint16_t thread_state, interpreter_frame, code_object; // words
};
constexpr OffsetGroups kOffsetGroups[] = {
#define LAYOUT(...)
#define OFFSETS(major, minor, ...) {(major) << 8 | (minor), __VA_ARGS__},
#include "interposer/python/layouts.def"
#undef OFFSETS
#undef LAYOUT
};
constexpr unsigned kCookie = 0, kVersion = 1, kFreeThreaded = 2;
// In its group. The first word is the structure's size.
constexpr unsigned kCurrentFrame = 4;
constexpr unsigned kPrevious = 1, kExecutable = 2, kInstruction = 3, kOwner = 5;
constexpr unsigned kFilename = 1, kQualname = 3, kLinetable = 4, kFirstLine = 5, kAdaptiveCode = 9;

// A program that loads another Python after it has unloaded one gets another of these.
constinit Interpreter interpreters[4] = {};
constinit unsigned interpreter_count = 0;
constinit Found found{State::kNone, 0};
constinit std::atomic<bool> verified{false};
constinit std::uint64_t found_in = 0; // start of its object file

std::uint64_t word_at(const char* runtime, unsigned word) noexcept {
  return load<std::uint64_t>(runtime, word * static_cast<unsigned>(sizeof(std::uint64_t)));
}

// False if one is no offset of the structures that are known.
bool take_offsets(const char* runtime, const OffsetGroups& groups, Layout& layout) noexcept {
  const unsigned thread = groups.thread_state, frame = groups.interpreter_frame,
                 code = groups.code_object;
  const struct {
    unsigned word;
    std::uint16_t& here;
  } pairs[] = {{thread + kCurrentFrame, layout.thread_frame},
               {frame + kExecutable, layout.code},
               {frame + kPrevious, layout.previous},
               {frame + kInstruction, layout.instruction},
               {frame + kOwner, layout.owner},
               {code + kFilename, layout.filename},
               {code + kQualname, layout.qualname},
               {code + kLinetable, layout.linetable},
               {code + kFirstLine, layout.first_line},
               {code + kAdaptiveCode, layout.instructions}};
  constexpr std::uint64_t kFarthest = 1024;
  for (const auto& pair : pairs) {
    const auto said = word_at(runtime, pair.word);
    if (said > kFarthest) return false;
    pair.here = static_cast<std::uint16_t>(said);
  }
  return true;
}

// What the interpreter says of itself, where its version does.
State take_own_layout(const dl_phdr_info& object, std::uint32_t version, Layout& layout) noexcept {
  const OffsetGroups* groups = nullptr;
  for (const OffsetGroups& candidate : kOffsetGroups) {
    if (candidate.version == version >> 16) groups = &candidate;
  }
  if (groups == nullptr) return State::kFound;
  const char* runtime = exported_symbol(object, "_PyRuntime");
  constexpr char kWord[] = "xdebugpy";
  if (runtime == nullptr || std::memcmp(runtime + kCookie, kWord, sizeof kWord - 1) != 0 ||
      word_at(runtime, kVersion) != version)
    return State::kUnlikeHeaders;
  if (word_at(runtime, kFreeThreaded) != 0) return State::kFreeThreaded;
  return take_offsets(runtime, *groups, layout) ? State::kFound : State::kUnlikeHeaders;
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
  return take_own_layout(object, version, python.layout);
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
         load<std::uint8_t>(frame, python.layout.owner) <= kLastOwner;
}

bool has_code(const Interpreter& python, const char* frame) noexcept {
  const Layout& l = python.layout;
  const char* code = code_of(python, frame);
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
