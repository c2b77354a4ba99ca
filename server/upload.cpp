#include "server/upload.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "dispatch/device_state.h"
#include "dispatch/str_cat.h"

namespace remora::server {

Upload::Upload(dispatch::Value value, const ServedDevice& device,
               std::shared_ptr<dispatch::MemoryAccount> account, dispatch::MemoryOwner owner,
               FlowShare staging, Settled settled)
    : value_(std::move(value)),
      device_(device),
      account_(std::move(account)),
      owner_(owner),
      byte_size_(value_->spec().byte_size()),
      settled_(std::move(settled)),
      staging_(std::move(staging)) {}

std::string Upload::name() const {
  return str_cat("upload of value (", value_->id().window(), ", ", value_->id().index(), ") ",
                 value_->spec().str());
}

absl::Status Upload::begin(uint64_t announced_bytes) {
  if (announced_bytes != static_cast<uint64_t>(byte_size_)) {
    return fail_with(absl::DataLossError(str_cat(name(), ": the call brings ", announced_bytes,
                                                 " bytes, the tensor has ", byte_size_)));
  }
  if (const uint64_t limit = device_.description.memory_limit_bytes(); announced_bytes > limit) {
    return fail_with(absl::ResourceExhaustedError(
        str_cat(name(), ": ", byte_size_, " bytes; ", device_.text, " may hold ", limit)));
  }
  dispatch::HostData data;
  std::span<std::byte> room;
  try {
    data =
        dispatch::HostData::make(value_->spec(), [&](std::span<std::byte> bytes) { room = bytes; });
  } catch (const std::bad_alloc&) {
    return fail_with(absl::ResourceExhaustedError(
        str_cat(name(), ": the worker's host has no ", byte_size_, " bytes left")));
  }
  const absl::MutexLock lock(&mutex_);
  if (!status_.ok()) return status_;
  data_ = std::move(data);
  room_ = room;
  return absl::OkStatus();
}

absl::Status Upload::append(const wire::ChunkView& chunk) {
  absl::Status error;
  {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    if (chunk.data_bytes == 0 && byte_size_ > 0) {
      error = absl::InvalidArgumentError(
          str_cat(name(), ": a chunk at offset ", received_, " brings no bytes"));
    } else if (chunk.header.offset != static_cast<uint64_t>(received_)) {
      error = absl::DataLossError(str_cat(name(), ": a chunk for offset ", chunk.header.offset,
                                          " arrived where ", received_, " was due"));
    } else if (chunk.data_bytes > static_cast<size_t>(byte_size_ - received_)) {
      error = absl::DataLossError(str_cat(name(), ": ",
                                          received_ + static_cast<int64_t>(chunk.data_bytes),
                                          " bytes arrived, the tensor has ", byte_size_));
    } else {
      const std::span<std::byte> into =
          room_.subspan(static_cast<size_t>(received_), chunk.data_bytes);
      size_t at = 0;
      for (const wire::ByteSpan& piece : chunk.data) {
        if (!piece.empty()) std::memcpy(into.data() + at, piece.data(), piece.size());
        at += piece.size();
      }
      received_ += static_cast<int64_t>(chunk.data_bytes);
      if (chunk.data_bytes > 0 && wire::chunk_checksum(into) != chunk.header.checksum) {
        error = absl::DataLossError(str_cat(name(), ": the checksum of the chunk at offset ",
                                            chunk.header.offset, " is wrong"));
      }
    }
  }
  return error.ok() ? error : fail_with(std::move(error));
}

absl::Status Upload::finish() {
  int64_t received = 0;
  {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    received = received_;
    complete_ = received == byte_size_;
  }
  if (received != byte_size_) {
    return fail_with(
        absl::DataLossError(str_cat(name(), ": ", received, " of ", byte_size_, " bytes arrived")));
  }
  settle_if_ready();
  const absl::MutexLock lock(&mutex_);
  return status_;
}

uint64_t Upload::received_bytes() const {
  const absl::MutexLock lock(&mutex_);
  return static_cast<uint64_t>(received_);
}

void Upload::take_turn() {
  absl::StatusOr<dispatch::MemoryCharge> charge = account_->reserve(byte_size_);
  if (!charge.ok()) {
    fail(charge.status());
    return;
  }
  {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return;
    charge_ = *std::move(charge);
    turn_taken_ = true;
  }
  settle_if_ready();
}

void Upload::fail(const absl::Status& status) { (void)fail_with(status); }

absl::Status Upload::fail_with(absl::Status status) {
  Settled settled;
  dispatch::HostData data;
  FlowShare staging;
  dispatch::MemoryCharge charge;
  {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok() || settled_ == nullptr) return status;
    status_ = status;
    settled.swap(settled_);
    data = std::move(data_);
    room_ = {};
    staging = std::move(staging_);
    charge = std::move(charge_);
  }
  value_->poison(status);
  device_.state->executor().wake();
  settled(status);
  return status;
}

void Upload::settle_if_ready() {
  Settled settled;
  dispatch::HostData data;
  FlowShare staging;
  dispatch::MemoryCharge charge;
  {
    const absl::MutexLock lock(&mutex_);
    if (!complete_ || !turn_taken_ || settled_ == nullptr) return;
    settled.swap(settled_);
    data = std::move(data_);
    room_ = {};
    staging = std::move(staging_);
    charge = std::move(charge_);
  }
  const dispatch::MemoryOwnerScope scope(owner_);
  absl::StatusOr<dispatch::Buffer> buffer =
      device_.state->backend().upload(value_->id(), std::move(data));
  const absl::Status status = buffer.status();
  if (status.ok()) {
    value_->fulfil(*std::move(buffer), std::move(charge));
  } else {
    value_->poison(status);
    const absl::MutexLock lock(&mutex_);
    status_ = status;
  }
  device_.state->executor().wake();
  settled(status);
}

}  // namespace remora::server
