// What a run gave and cost, beside another one's.
#pragma once

#include <span>
#include <string>

#include "examples/mnist/training.h"

namespace remora::mnist {

/// Whether two runs gave the same losses.
enum class Agreement {
  kYes,
  kNo,
  kNotComparable,  // the devices' fingerprints differ
};
Agreement compare_losses(const TrainingResult& one, const TrainingResult& other);

/// One column a result; with two, a row says whether their losses are equal.
std::string format_table(std::span<const TrainingResult> results);

}  // namespace remora::mnist
