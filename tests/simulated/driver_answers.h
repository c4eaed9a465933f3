// SPDX-License-Identifier: Apache-2.0
// The shape of one row of driver_answers: what the real driver answered, and the code that asks
// again. A row returns what it got as text, so that an answer of several parts ("0 null") compares
// like a number.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <initializer_list>
#include <string>
#include <vector>

struct Row {
  const char* name;
  const char* expected;
  std::string (*ask)();
  bool alone = false; // leaves the process without a usable context: gets a process of its own
};

const std::vector<Row>& release_rows();
const std::vector<Row>& copy_rows();
const std::vector<Row>& other_rows();
const std::vector<Row>& kinds_rows();
const std::vector<Row>& order_rows();
const std::vector<Row>& green_rows();
const std::vector<Row>& node_rows();
const std::vector<Row>& fact_rows();

inline std::string answer(cudaError_t error) {
  cudaGetLastError();
  return std::to_string(static_cast<int>(error));
}

// The answers of several calls, in their order: "0 0 1".
inline std::string answers(std::initializer_list<int> errors) {
  std::string text;
  for (int error : errors) text += (text.empty() ? "" : " ") + std::to_string(error);
  cudaGetLastError();
  return text;
}

// A driver function, from the runtime: the programs of these rows are linked to no driver library.
template <class Function>
Function* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  cudaGetDriverEntryPointByVersion(name, &function, 13000, cudaEnableDefault, &found);
  return reinterpret_cast<Function*>(function);
}
#define DRIVER(name) driver_function<decltype(::name)>(#name)

// Memory that is released at the end of the row, whatever the row does to it.
struct DeviceBlock {
  explicit DeviceBlock(size_t bytes) { cudaMalloc(&pointer, bytes); }
  ~DeviceBlock() {
    cudaFree(pointer);
    cudaGetLastError();
  }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  char* at(size_t offset = 0) const { return static_cast<char*>(pointer) + offset; }
  void* pointer = nullptr;
};
