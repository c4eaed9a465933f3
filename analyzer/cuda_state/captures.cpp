// SPDX-License-Identifier: Apache-2.0

#include "analyzer/cuda_state/captures.h"

#include <algorithm>

#include "trace/cuda_results.h"

namespace gmt {

using trace::SyncOp;

std::optional<CaptureTable::Capture> CaptureTable::ended_by(const Event& e) {
  const event::Sync& sync = e.sync();
  if (e.kind != EventKind::kSync || sync.op != SyncOp::kEndCapture) return std::nullopt;
  if (e.in_flight() || e.result == cuda::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    return std::nullopt;
  return e.own_stream(sync.stream);
}

void CaptureTable::on_sync(const Event& e) {
  const event::Sync& sync = e.sync();
  const SyncOp op = sync.op;
  if (const std::optional<Capture> ended = ended_by(e)) {
    const auto belongs = [&](const auto& entry) { return entry.second == *ended; };
    std::erase_if(of_stream_, belongs);
    std::erase_if(of_event_, belongs);
    begun_in_.erase(*ended);
  }
  if (!e.succeeded() || op == SyncOp::kEndCapture) return;
  const std::uint64_t stream = e.own_stream(sync.stream);
  if (op == SyncOp::kBeginCapture) {
    of_stream_[stream] = stream;
    begun_in_[stream] = e.thread;
  }
  if (of_stream_.empty()) return;
  if (sync.is_external()) return; // an event of the graph, which is another thing
  const auto capture = of_stream_.find(stream);
  if (op == SyncOp::kEventRecord) {
    if (capture != of_stream_.end()) of_event_[sync.event()] = capture->second;
    else of_event_.erase(sync.event());
  } else if (op == SyncOp::kStreamWaitEvent && capture == of_stream_.end()) {
    const auto event = of_event_.find(sync.event());
    if (event != of_event_.end()) of_stream_[stream] = event->second;
  }
}

bool CaptureTable::has_begun_in(std::uint32_t thread) const {
  return std::ranges::any_of(begun_in_, [&](const auto& entry) { return entry.second == thread; });
}

} // namespace gmt
