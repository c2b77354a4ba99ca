#include "kernels/cpu/backend.h"

#include <algorithm>
#include <cstring>

#include "dispatch/build_info.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/host_machine.h"
#include "kernels/cpu/limits.h"
#include "kernels/cpu/plan.h"

namespace remora::cpu {
namespace {

bool all_truth_values(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte value) { return value <= std::byte{1}; });
}

TensorView view_of(const dispatch::Buffer& buffer) {
  const auto& storage = static_cast<const CpuStorage&>(*buffer.storage);
  return {storage.data() + buffer.offset * dtype_size(buffer.spec.dtype), buffer.spec.dtype,
          buffer.spec.shape.sizes(), buffer.strides};
}

void copy_row_major(const KernelTable& kernels, const dispatch::Buffer& buffer, std::byte* target) {
  const Dims strides = contiguous_strides(buffer.spec.shape);
  kernels.copy(view_of(buffer), {target, buffer.spec.dtype, buffer.spec.shape.sizes(), strides});
}

/// The bytes of a storage as host data, without a copy.
dispatch::HostData share(const Spec& spec, std::shared_ptr<CpuStorage> storage) {
  std::byte* data = storage->data();
  return dispatch::HostData(spec, std::shared_ptr<const std::byte>(std::move(storage), data));
}

}  // namespace

CpuBackend::CpuBackend(int index, const SimdLevel& simd, int threads, int64_t memory_limit_bytes)
    : name_(str_cat("cpu:", index)),
      simd_(simd),
      memory_(std::make_shared<DeviceMemory>(name_, memory_limit_bytes)),
      threads_(threads) {
  initialise_blas();
}

dispatch::DeviceInfo CpuBackend::info() const {
  dispatch::DeviceInfo info;
  info.name = str_cat(name_, " (", processor_name(), ", ", simd_.label, ")");
  info.fingerprint = str_cat(dispatch::build_fingerprint(), "; cpu ", processor_name(), "; ",
                             simd_.label, "; OpenBLAS ", blas_description(), "; ", c_library());
  info.memory_limit_bytes = memory_->pool.limit_bytes();
  return info;
}

bool CpuBackend::supports(dispatch::OpCode code, DType dtype) const {
  const dispatch::OpInfo* info = dispatch::find_op(static_cast<uint64_t>(code));
  return info != nullptr && dispatch::contains(info->dtypes, dtype);
}

absl::StatusOr<std::unique_ptr<dispatch::Plan>> CpuBackend::prepare(dispatch::GraphPtr graph,
                                                                    const dispatch::LiveSet& live) {
  return CpuPlan::prepare(simd_.kernels(), std::move(graph), live, threads_.threads());
}

dispatch::RunResult CpuBackend::run(dispatch::Plan& plan, const dispatch::RunRequest& request) {
  return static_cast<CpuPlan&>(plan).run(memory_, threads_, request);
}

absl::StatusOr<dispatch::Buffer> CpuBackend::upload(dispatch::ValueId, dispatch::HostData data) {
  const std::span<const std::byte> bytes = data.span();
  const bool is_bool = data.spec.dtype == DType::kBool;
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignof(int64_t) == 0;
  dispatch::Buffer buffer;
  buffer.spec = data.spec;
  buffer.strides = contiguous_strides(data.spec.shape);
  if (std::ssize(bytes) >= kAdoptBytes && aligned && (!is_bool || all_truth_values(bytes))) {
    REMORA_ASSIGN_OR_RETURN(buffer.storage, CpuStorage::adopt(memory_, std::move(data)));
    return buffer;
  }
  REMORA_ASSIGN_OR_RETURN(const auto storage, CpuStorage::allocate(memory_, data.spec.byte_size()));
  if (is_bool) {
    std::ranges::transform(bytes, storage->data(),
                           [](std::byte value) { return std::byte{value != std::byte{0}}; });
  } else if (!bytes.empty()) {
    std::memcpy(storage->data(), bytes.data(), bytes.size());
  }
  buffer.storage = storage;
  return buffer;
}

void CpuBackend::download(const dispatch::Buffer& buffer, dispatch::ReadCallback done) {
  const int64_t bytes = buffer.spec.byte_size();
  if (bytes < kSmallReadBytes) {
    return done(dispatch::HostData::make(buffer.spec, [&](std::span<std::byte> target) {
      copy_row_major(simd_.kernels(), buffer, target.data());
    }));
  }
  auto storage = std::static_pointer_cast<CpuStorage>(buffer.storage);
  if (buffer.is_contiguous() && storage->bytes() == bytes) {
    return done(share(buffer.spec, std::move(storage)));
  }
  // A broadcast view can be larger than any memory, so its copy has to fit the device's limit.
  auto copy = CpuStorage::allocate(memory_, bytes);
  if (!copy.ok()) return done(copy.status());
  copy_row_major(simd_.kernels(), buffer, (*copy)->data());
  done(share(buffer.spec, *std::move(copy)));
}

absl::StatusOr<dispatch::Buffer> CpuBackend::copy_from(dispatch::Backend& source,
                                                       const dispatch::Buffer& buffer,
                                                       dispatch::ValueId) {
  if (dynamic_cast<CpuBackend*>(&source) == nullptr) {
    return absl::UnimplementedError(str_cat(name_, ": the source is not a cpu device"));
  }
  REMORA_ASSIGN_OR_RETURN(const auto storage,
                          CpuStorage::allocate(memory_, buffer.spec.byte_size()));
  dispatch::Buffer copy{storage, buffer.spec, contiguous_strides(buffer.spec.shape), 0};
  copy_row_major(simd_.kernels(), buffer, storage->data());
  return copy;
}

dispatch::MemoryUse CpuBackend::memory() const {
  return {memory_->pool.live_bytes(), memory_->pool.cached_bytes(), memory_->pool.limit_bytes(),
          memory_->pool.peak_bytes()};
}

void CpuBackend::reset_peak_memory() { memory_->pool.reset_peak(); }

void CpuBackend::trim() { memory_->pool.trim(); }

}  // namespace remora::cpu
