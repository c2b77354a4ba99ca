#include "client/nn/recurrent.h"

#include <algorithm>

#include "client/apply.h"
#include "client/nn/layer_parts.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::nn {

using dispatch::CallScope;

Recurrent::Recurrent(std::string_view name, int64_t input, int64_t hidden, int64_t gates,
                     const RecurrentOptions& options)
    : name_(name), input_(input), hidden_(hidden), gates_(gates), options_(options) {
  check_sizes(name, {input, hidden, options.layers});
  check_probability(name, options.dropout);
  if (options.projection != 0 && name != "LSTM") refuse(name, "only an LSTM has a projection");
  if (options.projection < 0 || (options.projection > 0 && options.projection >= hidden)) {
    refuse(name, str_cat("a projection of ", options.projection, " elements; it must be less than ",
                         hidden, " and not negative"));
  }
  const int64_t ways = options.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    for (int64_t way = 0; way < ways; ++way) {
      const int64_t inputs = layer == 0 ? input : ways * width_of(0);
      directions_.push_back(make_direction(layer, way == 1, inputs));
    }
  }
}

Recurrent::Direction Recurrent::make_direction(int64_t layer, bool reverse, int64_t inputs) {
  const std::string suffix = str_cat("_l", layer, reverse ? "_reverse" : "");
  const double bound = bound_for(hidden_);
  const int64_t rows = gates_ * hidden_;
  const auto parameter = [&](std::string_view name, const Shape& shape) {
    return add_parameter(str_cat(name, suffix), uniform_parameter(shape, bound));
  };
  Direction direction{parameter("weight_ih", {rows, inputs}),
                      parameter("weight_hh", {rows, width_of(0)}),
                      {},
                      {},
                      {}};
  if (options_.bias) {
    direction.bias_ih = parameter("bias_ih", {rows});
    direction.bias_hh = parameter("bias_hh", {rows});
  }
  if (options_.projection > 0) {
    direction.weight_hr = parameter("weight_hr", {options_.projection, hidden_});
  }
  return direction;
}

std::vector<Tensor> Recurrent::run_direction(const Direction& direction,
                                             const std::vector<Tensor>& steps, bool reverse,
                                             State& state) const {
  const Tensor bias_ih = tensor_or_none(direction.bias_ih);
  const Tensor bias_hh = tensor_or_none(direction.bias_hh);
  std::vector<Tensor> outputs(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const size_t t = reverse ? steps.size() - 1 - i : i;
    const Tensor from_input = linear(steps[t], direction.weight_ih.tensor(), bias_ih);
    const Tensor from_state = linear(state[0], direction.weight_hh.tensor(), bias_hh);
    state = cell(from_input, from_state, state);
    if (direction.weight_hr) state[0] = linear(state[0], direction.weight_hr->tensor());
    outputs[t] = state[0];
  }
  return outputs;
}

void Recurrent::check_initial(const Tensor& initial, const Shape& expected) const {
  if (initial.shape() == expected) return;
  refuse(name_,
         str_cat("an initial state is ", initial.shape().str(), "; it must be ", expected.str()));
}

Recurrent::Result Recurrent::run(const Tensor& x, std::vector<Tensor> initial) const {
  if (x.rank() != 3 || x.size(2) != input_) {
    refuse(name_,
           str_cat("takes three axes, the last of size ", input_, ", not ", x.shape().str()));
  }
  const int64_t time_axis = options_.batch_first ? 1 : 0;
  const int64_t batch = x.size(1 - time_axis);
  if (x.size(time_axis) == 0) refuse(name_, "the sequence is empty");
  for (size_t kind = 0; kind < initial.size(); ++kind) {
    const Shape shape = {static_cast<int64_t>(directions_.size()), batch, width_of(kind)};
    if (initial[kind].defined()) {
      check_initial(initial[kind], shape);
    } else {
      initial[kind] = new_zeros(x.inner(), shape);
    }
  }
  std::vector<std::vector<Tensor>> finals(initial.size());
  std::vector<Tensor> steps = unbind(x, time_axis);
  const size_t ways = options_.bidirectional ? 2 : 1;
  for (size_t first = 0; first < directions_.size(); first += ways) {
    std::vector<std::vector<Tensor>> outputs;
    for (size_t way = 0; way < ways; ++way) {
      const size_t index = first + way;
      State state;
      for (const Tensor& all : initial) {
        state.push_back(select(all, 0, static_cast<int64_t>(index)));
      }
      outputs.push_back(run_direction(directions_[index], steps, way == 1, state));
      for (size_t kind = 0; kind < state.size(); ++kind) finals[kind].push_back(state[kind]);
    }
    for (size_t t = 0; t < steps.size(); ++t) {
      steps[t] = ways == 2 ? concat({outputs[0][t], outputs[1][t]}, 1) : outputs[0][t];
      if (first + ways < directions_.size()) {
        steps[t] = dropout(steps[t], options_.dropout, training());
      }
    }
  }
  Result result{stack(steps, time_axis), {}};
  for (const std::vector<Tensor>& kind : finals) result.finals.push_back(stack(kind));
  return result;
}

RNN::RNN(int64_t input, int64_t hidden, const RecurrentOptions& options, Nonlinearity nonlinearity)
    : Recurrent("RNN", input, hidden, 1, options), nonlinearity_(nonlinearity) {}

Recurrent::State RNN::cell(const Tensor& from_input, const Tensor& from_state,
                           const State& /*state*/) const {
  const Tensor sum = from_input + from_state;
  return {nonlinearity_ == Nonlinearity::kTanh ? tanh(sum) : relu(sum)};
}

RecurrentResult RNN::operator()(const Tensor& x, const Tensor& hidden) const {
  const CallScope scope;
  Result result = run(x, {hidden});
  return {result.output, result.finals[0]};
}

GRU::GRU(int64_t input, int64_t hidden, const RecurrentOptions& options)
    : Recurrent("GRU", input, hidden, 3, options) {}

Recurrent::State GRU::cell(const Tensor& from_input, const Tensor& from_state,
                           const State& state) const {
  const std::vector<Tensor> x = chunk(from_input, 3, 1);
  const std::vector<Tensor> h = chunk(from_state, 3, 1);
  const Tensor reset = sigmoid(x[0] + h[0]);
  const Tensor update = sigmoid(x[1] + h[1]);
  const Tensor fresh = tanh(x[2] + reset * h[2]);
  return {fresh + update * (state[0] - fresh)};
}

RecurrentResult GRU::operator()(const Tensor& x, const Tensor& hidden) const {
  const CallScope scope;
  Result result = run(x, {hidden});
  return {result.output, result.finals[0]};
}

LSTM::LSTM(int64_t input, int64_t hidden, const RecurrentOptions& options)
    : Recurrent("LSTM", input, hidden, 4, options) {}

Recurrent::State LSTM::cell(const Tensor& from_input, const Tensor& from_state,
                            const State& state) const {
  const std::vector<Tensor> gates = chunk(from_input + from_state, 4, 1);
  const Tensor next = sigmoid(gates[1]) * state[1] + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(next), next};
}

LstmResult LSTM::operator()(const Tensor& x, const Tensor& hidden, const Tensor& cell) const {
  const CallScope scope;
  Result result = run(x, {hidden, cell});
  return {result.output, result.finals[0], result.finals[1]};
}

}  // namespace remora::nn
