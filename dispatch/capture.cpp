#include "dispatch/capture.h"

#include "dispatch/device_state.h"
#include "dispatch/device_text.h"
#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "dispatch/transfer.h"

namespace remora::dispatch {
namespace {

absl::Status computes_nothing(const Device& device) {
  return absl::FailedPreconditionError(
      str_cat(device.str(), " records a graph and computes nothing"));
}

/// Host data as it came; nothing else is ever stored.
struct HostStorage : Storage {
  explicit HostStorage(HostData data_in) : data(std::move(data_in)) {}
  int64_t byte_size() const override { return data.spec.byte_size(); }
  const HostData data;
};

class CaptureBackend : public Backend {
 public:
  explicit CaptureBackend(Device device) : device_(device), recorder_(device) {}

  DeviceInfo info() const override {
    return {str_cat(device_.str(), " (records, never executes)"), "capture", 0};
  }
  bool supports(OpCode, DType) const override { return true; }
  absl::StatusOr<std::unique_ptr<Plan>> prepare(GraphPtr, const LiveSet&) override {
    return computes_nothing(device_);
  }
  RunResult run(Plan&, const RunRequest&) override { return {computes_nothing(device_), {}, {}}; }
  absl::StatusOr<Buffer> upload(ValueId, HostData data) override {
    Spec spec = data.spec;
    Dims strides = contiguous_strides(spec.shape);
    return Buffer{std::make_shared<HostStorage>(std::move(data)), std::move(spec),
                  std::move(strides), 0};
  }
  void download(const Buffer&, ReadCallback done) override { done(computes_nothing(device_)); }
  absl::StatusOr<Buffer> copy_from(Backend&, const Buffer& buffer, ValueId) override {
    return buffer;  // immutable host data
  }
  absl::Status synchronize() override { return absl::OkStatus(); }
  MemoryUse memory() const override { return {}; }
  CaptureRecorder* capture() override { return &recorder_; }

 private:
  const Device device_;
  CaptureRecorder recorder_;
};

[[noreturn]] void wrong_state(const std::string& message) {
  throw Error(absl::FailedPreconditionError(message));
}

}  // namespace

BackendFactory capture_factory() {
  return {.open = [](const DeviceIdentity& identity) -> absl::StatusOr<std::unique_ptr<Backend>> {
            return std::make_unique<CaptureBackend>(Device::parse(device_text(identity)));
          },
          .count = [] { return 0; },
          .may_be_default = [](const DeviceIdentity&) { return false; }};
}

HostData captured_host_data(const Value& value) {
  if (!value->settled()) {
    Recorder::current().flush_all();
    wait_until(value->device(), [&] { return value->settled(); });
  }
  if (value->poisoned()) throw Error(value->error());
  return static_cast<const HostStorage&>(*value->buffer().storage).data;
}

CaptureRecorder& capture_recorder(const Device& device) {
  CaptureRecorder* recorder =
      device.kind() == BackendKind::kCapture ? device.state().backend().capture() : nullptr;
  if (recorder == nullptr) {
    throw Error(absl::InvalidArgumentError(
        str_cat("capture: ", device.str(), " is no capture device; Device::capture() makes one")));
  }
  return *recorder;
}

void CaptureRecorder::check_open(std::string_view action) const {
  if (scope_.open) return;
  wrong_state(
      str_cat(action, ": ", device_.str(), " has no open capture scope; capture::Scope opens one"));
}

void CaptureRecorder::begin() {
  const absl::MutexLock lock(&mutex_);
  if (scope_.open) {
    wrong_state(str_cat("capture: a scope is already active on ", device_.str(),
                        "; complete or destroy it first, or use another capture device"));
  }
  scope_.open = true;
  ++scope_.number;
}

void CaptureRecorder::end() {
  Scope closed;
  {
    const absl::MutexLock lock(&mutex_);
    if (!scope_.open) return;
    std::swap(closed, scope_);
    scope_.number = closed.number;
  }
  const absl::Status why = absl::FailedPreconditionError(
      str_cat("the capture scope on ", device_.str(), " that this tensor belongs to is closed"));
  for (const Value& input : closed.inputs) input->poison(why);
  for (const RecordedOp& op : closed.ops) {
    for (const Value& output : op.outputs) output->poison(why);
  }
}

bool CaptureRecorder::active() const {
  const absl::MutexLock lock(&mutex_);
  return scope_.open;
}

Value CaptureRecorder::declare(const Spec& spec) {
  throw_if_error(check_shape(spec.shape));
  DeviceState& state = device_.state();
  const absl::MutexLock lock(&mutex_);
  check_open("input");
  if (scope_.inputs.size() >= kMaxCapturedInputs) {
    throw Error(absl::ResourceExhaustedError(
        str_cat("input: a captured graph has at most ", kMaxCapturedInputs, " inputs")));
  }
  Value value = Value::make(ValueId(next_window_number(), 0), spec, &state);
  scope_.origins[value.get()] = {-1, static_cast<uint32_t>(scope_.inputs.size())};
  scope_.inputs.push_back(value);
  return value;
}

Values CaptureRecorder::record(const OpInfo& info, std::span<const Value> inputs,
                               const Attrs& attrs, std::span<const Spec> specs) {
  DeviceState& state = device_.state();
  const uint64_t window = next_window_number();
  const absl::MutexLock lock(&mutex_);
  check_open(info.name);
  if (scope_.ops.size() >= kMaxCapturedOps) {
    throw Error(absl::ResourceExhaustedError(
        str_cat(info.name, ": a captured graph has at most ", kMaxCapturedOps, " ops")));
  }
  for (const Value& input : inputs) {
    if (!scope_.origins.contains(input.get()) && input->settled() && input->poisoned()) {
      throw Error(absl::Status(input->error().code(),
                               str_cat(info.name, ": ", std::string(input->error().message()))));
    }
  }
  RecordedOp op{&info, {inputs.begin(), inputs.end()}, attrs, {}};
  for (uint32_t i = 0; i < specs.size(); ++i) {
    Value output = Value::make(ValueId(window, i), specs[i], &state);
    scope_.origins[output.get()] = {static_cast<int64_t>(scope_.ops.size()), i};
    op.outputs.push_back(std::move(output));
  }
  Values outputs = op.outputs;
  scope_.ops.push_back(std::move(op));
  return outputs;
}

void CaptureRecorder::check_may_leave(const Value& value, const Device& target) const {
  if (target.kind() != BackendKind::kCapture) {
    wrong_state(str_cat("to: ", device_.str(), " records a graph and computes nothing, so ",
                        value->spec().str(), " cannot be moved to ", target.str(),
                        "; complete the scope and run the graph there"));
  }
  const absl::MutexLock lock(&mutex_);
  if (scope_.origins.contains(value.get())) {
    wrong_state(str_cat("to: ", value->spec().str(), " is part of the capture scope on ",
                        device_.str(), "; only host data can be moved to ", target.str()));
  }
  if (value->settled() && value->poisoned()) {
    wrong_state(str_cat("to: ", std::string(value->error().message())));
  }
}

Value CaptureRecorder::copy_of(const Value& source) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = scope_.copies.find(source.get());
  return found == scope_.copies.end() ? Value() : found->second.second;
}

void CaptureRecorder::remember_copy(const Value& source, const Value& copy) {
  const absl::MutexLock lock(&mutex_);
  if (scope_.open) scope_.copies.try_emplace(source.get(), source, copy);
}

CaptureRecorder::Mark CaptureRecorder::mark() const {
  const absl::MutexLock lock(&mutex_);
  return {scope_.number, scope_.ops.size()};
}

void CaptureRecorder::rewind(const Mark& mark) {
  const absl::MutexLock lock(&mutex_);
  if (!scope_.open || scope_.number != mark.scope) return;
  while (scope_.ops.size() > mark.ops) {
    for (const Value& output : scope_.ops.back().outputs) {
      scope_.origins.erase(output.get());
      output->poison(absl::AbortedError("the call that recorded this value failed"));
    }
    scope_.ops.pop_back();
  }
}

}  // namespace remora::dispatch
