// The stream of a session: frames out, frames in, and how it ends.
#include <unistd.h>

#include "client/remote/bulk_call.h"
#include "client/remote/callback_scope.h"
#include "client/remote/channel.h"
#include "client/remote/op_error.h"
#include "client/remote/session.h"
#include "dispatch/attrs_codec.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::remote {

using dispatch::HostData;

Session::Session(Passkey, WorkerLink link, WorkerDescriptionPtr description)
    : link_(std::move(link)),
      description_(std::move(description)),
      stub_(v1::Worker::NewStub(link_.control)),
      live_bytes_(description_->devices.size(), 0) {}

Session::~Session() = default;

std::shared_ptr<Session> Session::make(WorkerLink link, WorkerDescriptionPtr description) {
  return std::make_shared<Session>(Passkey{}, std::move(link), std::move(description));
}

absl::Status Session::start() {
  add_token(context_, link_.token.text);
  stub_->async()->Session(&context_, this);
  absl::Status result;
  {
    const absl::MutexLock lock(&mutex_);
    outgoing_.set_sequence(++sequence_);
    v1::Hello& hello = *outgoing_.mutable_hello();
    hello.mutable_versions()->set_min(wire::kMinVersion);
    hello.mutable_versions()->set_max(wire::kMaxVersion);
    hello.set_client(str_cat(program_invocation_short_name, " ", getpid()));
    ++stats_.frames_sent;
    stats_.bytes_sent += outgoing_.ByteSizeLong();
    writing_ = true;
    StartWrite(&outgoing_);
    StartRead(&incoming_);
    StartCall();
    const auto settled = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return welcomed_ || is_dead();
    };
    mutex_.AwaitWithTimeout(absl::Condition(&settled), absl::Milliseconds(link_.deadline_ms));
    if (settled()) return status_;
    result = absl::UnavailableError(str_cat(
        "worker ", link_.address, " did not open a session within ", link_.deadline_ms, " ms"));
  }
  fail(result);
  return result;
}

void Session::seal() {
  Frame frame{++sequence_, writer_.take()};
  unacked_.emplace_back(frame.sequence, frame.records.size());
  unacked_bytes_ += frame.records.size();
  sealed_.push_back(std::move(frame));
}

bool Session::ack_is_due() const {
  return received_ - acked_ >= wire::kAckFrames || received_bytes_ >= wire::kAckBytes;
}

void Session::pump() {
  if (writing_ || over_) return;
  if (closing_) {
    if (!std::exchange(writes_done_, true)) StartWritesDone();
    return;
  }
  if (is_dead() || !welcomed_) return;
  if (sealed_.empty() && send_wanted_) {
    send_wanted_ = false;
    writing_ = true;  // encoding drops may fill a frame, which must not start a write of its own
    encode_drops();
    writing_ = false;
    if (!writer_.empty()) seal();
  }
  if (!sealed_.empty()) {
    Frame frame = std::move(sealed_.front());
    sealed_.pop_front();
    start_write(std::move(frame));
  } else if (ack_is_due()) {
    start_write({});
  }
}

void Session::start_write(Frame frame) {
  outgoing_.Clear();
  outgoing_.set_sequence(frame.sequence);
  outgoing_.set_ack(received_);
  if (frame.sequence != 0) {
    outgoing_.set_records(std::move(frame.records));
    ++stats_.frames_sent;
  }
  stats_.bytes_sent += outgoing_.ByteSizeLong();
  acked_ = received_;
  received_bytes_ = 0;
  writing_ = true;
  StartWrite(&outgoing_);
}

void Session::OnWriteDone(bool ok) {
  const absl::MutexLock lock(&mutex_);
  writing_ = false;
  if (ok) pump();
}

absl::Status Session::accept(const v1::WorkerFrame& frame) {
  const size_t bytes = frame.ByteSizeLong();
  stats_.bytes_received += bytes;
  const auto conflict = [&](std::string_view what, uint64_t got, uint64_t expected) {
    return absl::AbortedError(str_cat("worker ", link_.address, " sent ", what, " ", got, " where ",
                                      expected, " was due"));
  };
  if (frame.sequence() != 0) {
    if (frame.sequence() != received_ + 1)
      return conflict("frame", frame.sequence(), received_ + 1);
    received_ = frame.sequence();
    received_bytes_ += bytes;
    ++stats_.frames_received;
  }
  if (frame.ack() > sequence_) return conflict("an ack of frame", frame.ack(), sequence_);
  while (!unacked_.empty() && unacked_.front().first <= frame.ack()) {
    unacked_bytes_ -= unacked_.front().second;
    unacked_.pop_front();
  }
  if (!welcomed_) {
    if (!frame.has_welcome()) return conflict("no welcome in frame", frame.sequence(), 1);
    const v1::Welcome& welcome = frame.welcome();
    if (welcome.session().size() != wire::kSessionNameBytes) {
      return conflict("a session id of bytes", welcome.session().size(), wire::kSessionNameBytes);
    }
    if (welcome.version() < wire::kMinVersion || welcome.version() > wire::kMaxVersion) {
      return conflict("protocol version", welcome.version(), wire::kMaxVersion);
    }
    session_id_ = welcome.session();
    welcomed_ = true;
  }
  return absl::OkStatus();
}

void Session::OnReadDone(bool ok) {
  std::vector<Answer> answers;
  std::vector<OpenRead> orphans;
  std::vector<RemoteOpError> errors;
  absl::Status broken;
  {
    const absl::MutexLock lock(&mutex_);
    if (!ok) {
      over_ = true;  // OnDone follows with the reason
      return;
    }
    broken = accept(incoming_);
    if (!broken.ok() && !is_dead()) die(broken, orphans);
    for (v1::ReadReply& reply : *incoming_.mutable_reads()) {
      const auto found = reads_.find(reply.number());
      if (found == reads_.end()) continue;
      answers.push_back({std::move(found->second), std::move(reply)});
      reads_.erase(found);
    }
    for (v1::OpError& error : *incoming_.mutable_errors()) {
      errors.push_back({named(error.status()), link_.address, std::move(*error.mutable_device()),
                        std::move(*error.mutable_op()), error.window(), error.op_index()});
    }
    pump();
  }
  {
    // Before the next read is started, which takes a while: somebody waits for these.
    const CallbackScope scope;
    // The reason comes before the reads that fail by it.
    for (const RemoteOpError& error : errors) report_op_error(error);
    for (Answer& each : answers) answer(std::move(each));
    for (OpenRead& orphan : orphans) orphan.done(broken);
  }
  if (broken.ok()) {
    StartRead(&incoming_);
  } else {
    context_.TryCancel();
  }
}

absl::Status Session::named(const v1::Status& status) const {
  if (status.code() == 0) return absl::OkStatus();
  absl::Status error(static_cast<absl::StatusCode>(status.code()), status.message());
  if (status.window() != 0) error = calls_.named({status.window(), status.op_index()}, error);
  return {error.code(), str_cat("worker ", link_.address, ": ", std::string(error.message()))};
}

void Session::answer(Answer answer) {
  OpenRead& read = answer.read;
  const v1::ReadReply& reply = answer.reply;
  if (const absl::Status status = named(reply.status()); !status.ok()) {
    read.done(status);
    return;
  }
  if (read.is_sync) {
    read.done(HostData());
    return;
  }
  Spec spec;
  std::string_view encoded = reply.spec();
  if (!dispatch::read_spec(encoded, spec).ok() || !(spec == read.spec)) {
    read.done(
        absl::DataLossError(str_cat("worker ", link_.address, " answered read ", reply.number(),
                                    " with another Spec than ", read.spec.str())));
  } else if (reply.streamed()) {
    start_download(reply.number(), std::move(read));
  } else if (static_cast<int64_t>(reply.data().size()) != spec.byte_size()) {
    read.done(absl::DataLossError(
        str_cat("worker ", link_.address, " answered read ", reply.number(), " of ", spec.str(),
                " with ", reply.data().size(), " bytes; ", spec.byte_size(), " are right")));
  } else {
    read.done(HostData::copy_of(spec, std::as_bytes(std::span(reply.data()))));
  }
}

void Session::start_download(uint64_t number, OpenRead read) {
  absl::Status dead;
  BulkCall* started = nullptr;
  {
    const absl::MutexLock lock(&mutex_);
    dead = status_;
    if (dead.ok()) {
      auto call = make_download(shared_from_this(), number, read.spec, std::move(read.done));
      started = call.get();
      bulk_calls_.emplace(started, std::move(call));
      ++downloads_;
    }
  }
  if (started != nullptr) {
    started->start();
  } else {
    read.done(dead);
  }
}

void Session::die(absl::Status reason, std::vector<OpenRead>& orphans) {
  status_ = std::move(reason);
  for (auto& [number, read] : reads_) orphans.push_back(std::move(read));
  reads_.clear();
  sealed_.clear();
  drops_.clear();
  undefines_.clear();
  for (const auto& [call, owner] : bulk_calls_) call->cancel();
}

void Session::fail(const absl::Status& reason) {
  std::vector<OpenRead> orphans;
  {
    const absl::MutexLock lock(&mutex_);
    if (is_dead()) return;
    die(reason, orphans);
  }
  context_.TryCancel();
  const CallbackScope scope;
  for (OpenRead& orphan : orphans) orphan.done(reason);
}

void Session::OnDone(const grpc::Status& status) {
  std::vector<OpenRead> orphans;
  absl::Status reason;
  {
    const absl::MutexLock lock(&mutex_);
    over_ = true;
    if (!is_dead()) {
      const absl::Status end = call_error(status, link_.address, "the session ended");
      die(absl::Status(end.code(),
                       str_cat(std::string(end.message()), "; its tensors are lost, and after ",
                               "remora::remote::disconnect(\"", link_.address,
                               "\") new ones open another session")),
          orphans);
    }
    reason = status_;
  }
  {
    const CallbackScope scope;
    for (OpenRead& orphan : orphans) orphan.done(reason);
  }
  const absl::MutexLock lock(&mutex_);
  done_ = true;
}

void Session::close(const absl::Status& reason, int deadline_ms) {
  if (in_child()) return;
  std::vector<OpenRead> orphans;
  {
    const absl::MutexLock lock(&mutex_);
    if (!is_dead()) die(reason, orphans);
    closing_ = true;
    pump();
  }
  for (OpenRead& orphan : orphans) orphan.done(reason);
  const absl::MutexLock lock(&mutex_);
  const absl::Condition is_done(&done_);
  if (mutex_.AwaitWithTimeout(is_done, absl::Milliseconds(deadline_ms))) return;
  context_.TryCancel();
  mutex_.AwaitWithTimeout(is_done, absl::Milliseconds(kCancelDeadline_ms));
}

bool Session::done() const {
  if (in_child()) return false;
  const absl::MutexLock lock(&mutex_);
  return done_;
}

void Session::count_bulk(size_t bytes_sent, size_t bytes_received) {
  const absl::MutexLock lock(&mutex_);
  stats_.bytes_sent += bytes_sent;
  stats_.bytes_received += bytes_received;
}

std::unique_ptr<BulkCall> Session::forget(BulkCall* call) {
  std::unique_ptr<BulkCall> owned;
  BulkCall* next = nullptr;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = bulk_calls_.find(call);
    if (found == bulk_calls_.end()) return nullptr;
    owned = std::move(found->second);
    bulk_calls_.erase(found);
    --(owned->is_upload() ? uploads_ : downloads_);
    if (owned->is_upload() && !waiting_uploads_.empty()) {
      next = waiting_uploads_.front();
      waiting_uploads_.pop_front();
    }
  }
  // Also after the session died: a call that was cancelled before it starts ends like any other.
  if (next != nullptr) next->start();
  return owned;
}

}  // namespace remora::remote
