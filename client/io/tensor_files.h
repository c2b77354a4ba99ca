// Tensors in files: safetensors (`save`, `load`), NumPy's .npy and .npz, IDX as MNIST has it.
//
//     nn::Sequential model(nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10));
//     io::save("model.safetensors", model.state_dict(), {{"epoch", "3"}});
//     model.load_state_dict(io::load("model.safetensors", device));
//
// A file is not trusted: whatever is wrong with it is an Error that names the function, the path
// and the field, and its own word never allocates more than its real size allows. A file that is
// saved appears whole or not at all: a full disk or a crash leaves the old one as it was.
//
// Errors of all functions here: NOT_FOUND, PERMISSION_DENIED or what the system says of the path;
// INVALID_ARGUMENT for contents that are not the format; DATA_LOSS for broken compressed data or a
// file that shrinks while it is read; UNIMPLEMENTED for an element type that the format or the
// device lacks. Each function may be called by any thread.
#pragma once

#include <filesystem>

#include "client/io/host_tensors.h"
#include "client/tensor.h"
#include "client/tensor_map.h"

namespace remora::io {

// -- safetensors, as Hugging Face and PyTorch write it

/// Writes all tensors, of any element type and device: asks for all before it waits for the first.
/// Throws what made one fail. INVALID_ARGUMENT for a name that is not UTF-8 or is "__metadata__".
void save(const std::filesystem::path& path, const TensorMap& tensors,
          const Metadata& metadata = {});
/// All tensors, on `device`, in the order of the file's header.
TensorMap load(const std::filesystem::path& path, const Device& device = Device::default_device());
/// What the file says about itself; reads its header only.
Metadata load_metadata(const std::filesystem::path& path);

// -- NumPy

/// One array, row-major. UNIMPLEMENTED for bf16, which NumPy lacks.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);
/// C or Fortran order, little-endian, of numbers or booleans.
Tensor load_npy(const std::filesystem::path& path, const Device& device = Device::default_device());

struct NpzOptions {
  bool compress = false;  // as numpy.savez_compressed does
};
/// Arrays by name; equal tensors give equal files.
void save_npz(const std::filesystem::path& path, const TensorMap& tensors,
              const NpzOptions& options = {});
TensorMap load_npz(const std::filesystem::path& path,
                   const Device& device = Device::default_device());

// -- IDX

/// The tensor of an IDX file, plain or compressed with gzip: u8 [60000, 28, 28] for MNIST's images.
Tensor load_idx(const std::filesystem::path& path, const Device& device = Device::default_device());

}  // namespace remora::io
