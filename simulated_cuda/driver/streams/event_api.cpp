// SPDX-License-Identifier: Apache-2.0
// Events: creation, record, wait, query, elapsed time.
// Called through driver_api.def with the lock held. Recorded on a capturing stream, an event stands
// for a point of the graph; a wait on it joins another stream to the capture. Invariant: outside
// capture an event is complete as soon as its record has run, which is at once without --late.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/execution/prints.h"
#include "simulated_cuda/driver/streams/late.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>

namespace gmt::sim {
namespace {

CUresult record(Event* event, Stream* stream) {
  if (event == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  event->stream = stream;
  if (stream->capture != nullptr) {
    if (stream->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->capture = stream->capture;
    event->capture_point = stream->capture_tail;
    return CUDA_SUCCESS;
  }
  event->late_record = 0;
  // Another process sees at once whether its event is recorded
  if (may_keep(timing_of_call(), *stream) && (event->flags & CU_EVENT_INTERPROCESS) == 0) {
    event->late_record = keep(*stream, EventRecordOperation{reinterpret_cast<CUevent>(event)});
  } else {
    run_late_before(*stream);
    wait_for_host_functions(*stream);
  }
  event->capture = nullptr;
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return CUDA_SUCCESS;
}

bool in_live_capture(const Event& event) {
  return event.capture != nullptr && state().captures.get(event.capture) != nullptr;
}

CUresult wait(Stream* stream, Event* event) {
  if (event == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (in_live_capture(*event)) {
    if (stream->capture != nullptr && stream->capture != event->capture)
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (stream->capture == nullptr) stream->capture_tail.clear();
    stream->capture = event->capture;
    for (GraphNode* node : event->capture_point) {
      if (std::find(stream->capture_tail.begin(), stream->capture_tail.end(), node) ==
          stream->capture_tail.end())
        stream->capture_tail.push_back(node);
    }
    return CUDA_SUCCESS;
  }
  if (stream->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  if (is_late(event->late_record)) {
    if (may_keep(timing_of_call())) {
      keep(*stream, EventWaitOperation{}, event->late_record);
      return CUDA_SUCCESS;
    }
    run_late_until(event->late_record);
  }
  if (event->stream != nullptr) wait_for_host_functions(*event->stream);
  return CUDA_SUCCESS;
}

} // namespace

CUresult event_create(CUevent* out, unsigned flags) {
  constexpr unsigned kKnown =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (out == nullptr || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  auto event = std::make_unique<Event>();
  event->context = this_thread().current();
  event->flags = flags;
  *out = reinterpret_cast<CUevent>(state().events.add(std::move(event)));
  return CUDA_SUCCESS;
}

CUresult event_destroy(CUevent handle) {
  Event* event = state().events.get(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  state().events.take(event);
  return CUDA_SUCCESS;
}

CUresult event_record(CUevent event, CUstream stream) {
  return record(state().events.get(event), find_stream(stream));
}

CUresult event_record_with_flags(CUevent event, CUstream stream, unsigned flags) {
  if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  const Stream* found = find_stream(stream);
  if (found != nullptr && found->capture != nullptr && flags == CU_EVENT_RECORD_EXTERNAL)
    return submit(stream, EventRecordOperation{event});
  return event_record(event, stream);
}

CUresult event_query(CUevent handle) {
  const Event* event = state().events.get(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (in_live_capture(*event)) return CUDA_ERROR_CAPTURED_EVENT;
  if (event->stream != nullptr && is_held(*event->stream)) {
    run_what_can_run();
    if (is_late(event->late_record)) return CUDA_ERROR_NOT_READY;
  }
  run_late_until(event->late_record);
  return answer_after_late();
}

CUresult event_synchronize(CUevent handle) {
  const Event* event = state().events.get(handle);
  if (event != nullptr && !in_live_capture(*event)) run_late_until(event->late_record);
  const CUresult answer = event_query(handle);
  flush_prints();
  return answer;
}

CUresult event_elapsed_time(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  const Event* start = state().events.get(start_handle);
  const Event* end = state().events.get(end_handle);
  if (start == nullptr || end == nullptr || !start->recorded || !end->recorded)
    return CUDA_ERROR_INVALID_HANDLE;
  if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0)
    return CUDA_ERROR_INVALID_HANDLE;
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return CUDA_SUCCESS;
}

CUresult stream_wait_event(CUstream stream, CUevent event, unsigned flags) {
  if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  const Stream* found = find_stream(stream);
  if (found != nullptr && found->capture != nullptr && flags == CU_EVENT_WAIT_EXTERNAL)
    return submit(stream, EventWaitOperation{event});
  return wait(find_stream(stream), state().events.get(event));
}

CUresult ctx_record_event(CUcontext context, CUevent event) {
  if (state().context(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return record(state().events.get(event), find_stream(nullptr));
}

CUresult ctx_wait_event(CUcontext context, CUevent event) {
  if (state().context(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return wait(find_stream(nullptr), state().events.get(event));
}

} // namespace gmt::sim
