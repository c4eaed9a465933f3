// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/textures/objects.h"

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

namespace gmt::executor {
namespace {

constexpr std::uint32_t kUnmapped = 700;

const Texture* find(Warp& w, const Instruction* in, std::uint32_t lane, std::uint64_t handle,
                    bool surface) {
  using State = FoundTexture::State;
  const auto& texture_at = w.grid->launch->texture_at;
  const FoundTexture found = texture_at ? texture_at(handle) : FoundTexture();
  const char* why = nullptr;
  ReportKind kind = ReportKind::kUseAfterFree;
  switch (found.state) {
  case State::kAlive:
    if (found.texture->is_surface == surface) return found.texture;
    kind = ReportKind::kOther;
    why =
      surface ? "it uses a texture object as a surface" : "it uses a surface object as a texture";
    break;
  case State::kDestroyed: why = "a texture or surface object that was already destroyed"; break;
  case State::kFreed: why = "a texture or surface object whose array was already freed"; break;
  case State::kUnknown:
    kind = ReportKind::kOther;
    why = "what should be a texture or surface object is none";
    break;
  }
  w.worker->checks->wrong_texture(facts_of(w, in, lane), kind, kUnmapped, why);
  return nullptr;
}

} // namespace

const Texture* find_texture(Warp& w, const Instruction* in, std::uint32_t lane,
                            std::uint64_t handle) {
  return find(w, in, lane, handle, false);
}
const Texture* find_surface(Warp& w, const Instruction* in, std::uint32_t lane,
                            std::uint64_t handle) {
  return find(w, in, lane, handle, true);
}

} // namespace gmt::executor
