// The MNIST digits on a device: four IDX files, plain or compressed with gzip.
#pragma once

#include <cstdint>
#include <filesystem>

#include "client/data/resident.h"

namespace remora::mnist {

struct MnistData {
  data::ResidentDataset train;  // u8 [60000, 1, 28, 28] and i64 [60000]
  data::ResidentDataset test;
};

/// Reads train-images-idx3-ubyte.gz and its three companions, with or without .gz, and uploads
/// them. `limit` keeps so many images of each set; 0 keeps all. Throws remora::Error for a folder
/// or files that are not what they should be.
MnistData load_mnist(const std::filesystem::path& folder, const Device& device, int64_t limit);

}  // namespace remora::mnist
