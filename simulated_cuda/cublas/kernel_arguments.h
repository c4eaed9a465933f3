// SPDX-License-Identifier: Apache-2.0
// What the host side of the simulated cuBLAS gives its kernels. Includes nothing: the kernels'
// compiler reads it, too.
#pragma once

namespace gmt::blas {

// A matrix, or several of one shape. Steps are elements.
struct Array {
  unsigned long long base = 0; // address of the first one
  unsigned long long list = 0; // or of a list of their addresses on the device
  long long batch_step = 0;
  long long first = 0; // where its first element lies behind that
  long long row_step = 0, column_step = 0;
};

// A number of the kernel's own type: given, or where it lies on the device.
struct Scalar {
  unsigned char bytes[8] = {};
  unsigned long long address = 0;
};

struct Gemm {
  long long rows = 0, columns = 0, inner = 0;
  Scalar alpha, beta;
  Array a, b, c;
};

struct Trsm {
  long long rows = 0, columns = 0; // of B
  Scalar alpha;
  Array a, b;
  int is_lower = 0, has_unit_diagonal = 0;
};

struct Vectors {
  enum What : int { kAxpy, kScale, kCopy, kSwap, kRotate };
  long long count = 0;
  Scalar alpha, beta;
  Array x, y; // columns
  int what = kAxpy;
};

struct Reduce {
  enum What : int { kDot, kSquares, kAbsolutes, kLargest, kSmallest };
  long long count = 0;
  Array x, y; // columns
  unsigned long long result = 0;
  int what = kDot;
};

} // namespace gmt::blas
