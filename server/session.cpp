#include "server/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "proto/limits.h"
#include "server/limits.h"
#include "spdlog/spdlog.h"

namespace remora::server {
namespace {

/// What a peer says of itself, fit for a log line.
std::string printable(const std::string& text) {
  return absl::CHexEscape(text.substr(0, kMaxLoggedNameBytes));
}

int64_t milliseconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

/// What a value takes beside its bytes is not the quota's, but has to stay in proportion to it.
size_t value_limit(const SessionSettings& settings) {
  const int64_t quota = std::min(settings.quota_bytes, settings.identity->quota().bytes);
  const int64_t values = std::max(quota / kBytesPerValue, kMinSessionValues);
  return std::min(static_cast<size_t>(values), wire::kMaxSessionValues);
}

int64_t now_ms() { return milliseconds(std::chrono::steady_clock::now()); }

}  // namespace

Session::Session(SessionSettings settings, std::weak_ptr<SessionStream> stream)
    : settings_(std::move(settings)),
      stream_(std::move(stream)),
      account_(std::make_shared<dispatch::MemoryAccount>(str_cat("session ", settings_.number),
                                                         settings_.quota_bytes,
                                                         settings_.identity->account())),
      active_at_ms_(now_ms()),
      values_(value_limit(settings_)),
      graphs_(settings_.identity->devices()) {
  for (const ServedDevice* device : identity().devices()) {
    lanes_.push_back({device, device->state->executor().add_queue(identity().owner())});
  }
}

// What a queue dropped has not landed.
Session::~Session() { settings_.identity->in_flight().give_back(in_flight_bytes_); }

bool Session::next_reply(v1::WorkerFrame& frame) {
  if (!replies_.take(frame)) return false;
  writing_since_ms_ = now_ms();
  return true;
}

void Session::reply_written() {
  writing_since_ms_ = 0;
  note_activity();
}

void Session::note_activity() { active_at_ms_ = now_ms(); }

void Session::end_if_overdue(std::chrono::steady_clock::time_point now) {
  const auto exceeds = [now](int64_t since_ms, std::chrono::milliseconds limit) {
    return limit.count() > 0 && milliseconds(now) - since_ms > limit.count();
  };
  const SessionTimeouts& timeouts = settings_.timeouts;
  const int64_t writing_since_ms = writing_since_ms_;
  if (writing_since_ms != 0 && exceeds(writing_since_ms, timeouts.reply)) {
    end(absl::DeadlineExceededError(str_cat("session: the client has not taken a reply for ",
                                            timeouts.reply.count(), " ms (--reply-timeout)")));
  } else if (!greeted_ && exceeds(active_at_ms_, timeouts.hello)) {
    end(absl::DeadlineExceededError(
        str_cat("session: no first frame came within ", timeouts.hello.count(), " ms")));
  } else if (exceeds(active_at_ms_, timeouts.idle)) {
    end(absl::DeadlineExceededError(
        str_cat("session: no frame came for ", timeouts.idle.count(), " ms (--idle-timeout)")));
  }
}

void Session::frame_arrived(std::unique_ptr<v1::ClientFrame> frame) {
  note_activity();
  {
    const absl::MutexLock lock(&mutex_);
    arrived_ = std::move(frame);
  }
  advance();
}

void Session::end(const absl::Status& reason) {
  {
    const absl::MutexLock lock(&mutex_);
    if (ended_) return;
    end_reason_ = reason;
    ended_ = true;
  }
  advance();
}

// Who finds the strand busy leaves a visit behind, which makes the one inside look once more.
void Session::advance() {
  if (visits_.fetch_add(1, std::memory_order_acq_rel) > 0) return;
  uint64_t seen = 0;
  do {
    seen = visits_.load(std::memory_order_acquire);
    step();
  } while (visits_.fetch_sub(seen, std::memory_order_acq_rel) != seen);
}

void Session::step() {
  if (ended_) {
    let_go();
    return;
  }
  if (frame_ == nullptr) {
    {
      const absl::MutexLock lock(&mutex_);
      frame_ = std::move(arrived_);
    }
    if (frame_ == nullptr) return;
    if (const absl::Status status = open_frame(); !status.ok()) {
      fail(status);
      return;
    }
  }
  work_on_frame();
}

absl::Status Session::open_frame() {
  const uint64_t sequence = frame_->sequence();
  if (const uint64_t last = replies_.last_sequence(); frame_->ack() > last) {
    return absl::AbortedError(str_cat("session: frame ", frame_->ack(),
                                      " of the worker is acknowledged, ", last, " were sent"));
  }
  if (sequence == 0) {
    if (sequence_ == 0 || frame_->has_hello() || !frame_->records().empty()) {
      return absl::AbortedError(
          "session: a frame without a number arrived that is more than an ack");
    }
  } else if (sequence != sequence_ + 1) {
    return absl::AbortedError(str_cat("session: frame ", sequence, " arrived where frame ",
                                      sequence_ + 1, " was expected"));
  } else {
    if (frame_->has_hello() != (sequence == 1)) {
      return absl::FailedPreconditionError(str_cat(
          "session: frame ", sequence, sequence == 1 ? " lacks a hello" : " carries a hello",
          "; the first frame and no other carries one"));
    }
    if (sequence == 1) REMORA_RETURN_IF_ERROR(greet(frame_->hello()));
    sequence_ = sequence;
    replies_.frame_arrived(sequence, frame_->ByteSizeLong());
    notify_replies();
  }
  REMORA_ASSIGN_OR_RETURN(reader_, wire::RecordReader::open(frame_->records(), memory_));
  return absl::OkStatus();
}

absl::Status Session::greet(const v1::Hello& hello) {
  const uint32_t version = std::min(hello.versions().max(), wire::kMaxVersion);
  if (version < hello.versions().min() || version < wire::kMinVersion) {
    return absl::FailedPreconditionError(
        str_cat("session: the client speaks versions ", hello.versions().min(), " to ",
                hello.versions().max(), " of the protocol, this worker ", wire::kMinVersion, " to ",
                wire::kMaxVersion));
  }
  client_ = printable(hello.client());
  greeted_ = true;
  spdlog::info("{} opened: client '{}' from {}", label(), client_, settings_.peer);
  v1::Welcome welcome;
  welcome.set_version(version);
  welcome.set_session(settings_.name);
  welcome.set_boot_nonce(settings_.instance);
  welcome.set_quota_bytes(static_cast<uint64_t>(settings_.quota_bytes));
  replies_.add_welcome(std::move(welcome));
  return absl::OkStatus();
}

bool Session::must_wait() const {
  return waiting_windows_ >= wire::kMaxWaitingWindows ||
         waiting_bytes_ >= dispatch::kMaxQueuedBytes ||
         replies_.waiting_bytes() >= kMaxWaitingReplyBytes;
}

void Session::work_on_frame() {
  while (!ended_) {
    if (!record_ && !next_record()) break;
    if (!record_) continue;
    // Progress made before `blocked_` was set would go unnoticed, so a record is tried once more
    // after it.
    const bool noted = blocked_;
    if (!must_wait() && std::visit([this](const auto& record) { return handle(record); },
                                   *record_) == Outcome::kDone) {
      record_.reset();
      blocked_ = false;
    } else if (noted) {
      kick();
      return;
    } else {
      blocked_ = true;
      kick();
    }
  }
  kick();
  if (ended_) return;
  reader_.reset();
  frame_.reset();
  if (const auto stream = stream_.lock()) stream->read_next_frame();
}

// Takes the next record into record_; false at the frame's end. record_ stays empty where the
// stream goes on behind a record that was refused, or the session has failed.
bool Session::next_record() {
  absl::StatusOr<std::optional<wire::Record>> next = reader_->next();
  if (next.ok()) {
    record_ = *std::move(next);
    return record_.has_value();
  }
  // A definition that is refused has been read to its end.
  if (absl::IsAlreadyExists(next.status()) || absl::IsResourceExhausted(next.status())) {
    report("define", 0, 0, 0, next.status());
  } else {
    fail(next.status());
  }
  return true;
}

void Session::push(uint32_t device, dispatch::Task task) {
  Lane& lane = lanes_[device];
  lane.device->state->executor().push(lane.queue, std::move(task));
  lane.touched = true;
}

// A mark in the queue tells the session how far the device has come.
void Session::mark(Lane& lane) {
  if (lane.unmarked_windows == 0) return;
  const size_t windows = std::exchange(lane.unmarked_windows, 0);
  const int64_t bytes = std::exchange(lane.unmarked_bytes, 0);
  lane.device->state->executor().push(
      lane.queue, dispatch::CallTask{{}, [session = weak_from_this(), windows, bytes] {
                                       if (const auto self = session.lock())
                                         self->windows_done(windows, bytes);
                                     }});
}

void Session::kick() {
  for (Lane& lane : lanes_) {
    mark(lane);
    if (std::exchange(lane.touched, false)) lane.device->state->executor().kick();
  }
}

void Session::windows_done(size_t windows, int64_t bytes) {
  waiting_windows_ -= windows;
  waiting_bytes_ -= bytes;
  note_activity();
  made_progress();
}

bool Session::take_in_flight(int64_t bytes) {
  const int64_t in_flight = in_flight_bytes_;
  const int64_t limit = std::min(kMaxInFlightBytes, settings_.quota_bytes);
  if (in_flight != 0 && bytes > limit - in_flight) return false;
  if (!settings_.identity->in_flight().take(bytes, shared_from_this())) return false;
  in_flight_bytes_ += bytes;
  return true;
}

void Session::bytes_landed(int64_t bytes) {
  in_flight_bytes_ -= bytes;
  note_activity();
  settings_.identity->in_flight().give_back(bytes);
  made_progress();
}

// Executors only say that there is progress: decoding frames on them would take the device from
// other sessions.
void Session::made_progress() {
  if (blocked_.exchange(false)) settings_.resume(weak_from_this());
}

void Session::notify_replies() {
  if (const auto stream = stream_.lock()) stream->replies_wait();
}

std::string Session::label() const {
  return str_cat("session ", settings_.number, " of '", printable(identity().name()), "'");
}

void Session::fail(const absl::Status& status) {
  end(status);  // the strand sees it at its next look
}

void Session::let_go() {
  if (std::exchange(let_go_, true)) return;
  absl::Status reason;
  {
    const absl::MutexLock lock(&mutex_);
    reason = end_reason_;
    arrived_.reset();
  }
  const absl::Status gone =
      reason.ok() ? absl::CancelledError("the session was closed")
                  : absl::Status(reason.code(),
                                 str_cat("the session ended: ", std::string(reason.message())));
  for (Lane& lane : lanes_) lane.device->state->executor().close_queue(lane.queue, gone);
  uploads_.close(gone);
  reads_.close();
  record_.reset();
  reader_.reset();
  frame_.reset();
  values_.clear();
  graphs_.clear();
  memory_ = {};
  spdlog::info("{} ended: client '{}': {}", label(), client_,
               reason.ok() ? "closed by the client" : printable(reason.ToString()));
  if (const auto stream = stream_.lock()) stream->close(reason);
  if (settings_.ended) settings_.ended();
}

}  // namespace remora::server
