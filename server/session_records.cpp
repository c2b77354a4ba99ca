// What a session does with each kind of record.
#include <algorithm>
#include <utility>

#include "dispatch/attrs_codec.h"
#include "dispatch/device_state.h"
#include "dispatch/str_cat.h"
#include "proto/limits.h"
#include "server/limits.h"
#include "server/session.h"

namespace remora::server {

using dispatch::CallTask;
using dispatch::HostData;
using dispatch::Value;
using dispatch::ValueId;

namespace {

std::string id_text(ValueId id) { return str_cat("value (", id.window(), ", ", id.index(), ")"); }

absl::Status unknown_value(ValueId id) {
  return absl::NotFoundError(str_cat(
      id_text(id), " is not there: it was never made in this session, or dropped or consumed"));
}

}  // namespace

Session::Outcome Session::handle(const wire::DefineRecord& record) {
  const absl::Status status = graphs_.define(record);
  if (!status.ok()) report("define", 0, 0, record.device, status);
  return Outcome::kDone;
}

Session::Outcome Session::handle(const wire::UndefineRecord& record) {
  graphs_.undefine(record.graph);
  return Outcome::kDone;
}

Session::Outcome Session::handle(const wire::RunRecord& record) {
  const DefinedGraph* defined = graphs_.find(record.graph);
  if (defined == nullptr) {
    report("run", record.run.window, 0, 0,
           absl::NotFoundError(str_cat("graph ", record.graph, " is not defined")));
    return Outcome::kDone;
  }
  run(*defined, record.run);
  return Outcome::kDone;
}

Session::Outcome Session::handle(const wire::OnceRecord& record) {
  run(check_graph(identity().devices(), record.device, record.live, record.body,
                  record.run.inputs.size(), record.run.params.size()),
      record.run);
  return Outcome::kDone;
}

void Session::run(const DefinedGraph& defined, const wire::RunBindings& bindings) {
  absl::Status status = values_.open_window(bindings.window);
  if (status.ok()) status = values_.check_room(defined.live_count);
  const bool has_ids = status.ok();
  std::vector<Value> inputs;
  if (has_ids) status = defined.status.ok() ? bind(defined, bindings, inputs) : defined.status;
  for (size_t i = 0; i < bindings.inputs.size(); ++i) {
    if (i < bindings.consumed.size() && bindings.consumed[i]) values_.erase(bindings.inputs[i]);
  }
  if (status.ok()) {
    issue(defined, bindings, std::move(inputs));
  } else {
    report("run", bindings.window, 0, defined.device, status);
    if (has_ids) poison_outputs(defined, bindings.window, status);
  }
}

absl::Status Session::bind(const DefinedGraph& defined, const wire::RunBindings& bindings,
                           std::vector<Value>& inputs) const {
  const dispatch::DeviceState* device = lanes_[defined.device].device->state.get();
  inputs.reserve(bindings.inputs.size());
  for (size_t i = 0; i < bindings.inputs.size(); ++i) {
    const ValueId id = bindings.inputs[i];
    Value value = values_.find(id);
    if (!value) {
      const absl::Status unknown = unknown_value(id);
      return absl::Status(unknown.code(),
                          str_cat("run: input ", i, ": ", std::string(unknown.message())));
    }
    // What a poisoned value would have been may be unknown; its own error is the better one.
    if (!value->poisoned()) {
      if (&value->device() != device) {
        return absl::InvalidArgumentError(str_cat("run: input ", i, ": ", id_text(id), " lives on ",
                                                  value->device().device().str(),
                                                  ", the graph runs on ", device->device().str()));
      }
      if (const Spec& spec = defined.graph->inputs[i]; value->spec() != spec) {
        return absl::InvalidArgumentError(str_cat("run: input ", i, ": ", id_text(id), " is ",
                                                  value->spec().str(), ", the graph takes ",
                                                  spec.str()));
      }
    }
    inputs.push_back(std::move(value));
  }
  return absl::OkStatus();
}

void Session::issue(const DefinedGraph& defined, const wire::RunBindings& bindings,
                    std::vector<Value> inputs) {
  Lane& lane = lanes_[defined.device];
  dispatch::WindowRun run;
  run.graph = defined.graph;
  run.live = defined.live;
  run.params = bindings.params;
  run.inputs = std::move(inputs);
  run.consumed = bindings.consumed;
  run.outputs.resize(defined.live.size());
  run.window = bindings.window;
  run.account = account_;
  for (size_t i = 0; i < defined.live.size(); ++i) {
    if (!defined.live[i]) continue;
    const ValueId id(bindings.window, static_cast<uint32_t>(i));
    run.outputs[i] = Value::make(id, defined.graph->outputs[i], lane.device->state.get());
    values_.add(id, run.outputs[i]);
  }
  run.on_failure = [session = weak_from_this(), graph = defined.graph, device = defined.device,
                    window = bindings.window](const dispatch::GraphOp& op,
                                              const absl::Status& status) {
    const auto self = session.lock();
    if (self == nullptr) return;
    const auto index = static_cast<uint32_t>(&op - graph->ops.data());
    self->report(op.info->name, window, index, device, status);
  };
  ++waiting_windows_;
  waiting_bytes_ += defined.live_bytes;
  ++lane.unmarked_windows;
  lane.unmarked_bytes += defined.live_bytes;
  push(defined.device, std::move(run));
  if (lane.unmarked_windows >= kWindowsPerMark) mark(lane);
}

void Session::poison_outputs(const DefinedGraph& defined, uint64_t window,
                             const absl::Status& status) {
  for (size_t i = 0; i < defined.live.size(); ++i) {
    if (!defined.live[i]) continue;
    const ValueId id(window, static_cast<uint32_t>(i));
    Value value = Value::make(id, defined.graph == nullptr ? Spec() : defined.graph->outputs[i],
                              lanes_[defined.device].device->state.get());
    value->poison(status);
    values_.add(id, std::move(value));
  }
}

absl::Status Session::check_arrival(std::string_view what, ValueId id, uint32_t device,
                                    const Spec& spec) {
  absl::Status status = values_.check_new(id);
  if (status.ok()) status = values_.check_room(1);
  if (!status.ok()) {
    report(what, id.window(), id.index(), device, status);
    return status;
  }
  if (device >= lanes_.size()) {
    status = absl::NotFoundError(str_cat(what, ": ", id_text(id), ": device ", device,
                                         " is not served; there are ", lanes_.size(),
                                         ", numbered from 0"));
    device = 0;
  } else if (const int64_t bytes = spec.byte_size(); bytes > settings_.quota_bytes) {
    status = absl::ResourceExhaustedError(str_cat(
        what, ": ", id_text(id), " ", spec.str(), " has ", bytes, " bytes; the quota of session ",
        settings_.number, " is ", settings_.quota_bytes, " bytes"));
  } else if (const absl::Status in_flight = identity().check_in_flight(bytes); !in_flight.ok()) {
    status = absl::Status(in_flight.code(), str_cat(what, ": ", id_text(id), " ", spec.str(), ": ",
                                                    std::string(in_flight.message())));
  }
  if (status.ok()) return status;
  report(what, id.window(), id.index(), device, status);
  Value value = Value::make(id, spec, lanes_[device].device->state.get());
  value->poison(status);
  values_.add(id, std::move(value));
  return status;
}

Session::Outcome Session::handle(const wire::HostDataRecord& record) {
  const int64_t bytes = record.spec.byte_size() + kTaskBytes;
  if (!take_in_flight(bytes)) return Outcome::kLater;
  if (!check_arrival("host data", record.value, record.device, record.spec).ok()) {
    bytes_landed(bytes);
    return Outcome::kDone;
  }
  dispatch::DeviceState* device = lanes_[record.device].device->state.get();
  Value value = Value::make(record.value, record.spec, device);
  values_.add(record.value, value);
  HostData data = HostData::copy_of(record.spec, std::as_bytes(std::span(record.bytes)));
  push(record.device, CallTask{{},
                               [session = weak_from_this(), value = std::move(value),
                                data = std::move(data), number = record.device, bytes]() mutable {
                                 const auto self = session.lock();
                                 if (self == nullptr || self->ended_) {
                                   value->poison(absl::CancelledError("the session ended"));
                                   return;
                                 }
                                 absl::StatusOr<dispatch::MemoryCharge> charge =
                                     self->account_->reserve(value->spec().byte_size());
                                 absl::Status status = charge.status();
                                 if (status.ok()) {
                                   absl::StatusOr<dispatch::Buffer> buffer =
                                       value->device().backend().upload(value->id(),
                                                                        std::move(data));
                                   status = buffer.status();
                                   if (buffer.ok())
                                     value->fulfil(*std::move(buffer), *std::move(charge));
                                 }
                                 if (!status.ok()) {
                                   self->report("host data", value->id().window(),
                                                value->id().index(), number, status);
                                   value->poison(status);
                                 }
                                 self->bytes_landed(bytes);
                               }});
  return Outcome::kDone;
}

Session::Outcome Session::handle(const wire::UploadRecord& record) {
  const int64_t bytes = record.spec.byte_size() + kTaskBytes;
  // One that is refused for its size does not wait for room first.
  const bool may_come = record.spec.byte_size() <= settings_.quota_bytes &&
                        identity().check_in_flight(record.spec.byte_size()).ok();
  FlowShare staging;
  if (may_come && record.device < lanes_.size()) {
    const auto& room = lanes_[record.device].device->staging;
    if (!room->take(bytes, shared_from_this())) return Outcome::kLater;
    staging = FlowShare(room, bytes);
  }
  if (may_come && !take_in_flight(bytes)) return Outcome::kLater;
  absl::Status status = check_arrival("upload", record.value, record.device, record.spec);
  if (!status.ok()) {
    if (may_come) bytes_landed(bytes);
    if (!absl::IsAlreadyExists(status)) uploads_.ended(record.value, status);
    return Outcome::kDone;
  }
  const ServedDevice& device = *lanes_[record.device].device;
  Value value = Value::make(record.value, record.spec, device.state.get());
  values_.add(record.value, value);
  status = uploads_.check_room();
  if (!status.ok()) {
    bytes_landed(bytes);
    value->poison(status);
    report("upload", record.value.window(), record.value.index(), record.device, status);
    uploads_.ended(record.value, status);
    return Outcome::kDone;
  }
  auto upload =
      std::make_shared<Upload>(value, device, account_, identity().owner(), std::move(staging),
                               [session = weak_from_this(), id = record.value,
                                number = record.device, bytes](const absl::Status& end) {
                                 const auto self = session.lock();
                                 if (self == nullptr) return;
                                 if (!end.ok())
                                   self->report("upload", id.window(), id.index(), number, end);
                                 self->uploads_.ended(id, end);
                                 self->bytes_landed(bytes);
                               });
  uploads_.announce(record.value, upload);
  push(record.device, CallTask{{}, [upload = std::move(upload)] { upload->take_turn(); }});
  return Outcome::kDone;
}

Session::Outcome Session::handle(const wire::DropRecord& record) {
  values_.drop(record.window, record.first, record.count);
  return Outcome::kDone;
}

Session::Outcome Session::handle(const wire::ReadRecord& record) {
  Value value = values_.find(record.value);
  const size_t bytes =
      value ? static_cast<size_t>(
                  std::min(value->spec().byte_size(), static_cast<int64_t>(wire::kMaxInlineBytes)))
            : 0;
  if (asked_bytes_ > 0 && asked_bytes_ + replies_.waiting_bytes() + bytes > kMaxWaitingReplyBytes) {
    return Outcome::kLater;
  }
  const absl::Status opened = reads_.open(record.number);
  if (absl::IsAlreadyExists(opened)) {
    report("read", 0, 0, 0, opened);
    return Outcome::kDone;
  }
  if (!opened.ok() || !value) {
    answer_status(record.number, opened.ok() ? unknown_value(record.value) : opened);
    return Outcome::kDone;
  }
  uint32_t number = 0;
  while (lanes_[number].device->state.get() != &value->device()) ++number;
  asked_bytes_ += bytes;
  push(number, dispatch::ReadTask{value, [session = weak_from_this(), read = record.number, bytes,
                                          value](absl::StatusOr<HostData> data) {
                                    const auto self = session.lock();
                                    if (self == nullptr) return;
                                    self->answer(read, bytes, value, std::move(data));
                                  }});
  return Outcome::kDone;
}

Session::Outcome Session::handle(const wire::SyncRecord& record) {
  absl::Status opened = reads_.open(record.number);
  if (absl::IsAlreadyExists(opened)) {
    report("sync", 0, 0, record.device, opened);
    return Outcome::kDone;
  }
  if (opened.ok() && record.device >= lanes_.size()) {
    opened =
        absl::NotFoundError(str_cat("sync: device ", record.device, " is not served; there are ",
                                    lanes_.size(), ", numbered from 0"));
  }
  if (!opened.ok()) {
    answer_status(record.number, opened);
    return Outcome::kDone;
  }
  dispatch::DeviceState* device = lanes_[record.device].device->state.get();
  push(record.device, CallTask{{}, [session = weak_from_this(), number = record.number, device] {
                                 const auto self = session.lock();
                                 if (self == nullptr || self->ended_) return;
                                 self->answer_status(number, device->backend().synchronize());
                               }});
  return Outcome::kDone;
}

Session::Outcome Session::handle(const wire::TransferRecord& record) {
  if (!take_in_flight(kTaskBytes)) return Outcome::kLater;
  Value source = values_.find(record.source);
  const Spec spec = source ? source->spec() : Spec();
  if (!check_arrival("transfer", record.value, record.device, spec).ok()) {
    bytes_landed(kTaskBytes);
    return Outcome::kDone;
  }
  Value value = Value::make(record.value, spec, lanes_[record.device].device->state.get());
  values_.add(record.value, value);
  if (!source) {
    const absl::Status status =
        absl::NotFoundError(str_cat("transfer: ", id_text(record.source), " is not there"));
    report("transfer", record.value.window(), record.value.index(), record.device, status);
    value->poison(status);
    bytes_landed(kTaskBytes);
    return Outcome::kDone;
  }
  uint32_t from = 0;
  while (lanes_[from].device->state.get() != &source->device()) ++from;
  dispatch::CallTask task{
      source, [session = weak_from_this(), source, value, device = record.device] {
        if (const auto self = session.lock(); self != nullptr && !self->ended_) {
          self->copy(source, value, device);
        } else {
          value->poison(absl::CancelledError("the session ended"));
        }
      }};
  push(from, std::move(task));
  return Outcome::kDone;
}

}  // namespace remora::server
