// SPDX-License-Identifier: Apache-2.0
// --capture: one launch of a kernel goes into a file (trace/capture_file.h) that `gpumemtrace
// replay` runs on a processor. Code and kernels stay as the program gave them. The file is written
// before the launch, so that a kernel that ends its context leaves one, and again behind it.
//
// Invariant: what fails here is said to the command, and the program's calls get the driver's own
// answers.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>

#include "interposer/kernel_checks/library/driver.h"
#include "trace/capture_file.h"

namespace gmt::interposer::kernel_checks {

void begin_capture() noexcept;   // puts its functions in the driver's place
void report_capture() noexcept;  // when the process exits: why there is no file, if there is none
void abandon_capture() noexcept; // in a forked child: its own CUDA calls fail

// ---- code

void replace_loads() noexcept;
void abandon_loads() noexcept;

// What a launch names. One of both handles is set if the code was loaded by a call that is watched.
struct NamedKernel {
  std::string name; // as it is linked; empty: not known
  CUlibrary library = nullptr;
  CUmodule module = nullptr;
};
NamedKernel name_kernel(CUfunction function);
// The text of the kernel's module; empty: `why` says in half a sentence why there is none.
std::string text_of(const NamedKernel& kernel, std::string* why);
void forget_choices() noexcept; // which handles are the kernel that --capture names

// ---- waiting, --capture-wait long at most: none if the work has not ended then

// CUDA's answer, or none. Waits in a thread of its own for all work of the context, which stays
// behind if that does not end. Throws if there can be no thread.
std::optional<int> wait_for_context(CUcontext context);
// For the launch that was made last in the stream, in the current context.
std::optional<int> wait_for_launch(CUstream named) noexcept;

// ---- the file

std::string readable(const std::string& linked); // a kernel's name
std::string path_of_file(const trace::Capture& capture);
// Why it could not be written; empty: it is.
std::string write_file(const std::string& path, const trace::Capture& capture);

// ---- memory

// Bytes that the program never wrote are none that it reads while this is there.
class OwnCopies {
public:
  OwnCopies() noexcept { core->own_copies(true); }
  ~OwnCopies() { core->own_copies(false); }
  OwnCopies(const OwnCopies&) = delete;
  OwnCopies& operator=(const OwnCopies&) = delete;
};

// For copies to the host, in the current context. It waits for no other stream, and none for it:
// the default stream would be drawn into what blocking streams capture.
class OwnStream {
public:
  OwnStream() noexcept {
    if (driver.make_stream(&stream_, CU_STREAM_NON_BLOCKING) != 0) stream_ = nullptr;
  }
  ~OwnStream() {
    if (stream_ != nullptr) own<"cuStreamDestroy_v2", CUstream>(stream_);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  bool fetch(std::uint64_t address, std::string* to) const noexcept {
    return stream_ != nullptr && driver.fetch(to->data(), address, to->size(), stream_) == 0 &&
           driver.wait_for_stream(stream_) == 0;
  }
  bool fetch(const CUDA_MEMCPY3D& copy) const noexcept {
    return stream_ != nullptr &&
           own<"cuMemcpy3DAsync_v2", const CUDA_MEMCPY3D*, CUstream>(&copy, stream_) == 0 &&
           driver.wait_for_stream(stream_) == 0;
  }

private:
  CUstream stream_ = nullptr;
};

void replace_allocations() noexcept;
void abandon_allocations() noexcept;

// Fills in `blocks` and `left_out`, from `arguments` and from the variables of `ptx`. Nothing runs
// in the context.
void capture_memory(const NamedKernel& kernel, std::uint64_t limit, trace::Capture* capture);
// The same blocks, behind the launch.
void capture_results(trace::Capture* capture);

// ---- tensor maps

void replace_encoders() noexcept;
void abandon_maps() noexcept;
// Those among its arguments and in its blocks.
void capture_maps(trace::Capture* capture);

// ---- textures and surfaces

void replace_objects() noexcept;
void abandon_objects() noexcept;
// All objects that are alive, and the arrays behind them, as far as `limit` has room behind the
// blocks.
void capture_textures(std::uint64_t limit, trace::Capture* capture);
// What the launch left in the same arrays.
void capture_arrays(trace::Capture* capture);

} // namespace gmt::interposer::kernel_checks
