// The recording side of a session. session_stream.cpp has the stream itself.
#include "client/remote/session.h"

#include "absl/synchronization/notification.h"
#include "client/remote/bulk_call.h"
#include "client/remote/callback_scope.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::remote {

using dispatch::HostData;
using dispatch::ValueId;

namespace {

/// Most bytes of a value id, a param slot and all the rest of a record that has no body.
constexpr size_t kValueBytes = 13;
constexpr size_t kParamBytes = 10;
constexpr size_t kRecordBytes = 256;

}  // namespace

absl::Status Session::child_status(std::string_view address) {
  if (!in_child()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      str_cat("worker ", address,
              ": this process was forked from the one that connected to it; a child cannot use its "
              "parent's devices"));
}

absl::Status Session::status() const {
  if (in_child()) return child_error();
  const absl::MutexLock lock(&mutex_);
  return status_;
}

absl::Status Session::wait_for_room() {
  wait_until([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return unacked_bytes_ <= wire::kMaxUnackedBytes;
  });
  return status_;
}

void Session::wait_until(absl::FunctionRef<bool()> has_room) {
  if (CallbackScope::inside()) return;
  const auto settled = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_dead() || has_room();
  };
  mutex_.Await(absl::Condition(&settled));
}

void Session::make_room(size_t bytes, size_t bindings) {
  const bool fits = writer_.size() + bytes <= wire::kTargetFrameBytes &&
                    writer_.frame_bindings() + bindings <= wire::kMaxFrameBindings;
  if (!fits && !writer_.empty()) {
    seal();
    pump();
  }
}

void Session::announce(RemoteStorage& storage, std::vector<HostData>& spent) {
  if (!storage.unsent_.has_value()) return;
  make_room(static_cast<size_t>(storage.bytes_) + kRecordBytes);
  writer_.host_data(storage.id_, storage.device_, *storage.unsent_);
  live_bytes_[storage.device_] += storage.bytes_;
  spent.push_back(*std::move(storage.unsent_));
  storage.unsent_.reset();
}

absl::Status Session::run(GraphSlot& slot, uint32_t device, const dispatch::Graph& graph,
                          const dispatch::LiveSet& live, std::span<RemoteStorage* const> inputs,
                          const dispatch::RunRequest& request) {
  if (in_child()) return child_error();
  wire::RunBindings bindings;
  bindings.window = request.window;
  bindings.inputs.reserve(inputs.size());
  for (const RemoteStorage* input : inputs) bindings.inputs.push_back(input->id());
  bindings.params.assign(request.params.begin(), request.params.end());
  bindings.consumed = request.consumed;
  int64_t output_bytes = 0;
  for (size_t i = 0; i < live.size(); ++i) {
    if (live[i]) output_bytes += graph.outputs[i].byte_size();
  }

  std::vector<HostData> spent;
  const absl::MutexLock lock(&mutex_);
  REMORA_RETURN_IF_ERROR(wait_for_room());
  for (RemoteStorage* input : inputs) announce(*input, spent);
  calls_.add(request.window, request.calls);
  encode_run(slot, device, graph, live, bindings, request.ended_by_cut);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!bindings.consumed[i] || inputs[i]->ended_) continue;
    inputs[i]->ended_ = true;
    live_bytes_[inputs[i]->device_] -= inputs[i]->bytes_;
  }
  live_bytes_[device] += output_bytes;
  // A window that ended by a cut goes as soon as the previous write has completed; the hard end
  // that ended another one is followed by a flush.
  if (request.ended_by_cut) {
    send_wanted_ = true;
    pump();
  }
  return absl::OkStatus();
}

void Session::encode_run(GraphSlot& slot, uint32_t device, const dispatch::Graph& graph,
                         const dispatch::LiveSet& live, const wire::RunBindings& bindings,
                         bool ended_by_cut) {
  const size_t bindings_bytes =
      kRecordBytes + bindings.inputs.size() * kValueBytes + bindings.params.size() * kParamBytes;
  const size_t count = bindings.inputs.size() + bindings.params.size();
  const size_t body_bytes = graph.key.size() + 3 * live.size() + kRecordBytes;
  const bool first_use = !std::exchange(slot.used, true);
  if (slot.number == 0 && ((first_use && ended_by_cut) || !writer_.can_define(graph))) {
    make_room(body_bytes + bindings_bytes, count);
    writer_.once(device, live, graph, bindings);
    return;
  }
  if (slot.number == 0) {
    slot.number = ++graphs_;
    ++stats_.graphs_defined;
    make_room(body_bytes);
    writer_.define(slot.number, device, live, graph);
  }
  make_room(bindings_bytes, count);
  writer_.run(slot.number, bindings);
}

absl::Status Session::upload(ValueId id, uint32_t device, HostData data) {
  if (in_child()) return child_error();
  const Spec spec = data.spec;
  std::unique_ptr<BulkCall> call = make_upload(shared_from_this(), id, std::move(data));
  BulkCall* const started = call.get();
  bool starts_now = false;
  {
    const absl::MutexLock lock(&mutex_);
    REMORA_RETURN_IF_ERROR(wait_for_room());
    wait_until([this]()
                   ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return uploads_ < kMaxOpenUploads; });
    REMORA_RETURN_IF_ERROR(status_);
    make_room(kRecordBytes);
    writer_.upload(id, device, spec);
    live_bytes_[device] += spec.byte_size();
    bulk_calls_.emplace(started, std::move(call));
    starts_now = uploads_ - waiting_uploads_.size() < kMaxRunningUploads;
    if (!starts_now) waiting_uploads_.push_back(started);
    ++uploads_;
    // The worker takes the bytes only once it has seen the announcement.
    send_wanted_ = true;
    pump();
  }
  if (starts_now) started->start();
  return absl::OkStatus();
}

absl::Status Session::transfer(RemoteStorage& source, ValueId id, uint32_t device) {
  if (in_child()) return child_error();
  std::vector<HostData> spent;
  const absl::MutexLock lock(&mutex_);
  REMORA_RETURN_IF_ERROR(wait_for_room());
  announce(source, spent);
  make_room(kRecordBytes);
  writer_.transfer(id, source.id_, device);
  live_bytes_[device] += source.bytes_;
  return absl::OkStatus();
}

void Session::read(std::vector<Read> reads) {
  if (in_child()) {
    for (Read& read : reads) read.done(child_error());
    return;
  }
  std::vector<HostData> spent;
  absl::Status refused;
  size_t asked = 0;
  {
    const absl::MutexLock lock(&mutex_);
    for (Read& read : reads) {
      const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return reads_.size() + downloads_ < kMaxOpenReads;
      };
      if (!has_room() && asked > 0) {  // those before must be answered first
        send_wanted_ = true;
        pump();
      }
      wait_until(has_room);
      refused = status_;
      if (!refused.ok()) break;
      announce(*read.source, spent);
      make_room(kRecordBytes);
      writer_.read(++numbers_, read.source->id_);
      reads_.emplace(numbers_, OpenRead{std::move(read.done), read.spec, false});
      ++asked;
    }
    if (asked > 0) {
      ++stats_.round_trips;
      send_wanted_ = true;
      pump();
    }
  }
  for (; asked < reads.size(); ++asked) reads[asked].done(refused);
}

absl::Status Session::synchronize(uint32_t device) {
  if (in_child()) return child_error();
  struct Answered {
    absl::Notification notification;
    absl::Status status;
  };
  auto answered = std::make_shared<Answered>();
  {
    const absl::MutexLock lock(&mutex_);
    REMORA_RETURN_IF_ERROR(status_);
    make_room(kRecordBytes);
    writer_.sync(++numbers_, device);
    const auto notify = [answered](const absl::StatusOr<HostData>& result) {
      answered->status = result.status();
      answered->notification.Notify();
    };
    reads_.emplace(numbers_, OpenRead{notify, Spec{}, true});
    ++stats_.round_trips;
    send_wanted_ = true;
    pump();
  }
  answered->notification.WaitForNotification();
  return answered->status;
}

void Session::flush() {
  if (in_child()) return;
  const absl::MutexLock lock(&mutex_);
  send_wanted_ = true;
  pump();
}

void Session::undefine(uint64_t graph) {
  if (in_child()) return;
  const absl::MutexLock lock(&mutex_);
  if (!is_dead()) undefines_.push_back(graph);  // bounded by the plan cache's graphs
}

void Session::drop(RemoteStorage& storage) {
  if (in_child()) return;
  const absl::MutexLock lock(&mutex_);
  if (storage.ended_ || storage.unsent_.has_value()) return;
  live_bytes_[storage.device_] -= storage.bytes_;
  if (is_dead()) return;
  drops_.push_back(storage.id_);
  drop_bytes_ += storage.bytes_;
  if (drops_.size() < kMaxPendingDrops && drop_bytes_ <= kMaxPendingDropBytes) return;
  encode_drops();
  send_wanted_ = true;
  pump();
}

void Session::encode_drops() {
  if (!drops_.empty()) {
    make_room(drops_.size() * kValueBytes);
    writer_.drop_all(drops_);
    drop_bytes_ = 0;
  }
  for (const uint64_t graph : undefines_) writer_.undefine(graph);
  undefines_.clear();
}

dispatch::WireStats Session::stats() const {
  if (in_child()) return {};
  const absl::MutexLock lock(&mutex_);
  return stats_;
}

int64_t Session::live_bytes(uint32_t device) const {
  if (in_child()) return 0;
  const absl::MutexLock lock(&mutex_);
  return live_bytes_[device];
}

}  // namespace remora::remote
