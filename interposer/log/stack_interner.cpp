// SPDX-License-Identifier: Apache-2.0
//
// Why verifying is enough: the first return address and the frame are the key. If the return
// address of frame i lies where it lay, the code that runs there is the same function with the same
// frame, so its caller's return address lies where it lay too, or the stack is another one and the
// comparison fails. Only a function that moves its own frame (alloca) and whose old return address
// happens to survive at the old address could be taken for an earlier call.
#include "interposer/log/stack_interner.h"

#include <cstring>
#include <sys/mman.h>

#include "interposer/base/mix.h"
#include "interposer/base/own_stack.h"
#include "interposer/base/signal_guard.h"
#include "interposer/loader/object_files.h"
#include "interposer/log/module_list.h"
#include "interposer/log/process.h"
#include "interposer/log/python/python_session.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/unwinder.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kOwnFrames = 8;      // at most this many of ours lie on top
constexpr unsigned kOwnFramesAway = 16; // from a stack of ours

unsigned depth() noexcept { return static_cast<unsigned>(Process::options().stack_depth); }

// Where the kernel lets a handler return to, as unwinders know it.
bool is_signal_return(const void* code) noexcept {
  constexpr unsigned char kCode[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  return std::memcmp(code, kCode, sizeof kCode) == 0; // mov $15,%rax; syscall
}

template <class T> T* map_array(std::size_t count) noexcept {
  void* memory =
    mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

} // namespace

// Row by row, innermost first: a word may be read only if all before it hold.
inline bool StackInterner::holds(const Known& known) noexcept {
  const auto* base = static_cast<const std::uint64_t*>(known.frame);
  const StackRow* const end = known.first_row + known.rows;
  for (const StackRow* p = known.first_row; p != end; ++p) {
    if (base[p->offset[0]] != p->address[0] || base[p->offset[1]] != p->address[1] ||
        base[p->offset[2]] != p->address[2] || base[p->offset[3]] != p->address[3]) {
      return false;
    }
  }
  return true;
}

std::uint32_t StackInterner::here(ThreadLog& log, const void* caller, const void* frame) noexcept {
  if (depth() == 0) return 0;
  const std::uint32_t native = native_here(log, caller, frame);
  if (const python::Interpreter* python = python::interpreter()) [[unlikely]]
    return with_python(log, *python, native);
  return native;
}

std::uint32_t StackInterner::with_python(ThreadLog& log, const python::Interpreter& python,
                                         std::uint32_t native) noexcept {
  return python_.here(log, python, native, depth(), last_id_);
}

inline std::uint32_t StackInterner::native_here(ThreadLog& log, const void* caller,
                                                const void* frame) noexcept {
  if (module_epoch() != epoch_) [[unlikely]]
    modules_have_changed();
  const auto key =
    mix(reinterpret_cast<std::uint64_t>(caller), reinterpret_cast<std::uint64_t>(frame));
  Known* set = known_ + (key >> 32) % kSets * kWays;
  for (unsigned way = 0; way < kWays; ++way) {
    const Known& known = set[way];
    if (known.caller == caller && known.frame == frame && known.rows != 0 && holds(known))
      [[likely]]
      return known.id;
  }
  return walk(log, set, caller, frame);
}

void StackInterner::modules_have_changed() noexcept {
  const SignalGuard signals;
  flush_unwinder();
  check_python();
  clear();
  epoch_ = module_epoch();
}

std::uint32_t StackInterner::walk(ThreadLog& log, Known* set, const void* caller,
                                  const void* frame) noexcept {
  std::uint32_t id = 0;
  with_room<kRoomForCapture>([&](bool away) noexcept {
    id = walk_here(log, set, caller, frame, away ? kOwnFramesAway : kOwnFrames);
  });
  return id;
}

// A stack is learned when it comes a second time: what comes once would pay for the exact walk in
// vain.
std::uint32_t StackInterner::walk_here(ThreadLog& log, Known* set, const void* caller,
                                       const void* frame, unsigned own_frames) noexcept {
  void* frames[trace::kMaxStackFrames + kOwnFramesAway];
  const unsigned count = unwind(frames, depth() + own_frames);
  unsigned first = 0;
  while (first < count && is_own_code(frames[first])) ++first;
  if (first == count) return 0;
  if (first + 1 < count && frames[first] != caller && frames[first + 1] == caller) {
    // Behind a handler's frame the instruction itself: its line is that of an address behind it
    const bool is_instruction = is_signal_return(frames[first++]);
    if (is_instruction) frames[first] = static_cast<char*>(frames[first]) + 1;
  }
  const unsigned kept = count - first < depth() ? count - first : depth();
  const std::uint32_t id = intern(log, frames + first, kept);
  for (unsigned way = 0; way < kWays; ++way) {
    Known& known = set[way];
    if (known.id != id || known.caller != caller || known.frame != frame) continue;
    if (known.rows == 0) learn(known, frames + first, kept);
    return id;
  }
  const SignalGuard signals;
  set[victim_++ % kWays] = {caller, frame, nullptr, id, 0};
  return id;
}

void StackInterner::learn(Known& known, void** frames, unsigned count) noexcept {
  const SignalGuard signals;
  const unsigned most = (depth() + 3) / 4;
  if (rows_ == nullptr) rows_ = map_array<StackRow>(std::size_t{kSets} * kWays * most);
  if (rows_ == nullptr) return;
  StackRow* const rows = rows_ + static_cast<std::size_t>(&known - known_) * most;
  struct Learning {
    const void* frame;
    void** frames;
    unsigned count, matched;
    StackRow* rows;
    void put(unsigned i, std::uint32_t offset, std::uint64_t address) noexcept {
      rows[i / 4].offset[i % 4] = offset;
      rows[i / 4].address[i % 4] = address;
    }
  } learning{known.frame, frames, count, 0, rows};
  unwind_with_stack_pointers(
    [](void* context, std::uint64_t address, std::uint64_t stack_pointer) noexcept {
      auto& l = *static_cast<Learning*>(context);
      if (l.matched == 0 && address != reinterpret_cast<std::uint64_t>(l.frames[0]))
        return true; // ours
      if (address != reinterpret_cast<std::uint64_t>(l.frames[l.matched])) return false;
      const std::uint64_t at = stack_pointer - 8; // where the call pushed this return address
      const std::uint64_t distance = at - reinterpret_cast<std::uint64_t>(l.frame);
      if (distance % 8 != 0 || distance / 8 > UINT32_MAX) return false;
      const auto offset = static_cast<std::uint32_t>(distance / 8);
      l.put(l.matched++, offset, address);
      if (l.matched < l.count) return true;
      for (unsigned i = l.count; i % 4 != 0; ++i) l.put(i, offset, address);
      return false;
    },
    &learning);
  if (learning.matched != count) return;
  known.first_row = rows;
  known.rows = (count + 3) / 4;
  if (!holds(known)) known.rows = 0;
}

std::uint32_t StackInterner::intern(ThreadLog& log, void** frames, unsigned count) noexcept {
  std::uint64_t hash = count;
  for (unsigned i = 0; i < count; ++i) hash = mix(hash, reinterpret_cast<std::uint64_t>(frames[i]));
  const std::uint32_t known = table_.find(hash);
  if (known != 0) return known;
  return add(log, frames, count, hash);
}

std::uint32_t StackInterner::add(ThreadLog& log, void** frames, unsigned count,
                                 std::uint64_t hash) noexcept {
  const SignalGuard signals;
  if (!table_.make_room()) return 0;
  note_modules_of(frames, count);
  const std::uint32_t id = ++last_id_;
  constexpr unsigned kFrames = trace::StackWord::kCount; // the first of them
  PayloadWords<kFrames + trace::kMaxStackFrames> words;
  trace::StackFields(words).id(id).frame_count(count);
  for (unsigned i = 0; i < count; ++i)
    words.w[kFrames + i] = reinterpret_cast<std::uint64_t>(frames[i]);
  log.append_words(trace::Kind::kStack, words.w, kFrames + count);
  table_.add(hash, id);
  return id;
}

void StackInterner::forget_known() noexcept {
  for (Known& known : known_) known = {};
}

void StackInterner::clear() noexcept {
  table_.clear();
  python_.clear();
  forget_known();
}

} // namespace gmt::interposer
