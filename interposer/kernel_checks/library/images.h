// SPDX-License-Identifier: Apache-2.0
// The PTX that a driver would take of an image of code, and that a rewriting needs.
#pragma once

#include <string>
#include <string_view>

namespace gmt::interposer::kernel_checks {

struct ImageText {
  std::string ptx;
  std::string why_none; // half a sentence, if there is no PTX
};

// `image` as cuModuleLoadData takes it, which gets no size: a fat binary or its wrapper, PTX or
// machine code. `capability` is the device's, such as 90.
ImageText text_of_image(const void* image, unsigned capability);
// Of the current context's device, or of the first one, such as 90.
unsigned capability_of_device() noexcept;
// The library whose memory holds the image, as "libcublas.so.13"; empty if it is the program, or
// memory that was allocated.
std::string library_of_image(const void* image);
// Whether NVIDIA ships it: what its kernels do is not the program's to mend.
bool is_of_vendor(std::string_view library);
// The image itself, from a file; empty if it cannot be read.
std::string read_image_file(const char* path);

} // namespace gmt::interposer::kernel_checks
