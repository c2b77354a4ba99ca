// Stochastic gradient descent, as torch.optim.SGD.
#pragma once

#include <vector>

#include "client/optim/optimizer.h"

namespace remora::optim {

struct SgdOptions {
  double learning_rate = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
};

class SGD : public Optimizer {
 public:
  /// INVALID_ARGUMENT for a negative option, or Nesterov without momentum or with dampening.
  SGD(std::vector<nn::Parameter> parameters, const SgdOptions& options = {});

 protected:
  Update update(const Tensor& values, const Tensor& gradient, const State& state,
                int64_t count) override;

 private:
  SgdOptions options_;
};

}  // namespace remora::optim
