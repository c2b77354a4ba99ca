#include "server/service_bulk.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "grpcpp/alarm.h"
#include "proto/chunk.h"
#include "proto/limits.h"
#include "remora/v1/worker.pb.h"
#include "server/limits.h"
#include "server/service_call.h"
#include "server/session.h"

namespace remora::server {
namespace {

/// A message's slices and the views into them.
struct Slices {
  std::vector<grpc::Slice> held;
  std::vector<wire::ByteSpan> spans;

  explicit Slices(const grpc::ByteBuffer& buffer) {
    if (!buffer.Dump(&held).ok()) held.clear();
    for (const grpc::Slice& slice : held) {
      spans.push_back(std::as_bytes(std::span(slice.begin(), slice.size())));
    }
  }
};

/// Brings the bytes of one announced upload. Holds itself until gRPC is done with it.
class UploadReactor final : public grpc::ServerReadReactor<grpc::ByteBuffer>,
                            public std::enable_shared_from_this<UploadReactor> {
 public:
  UploadReactor(Worker& worker, grpc::CallbackServerContext& context, grpc::ByteBuffer& response)
      : worker_(worker),
        deadline_(worker.upload_deadline()),
        context_(context),
        response_(response) {}

  static UploadReactor* start(Worker& worker, grpc::CallbackServerContext& context,
                              grpc::ByteBuffer& response) {
    auto reactor = std::make_shared<UploadReactor>(worker, context, response);
    reactor->self_ = reactor;
    absl::StatusOr<std::string> identity = authenticate(worker, context, "Upload");
    if (identity.ok()) {
      reactor->identity_ = *std::move(identity);
      reactor->watch(0);
      reactor->read();
    } else {
      reactor->finish(identity.status());
    }
    return reactor.get();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      end_of_chunks();
      return;
    }
    if (const UploadPtr upload = claimed()) {
      take_chunk(*upload);
    } else {
      take_target();
    }
  }

  void OnCancel() override {
    const absl::Status gone =
        absl::UnavailableError("the upload's call broke before all bytes had arrived");
    UploadPtr upload;
    std::shared_ptr<Session> session;
    {
      const absl::MutexLock lock(&mutex_);
      if (finished_) return;
      upload = upload_;
      session = session_;
    }
    if (upload != nullptr) {
      upload->fail(gone);
    } else if (session != nullptr) {
      session->uploads().cancel_claim(id_, gone);
    }
    finish(gone);
  }

  void OnDone() override { const std::shared_ptr<UploadReactor> last = std::move(self_); }

 private:
  UploadPtr claimed() {
    const absl::MutexLock lock(&mutex_);
    return upload_;
  }

  void read() {
    const absl::MutexLock lock(&mutex_);
    if (!finished_) StartRead(&incoming_);
  }

  void finish(const absl::Status& status) {
    const absl::MutexLock lock(&mutex_);
    if (std::exchange(finished_, true)) return;
    const bool settled =
        upload_ != nullptr || (session_ != nullptr && session_->uploads().has_ended(id_));
    if (!status.ok() && settled) context_.AddTrailingMetadata(wire::kSettledKey, "1");
    Finish(to_grpc(status));
  }

  // The first chunk names the upload; its data is taken once the announcement has come.
  void take_target() {
    first_ = std::make_unique<Slices>(incoming_);
    absl::StatusOr<wire::ChunkView> chunk = wire::decode_chunk(first_->spans);
    absl::Status status = chunk.status();
    if (status.ok() && !chunk->header.target) {
      status = absl::InvalidArgumentError("upload: the first chunk names no target");
    }
    std::shared_ptr<Session> session;
    if (status.ok()) {
      absl::StatusOr<std::shared_ptr<Session>> found =
          worker_.sessions().find(chunk->header.target->session, identity_);
      status = found.status();
      if (found.ok()) session = *std::move(found);
    }
    if (!status.ok()) {
      finish(status);
      return;
    }
    const auto id = dispatch::ValueId::from_bits(chunk->header.target->value);
    {
      const absl::MutexLock lock(&mutex_);
      if (finished_) return;
      session_ = session;
      id_ = id;
    }
    session->uploads().claim(
        id, [self = shared_from_this(), chunk = *std::move(chunk)](
                const absl::StatusOr<UploadPtr>& upload) { self->start_with(chunk, upload); });
  }

  void start_with(const wire::ChunkView& chunk, const absl::StatusOr<UploadPtr>& upload) {
    if (!upload.ok()) {
      finish(upload.status());
      return;
    }
    bool gone = false;
    {
      const absl::MutexLock lock(&mutex_);
      gone = finished_;
      upload_ = *upload;
    }
    if (gone) {
      (*upload)->fail(
          absl::UnavailableError("the upload's call broke before its announcement came"));
      return;
    }
    absl::Status status = (*upload)->begin(chunk.header.target->byte_size);
    if (status.ok()) status = (*upload)->append(chunk);
    first_.reset();
    if (status.ok()) {
      watch((*upload)->received_bytes());
      read();
    } else {
      finish(status);
    }
  }

  /// Looks after the deadline whether bytes have come since. Every look has an alarm of its own,
  /// since one cannot be set anew while it rings.
  void watch(uint64_t seen) {
    const absl::MutexLock lock(&mutex_);
    if (finished_) return;
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(std::chrono::system_clock::now() + deadline_,
                [weak = weak_from_this(), seen](bool due) {
                  if (!due) return;
                  if (const auto self = weak.lock()) self->look(seen);
                });
  }

  void look(uint64_t seen) {
    UploadPtr upload;
    {
      // A call that is at its end has had its answer; one whose first chunk waits for its
      // announcement is looked after by its session.
      const absl::MutexLock lock(&mutex_);
      if (finished_ || (upload_ == nullptr && session_ != nullptr)) return;
      upload = upload_;
    }
    if (upload != nullptr && upload->received_bytes() != seen) {
      watch(upload->received_bytes());
      return;
    }
    const absl::Status stuck = absl::DeadlineExceededError(str_cat(
        "upload: no bytes came for ", deadline_.count(), " ms after ", seen, " had arrived"));
    if (upload != nullptr) upload->fail(stuck);
    finish(stuck);
  }

  void take_chunk(Upload& upload) {
    const Slices slices(incoming_);
    absl::StatusOr<wire::ChunkView> chunk = wire::decode_chunk(slices.spans);
    absl::Status status = chunk.status();
    if (status.ok()) {
      status = upload.append(*chunk);
    } else {
      upload.fail(status);
    }
    if (status.ok()) {
      read();
    } else {
      finish(status);
    }
  }

  void end_of_chunks() {
    const UploadPtr upload = claimed();
    if (upload == nullptr) {
      finish(absl::InvalidArgumentError("upload: the call ended before its first chunk"));
      return;
    }
    // A broken call looks like a finished one; OnCancel tells them apart, but may come later.
    if (context_.IsCancelled()) {
      upload->fail(absl::UnavailableError("the upload's call broke before all bytes had arrived"));
    }
    const absl::Status status = upload->finish();
    if (status.ok()) {
      v1::UploadReply reply;
      reply.set_received_bytes(upload->received_bytes());
      const grpc::Slice bytes(reply.SerializeAsString());
      response_ = grpc::ByteBuffer(&bytes, 1);
    }
    finish(status);
  }

  Worker& worker_;
  const std::chrono::milliseconds deadline_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer& response_;
  std::string identity_;
  std::shared_ptr<UploadReactor> self_;
  grpc::ByteBuffer incoming_;      // owned by the read in progress
  std::unique_ptr<Slices> first_;  // of the first chunk, while its announcement is waited for
  absl::Mutex mutex_;              // guards all below, and that no call follows Finish
  std::shared_ptr<Session> session_ ABSL_GUARDED_BY(mutex_);
  dispatch::ValueId id_;  // written before session_
  UploadPtr upload_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

/// Sends what is kept of one read, until its session ends. Holds itself until gRPC is done with it.
class DownloadReactor final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                              public std::enable_shared_from_this<DownloadReactor> {
 public:
  explicit DownloadReactor(grpc::CallbackServerContext& context) : context_(context) {}

  static DownloadReactor* start(Worker& worker, grpc::CallbackServerContext& context,
                                const grpc::ByteBuffer& request) {
    auto reactor = std::make_shared<DownloadReactor>(context);
    reactor->self_ = reactor;
    const absl::StatusOr<std::string> identity = authenticate(worker, context, "Download");
    absl::Status status = identity.status();
    if (status.ok()) status = reactor->open(worker, *identity, request);
    if (status.ok()) {
      reactor->write();
    } else {
      reactor->finish(status);
    }
    return reactor.get();
  }

  void OnWriteDone(bool ok) override {
    const size_t size = read_->data.span().size();
    if (!ok) {
      finish(absl::CancelledError(
          "the client does not take the download any more, or its session ended"));
    } else if (sent_ < size) {
      write();
    } else {
      session_->reads().fetched(number_);
      finish(absl::OkStatus());
    }
  }

  void OnDone() override {
    if (session_ != nullptr) session_->reads().leave(this);
    const std::shared_ptr<DownloadReactor> last = std::move(self_);
  }

 private:
  absl::Status open(Worker& worker, const std::string& identity, const grpc::ByteBuffer& request) {
    const Slices slices(request);
    std::string bytes;
    for (const wire::ByteSpan& piece : slices.spans) {
      if (bytes.size() + piece.size() > kMaxDownloadRequestBytes) break;
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    v1::DownloadRequest parsed;
    if (bytes.size() != request.Length() || !parsed.ParseFromString(bytes)) {
      return absl::InvalidArgumentError("download: the request is no DownloadRequest");
    }
    REMORA_ASSIGN_OR_RETURN(session_, worker.sessions().find(parsed.session(), identity));
    number_ = parsed.read();
    REMORA_ASSIGN_OR_RETURN(read_,
                            session_->reads().fetch(number_, this, [weak = weak_from_this()] {
                              if (const auto self = weak.lock()) self->stop();
                            }));
    if (const size_t size = read_->data.span().size(); parsed.offset() >= size) {
      return absl::InvalidArgumentError(
          str_cat("download: offset ", parsed.offset(), " of a read of ", size, " bytes"));
    }
    sent_ = static_cast<size_t>(parsed.offset());
    return absl::OkStatus();
  }

  /// Breaks a write that the client does not take. gRPC keeps the context until `Finish`, which
  /// therefore waits for the cancel.
  void stop() {
    {
      const absl::MutexLock lock(&mutex_);
      if (finished_) return;
      stopping_ = true;
    }
    context_.TryCancel();
    grpc::Status status;
    {
      const absl::MutexLock lock(&mutex_);
      stopping_ = false;
      if (!finished_) return;
      status = to_grpc(end_);
    }
    Finish(status);
  }

  void finish(const absl::Status& status) {
    {
      const absl::MutexLock lock(&mutex_);
      finished_ = true;
      end_ = status;
      if (stopping_) return;
    }
    Finish(to_grpc(status));
  }

  void write() {
    const std::span<const std::byte> all = read_->data.span();
    const std::span<const std::byte> piece =
        all.subspan(sent_, std::min(wire::kChunkBytes, all.size() - sent_));
    wire::ChunkHeader header;
    if (!std::exchange(target_sent_, true)) header.target = wire::ChunkTarget{"", 0, all.size(), 0};
    header.offset = sent_;
    header.checksum = wire::chunk_checksum(piece);
    sent_ += piece.size();
    // The slice keeps the bytes alive for as long as the transport holds it.
    auto keep = std::make_unique<KeptReadPtr>(read_);
    const grpc::Slice slices[] = {
        grpc::Slice(wire::encode_chunk_header(header, piece.size())),
        grpc::Slice(
            const_cast<std::byte*>(piece.data()), piece.size(),
            [](void* kept) {
              const std::unique_ptr<KeptReadPtr> gone(static_cast<KeptReadPtr*>(kept));
            },
            keep.release())};
    outgoing_ = grpc::ByteBuffer(slices, 2);
    StartWrite(&outgoing_);
  }

  std::shared_ptr<DownloadReactor> self_;
  std::shared_ptr<Session> session_;
  KeptReadPtr read_;
  uint64_t number_ = 0;
  size_t sent_ = 0;
  bool target_sent_ = false;
  grpc::ByteBuffer outgoing_;  // owned by the write in progress
  grpc::CallbackServerContext& context_;
  absl::Mutex mutex_;  // guards all below
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);  // once finished
};

}  // namespace

grpc::ServerReadReactor<grpc::ByteBuffer>* serve_upload(Worker& worker,
                                                        grpc::CallbackServerContext& context,
                                                        grpc::ByteBuffer& response) {
  return UploadReactor::start(worker, context, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* serve_download(Worker& worker,
                                                           grpc::CallbackServerContext& context,
                                                           const grpc::ByteBuffer& request) {
  return DownloadReactor::start(worker, context, request);
}

}  // namespace remora::server
