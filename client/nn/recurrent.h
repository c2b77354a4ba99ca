// Recurrent layers, as PyTorch's: sequences are [T, N, input] unless `batch_first`, then
// [N, T, input]. Every step is recorded as ops of its own, so that a sequence of another length is
// another plan. Weights and biases start uniform in +-1 / sqrt(hidden).
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/nn/module.h"

namespace remora::nn {

struct RecurrentOptions {
  int64_t layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0.0;  // of what goes from one layer to the next, while training
  bool bidirectional = false;
  /// LSTM only: h is a product of the cell's output of so many elements; 0 for the output itself.
  /// Less than `hidden`.
  int64_t projection = 0;
};

/// What RNN, LSTM and GRU share: their parameters and the walk along layers, directions and time.
class Recurrent : public Module {
 protected:
  /// `gates` blocks of `hidden` rows in each weight.
  Recurrent(std::string_view name, int64_t input, int64_t hidden, int64_t gates,
            const RecurrentOptions& options);

  /// State of one direction of one layer: h, and c of an LSTM; [N, hidden] each, h of a projection
  /// [N, projection].
  using State = std::vector<Tensor>;
  struct Result {
    Tensor output;               // [T, N, directions * width of h], batch first if so asked
    std::vector<Tensor> finals;  // of each kind of state: [layers * directions, N, its width]
  };
  /// Initial states as in `Result::finals`, each undefined for zeros.
  Result run(const Tensor& x, std::vector<Tensor> initial) const;

 private:
  struct Direction {
    Parameter weight_ih;
    Parameter weight_hh;
    std::optional<Parameter> bias_ih;
    std::optional<Parameter> bias_hh;
    std::optional<Parameter> weight_hr;  // [projection, hidden]
  };
  /// One step: the next state from what the input and the state give to the gates, [N, gates *
  /// hidden] each.
  virtual State cell(const Tensor& from_input, const Tensor& from_state,
                     const State& state) const = 0;
  std::vector<Tensor> run_direction(const Direction& direction, const std::vector<Tensor>& steps,
                                    bool reverse, State& state) const;
  Direction make_direction(int64_t layer, bool reverse, int64_t inputs);
  /// Elements of h (kind 0) and of c.
  int64_t width_of(size_t kind) const {
    return kind == 0 && options_.projection > 0 ? options_.projection : hidden_;
  }
  void check_initial(const Tensor& initial, const Shape& expected) const;

  std::string_view name_;
  int64_t input_;
  int64_t hidden_;
  int64_t gates_;
  RecurrentOptions options_;
  std::vector<Direction> directions_;  // by layer, the reverse one second
};

struct RecurrentResult {
  Tensor output;  // [T, N, directions * hidden]
  Tensor hidden;  // [layers * directions, N, hidden], after the last step
};

/// h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu.
class RNN : public Recurrent {
 public:
  enum class Nonlinearity : uint8_t { kTanh, kRelu };
  RNN(int64_t input, int64_t hidden, const RecurrentOptions& options = {},
      Nonlinearity nonlinearity = Nonlinearity::kTanh);
  /// `hidden` [layers * directions, N, hidden], or undefined for zeros.
  RecurrentResult operator()(const Tensor& x, const Tensor& hidden = {}) const;

 private:
  State cell(const Tensor& from_input, const Tensor& from_state, const State& state) const override;
  Nonlinearity nonlinearity_;
};

/// Cho et al., 2014; gates r, z, n, with the state's part of n inside the reset gate.
class GRU : public Recurrent {
 public:
  GRU(int64_t input, int64_t hidden, const RecurrentOptions& options = {});
  RecurrentResult operator()(const Tensor& x, const Tensor& hidden = {}) const;

 private:
  State cell(const Tensor& from_input, const Tensor& from_state, const State& state) const override;
};

struct LstmResult {
  Tensor output;  // [T, N, directions * width of h]
  Tensor hidden;  // [layers * directions, N, hidden or projection], after the last step
  Tensor cell;    // [layers * directions, N, hidden]
};

/// Hochreiter and Schmidhuber, 1997, with a forget gate; gates i, f, g, o. Its projection: Sak et
/// al., 2014.
class LSTM : public Recurrent {
 public:
  LSTM(int64_t input, int64_t hidden, const RecurrentOptions& options = {});
  LstmResult operator()(const Tensor& x, const Tensor& hidden = {}, const Tensor& cell = {}) const;

 private:
  State cell(const Tensor& from_input, const Tensor& from_state, const State& state) const override;
};

}  // namespace remora::nn
