#include "client/ops_ctc.h"

#include <limits>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// Stands for log(0): low enough to vanish beside any path's probability, finite so that no
/// gradient is NaN.
constexpr double kImpossible = -1e30;
constexpr double kNoPath = -1e29;

void check_ctc(const Tensor& log_probabilities, const Tensor& labels, const Tensor& input_lengths,
               const Tensor& label_lengths, const CtcOptions& options) {
  require_float("ctc_loss", log_probabilities.dtype());
  for (const Tensor* index : {&labels, &input_lengths, &label_lengths}) {
    if (index->dtype() != DType::kI64) {
      refuse("ctc_loss",
             str_cat("labels and lengths must be i64, not ", dtype_name(index->dtype())));
    }
  }
  if (log_probabilities.rank() != 3 || log_probabilities.size(0) < 1) {
    refuse("ctc_loss",
           str_cat("takes log-probabilities [T, N, C], not ", log_probabilities.shape().str()));
  }
  const int64_t batch = log_probabilities.size(1);
  if (labels.rank() != 2 || labels.size(0) != batch || input_lengths.shape() != Shape{batch} ||
      label_lengths.shape() != Shape{batch}) {
    refuse("ctc_loss",
           str_cat("labels ", labels.shape().str(), " and lengths ", input_lengths.shape().str(),
                   " and ", label_lengths.shape().str(), " do not fit ", batch, " examples"));
  }
  if (options.blank < 0 || options.blank >= log_probabilities.size(2)) {
    refuse("ctc_loss", str_cat("the blank ", options.blank, " is none of ",
                               log_probabilities.size(2), " classes"));
  }
}

/// [N, S] labels as [N, 2 S + 1] with blanks around each.
Tensor with_blanks(const Tensor& labels, int64_t blank) {
  const Tensor blanks = full_like(labels, blank);
  const Tensor pairs = stack({blanks, labels}, 2);
  const Tensor flat = reshape(pairs, {labels.size(0), 2 * labels.size(1)});
  return pad(flat, {0, 1}, blank);
}

/// x moved `steps` places to the right along axis 1, impossible before.
Tensor shifted(const Tensor& x, int64_t steps) {
  return narrow(pad(x, {steps, 0}, kImpossible), 1, 0, x.size(1));
}

Tensor log_sum(const Tensor& x, const Tensor& y) {
  const Tensor high = maximum(x, y).detach();
  return high + log(exp(x - high) + exp(y - high));
}

Tensor reduced(const Tensor& losses, const Tensor& label_lengths, Reduction reduction) {
  if (reduction == Reduction::kNone) return losses;
  if (reduction == Reduction::kSum) return sum(losses);
  return mean(losses / astype(maximum(label_lengths, 1), losses.dtype()));
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& labels, const Tensor& input_lengths,
                const Tensor& label_lengths, const CtcOptions& options) {
  const CallScope scope;
  check_ctc(log_probabilities, labels, input_lengths, label_lengths, options);
  const int64_t steps = log_probabilities.size(0);
  const int64_t batch = log_probabilities.size(1);
  const Tensor states = with_blanks(labels, options.blank);
  const int64_t count = states.size(1);
  // A path may leave out the blank between two labels that differ.
  const Tensor before = narrow(pad(states, {2, 0}, options.blank), 1, 0, count);
  const Tensor may_skip = logical_and(not_equal(states, options.blank), not_equal(states, before));
  const Tensor index = broadcast_to(unsqueeze(states, 0), {steps, batch, count});
  const Tensor emitted = gather(log_probabilities, 2, index);
  const Tensor place = arange(0, count, 1, labels.device().without_autodiff(), DType::kI64);
  Tensor alpha = where(place < 2, select(emitted, 0, 0), kImpossible);
  for (int64_t t = 1; t < steps; ++t) {
    const Tensor skipped = where(may_skip, shifted(alpha, 2), kImpossible);
    const Tensor arrived = log_sum(log_sum(alpha, shifted(alpha, 1)), skipped);
    const Tensor goes_on = unsqueeze(input_lengths > t, 1);
    alpha = where(goes_on, maximum(arrived + select(emitted, 0, t), kImpossible), alpha);
  }
  const Tensor last = unsqueeze(label_lengths * 2, 1);
  const Tensor at_blank = gather(alpha, 1, last);
  const Tensor at_label = where(last > 0, gather(alpha, 1, maximum(last - 1, 0)), kImpossible);
  const Tensor total = squeeze(log_sum(at_blank, at_label), 1);
  const double without_path = options.zero_infinity ? 0.0 : std::numeric_limits<double>::infinity();
  const Tensor losses = where(total < kNoPath, without_path, -total);
  return reduced(losses, label_lengths, options.reduction);
}

}  // namespace remora
