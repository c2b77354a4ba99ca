#include "examples/mnist/mnist_data.h"

#include <algorithm>

#include "dispatch/str_cat.h"
#include "remora/remora.h"

namespace remora::mnist {

namespace {

std::filesystem::path find_file(const std::filesystem::path& folder, const std::string& name) {
  for (const std::string& candidate : {name + ".gz", name}) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / candidate, ignored)) return folder / candidate;
  }
  throw Error(absl::NotFoundError(
      str_cat(folder.string(), ": has no ", name, ".gz; MNIST's four IDX files belong there")));
}

data::ResidentDataset load_set(const std::filesystem::path& folder, const std::string& prefix,
                               const Device& device, int64_t limit) {
  const std::filesystem::path images_path = find_file(folder, prefix + "-images-idx3-ubyte");
  const std::filesystem::path labels_path = find_file(folder, prefix + "-labels-idx1-ubyte");
  Tensor images = io::load_idx(images_path, device);
  Tensor labels = io::load_idx(labels_path, device);
  if (images.rank() != 3 || images.dtype() != DType::kU8 || images.size(1) != 28 ||
      images.size(2) != 28) {
    throw Error(absl::InvalidArgumentError(str_cat(
        images_path.string(), ": holds ", images.spec().str(), ", not images u8[N, 28, 28]")));
  }
  if (labels.rank() != 1 || labels.size(0) != images.size(0) || labels.size(0) == 0) {
    throw Error(absl::InvalidArgumentError(str_cat(labels_path.string(), ": holds ",
                                                   labels.spec().str(), " for ", images.size(0),
                                                   " images; one label each is wanted")));
  }
  if (limit > 0 && limit < images.size(0)) {
    images = narrow(images, 0, 0, limit);
    labels = narrow(labels, 0, 0, limit);
  }
  return {unsqueeze(images, 1), astype(labels, DType::kI64)};
}

}  // namespace

MnistData load_mnist(const std::filesystem::path& folder, const Device& device, int64_t limit) {
  MnistData data{load_set(folder, "train", device, limit), load_set(folder, "t10k", device, limit)};
  device.flush();
  return data;
}

}  // namespace remora::mnist
