// SPDX-License-Identifier: Apache-2.0
// Sources: torch/autograd/profiler.py and torch/csrc/autograd/record_function_ops.cpp of
// PyTorch 2.4 to 2.15.

#include "interposer/hooks/torch_ranges.h"

#include <cstddef>
#include <string_view>

#include "interposer/base/own_stack.h"
#include "interposer/log/nvtx_ranges.h"
#include "interposer/python/code.h"
#include "interposer/python/frames.h"

namespace gmt::interposer {

constinit thread_local TorchRanges torch_ranges __attribute__((tls_model("initial-exec"))) = {};

namespace {

// Ranges end in the order of their domain: those of NVTX may be interleaved with these. It has no
// name.
constexpr std::uint64_t kDomain = ~std::uint64_t{0};
// The part that ends lies behind 16 or 24 bytes of its object, and no object is as small as this.
constexpr std::uint64_t kHeadBytes = 32;

// Whose frames stand between the caller and the library: of these the folder of PyTorch is known.
constexpr std::string_view kProfilerFile = "/autograd/profiler.py", kOperators = "/_ops.py";
constexpr std::string_view kDecorators = "/contextlib.py"; // @record_function("name")

// False where nothing is known: without Python, or before its frames are looked at.
bool is_opened_by_torch() noexcept {
  const python::Interpreter* const python = python::interpreter();
  if (python == nullptr || !python::is_verified() || python::has_several(*python)) return false;
  const char* const frame = python::innermost_frame(*python);
  if (frame == nullptr) return false;
  constexpr std::size_t kLongest = 1024;
  char path[kLongest], folder[kLongest];
  std::size_t folder_length = 0;
  bool is_torchs = false;
  unsigned frames = 0;
  python::walk(*python, frame, [&](const char* code, const char*) noexcept {
    if (code == nullptr) return true;
    const std::string_view file{path, python::file_of(*python, code, path, sizeof path)};
    const bool is_first = frames++ == 0;
    for (const std::string_view inner : {kOperators, kProfilerFile}) {
      if (!file.ends_with(inner)) continue;
      if (is_first) folder_length = file.copy(folder, file.size() - inner.size() + 1);
      return true;
    }
    if (is_first) return false;
    if (file.ends_with(kDecorators)) return true;
    is_torchs = file.starts_with(std::string_view{folder, folder_length});
    return false;
  });
  return is_torchs;
}

} // namespace

void open_torch_range(const char* name, const void* record) noexcept {
  TorchRanges& open = torch_ranges;
  const auto at = reinterpret_cast<std::uint64_t>(record);
  close_torch_range(record); // what was not closed, as its object went to another thread
  if (open.depth == TorchRanges::kMost) return;
  bool is_torchs = false;
  with_room([&](bool) noexcept { is_torchs = is_opened_by_torch(); });
  if (is_torchs) return;
  begin_ranges();
  push_range(kDomain, keep_name(name));
  open.records[open.depth++] = at;
}

void end_torch_ranges(const void* part) noexcept {
  TorchRanges& open = torch_ranges;
  const auto at = reinterpret_cast<std::uint64_t>(part);
  unsigned i = open.depth;
  while (i != 0 && at - open.records[i - 1] >= kHeadBytes) --i;
  if (i == 0) return;
  for (; open.depth >= i; --open.depth) pop_range(kDomain);
}

} // namespace gmt::interposer
