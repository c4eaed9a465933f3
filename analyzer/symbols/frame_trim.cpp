// SPDX-License-Identifier: Apache-2.0
// Which frames say nothing to a reader, see frame_trim.h. CUDA's runtime is recognised as a
// library, as the static archive inside an executable (no line information, names of its own), and
// as inline wrappers of its headers; so are NVTX's.
#include "analyzer/symbols/frame_trim.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>

#include "analyzer/base/path.h"
#include "analyzer/base/starts_with.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

bool equals_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Its own dlclose and exit stand between the program's and the C library's.
bool of_recorder(const Frame& frame) {
  return frame.language.empty() && base_name(frame.module).starts_with("libgpumemtrace");
}

bool is_c_library(const Frame& frame) {
  return starts_with_any(base_name(frame.module), {"libc.so.6", "libc-2.", "libpthread"});
}

bool of_start_up(const Frame& frame) {
  if (!frame.language.empty()) return false;
  if (equals_any(frame.function,
                 {"_start", "start_thread", "clone", "clone3", "__clone", "__clone3"}) ||
      frame.function.starts_with("__libc_start_")) {
    return true;
  }
  return frame.function.empty() && is_c_library(frame);
}

// Of the Python package: what stands between a program's launch of a kernel of Triton's and the
// simulated device (python/gpumemtrace/triton.py), and what started the program there.
bool of_package(const Frame& frame) {
  constexpr std::string_view kFolder = "/gpumemtrace/";
  if (frame.language != "python") return false;
  const std::string_view name = base_name(frame.file);
  return std::string_view(frame.file.data(), frame.file.size() - name.size()).ends_with(kFolder) &&
         equals_any(name, {"_device.py", "_arguments.py", "triton.py", "simulated.py"});
}

bool of_triton(const Frame& frame) {
  return frame.language == "python" && frame.file.find("/triton/runtime/") != std::string::npos;
}

// What starts a Python program that is named by -m.
bool of_python_start(const Frame& frame) {
  return frame.language == "python" && frame.file == "<frozen runpy>";
}

using FrameIterator = std::vector<Frame>::iterator;

// Behind the package's own frames at the launch, Triton's lead to the program's line.
FrameIterator without_package(FrameIterator begin, FrameIterator end) {
  if (begin == end || !of_package(*begin)) return begin;
  return std::find_if_not(begin, end, [](const Frame& f) { return of_package(f) || of_triton(f); });
}

// The kernel that a stub of nvcc's launches, empty if the function is none:
// "__device_stub__Z4stepPi(int*)", for a template "void
// ns::__wrapper__device_stub_step<int>(int*&)".
std::string kernel_of_stub(std::string_view function) {
  constexpr std::string_view kStub = "__device_stub_", kTemplate = "__wrapper__device_stub_";
  if (function.starts_with(kStub)) {
    const std::string_view linked = function.substr(kStub.size());
    return std::string(unscoped_function(demangle(linked.substr(0, linked.find('(')))));
  }
  const std::string_view name = unscoped_function(function);
  return name.starts_with(kTemplate) ? std::string(name.substr(kTemplate.size())) : std::string();
}

} // namespace

bool is_cuda_frame(const Frame& frame) {
  if (!frame.language.empty()) return false; // a module of Python may have a function cudaMalloc
  const std::string_view module = base_name(frame.module);
  if (starts_with_any(module,
                      {"libgpumemtrace", "libcudart.", "libcudart-", "libcuda.", "libcuda-"}))
    return true;
  const std::string_view file = base_name(frame.file);
  if (equals_any(file, {"cuda_runtime.h", "cuda_runtime_api.h"})) return true;
  // What nvcc puts between a launch and the driver: its header's helper and the stub it generates.
  if (file == "device_functions.h" || file.find(".cudafe1.") != std::string_view::npos) return true;
  if (frame.file.find("/nvtx3/") != std::string::npos) return true; // all of NVTX is in its headers
  // clang's stub of a kernel has the kernel's own file and line.
  if (unscoped_function(frame.function).starts_with("__device_stub__")) return true;
  if (!frame.file.empty()) return false;
  const std::string_view name = bare_function(frame.function);
  const bool entry = name.size() > 4 && name.starts_with("cuda") &&
                     std::isupper(static_cast<unsigned char>(name[4]));
  return entry || starts_with_any(name, {"libcudart_static_", "__cudart", "__cuda"});
}

namespace {

// Where the program's own frames begin: behind CUDA's, between which the C library may stand that
// CUDA has called, as by pthread_once.
FrameIterator behind_cuda(std::vector<Frame>& frames) {
  auto at = std::find_if_not(frames.begin(), frames.end(), is_cuda_frame);
  for (;;) {
    const auto caller = std::find_if_not(at, frames.end(), is_c_library);
    if (caller == at || caller == frames.end() || !is_cuda_frame(*caller)) return at;
    at = std::find_if_not(caller, frames.end(), is_cuda_frame);
  }
}

} // namespace

void trim_frames(std::vector<Frame>& frames) {
  auto begin = behind_cuda(frames);
  auto end = frames.end();
  while (end != begin && (of_start_up(*(end - 1)) || (end - 1)->tail_call)) --end;
  while (end != begin && (of_python_start(*(end - 1)) || of_package(*(end - 1)))) --end;
  begin = without_package(begin, end);
  // The host function that nvcc makes of a kernel stands at the kernel's own line: what calls it is
  // the launch. A tail call may have left it out.
  if (begin != frames.begin() && begin != end && begin + 1 != end) {
    const std::string kernel = kernel_of_stub((begin - 1)->function);
    if (!kernel.empty() && kernel == unscoped_function(begin->function)) ++begin;
  }
  if (begin == end) return;
  frames.erase(end, frames.end());
  frames.erase(frames.begin(), begin);
  std::erase_if(frames, of_recorder);
}

const Module* calling_module(std::span<const Module> modules,
                             std::span<const std::uint64_t> addresses) {
  const Module* library = nullptr; // the C library, which CUDA may have called
  for (const std::uint64_t address : addresses) {
    const Module* module = find_module(modules, address);
    if (module == nullptr) continue;
    Frame frame;
    frame.module = module->path;
    if (is_cuda_frame(frame)) library = nullptr;
    else if (!is_c_library(frame)) return library != nullptr ? library : module;
    else if (library == nullptr) library = module;
  }
  return library;
}

} // namespace gmt
