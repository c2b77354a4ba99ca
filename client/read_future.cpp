#include "client/read_future.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "absl/synchronization/mutex.h"
#include "dispatch/device_state.h"
#include "dispatch/error.h"
#include "dispatch/float16.h"
#include "dispatch/str_cat.h"
#include "dispatch/transfer.h"
#include "dispatch/window.h"

namespace remora {

/// Shared by the future's copies and the read's callback. Holds no Value: an unread future must not
/// keep the tensor alive.
struct ReadFuture::State {
  dispatch::DeviceState* device = nullptr;
  absl::Mutex mutex;  // guards the result until it is set; it never changes after
  std::optional<absl::StatusOr<dispatch::HostData>> result ABSL_GUARDED_BY(mutex);

  bool ready() {
    const absl::MutexLock lock(&mutex);
    return result.has_value();
  }
  /// What the read calls with its result.
  static dispatch::ReadCallback answer(std::shared_ptr<State> state) {
    return [state = std::move(state)](absl::StatusOr<dispatch::HostData> data) {
      {
        const absl::MutexLock lock(&state->mutex);
        state->result = std::move(data);
      }
      state->device->executor().wake();
    };
  }
};

ReadFuture::ReadFuture(dispatch::Value value) : state_(std::make_shared<State>()) {
  state_->device = &value->device();
  dispatch::read_async(value, State::answer(state_));
}

std::vector<ReadFuture> ReadFuture::of_all(std::span<const dispatch::Value> values) {
  std::vector<ReadFuture> futures;
  std::vector<dispatch::ReadCallback> done;
  for (const dispatch::Value& value : values) {
    auto state = std::make_shared<State>();
    state->device = &value->device();
    done.push_back(State::answer(state));
    futures.push_back(ReadFuture(std::move(state)));
  }
  dispatch::read_all_async(values, std::move(done));
  return futures;
}

bool ReadFuture::ready() const { return state_->ready(); }

const dispatch::HostData& ReadFuture::get() const {
  if (!state_->ready()) {
    dispatch::Recorder::current().flush_all();
    dispatch::wait_until(*state_->device, [this] { return state_->ready(); });
  }
  const absl::MutexLock lock(&state_->mutex);
  throw_if_error(state_->result->status());
  return **state_->result;
}

Scalar ReadFuture::single_element() const {
  const dispatch::HostData& data = get();
  if (data.spec.numel() != 1) {
    throw Error(absl::InvalidArgumentError(
        str_cat("item: a tensor of shape ", data.spec.shape.str(), " has ", data.spec.numel(),
                " elements; item needs exactly one")));
  }
  return element_as_scalar(data, 0);
}

std::vector<float> ReadFuture::widened() const {
  const dispatch::HostData& data = get();
  const auto count = static_cast<size_t>(data.spec.numel());
  const auto* bits = reinterpret_cast<const uint16_t*>(data.bytes.get());
  const auto widen = data.spec.dtype == DType::kF16 ? &f16_to_f32 : &bf16_to_f32;
  std::vector<float> values(count);
  std::transform(bits, bits + count, values.begin(), widen);
  return values;
}

void ReadFuture::check_element_type(DType wanted) const {
  const DType actual = get().spec.dtype;
  if (actual == wanted) return;
  throw Error(absl::InvalidArgumentError(str_cat("to_vector: the elements are ", dtype_name(actual),
                                                 ", not ", dtype_name(wanted),
                                                 "; convert the tensor with astype")));
}

namespace {

template <typename T>
T load(const dispatch::HostData& data, int64_t index) {
  T value;
  std::memcpy(&value, data.bytes.get() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace

Scalar element_as_scalar(const dispatch::HostData& data, int64_t index) {
  const DType dtype = data.spec.dtype;
  if (dtype == DType::kF16) return static_cast<double>(f16_to_f32(load<uint16_t>(data, index)));
  if (dtype == DType::kBF16) return static_cast<double>(bf16_to_f32(load<uint16_t>(data, index)));
  switch (dtype) {
#define DTYPE(number, enumerator, name, storage, category)     \
  case DType::enumerator:                                      \
    if constexpr (std::is_floating_point_v<storage>) {         \
      return static_cast<double>(load<storage>(data, index));  \
    } else {                                                   \
      return static_cast<int64_t>(load<storage>(data, index)); \
    }
#include "dispatch/dtypes.def"
#undef DTYPE
  }
  return {};
}

}  // namespace remora
