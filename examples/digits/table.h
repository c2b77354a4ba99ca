// The demo's table: the run on a worker beside the run on this machine.
#pragma once

#include <string>

#include "examples/digits/training.h"

namespace remora::digits {

/// Whether two runs gave the same losses.
enum class Agreement {
  kYes,
  kNo,
  kNotComparable,  // the devices' fingerprints differ
};

Agreement compare_losses(const TrainingResult& remote, const TrainingResult& local);

/// The table as text.
std::string format_table(const TrainingResult& remote, const TrainingResult& local,
                         Agreement agreement);

}  // namespace remora::digits
