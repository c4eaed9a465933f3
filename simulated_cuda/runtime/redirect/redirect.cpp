// SPDX-License-Identifier: Apache-2.0
// Programs whose CUDA runtime is linked in, as nvcc links by default: each entry point of that
// runtime becomes a jump to the function of the same name that the loader would have found in a
// shared runtime. So such a program runs as one with a shared runtime does. The entry points are
// known by the object's symbol table; a stripped object keeps its own runtime.
//
// Invariant: an object is redirected whole or not at all, and before any constructor of it runs,
// also one that dlopen loads later.
// An object of an older CUDA is left alone: functions of the same name have other arguments there.
#include "simulated_cuda/runtime/redirect/loader_notice.h"
#include "simulated_cuda/runtime/redirect/symbol_file.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace gmt::sim {
namespace {

#define ONE(name, ...) #name,
#define ONE_PTDS(name, ...) #name, #name "_ptds",
#define ONE_PTSZ(name, ...) #name, #name "_ptsz",
#define RT ONE
#define RT_PTDS ONE_PTDS
#define RT_PTSZ ONE_PTSZ
#define RT_PLAIN ONE
#define RT_DEVICE ONE
#define RT_FORWARD ONE
#define RT_FORWARD_PTSZ ONE_PTSZ
#define RT_NONE ONE
#define RT_NONE_PTSZ ONE_PTSZ
constexpr const char* kEntryPoints[] = {
#include "simulated_cuda/runtime/runtime_api.def"
#include "simulated_cuda/runtime/unsupported_api.def"
};
#undef ONE
#undef ONE_PTDS
#undef ONE_PTSZ
#undef RT
#undef RT_PTDS
#undef RT_PTSZ
#undef RT_PLAIN
#undef RT_DEVICE
#undef RT_FORWARD
#undef RT_FORWARD_PTSZ
#undef RT_NONE
#undef RT_NONE_PTSZ

constexpr std::size_t kEntryPointCount = std::size(kEntryPoints);
constexpr std::size_t kJumpBytes = 14; // jmp *0(%rip), and the address behind it

// Internal functions of a static runtime have such names; a program's own function that is called
// like one of CUDA's comes without them.
constexpr char kInternalName[] = "libcudart_static_";
// CUDA 11 and 12 have these, CUDA 13 has not.
constexpr const char* kOlderNames[] = {"cudaBindTexture", "cudaGetDeviceProperties_v2",
                                       "cudaMemPrefetchAsync_v2", "cudaGraphInstantiate_v2"};

struct Jump {
  std::uint64_t address; // in the object, before it is moved to where it is loaded
  std::uint64_t room;    // up to what comes next
  const void* target;
};

bool is_one_of(const char* name, const char* const* names, std::size_t count) {
  return std::any_of(names, names + count,
                     [name](const char* one) { return std::strcmp(one, name) == 0; });
}

bool is_code(const Elf64_Sym& symbol) {
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE;
}

// What a program with a shared runtime would call: the first object in load order has it.
// RTLD_DEFAULT would mean this library first, which is linked with -Bsymbolic. Asked for once: the
// loader cannot be asked while it maps objects.
const void* shared_functions[kEntryPointCount];

void find_shared_functions() {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  for (std::size_t i = 0; i < kEntryPointCount && program != nullptr; ++i)
    shared_functions[i] = dlsym(program, kEntryPoints[i]);
}

const void* shared_function(const char* name) {
  for (std::size_t i = 0; i < kEntryPointCount; ++i)
    if (std::strcmp(kEntryPoints[i], name) == 0) return shared_functions[i];
  return nullptr;
}

class Redirection {
public:
  explicit Redirection(const dl_phdr_info& object) : base_(object.dlpi_addr), file_(object) {}

  void redirect() {
    if (!file_.readable() || !has_static_runtime()) return;
    find_entry_points();
    if (count_ == 0) return;
    measure_rooms();
    if (!all_fit()) return;
    write_jumps();
  }

private:
  bool has_static_runtime() const {
    bool internal = false;
    for (std::size_t i = 0; i < file_.count(); ++i) {
      const Elf64_Sym& symbol = file_.symbol(i);
      if (!is_code(symbol)) continue;
      const char* name = file_.name(symbol);
      if (name[0] == 'c' && is_one_of(name, kOlderNames, std::size(kOlderNames))) return false;
      internal = internal || std::strncmp(name, kInternalName, sizeof kInternalName - 1) == 0;
    }
    return internal;
  }

  void find_entry_points() {
    for (std::size_t i = 0; i < file_.count(); ++i) {
      const Elf64_Sym& symbol = file_.symbol(i);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !is_code(symbol)) continue;
      const char* name = file_.name(symbol);
      const bool like_cuda = name[0] == 'c' || (name[0] == '_' && name[1] == '_');
      const void* target = like_cuda ? shared_function(name) : nullptr;
      if (target == nullptr || count_ == kEntryPointCount) continue;
      jumps_[count_++] = {symbol.st_value, symbol.st_size, target};
    }
    std::sort(jumps_, jumps_ + count_,
              [](const Jump& a, const Jump& b) { return a.address < b.address; });
  }

  // Functions are aligned, so a short one has unused bytes behind it.
  void measure_rooms() {
    for (std::size_t i = 0; i < count_; ++i) jumps_[i].room = UINT64_MAX;
    for (std::size_t i = 0; i < file_.count(); ++i) {
      const Elf64_Sym& symbol = file_.symbol(i);
      if (!is_code(symbol)) continue;
      Jump* after = std::lower_bound(
        jumps_, jumps_ + count_, symbol.st_value,
        [](const Jump& jump, std::uint64_t address) { return jump.address < address; });
      if (after == jumps_) continue;
      Jump& before = *std::prev(after);
      before.room = std::min(before.room, symbol.st_value - before.address);
    }
  }

  // What lies in memory has to be what the file says: nothing else has changed these functions.
  bool all_fit() const {
    return std::all_of(jumps_, jumps_ + count_, [this](const Jump& jump) {
      const unsigned char* code = file_.code_at(jump.address, kJumpBytes);
      return jump.room >= kJumpBytes && code != nullptr &&
             std::memcmp(code, reinterpret_cast<const void*>(base_ + jump.address), kJumpBytes) ==
               0;
    });
  }

  void write_jumps() {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t first = (base_ + jumps_[0].address) / page * page;
    const std::uint64_t last = base_ + jumps_[count_ - 1].address + kJumpBytes;
    void* text = reinterpret_cast<void*>(first);
    if (mprotect(text, last - first, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
    for (std::size_t i = 0; i < count_; ++i) {
      unsigned char jump[kJumpBytes] = {0xff, 0x25};
      std::memcpy(jump + 6, &jumps_[i].target, sizeof jumps_[i].target);
      std::memcpy(reinterpret_cast<void*>(base_ + jumps_[i].address), jump, kJumpBytes);
    }
    mprotect(text, last - first, PROT_READ | PROT_EXEC);
  }

  std::uint64_t base_;
  SymbolFile file_;
  Jump jumps_[kEntryPointCount];
  std::size_t count_ = 0;
};

// Objects that have been looked at, by where they are loaded. An object that is unloaded leaves
// room for another one at its address.
struct Seen {
  static constexpr std::size_t kMost = 4096;
  std::uint64_t base[kMost];
  std::size_t count = 0;
  unsigned long long unloaded = 0;
} seen;

int redirect_object(dl_phdr_info* object, std::size_t, void*) {
  if (object->dlpi_subs != seen.unloaded) {
    seen.unloaded = object->dlpi_subs;
    seen.count = 0;
  }
  const std::uint64_t* const end = seen.base + seen.count;
  if (std::find(static_cast<const std::uint64_t*>(seen.base), end, object->dlpi_addr) != end)
    return 0;
  if (seen.count < Seen::kMost) seen.base[seen.count++] = object->dlpi_addr;
  Redirection(*object).redirect();
  return 0;
}

void redirect_new_objects() { dl_iterate_phdr(redirect_object, nullptr); }

// The library is linked with -z initfirst: this runs before the constructors of all others.
__attribute__((constructor)) void redirect_static_runtimes() {
  const int error = errno; // 0 when main() begins, as C has it
  find_shared_functions();
  redirect_new_objects();
  call_when_objects_are_mapped(redirect_new_objects);
  errno = error;
}

} // namespace
} // namespace gmt::sim
