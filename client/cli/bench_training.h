// `remora bench training`: memory and time of a training step of a stack of transformer blocks,
// with and without gradient checkpointing. Runs on the calling thread and on the cpu device, whose
// pool counts the memory.
#pragma once

#include <cstdint>

namespace remora::cli {

struct BenchTrainingOptions {
  int rounds = 3;
  int64_t layers = 24;
  int64_t width = 128;
  int64_t heads = 4;
  int64_t batch = 8;
  int64_t length = 256;
  double dropout = 0.1;
  bool json = false;
};

/// Measures and prints. An exit code.
int bench_training(const BenchTrainingOptions& options);

}  // namespace remora::cli
