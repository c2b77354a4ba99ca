// What a session's devices tell it: read results, errors of ops, copies between devices.
#include <utility>

#include "dispatch/attrs_codec.h"
#include "dispatch/device_state.h"
#include "dispatch/str_cat.h"
#include "proto/limits.h"
#include "server/limits.h"
#include "server/session.h"

namespace remora::server {

using dispatch::Buffer;
using dispatch::HostData;
using dispatch::MemoryCharge;
using dispatch::Value;

namespace {

/// True if the bytes are the value's own storage, which is paid for until the last of them is let
/// go.
bool shares_storage(const HostData& data, const Value& value) {
  const auto& storage = value->buffer().storage;
  return storage != nullptr && storage->charged() && !storage.owner_before(data.bytes) &&
         !data.bytes.owner_before(storage);
}

}  // namespace

void Session::answer(uint64_t number, size_t asked_bytes, const Value& value,
                     absl::StatusOr<HostData> data) {
  asked_bytes_ -= asked_bytes;
  if (!data.ok()) {
    answer_status(number, data.status());
    return;
  }
  v1::ReadReply reply;
  reply.set_number(number);
  dispatch::append_spec(*reply.mutable_spec(), data->spec);
  const std::span<const std::byte> bytes = data->span();
  if (bytes.size() <= wire::kMaxInlineBytes) {
    reply.set_data(bytes.data(), bytes.size());
    reads_.answered(number);
  } else {
    absl::StatusOr<MemoryCharge> charge = MemoryCharge();
    if (!shares_storage(*data, value)) {
      charge = account_->reserve(static_cast<int64_t>(bytes.size()));
    }
    if (!charge.ok()) {
      answer_status(number, absl::Status(charge.status().code(),
                                         str_cat("read of ", data->spec.str(), ": ",
                                                 std::string(charge.status().message()))));
      return;
    }
    reply.set_streamed(true);
    reads_.keep(number, std::make_shared<KeptRead>(KeptRead{*std::move(data), *std::move(charge)}));
  }
  replies_.add_read(std::move(reply));
  notify_replies();
}

void Session::answer_status(uint64_t number, const absl::Status& status) {
  v1::ReadReply reply;
  reply.set_number(number);
  if (!status.ok()) *reply.mutable_status() = wire_status(status);
  reads_.answered(number);
  replies_.add_read(std::move(reply));
  notify_replies();
}

void Session::report(std::string_view op, uint64_t window, uint32_t op_index, uint32_t device,
                     const absl::Status& status) {
  v1::OpError error;
  *error.mutable_status() = wire_status(status);
  error.set_op(std::string(op));
  error.set_window(window);
  error.set_op_index(op_index);
  if (device < lanes_.size()) error.set_device(lanes_[device].device->text);
  replies_.add_error(std::move(error));
  notify_replies();
}

void Session::copy(const Value& source, const Value& value, uint32_t device) {
  if (source->poisoned()) {
    value->poison(source->error());
    lanes_[device].device->state->executor().wake();
    bytes_landed(kTaskBytes);
    return;
  }
  absl::StatusOr<MemoryCharge> reserved = account_->reserve(value->spec().byte_size());
  if (!reserved.ok()) {
    finish_copy(value, device, reserved.status(), {});
    return;
  }
  dispatch::Backend& to = value->device().backend();
  dispatch::Backend& from = source->device().backend();
  absl::StatusOr<Buffer> buffer = to.copy_from(from, source->buffer(), value->id());
  if (!absl::IsUnimplemented(buffer.status())) {
    finish_copy(value, device, std::move(buffer), *std::move(reserved));
    return;
  }
  auto charge = std::make_shared<MemoryCharge>(*std::move(reserved));
  from.download(source->buffer(), [self = shared_from_this(), source, value, device,
                                   charge](absl::StatusOr<HostData> data) {
    const dispatch::MemoryOwnerScope scope(self->identity().owner());
    absl::StatusOr<Buffer> copied = data.status();
    if (data.ok()) copied = value->device().backend().upload(value->id(), *std::move(data));
    self->finish_copy(value, device, std::move(copied), std::move(*charge));
  });
}

void Session::finish_copy(const Value& value, uint32_t device, absl::StatusOr<Buffer> buffer,
                          MemoryCharge charge) {
  if (buffer.ok()) {
    value->fulfil(*std::move(buffer), std::move(charge));
  } else {
    report("transfer", value->id().window(), value->id().index(), device, buffer.status());
    value->poison(buffer.status());
  }
  lanes_[device].device->state->executor().wake();
  bytes_landed(kTaskBytes);
}

}  // namespace remora::server
