// SPDX-License-Identifier: Apache-2.0
// The pool lives until the code is unloaded or the process ends; then idle threads are joined.
// fork() copies the pool, whose threads are not in the child: it is forgotten there.
#include "simulated_cuda/executor/machine/workers/thread_pool.h"

#include "simulated_cuda/executor/executor.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "simulated_cuda/executor/machine/workers/condition.h"

namespace gmt::executor {

struct Helpers::State {
  std::mutex mutex;
  Condition changed;
  std::function<void(std::size_t)> work;
  std::size_t working = 0;
  std::atomic<bool> is_over{false}; // who has not begun does not any more
};

namespace {

struct Job {
  std::shared_ptr<Helpers::State> launch;
  std::size_t number = 0;
};

void run_job(const Job& job) {
  Helpers::State& launch = *job.launch;
  {
    const std::lock_guard lock(launch.mutex);
    if (launch.is_over) return;
    ++launch.working;
  }
  launch.work(job.number);
  // Under the lock: the launch may be gone as soon as it is seen to be done
  const std::lock_guard lock(launch.mutex);
  --launch.working;
  launch.changed.notify_all();
}

class Pool {
public:
  void add(const std::shared_ptr<Helpers::State>& launch, std::size_t count) {
    const std::lock_guard lock(mutex_);
    std::erase_if(jobs_, [](const Job& job) { return job.launch->is_over.load(); });
    for (std::size_t i = 1; i <= count; ++i) jobs_.push_back({launch, i});
    while (threads_.size() < count && start_thread()) {
    }
    if (threads_.empty()) jobs_.clear();
    changed_.notify_all();
  }

  // For the end of the process. A pool that works is left alone.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      if (busy_ != 0 || !jobs_.empty()) return;
      is_over_ = true;
      changed_.notify_all();
    }
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
    threads_.clear();
  }

private:
  bool start_thread() {
    sigset_t blocked, saved;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &saved);
    pthread_t thread;
    const bool started = pthread_create(
                           &thread, nullptr,
                           [](void* pool) -> void* {
                             static_cast<Pool*>(pool)->serve();
                             return nullptr;
                           },
                           this) == 0;
    pthread_sigmask(SIG_SETMASK, &saved, nullptr);
    if (!started) return false;
    pthread_setname_np(thread, "gpumemtrace-sim");
    threads_.push_back(thread);
    return true;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return is_over_ || !jobs_.empty(); });
      if (is_over_) return;
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      ++busy_;
      lock.unlock();
      run_job(job);
      lock.lock();
      --busy_;
    }
  }

  std::mutex mutex_;
  Condition changed_;
  std::deque<Job> jobs_;
  std::vector<pthread_t> threads_;
  std::size_t busy_ = 0;
  bool is_over_ = false;
};

Pool* the_pool = nullptr;

// Launches are made by one thread at a time, or each finds the pool that another has made.
Pool& pool() {
  static std::mutex making;
  const std::lock_guard lock(making);
  static const bool is_registered =
    pthread_atfork(nullptr, nullptr, [] { the_pool = nullptr; }) == 0;
  static_cast<void>(is_registered);
  if (the_pool == nullptr) the_pool = new Pool;
  return *the_pool;
}

__attribute__((destructor)) void end_pool() {
  if (the_pool == nullptr) return;
  the_pool->end();
}

} // namespace

void Helpers::start(std::size_t count, std::function<void(std::size_t)> work) {
  state_ = std::make_shared<State>();
  state_->work = std::move(work);
  pool().add(state_, count);
}

bool Helpers::finish_within(std::chrono::milliseconds time) {
  if (state_ == nullptr) return true;
  std::unique_lock lock(state_->mutex);
  state_->is_over = true;
  return state_->changed.wait_for(lock, time, [&] { return state_->working == 0; });
}

void Helpers::finish() {
  if (state_ == nullptr) return;
  std::unique_lock lock(state_->mutex);
  state_->is_over = true;
  state_->changed.wait(lock, [&] { return state_->working == 0; });
}

unsigned usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool is_known = sched_getaffinity(0, sizeof set, &set) == 0; // of up to 1024
  const long count = is_known ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  return count > 1 ? static_cast<unsigned>(count) : 1;
}

} // namespace gmt::executor
