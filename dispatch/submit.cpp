#include "dispatch/submit.h"

#include <atomic>

#include "dispatch/automatic_moves.h"
#include "dispatch/capture.h"
#include "dispatch/decompositions.h"
#include "dispatch/registry.h"
#include "dispatch/str_cat.h"
#include "dispatch/transfer.h"

namespace remora::dispatch {
namespace {

using Operands = absl::InlinedVector<Value, 4>;

[[noreturn]] void refuse(const absl::Status& status) { throw Error(in_call(status)); }

[[noreturn]] void refuse_dtype(const OpInfo& info, DType dtype, DeviceState& device) {
  refuse(absl::UnimplementedError(
      str_cat(info.name, ": ", dtype_name(dtype), " is not supported on ", device.device().str())));
}

Specs inferred(const OpInfo& info, std::span<const Spec> inputs, const Attrs& attrs) {
  absl::StatusOr<Specs> outputs = infer(info, inputs, attrs);
  if (outputs.ok()) return *std::move(outputs);
  const CallName name(info.name);
  refuse(outputs.status());
}

Operands moved_to(DeviceState& device, std::string_view op, std::span<const Value> inputs) {
  Operands operands;
  for (const Value& input : inputs) {
    if (&input->device() == &device) {
      operands.push_back(input);
    } else {
      count_move(op, input->device(), device);
      operands.push_back(transfer(input, device.device()));
    }
  }
  return operands;
}

std::atomic<uint64_t>& process_seed() {
  static std::atomic<uint64_t> seed{0};
  return seed;
}

}  // namespace

bool is_native(const OpInfo& info, std::span<const Spec> inputs, std::span<const Spec> outputs,
               DeviceState& device) {
  const DType dtype = op_dtype(info, inputs, outputs);
  for (const Spec& output : outputs) {
    if (!device.backend().supports(OpCode::full, output.dtype)) {
      refuse_dtype(info, output.dtype, device);
    }
  }
  if (device.backend().supports(info.code, dtype)) return true;
  if (!info.fast) refuse_dtype(info, dtype, device);
  return false;
}

uint64_t draw_offsets(const Spec& spec) {
  // Four 32-bit words an offset; an f64 takes two of them.
  const int64_t words = spec.numel() * (spec.dtype == DType::kF64 ? 2 : 1);
  return static_cast<uint64_t>((words + 3) / 4);
}

DeviceState& route(std::span<const Value> inputs) {
  for (const Value& input : inputs) {
    if (is_float(input->spec().dtype)) return input->device();
  }
  return inputs.front()->device();
}

Values submit(OpCode code, std::span<const Value> inputs, const Attrs& attrs,
              const Device* device) {
  const OpInfo& info = op_info(code);

  // 1 route
  if (inputs.empty() && device == nullptr) {
    refuse(absl::InvalidArgumentError(str_cat(info.name, ": no operand and no device")));
  }
  DeviceState& target = inputs.empty() ? device->state() : route(inputs);

  // 2 infer
  absl::InlinedVector<Spec, 4> specs;
  for (const Value& input : inputs) specs.push_back(input->spec());
  const Specs outputs = inferred(info, specs, attrs);

  // 3 support
  const bool native = is_native(info, specs, outputs, target);
  const Operands operands = moved_to(target, info.name, inputs);
  if (!native) {
    const CallScope scope(info.name);
    return find_decomposition(code)(operands, attrs);
  }

  // 4 record
  return Recorder::current().record(target, info, operands, attrs, outputs);
}

Value submit_random(OpCode code, const Spec& spec, const Device& device, RandomAttrs* drawn) {
  const OpInfo& info = op_info(code);
  RandomAttrs attrs{.dtype = spec.dtype, .shape = spec.shape};
  const Specs outputs = inferred(info, {}, attrs);
  DeviceState& target = device.state();
  is_native(info, {}, outputs, target);
  Value value =
      Recorder::current().record_random(target, info, attrs, outputs[0], draw_offsets(spec));
  if (drawn != nullptr) *drawn = std::move(attrs);
  return value;
}

Values invoke(std::string_view name, std::span<const Value> inputs, const Attrs& attrs,
              const Device* device) {
  const OpInfo* info = find_op(name);
  if (info == nullptr)
    throw Error(absl::NotFoundError(str_cat("no operation is called '", name, "'")));
  return submit(info->code, inputs, attrs, device);
}

void manual_seed(uint64_t seed) {
  for (DeviceState* device : registry().opened()) {
    CaptureRecorder* capture = device->backend().capture();
    if (capture != nullptr && capture->active()) {
      throw Error(absl::FailedPreconditionError(
          str_cat("manual_seed: ", device->device().str(),
                  " has an open capture scope; seed before the graph runs: its draws come from the "
                  "generator of the device that it runs on")));
    }
  }
  process_seed().store(seed, std::memory_order_relaxed);
  for (DeviceState* device : registry().opened()) {
    const absl::MutexLock lock(&device->record_mutex_);
    device->generator_ = {seed, 0};
  }
}

uint64_t initial_seed() { return process_seed().load(std::memory_order_relaxed); }

}  // namespace remora::dispatch
