// SPDX-License-Identifier: Apache-2.0
// Products of matrices, in all forms: of one type, of several, of batches; gemv and ger, which are
// products of a matrix and a vector, and of two vectors.
#include "simulated_cuda/cublas/blas.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

namespace gmt::blas {
namespace {

constexpr unsigned kRows = 32, kColumns = 8; // of a block
constexpr long long kMostInGrid = 65535;

struct Operand {
  const void* base;
  int leading;
  long long batch_step = 0;
};

// What all forms of gemm have.
struct Product {
  Handle* handle;
  Operation a_operation, b_operation;
  int rows, columns, inner;
  Operand a, b, c;
  long long batch = 1;
  bool has_lists = false; // bases are lists of addresses on the device
};

Array array_of(const Operand& operand, Operation operation, bool is_list) {
  Array array = matrix(operand.base, operand.leading, operation);
  if (is_list) array.list = array.base;
  array.batch_step = operand.batch_step;
  return array;
}

Status run(const Product& p, const std::string& types, const Scalar& alpha, const Scalar& beta) {
  const auto is_transposed = [](Operation operation) { return operation != Operation::kNone; };
  const bool is_sound =
    p.rows >= 0 && p.columns >= 0 && p.inner >= 0 && p.batch >= 0 &&
    p.a.leading >= std::max(1, is_transposed(p.a_operation) ? p.inner : p.rows) &&
    p.b.leading >= std::max(1, is_transposed(p.b_operation) ? p.columns : p.inner) &&
    p.c.leading >= std::max(1, p.rows);
  if (!is_sound) return Status::kInvalidValue;
  Gemm gemm;
  gemm.rows = p.rows;
  gemm.columns = p.columns;
  gemm.inner = p.inner;
  gemm.alpha = alpha;
  gemm.beta = beta;
  gemm.a = array_of(p.a, p.a_operation, p.has_lists);
  gemm.b = array_of(p.b, p.b_operation, p.has_lists);
  gemm.c = array_of(p.c, Operation::kNone, p.has_lists);
  return run_gemm(*p.handle, types, gemm, p.batch);
}

template <class T> Status run_alike(const Product& p, const T* alpha, const T* beta) {
  if (p.handle == nullptr) return Status::kNotInitialized;
  if (alpha == nullptr || beta == nullptr) return Status::kInvalidValue;
  return run(p, TypeName<T>::value, scalar_at(*p.handle, alpha), scalar_at(*p.handle, beta));
}

float widened(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
  float value;
  if (magnitude >= 0x7c00) { // infinities and NaN
    const std::uint32_t bits = sign | 0x7f800000u | (magnitude & 0x3ffu) << 13;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  const std::uint32_t bits = magnitude << 13;
  std::memcpy(&value, &bits, sizeof value);
  value *= 0x1p112f; // the exponents' biases apart
  return sign != 0 ? -value : value;
}

// Numbers of 16 bits are widened here; on the device the kernels do not read them.
Status run_halves(const Product& p, const void* alpha, const void* beta, const char* function) {
  if (p.handle == nullptr) return Status::kNotInitialized;
  if (alpha == nullptr || beta == nullptr) return Status::kInvalidValue;
  if (p.handle->pointer_mode == PointerMode::kDevice) return not_supported(function);
  const auto number = [](const void* at) {
    return scalar_of(widened(*static_cast<const std::uint16_t*>(at)));
  };
  return run(p, "f16", number(alpha), number(beta));
}

std::optional<std::string> types_of(DataType ab, DataType c) {
  if (ab == c && ab == DataType::kF32) return "f32";
  if (ab == c && ab == DataType::kF64) return "f64";
  if (ab == c && ab == DataType::kF16) return "f16";
  if (ab == c && ab == DataType::kBf16) return "bf16";
  if (ab == DataType::kF16 && c == DataType::kF32) return "f16_f32";
  if (ab == DataType::kBf16 && c == DataType::kF32) return "bf16_f32";
  if (ab == DataType::kS8 && c == DataType::kS32) return "s8_s32";
  if (ab == DataType::kS8 && c == DataType::kF32) return "s8_f32";
  return std::nullopt;
}

// The types of cublasComputeType_t, as far as they say what alpha and beta are.
enum class Compute : int {
  k16 = 64,
  k16Pedantic = 65,
  k32 = 68,
  k32Pedantic = 69,
  k64 = 70,
  k64Pedantic = 71,
  kInt = 72,
  kIntPedantic = 73,
  k32Fast16 = 74,
  k32FastBf16 = 75,
  k32FastTf32 = 77
};

Status run_mixed(const Product& p, const void* alpha, const void* beta, DataType a, DataType b,
                 DataType c, Compute compute, const char* function) {
  if (p.handle == nullptr) return Status::kNotInitialized;
  if (alpha == nullptr || beta == nullptr) return Status::kInvalidValue;
  const std::optional<std::string> types = types_of(a, c);
  if (a != b || !types) return not_supported(function);
  const auto numbers = [&]<class T>(T) {
    return run(p, *types, scalar_at(*p.handle, static_cast<const T*>(alpha)),
               scalar_at(*p.handle, static_cast<const T*>(beta)));
  };
  const bool is_double = *types == "f64", is_integer = *types == "s8_s32";
  switch (compute) {
  case Compute::k16:
  case Compute::k16Pedantic:
    return *types == "f16" ? run_halves(p, alpha, beta, function) : not_supported(function);
  case Compute::k64:
  case Compute::k64Pedantic: return is_double ? numbers(double()) : not_supported(function);
  case Compute::kInt:
  case Compute::kIntPedantic: return is_integer ? numbers(int()) : not_supported(function);
  case Compute::k32:
  case Compute::k32Pedantic:
  case Compute::k32Fast16:
  case Compute::k32FastBf16:
  case Compute::k32FastTf32:
    return is_double || is_integer ? not_supported(function) : numbers(float());
  }
  return not_supported(function);
}

} // namespace

Status run_gemm(Handle& handle, const std::string& types, const Gemm& gemm, long long batch) {
  if (gemm.rows == 0 || gemm.columns == 0 || batch == 0) return Status::kSuccess;
  const long long x = (gemm.rows + kRows - 1) / kRows, y = (gemm.columns + kColumns - 1) / kColumns;
  if (y > kMostInGrid || batch > kMostInGrid) return not_supported("cublasGemm of such a size");
  Gemm arguments = gemm;
  return launch(handle, "cublas_gemm_" + types, static_cast<unsigned>(x), static_cast<unsigned>(y),
                static_cast<unsigned>(batch), kRows, kColumns, &arguments);
}

} // namespace gmt::blas

using namespace gmt::blas;

#define GMT_SIZES Handle *handle, Operation ta, Operation tb, int m, int n, int k
#define GMT_PRODUCTS(S, T, RUN)                                                                    \
  extern "C" Status cublas##S(GMT_SIZES, const T* alpha, const void* a, int lda, const void* b,    \
                              int ldb, const T* beta, void* c, int ldc) {                          \
    return RUN({handle, ta, tb, m, n, k, {a, lda}, {b, ldb}, {c, ldc}}, alpha, beta, "cublas" #S); \
  }
#define GMT_BATCHES(S, T, RUN)                                                                     \
  extern "C" Status cublas##S##Batched(GMT_SIZES, const T* alpha, const void* a, int lda,          \
                                       const void* b, int ldb, const T* beta, void* c, int ldc,    \
                                       int batch) {                                                \
    return RUN({handle, ta, tb, m, n, k, {a, lda}, {b, ldb}, {c, ldc}, batch, true}, alpha, beta,  \
               "cublas" #S "Batched");                                                             \
  }                                                                                                \
  extern "C" Status cublas##S##StridedBatched(                                                     \
    GMT_SIZES, const T* alpha, const void* a, int lda, long long sa, const void* b, int ldb,       \
    long long sb, const T* beta, void* c, int ldc, long long sc, int batch) {                      \
    return RUN({handle, ta, tb, m, n, k, {a, lda, sa}, {b, ldb, sb}, {c, ldc, sc}, batch}, alpha,  \
               beta, "cublas" #S "StridedBatched");                                                \
  }

namespace gmt::blas {
namespace {
template <class T> Status alike(const Product& p, const T* alpha, const T* beta, const char*) {
  return run_alike(p, alpha, beta);
}
} // namespace
} // namespace gmt::blas

GMT_PRODUCTS(Sgemm_v2, float, alike)
GMT_PRODUCTS(Dgemm_v2, double, alike)
GMT_PRODUCTS(Hgemm, void, run_halves)
GMT_BATCHES(Sgemm, float, alike)
GMT_BATCHES(Dgemm, double, alike)
GMT_BATCHES(Hgemm, void, run_halves)

extern "C" Status cublasSgemmEx(GMT_SIZES, const float* alpha, const void* a, DataType at, int lda,
                                const void* b, DataType bt, int ldb, const float* beta, void* c,
                                DataType ct, int ldc) {
  return run_mixed({handle, ta, tb, m, n, k, {a, lda}, {b, ldb}, {c, ldc}}, alpha, beta, at, bt, ct,
                   Compute::k32, "cublasSgemmEx");
}
extern "C" Status cublasGemmEx(GMT_SIZES, const void* alpha, const void* a, DataType at, int lda,
                               const void* b, DataType bt, int ldb, const void* beta, void* c,
                               DataType ct, int ldc, Compute compute, int) {
  return run_mixed({handle, ta, tb, m, n, k, {a, lda}, {b, ldb}, {c, ldc}}, alpha, beta, at, bt, ct,
                   compute, "cublasGemmEx");
}
extern "C" Status cublasGemmBatchedEx(GMT_SIZES, const void* alpha, const void* a, DataType at,
                                      int lda, const void* b, DataType bt, int ldb,
                                      const void* beta, void* c, DataType ct, int ldc, int batch,
                                      Compute compute, int) {
  return run_mixed({handle, ta, tb, m, n, k, {a, lda}, {b, ldb}, {c, ldc}, batch, true}, alpha,
                   beta, at, bt, ct, compute, "cublasGemmBatchedEx");
}
extern "C" Status cublasGemmStridedBatchedEx(GMT_SIZES, const void* alpha, const void* a,
                                             DataType at, int lda, long long sa, const void* b,
                                             DataType bt, int ldb, long long sb, const void* beta,
                                             void* c, DataType ct, int ldc, long long sc, int batch,
                                             Compute compute, int) {
  return run_mixed({handle, ta, tb, m, n, k, {a, lda, sa}, {b, ldb, sb}, {c, ldc, sc}, batch},
                   alpha, beta, at, bt, ct, compute, "cublasGemmStridedBatchedEx");
}

namespace gmt::blas {
namespace {

// y = alpha op(A) x + beta y: a product with one column.
template <class T>
Status run_gemv(Handle* handle, Operation operation, int rows, int columns, const T* alpha,
                const T* a, int lda, const T* x, int x_step, const T* beta, T* y, int y_step) {
  if (handle == nullptr) return Status::kNotInitialized;
  if (alpha == nullptr || beta == nullptr) return Status::kInvalidValue;
  if (rows < 0 || columns < 0 || lda < std::max(1, rows) || x_step == 0 || y_step == 0)
    return Status::kInvalidValue;
  const bool is_transposed = operation != Operation::kNone;
  Gemm gemm;
  gemm.rows = is_transposed ? columns : rows;
  gemm.inner = is_transposed ? rows : columns;
  gemm.columns = 1;
  gemm.alpha = scalar_at(*handle, alpha);
  gemm.beta = scalar_at(*handle, beta);
  gemm.a = matrix(a, lda, operation);
  gemm.b = vector(x, gemm.inner, x_step);
  gemm.c = vector(y, gemm.rows, y_step);
  return run_gemm(*handle, TypeName<T>::value, gemm, 1);
}

// A = alpha x y' + A.
template <class T>
Status run_ger(Handle* handle, int rows, int columns, const T* alpha, const T* x, int x_step,
               const T* y, int y_step, T* a, int lda) {
  if (handle == nullptr) return Status::kNotInitialized;
  if (alpha == nullptr) return Status::kInvalidValue;
  if (rows < 0 || columns < 0 || lda < std::max(1, rows) || x_step == 0 || y_step == 0)
    return Status::kInvalidValue;
  Gemm gemm;
  gemm.rows = rows;
  gemm.columns = columns;
  gemm.inner = 1;
  gemm.alpha = scalar_at(*handle, alpha);
  gemm.beta = scalar_of(T(1));
  gemm.a = vector(x, rows, x_step);
  gemm.b = vector(y, columns, y_step);
  gemm.b.column_step = gemm.b.row_step; // it is a row
  gemm.c = matrix(a, lda);
  return run_gemm(*handle, TypeName<T>::value, gemm, 1);
}

} // namespace
} // namespace gmt::blas

#define GMT_LEVEL2(S, T)                                                                           \
  extern "C" Status cublas##S##gemv_v2(Handle* handle, Operation operation, int m, int n,          \
                                       const T* alpha, const T* a, int lda, const T* x, int incx,  \
                                       const T* beta, T* y, int incy) {                            \
    return run_gemv(handle, operation, m, n, alpha, a, lda, x, incx, beta, y, incy);               \
  }                                                                                                \
  extern "C" Status cublas##S##ger_v2(Handle* handle, int m, int n, const T* alpha, const T* x,    \
                                      int incx, const T* y, int incy, T* a, int lda) {             \
    return run_ger(handle, m, n, alpha, x, incx, y, incy, a, lda);                                 \
  }
GMT_LEVEL2(S, float)
GMT_LEVEL2(D, double)
