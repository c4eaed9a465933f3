// SPDX-License-Identifier: Apache-2.0
// Counts the captures of streams that have begun and not ended.
#include "interposer/kernel_checks/library/captures.h"

#include "interposer/kernel_checks/library/replacements.h"

namespace gmt::interposer::kernel_checks {

namespace {

using Callback = void (*)() noexcept;
constinit Callback before_first = nullptr;

template <Name kName, class... Args> struct BeginsCapture {
  static CUresult call(Args... args) noexcept {
    if (!any_capture() && before_first != nullptr) before_first();
    captures.fetch_add(1); // before it begins: another thread's call must not be cut in two by it
    const int result = own<kName, Args...>(args...);
    if (result != CUDA_SUCCESS) captures.fetch_sub(1);
    return static_cast<CUresult>(result);
  }
};

// A capture that was invalidated ends with an error, and one that never began is not there to end.
template <Name kName> CUresult end_capture(CUstream stream, CUgraph* graph) noexcept {
  constexpr int kNoCapture = CUDA_ERROR_ILLEGAL_STATE;
  const int result = own<kName, CUstream, CUgraph*>(stream, graph);
  const bool has_ended = result != kNoCapture && result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
                         result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD &&
                         result != CUDA_ERROR_INVALID_VALUE;
  if (has_ended && captures.load() > 0) captures.fetch_sub(1);
  return static_cast<CUresult>(result);
}

template <Name kName, class... Args> void put_begin() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&BeginsCapture<kName, Args...>::call));
}
template <Name kName> void put_end() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&end_capture<kName>));
}

} // namespace

void replace_captures(void (*first_begins)() noexcept) noexcept {
  before_first = first_begins;
  using Mode = CUstreamCaptureMode;
  put_end<"cuStreamEndCapture">();
  put_end<"cuStreamEndCapture_ptsz">();
  put_begin<"cuStreamBeginCapture", CUstream>();
  put_begin<"cuStreamBeginCapture_ptsz", CUstream>();
  put_begin<"cuStreamBeginCapture_v2", CUstream, Mode>();
  put_begin<"cuStreamBeginCapture_v2_ptsz", CUstream, Mode>();
  put_begin<"cuStreamBeginCaptureToGraph", CUstream, CUgraph, const CUgraphNode*,
            const CUgraphEdgeData*, std::size_t, Mode>();
  put_begin<"cuStreamBeginCaptureToGraph_ptsz", CUstream, CUgraph, const CUgraphNode*,
            const CUgraphEdgeData*, std::size_t, Mode>();
}

} // namespace gmt::interposer::kernel_checks
