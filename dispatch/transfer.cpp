#include "dispatch/transfer.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "dispatch/capture.h"
#include "dispatch/error.h"
#include "dispatch/fork_guard.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::dispatch {
namespace {

/// A capture device has no elements to give.
void refuse_read(const Value& value) {
  if (value->device().backend().capture() == nullptr) return;
  throw Error(absl::FailedPreconditionError(str_cat(
      "read: ", value->device().device().str(), " records a graph and computes nothing, so ",
      value->spec().str(), " has no elements to read; complete the scope and run the graph")));
}

/// Ends what `value` waits for, of whatever thread, and this thread's window on its device.
void end_windows_before(const Value& value) {
  throw_if_forked();
  Recorder::end_window_of(value);
  Recorder::current().end_window(value->device());
}

void settle(const Value& value, absl::StatusOr<Buffer> buffer) {
  if (buffer.ok()) {
    value->fulfil(*std::move(buffer));
  } else {
    value->poison(buffer.status());
  }
  value->device().executor().wake();
}

/// Runs on the source's executor: copies directly where the backend can, else through host memory.
void start_copy(const Value& source, const Value& target) {
  if (!source->settled()) return settle(target, absl::CancelledError("the device was closed"));
  if (source->poisoned()) return settle(target, source->error());
  Backend& from = source->device().backend();
  Backend& to = target->device().backend();
  if (source->device().device().kind() == target->device().device().kind()) {
    absl::StatusOr<Buffer> buffer = to.copy_from(from, source->buffer(), target->id());
    if (!absl::IsUnimplemented(buffer.status())) return settle(target, std::move(buffer));
  }
  from.download(source->buffer(), [target](absl::StatusOr<HostData> data) {
    if (!data.ok()) return settle(target, data.status());
    settle(target, target->device().backend().upload(target->id(), *std::move(data)));
  });
}

}  // namespace

Value upload(const Device& device, HostData data) {
  throw_if_forked();
  DeviceState& state = device.state();
  if (!state.backend().supports(OpCode::full, data.spec.dtype)) {
    throw Error(absl::UnimplementedError(
        str_cat(dtype_name(data.spec.dtype), " is not supported on ", device.str())));
  }
  state.fixed_settings();
  const ValueId id(next_window_number(), 0);
  Value value = Value::make(id, data.spec, &state);
  value->fulfil(value_or_throw(state.backend().upload(id, std::move(data))));
  return value;
}

void read_async(const Value& value, ReadCallback done) {
  DeviceState& device = value->device();
  refuse_read(value);
  end_windows_before(value);
  Recorder::current().wait_for_room(device);
  device.executor().push(device.queue(), ReadTask{value, std::move(done)});
  device.executor().kick();
}

namespace {

/// What one device is asked for at once.
struct JointRead {
  std::vector<Value> values;
  std::vector<ReadCallback> done;

  /// Runs on the device's executor once every value is settled, or the queue is closed.
  void ask() {
    std::vector<Buffer> buffers;
    std::vector<ReadCallback> callbacks;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i]->settled()) {
        done[i](absl::CancelledError("the device was closed"));
      } else if (values[i]->poisoned()) {
        done[i](values[i]->error());
      } else {
        buffers.push_back(values[i]->buffer());
        callbacks.push_back(std::move(done[i]));
      }
    }
    if (!buffers.empty()) values[0]->device().backend().download_all(buffers, std::move(callbacks));
  }
};

}  // namespace

void read_all_async(std::span<const Value> values, std::vector<ReadCallback> done) {
  std::vector<std::pair<DeviceState*, std::shared_ptr<JointRead>>> reads;
  for (const Value& value : values) refuse_read(value);
  for (const Value& value : values) end_windows_before(value);
  for (size_t i = 0; i < values.size(); ++i) {
    DeviceState* device = &values[i]->device();
    auto read = std::ranges::find(reads, device, &decltype(reads)::value_type::first);
    if (read == reads.end()) {
      Recorder::current().wait_for_room(*device);
      read = reads.emplace(reads.end(), device, std::make_shared<JointRead>());
    }
    read->second->values.push_back(values[i]);
    read->second->done.push_back(std::move(done[i]));
  }
  for (const auto& [device, read] : reads) {
    // The queue keeps order: what is pushed for each value holds it until that value is settled.
    for (const Value& value : read->values) {
      if (!value->settled()) device->executor().push(device->queue(), CallTask{value, [] {}});
    }
    device->executor().push(device->queue(), CallTask{{}, [read = read] { read->ask(); }});
    device->executor().kick();
  }
}

HostData read(const Value& value) {
  struct Answer {
    absl::StatusOr<HostData> data = absl::UnknownError("not answered");
    std::atomic<bool> there{false};  // `data` is set and does not change any more
  };
  DeviceState& device = value->device();
  auto answer = std::make_shared<Answer>();
  read_async(value, [answer, &device](absl::StatusOr<HostData> data) {
    answer->data = std::move(data);
    answer->there.store(true, std::memory_order_release);
    device.executor().wake();
  });
  Recorder::current().flush_all();
  wait_until(device, [&] { return answer->there.load(std::memory_order_acquire); });
  return value_or_throw(std::move(answer->data));
}

void wait_until(DeviceState& device, absl::FunctionRef<bool()> done) {
  if (!device.executor().run_until(done)) {
    throw Error(absl::CancelledError("the process is ending: nothing can be read any more"));
  }
}

void wait_for_tasks(DeviceState& device) {
  auto done = std::make_shared<std::atomic<bool>>(false);
  device.executor().push(device.queue(),
                         CallTask{{}, [done] { done->store(true, std::memory_order_release); }});
  wait_until(device, [&] { return done->load(std::memory_order_acquire); });
}

Value transfer(const Value& value, const Device& device) {
  DeviceState& target_device = device.state();
  if (&target_device == &value->device()) return value;
  CaptureRecorder* recorder = target_device.backend().capture();
  if (CaptureRecorder* source = value->device().backend().capture(); source != nullptr) {
    source->check_may_leave(value, device);
  }
  if (recorder != nullptr) {
    if (Value known = recorder->copy_of(value)) return known;
  }
  if (!target_device.backend().supports(OpCode::full, value->spec().dtype)) {
    throw Error(absl::UnimplementedError(
        str_cat("to: ", dtype_name(value->spec().dtype), " is not supported on ", device.str())));
  }
  target_device.fixed_settings();
  end_windows_before(value);
  Recorder::current().wait_for_room(value->device());
  Recorder::current().flush(target_device);
  Value target = Value::make(ValueId(next_window_number(), 0), value->spec(), &target_device);
  DeviceState& source_device = value->device();
  source_device.executor().push(source_device.queue(),
                                CallTask{value, [value, target] { start_copy(value, target); }});
  source_device.executor().kick();
  if (recorder != nullptr) recorder->remember_copy(value, target);
  return target;
}

}  // namespace remora::dispatch
