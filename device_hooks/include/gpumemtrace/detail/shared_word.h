// SPDX-License-Identifier: Apache-2.0
// A word that several threads use at once, in a kernel or, in tests, in threads of the host. What
// libcu++ has for it is compiled for seconds in each source that includes it; here are the few
// operations that the ring needs, as the same instructions of PTX.
#pragma once

#include "gpumemtrace/trace/device_ring.h"

namespace gmt::device {

// A word in memory of the device that other kernels of this context use too.
class DeviceWord {
public:
  GMT_HOST_DEVICE explicit DeviceWord(std::uint64_t& word) : word_(&word) {}

  GMT_HOST_DEVICE std::uint64_t load_relaxed() const {
#if defined(__CUDA_ARCH__)
    std::uint64_t value;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(value) : "l"(word_) : "memory");
    return value;
#else
    return __atomic_load_n(word_, __ATOMIC_RELAXED);
#endif
  }
  // Acquires in a thread of the host only.
  GMT_HOST_DEVICE std::uint64_t load_host_acquire() const {
#if defined(__CUDA_ARCH__)
    return load_relaxed();
#else
    return __atomic_load_n(word_, __ATOMIC_ACQUIRE);
#endif
  }
  // Releases in a thread of the host only.
  GMT_HOST_DEVICE void store_host_release(std::uint64_t value) const {
#if defined(__CUDA_ARCH__)
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(word_), "l"(value) : "memory");
#else
    __atomic_store_n(word_, value, __ATOMIC_RELEASE);
#endif
  }
  GMT_HOST_DEVICE void add_relaxed(std::uint64_t more) const {
#if defined(__CUDA_ARCH__)
    asm volatile("red.relaxed.gpu.add.u64 [%0], %1;" ::"l"(word_), "l"(more) : "memory");
#else
    __atomic_fetch_add(word_, more, __ATOMIC_RELAXED);
#endif
  }
  // Whether the word was `expected` and is `value` now; else `expected` becomes what it was.
  GMT_HOST_DEVICE bool exchange_relaxed(std::uint64_t& expected, std::uint64_t value) const {
#if defined(__CUDA_ARCH__)
    const std::uint64_t wanted = expected;
    asm volatile("atom.relaxed.gpu.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(expected)
                 : "l"(word_), "l"(wanted), "l"(value)
                 : "memory");
    return expected == wanted;
#else
    return __atomic_compare_exchange_n(word_, &expected, value, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
#endif
  }

private:
  std::uint64_t* word_;
};

// A word that the host uses too.
class HostWord {
public:
  GMT_HOST_DEVICE explicit HostWord(std::uint64_t& word) : word_(&word) {}

  GMT_HOST_DEVICE std::uint64_t load_acquire() const {
#if defined(__CUDA_ARCH__)
    std::uint64_t value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word_) : "memory");
    return value;
#else
    return __atomic_load_n(word_, __ATOMIC_ACQUIRE);
#endif
  }
  GMT_HOST_DEVICE void store_relaxed(std::uint64_t value) const {
#if defined(__CUDA_ARCH__)
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(word_), "l"(value) : "memory");
#else
    __atomic_store_n(word_, value, __ATOMIC_RELAXED);
#endif
  }
  GMT_HOST_DEVICE void store_release(std::uint64_t value) const {
#if defined(__CUDA_ARCH__)
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(word_), "l"(value) : "memory");
#else
    __atomic_store_n(word_, value, __ATOMIC_RELEASE);
#endif
  }

private:
  std::uint64_t* word_;
};

} // namespace gmt::device
