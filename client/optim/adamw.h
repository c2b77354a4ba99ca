// Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled Weight Decay Regularization",
// 2019), as torch.optim.AdamW.
#pragma once

#include <vector>

#include "client/optim/optimizer.h"

namespace remora::optim {

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

class AdamW : public Optimizer {
 public:
  /// INVALID_ARGUMENT unless the betas lie in [0, 1) and the rest is not negative.
  AdamW(std::vector<nn::Parameter> parameters, const AdamWOptions& options = {});

 protected:
  Update update(const Tensor& values, const Tensor& gradient, const State& state,
                int64_t count) override;

 private:
  AdamWOptions options_;
};

}  // namespace remora::optim
