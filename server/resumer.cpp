#include "server/resumer.h"

#include <utility>

#include "server/session.h"

namespace remora::server {

void Resumer::stop() {
  std::thread thread;
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void Resumer::resume(std::weak_ptr<Session> session) {
  const absl::MutexLock lock(&mutex_);
  if (stopping_) return;
  waiting_.push_back(std::move(session));
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
}

void Resumer::work() {
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  };
  for (;;) {
    std::shared_ptr<Session> session;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&ready));
      if (stopping_) return;
      session = waiting_.front().lock();
      waiting_.pop_front();
    }
    if (session != nullptr) session->advance();
  }
}

}  // namespace remora::server
