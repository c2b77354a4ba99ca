#include "client/remote/bulk_call.h"

#include <algorithm>
#include <array>
#include <new>

#include "client/remote/callback_scope.h"
#include "client/remote/channel.h"
#include "dispatch/str_cat.h"
#include "grpcpp/generic/generic_stub.h"
#include "proto/chunk.h"
#include "remora/v1/worker.pb.h"

namespace remora::remote {

using dispatch::HostData;
using dispatch::ValueId;

namespace {

/// A slice of `data` that keeps it alive: gRPC may hold slices longer than the call.
grpc::Slice shared_slice(const HostData& data, size_t offset, size_t bytes) {
  using Owner = std::shared_ptr<const std::byte>;
  auto owner = std::make_unique<Owner>(data.bytes);
  auto* memory = const_cast<std::byte*>(data.bytes.get() + offset);  // gRPC only reads it
  return {memory, bytes, [](void* held) { std::unique_ptr<Owner>(static_cast<Owner*>(held)); },
          owner.release()};
}

class UploadCall final : public BulkCall {
 public:
  UploadCall(std::shared_ptr<Session> session, ValueId id, HostData data)
      : BulkCall(std::move(session)), id_(id), data_(std::move(data)) {}

  bool is_upload() const override { return true; }

  void start() override {
    prepare("/remora.v1.Worker/Upload");
    const bool is_last = take_next_chunk();
    StartRead(&reply_);
    write_chunk(is_last);
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (ok && sent_ < data_.span().size()) write_chunk(take_next_chunk());
  }

  void OnDone(const grpc::Status& status) override {
    const auto self = leave();
    if (status.ok()) return;
    // A value whose upload is lost without the worker's knowledge never settles, and its reads
    // would wait for ever: then the session must end.
    if (!worker_reports())
      session().fail(call_error(status, session().link().address, "an upload was lost"));
  }

 private:
  /// True where the worker knows of the upload's end: it has poisoned the value and says so on the
  /// op stream. gRPC refuses calls with the same codes without the worker ever seeing them.
  bool worker_reports() const { return has_trailing_metadata(wire::kSettledKey); }

  /// Makes `chunk_` of the next bytes; true if they are the last.
  bool take_next_chunk() {
    const auto all = data_.span();
    const size_t bytes = std::min(wire::kChunkBytes, all.size() - sent_);
    wire::ChunkHeader header;
    if (sent_ == 0)
      header.target = wire::ChunkTarget{session().session_id(), id_.bits(), all.size(), 0};
    header.offset = sent_;
    header.checksum = wire::chunk_checksum(all.subspan(sent_, bytes));
    const std::array<grpc::Slice, 2> slices = {
        grpc::Slice(wire::encode_chunk_header(header, bytes)), shared_slice(data_, sent_, bytes)};
    chunk_ = grpc::ByteBuffer(slices.data(), slices.size());
    sent_ += bytes;
    session().count_bulk(chunk_.Length(), 0);
    return sent_ == all.size();
  }

  void write_chunk(bool is_last) {
    if (is_last) {
      StartWriteLast(&chunk_, grpc::WriteOptions());
    } else {
      StartWrite(&chunk_);
    }
  }

  const ValueId id_;
  const HostData data_;
  size_t sent_ = 0;
  grpc::ByteBuffer chunk_;
  grpc::ByteBuffer reply_;
};

class DownloadCall final : public BulkCall {
 public:
  DownloadCall(std::shared_ptr<Session> session, uint64_t number, Spec spec,
               dispatch::ReadCallback done)
      : BulkCall(std::move(session)),
        number_(number),
        spec_(std::move(spec)),
        done_(std::move(done)) {}

  bool is_upload() const override { return false; }

  void start() override {
    begin();
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&chunk_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (error_.ok()) error_ = take_chunk();
    if (error_.ok()) {
      StartRead(&chunk_);
    } else {
      cancel();
    }
  }

  void OnDone(const grpc::Status& status) override {
    const auto self = leave();
    const std::string& address = session().link().address;
    absl::Status error = error_;
    if (error.ok() && !status.ok()) {
      // A dead session is the better reason for a call that it took along.
      error = session().status();
      if (error.ok()) error = call_error(status, address, str_cat("read ", number_, " was lost"));
    }
    if (error.ok() && received_ != memory_.size()) error = wrong_size(received_);
    const dispatch::ReadCallback done = std::move(done_);
    const CallbackScope scope;
    if (error.ok()) {
      done(std::move(data_));
    } else {
      done(error);
    }
  }

 private:
  void begin() {
    try {
      data_ = HostData::make(spec_, [this](std::span<std::byte> memory) { memory_ = memory; });
    } catch (const std::bad_alloc&) {
      error_ = absl::ResourceExhaustedError(
          str_cat("no host memory for a read of ", spec_.str(), ", ", spec_.byte_size(), " bytes"));
    }
    v1::DownloadRequest request;
    request.set_session(session().session_id());
    request.set_read(number_);
    const grpc::Slice slice(request.SerializeAsString());
    request_ = grpc::ByteBuffer(&slice, 1);
    session().count_bulk(request_.Length(), 0);
    prepare("/remora.v1.Worker/Download");
    if (!error_.ok()) cancel();
  }

  absl::Status wrong_size(size_t bytes) {
    return absl::DataLossError(str_cat("worker ", session().link().address, ": read ", number_,
                                       " of ", spec_.str(), " brought ", bytes, " bytes; ",
                                       memory_.size(), " are right"));
  }

  absl::Status take_chunk() {
    std::vector<grpc::Slice> slices;
    if (!chunk_.Dump(&slices).ok()) return absl::DataLossError("a chunk cannot be read");
    session().count_bulk(0, chunk_.Length());
    std::vector<wire::ByteSpan> spans;
    spans.reserve(slices.size());
    for (const grpc::Slice& slice : slices) {
      spans.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
    }
    const absl::StatusOr<wire::ChunkView> chunk = wire::decode_chunk(spans);
    if (!chunk.ok()) return chunk.status();
    if (chunk->header.offset != received_ || chunk->data_bytes > memory_.size() - received_) {
      return wrong_size(static_cast<size_t>(chunk->header.offset) + chunk->data_bytes);
    }
    const std::span<std::byte> target = memory_.subspan(received_, chunk->data_bytes);
    auto out = target.begin();
    for (const wire::ByteSpan& piece : chunk->data)
      out = std::copy(piece.begin(), piece.end(), out);
    if (wire::chunk_checksum(target) != chunk->header.checksum) {
      return absl::DataLossError(str_cat("worker ", session().link().address, ": read ", number_,
                                         ": the checksum at offset ", received_, " is wrong"));
    }
    received_ += chunk->data_bytes;
    return absl::OkStatus();
  }

  const uint64_t number_;
  const Spec spec_;
  dispatch::ReadCallback done_;
  HostData data_;
  std::span<std::byte> memory_;  // of data_, until it is shared
  size_t received_ = 0;
  absl::Status error_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer chunk_;
};

}  // namespace

void BulkCall::prepare(const char* method) {
  add_token(context_, session_->link().token.text);
  grpc::GenericStub(session_->link().bulk).PrepareBidiStreamingCall(&context_, method, {}, this);
}

std::unique_ptr<BulkCall> make_upload(std::shared_ptr<Session> session, ValueId id, HostData data) {
  return std::make_unique<UploadCall>(std::move(session), id, std::move(data));
}

std::unique_ptr<BulkCall> make_download(std::shared_ptr<Session> session, uint64_t number,
                                        Spec spec, dispatch::ReadCallback done) {
  return std::make_unique<DownloadCall>(std::move(session), number, std::move(spec),
                                        std::move(done));
}

}  // namespace remora::remote
