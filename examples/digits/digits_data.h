// The UCI digits as a training and a test set.
#pragma once

#include <filesystem>

#include "client/data/data_loader.h"

namespace remora::digits {

struct DigitsData {
  data::TensorDataset train;
  data::TensorDataset test;
};

/// Reads digits.csv.gz, scales pixels to [0, 1] and splits the images by a seeded shuffle: 360 test
/// images, the rest for training. Throws remora::Error for a file that is not what it should be.
DigitsData load_digits(const std::filesystem::path& path);

}  // namespace remora::digits
