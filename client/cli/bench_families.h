// The families of operations that `remora bench cpu` measures. benchmarks/compare_torch.py has the
// same ones, of the same sizes, under the same keys.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/tensor.h"

namespace remora::cli {

/// One key: an operation on operands of one size.
struct Family {
  std::string key;
  std::function<std::vector<Tensor>()> run;  // records it and gives its results
  int repeats = 1;                           // as many as make a sample
};

/// Those whose key begins with `only`.
std::vector<Family> families_of(const Device& device, std::string_view only);

}  // namespace remora::cli
