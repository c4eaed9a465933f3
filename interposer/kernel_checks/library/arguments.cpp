// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/arguments.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <cuda.h>

namespace gmt::interposer::kernel_checks {

NumberedArguments::NumberedArguments(const rewriter::LaunchParameter& where, std::uint64_t number,
                                     void** parameters, void** extra) noexcept
    : number_(number), parameters_(parameters), extra_(extra) {
  if (!where.is_there) return;
  if (extra != nullptr) add_to_buffer(where.offset);
  else if (parameters != nullptr || where.index == 0) add_to_list(where.index);
}

void NumberedArguments::add_to_list(std::uint32_t index) noexcept {
  void** list = few_.data();
  if (index >= few_.size()) {
    many_.reset(new (std::nothrow) void*[std::size_t{index} + 1]);
    list = many_.get();
    are_there_ = list != nullptr;
    if (!are_there_) return;
  }
  std::copy_n(parameters_, parameters_ != nullptr ? index : 0, list);
  list[index] = &number_;
  parameters_ = list;
}

void NumberedArguments::add_to_buffer(std::uint32_t offset) noexcept {
  const void* given = nullptr;
  std::size_t bytes = 0;
  for (void** at = extra_; *at != CU_LAUNCH_PARAM_END; at += 2) {
    if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) given = at[1];
    else if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<std::size_t*>(at[1]);
    else return; // the driver has to know it
  }
  if (given == nullptr && bytes != 0) return;
  buffer_bytes_ = offset + sizeof number_;
  buffer_.reset(new (std::nothrow) std::byte[buffer_bytes_]());
  are_there_ = buffer_ != nullptr;
  if (!are_there_) return;
  if (given != nullptr) std::memcpy(buffer_.get(), given, std::min<std::size_t>(bytes, offset));
  std::memcpy(buffer_.get() + offset, &number_, sizeof number_);
  new_extra_ = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer_.get(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                &buffer_bytes_, CU_LAUNCH_PARAM_END};
  extra_ = new_extra_.data();
}

} // namespace gmt::interposer::kernel_checks
