// SPDX-License-Identifier: Apache-2.0
// What out-of-memory says where PyTorch's allocator had nothing for a tensor.
#pragma once

#include <string>

#include "analyzer/detectors/shared/tensor_stock.h"

namespace gmt {

// How much was in tensors, and which pieces of the cache were free.
std::string refusal_message(const TensorStock& tensors);
// "; idle longest is ...", where that is known: puts those tensors before the other holders, as the
// line that the sentence names is that of the first stack.
Text idle_words(TensorStock& tensors, const ProcessFacts& facts);
// Which of PyTorch's settings the free pieces speak for, if any.
std::string refusal_advice(const TensorStock& tensors);

} // namespace gmt
