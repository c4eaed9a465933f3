// SPDX-License-Identifier: Apache-2.0
// NVIDIA's nvJitLink gives machine code, which is not executed here. A program's calls of it come
// here first: the library does what it does, and what it linked is handed out as cuLinkComplete
// hands it out (linked_code.h), as PTX. What was compiled for link-time optimization is linked a
// second time, to PTX. Only calls of nvJitLink 13 that the loader binds come here; one that finds
// the functions by dlsym() gets the machine code. Invariant: the library's answer is the answer.
#include "simulated_cuda/driver/code/fat_binary.h"
#include "simulated_cuda/driver/code/linked_code.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gmt::sim {
namespace {

using LinkHandle = void*;
enum class Input : int { kCubin = 1, kPtx, kLtoIr, kFatBinary, kObject, kLibrary, kIndex };
constexpr int kSuccess = 0, kInternalError = 6;

struct Added {
  int type;
  std::string bytes, name;
};

// What is known of a link of the program's.
struct Link {
  std::vector<std::string> options;
  std::vector<Added> inputs;
  std::vector<std::byte> code; // empty: that of the library
};

std::mutex& lock_of_links() {
  static auto* const lock = new std::mutex;
  return *lock;
}
std::map<LinkHandle, Link>& links() {
  static auto* const all = new std::map<LinkHandle, Link>;
  return *all;
}

// The library's own function. It was loaded by the caller.
template <class Function>
Function* real(const char* name) {
  void* library = dlopen("libnvJitLink.so.13", RTLD_LAZY | RTLD_NOLOAD);
  void* found = dlsym(library != nullptr ? library : RTLD_NEXT, name);
  return reinterpret_cast<Function*>(found);
}
template <class... Arguments>
int call(const char* name, Arguments... arguments) {
  auto* function = real<int(Arguments...)>(name);
  return function == nullptr ? kInternalError : function(arguments...);
}

constexpr char kCreate[] = "__nvJitLinkCreate_13_0", kDestroy[] = "__nvJitLinkDestroy_13_0",
               kAddData[] = "__nvJitLinkAddData_13_0", kAddFile[] = "__nvJitLinkAddFile_13_0",
               kComplete[] = "__nvJitLinkComplete_13_0",
               kPtxSize[] = "__nvJitLinkGetLinkedPtxSize_13_0",
               kPtx[] = "__nvJitLinkGetLinkedPtx_13_0",
               kCubinSize[] = "__nvJitLinkGetLinkedCubinSize_13_0",
               kCubin[] = "__nvJitLinkGetLinkedCubin_13_0";

void note(LinkHandle handle, Added added) {
  const std::lock_guard guard(lock_of_links());
  const auto found = links().find(handle);
  if (found != links().end()) found->second.inputs.push_back(std::move(added));
}

// The newest PTX of a fat binary; empty: it has none.
std::string ptx_of(const Added& added) {
  if (added.type == static_cast<int>(Input::kPtx))
    return added.bytes.substr(0, added.bytes.find('\0'));
  std::string text;
  if (added.bytes.size() < sizeof(ptx::FatbinContainer) || !is_fat_binary(added.bytes.data()))
    return text;
  ptx::FatbinEntry best;
  for_each_entry(added.bytes.data(), [&](const ptx::FatbinEntry& entry) {
    const bool is_newer =
      best.code == nullptr || entry.header.architecture > best.header.architecture;
    if (entry.is_ptx() && is_newer) best = entry;
  });
  if (best.code == nullptr || !unpack(best, &text)) text.clear();
  return text;
}

bool has(const Link& link, std::string_view option) {
  return std::ranges::find(link.options, option) != link.options.end();
}

// What the library makes of the inputs that are no PTX, as PTX.
std::string optimized(const Link& link, const std::vector<const Added*>& inputs) {
  std::vector<const char*> options;
  for (const std::string& option : link.options) options.push_back(option.c_str());
  options.push_back("-ptx");
  LinkHandle handle = nullptr;
  std::string text;
  if (call(kCreate, &handle, static_cast<std::uint32_t>(options.size()), options.data()) !=
      kSuccess)
    return text;
  bool is_good = true;
  for (const Added* added : inputs) {
    const void* bytes = added->bytes.data();
    is_good = is_good && call(kAddData, handle, added->type, bytes, added->bytes.size(),
                              added->name.c_str()) == kSuccess;
  }
  std::size_t size = 0;
  if (is_good && call(kComplete, handle) == kSuccess && call(kPtxSize, handle, &size) == kSuccess &&
      size != 0) {
    text.resize(size);
    if (call(kPtx, handle, text.data()) != kSuccess) text.clear();
    text.resize(text.find_last_not_of('\0') + 1);
  }
  call(kDestroy, &handle);
  return text;
}

void link_texts(Link& link) {
  if (has(link, "-ptx")) return; // the program asked for the text itself
  std::vector<std::string> texts;
  std::vector<const Added*> others;
  for (const Added& added : link.inputs) {
    std::string text = ptx_of(added);
    if (text.empty()) others.push_back(&added);
    else texts.push_back(std::move(text));
  }
  if (!others.empty() && has(link, "-lto")) {
    std::string text = optimized(link, others);
    if (!text.empty()) texts.push_back(std::move(text));
  }
  if (!texts.empty()) link.code = make_linked_code(texts);
}

std::vector<std::byte> code_of(LinkHandle handle) {
  const std::lock_guard guard(lock_of_links());
  const auto found = links().find(handle);
  return found == links().end() ? std::vector<std::byte>() : found->second.code;
}

} // namespace
} // namespace gmt::sim

#define GMT_LINK extern "C" __attribute__((visibility("default"))) int

GMT_LINK __nvJitLinkCreate_13_0(void** handle, std::uint32_t count, const char** options) {
  using namespace gmt::sim;
  const int result = call(kCreate, handle, count, options);
  if (result != kSuccess) return result;
  Link link;
  for (std::uint32_t i = 0; i < count; ++i) link.options.emplace_back(options[i]);
  const std::lock_guard guard(lock_of_links());
  links()[*handle] = std::move(link);
  return result;
}

GMT_LINK __nvJitLinkDestroy_13_0(void** handle) {
  using namespace gmt::sim;
  if (handle != nullptr) {
    const std::lock_guard guard(lock_of_links());
    links().erase(*handle);
  }
  return call(kDestroy, handle);
}

GMT_LINK __nvJitLinkAddData_13_0(void* handle, int type, const void* data, std::size_t size,
                                 const char* name) {
  using namespace gmt::sim;
  const int result = call(kAddData, handle, type, data, size, name);
  if (result == kSuccess)
    note(handle, {type, std::string(static_cast<const char*>(data), size), name ? name : ""});
  return result;
}

GMT_LINK __nvJitLinkAddFile_13_0(void* handle, int type, const char* path) {
  using namespace gmt::sim;
  const int result = call(kAddFile, handle, type, path);
  if (result != kSuccess) return result;
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  note(handle, {type, std::move(bytes), path});
  return result;
}

GMT_LINK __nvJitLinkComplete_13_0(void* handle) {
  using namespace gmt::sim;
  const int result = call(kComplete, handle);
  if (result != kSuccess) return result;
  const std::lock_guard guard(lock_of_links());
  const auto found = links().find(handle);
  if (found != links().end()) link_texts(found->second);
  return result;
}

GMT_LINK __nvJitLinkGetLinkedCubinSize_13_0(void* handle, std::size_t* size) {
  using namespace gmt::sim;
  const auto code = code_of(handle);
  if (code.empty() || size == nullptr) return call(kCubinSize, handle, size);
  *size = code.size();
  return kSuccess;
}

GMT_LINK __nvJitLinkGetLinkedCubin_13_0(void* handle, void* out) {
  using namespace gmt::sim;
  const auto code = code_of(handle);
  if (code.empty() || out == nullptr) return call(kCubin, handle, out);
  std::memcpy(out, code.data(), code.size());
  return kSuccess;
}
#undef GMT_LINK
