#include "tests/opinfo/runner.h"

#include <optional>
#include <span>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/ascii.h"
#include "client/ops.h"
#include "dispatch/backend.h"
#include "dispatch/device_state.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "tests/opinfo/compare.h"
#include "tests/opinfo/vector_signs.h"

namespace remora::opinfo {
namespace {

using bindings::Argument;
using dispatch::HostData;

/// The tensors of a result, lists flattened; nothing if it holds anything else.
bool flatten(const Argument& result, std::vector<Tensor>& tensors) {
  if (const auto* tensor = result.get_if<Tensor>()) {
    tensors.push_back(*tensor);
    return true;
  }
  const auto* list = result.get_if<Argument::List>();
  if (list == nullptr) return false;
  for (const Argument& element : *list) {
    if (!flatten(element, tensors)) return false;
  }
  return true;
}

uint64_t hash_of(uint64_t seed, const HostData& data) {
  const std::string spec = data.spec.str();
  seed = XXH3_64bits_withSeed(spec.data(), spec.size(), seed);
  const auto bytes = data.span();
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Outcome failed(std::string reason) { return {Verdict::kFailed, std::move(reason), 0}; }

Outcome lacks_op(std::string reason) {
  return {Verdict::kUnsupported, std::move(reason), 0, /*lacks_op=*/true};
}

Outcome of_error(const Error& error) {
  const bool lacking = error.code() == absl::StatusCode::kUnimplemented;
  return {lacking ? Verdict::kUnsupported : Verdict::kFailed, str_cat("throws ", error.what()), 0,
          lacking};
}

}  // namespace

/// What one answer case needs on its way.
struct Runner::Run {
  Run(const Case& sample_in, const io::SafetensorsFile& tensors_in, const Device& device_in)
      : sample(sample_in),
        tensors(tensors_in),
        device(sample_in.gradients.empty() ? device_in : device_in.autodiff()) {}

  /// The input of a key, the same tensor each time; a leaf if its gradient is wanted.
  Tensor input(const std::string& key) {
    if (const auto known = inputs.find(key); known != inputs.end()) return known->second;
    Tensor tensor = from_host(value_or_throw(tensors.read(key)), device);
    for (const auto& [wanted, gradient] : sample.gradients) {
      if (wanted == key) tensor = tensor.require_grad();
    }
    return inputs[key] = tensor;
  }

  /// The answers with what they are unique up to settled as expected.
  std::vector<Tensor> align(std::vector<Tensor> outputs) {
    if (outputs.size() != sample.outputs.size()) return outputs;
    std::vector<HostData> expected;
    for (const std::string& key : sample.outputs)
      expected.push_back(value_or_throw(tensors.read(key)));
    return with_expected_signs(sample.op, std::move(outputs), expected);
  }

  /// Empty if every answer is right.
  std::string check_answers(const std::vector<Tensor>& outputs) {
    if (outputs.size() != sample.outputs.size()) {
      return str_cat("gives ", outputs.size(), " tensors, expected ", sample.outputs.size());
    }
    std::string reason;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const HostData expected = value_or_throw(tensors.read(sample.outputs[i]));
      const ReadFuture read = outputs[i].read_async();
      hash = hash_of(hash, read.get());
      const std::string difference =
          compare(read.get(), expected, answer_tolerance(expected.spec.dtype));
      if (reason.empty() && !difference.empty()) reason = str_cat("answer ", i, " ", difference);
    }
    return reason;
  }

  /// Empty if every gradient is right. An input the answer does not depend on has gradient zero.
  std::string check_gradients(const std::vector<Tensor>& outputs) {
    std::optional<Tensor> total;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto cotangent = sample.cotangents.find(sample.outputs[i]);
      if (cotangent == sample.cotangents.end() || !outputs[i].requires_grad()) continue;
      const Tensor weight = from_host(value_or_throw(tensors.read(cotangent->second)), device);
      const Tensor part = sum(mul(outputs[i], weight));
      total = total ? add(*total, part) : part;
    }
    if (total) total->backward();
    std::string reason;
    for (const auto& [key, gradient_key] : sample.gradients) {
      const HostData expected = value_or_throw(tensors.read(gradient_key));
      const Tensor leaf = input(key);
      const Tensor gradient = leaf.grad().value_or(zeros_like(leaf.inner()));
      const ReadFuture read = gradient.read_async();
      hash = hash_of(hash, read.get());
      const std::string difference =
          compare(read.get(), expected, gradient_tolerance(expected.spec.dtype));
      if (reason.empty() && !difference.empty())
        reason = str_cat("gradient of ", key, " ", difference);
    }
    return reason;
  }

  const Case& sample;
  const io::SafetensorsFile& tensors;
  const Device device;
  absl::flat_hash_map<std::string, Tensor> inputs;
  uint64_t hash = 0;
};

Outcome Runner::run(const Case& sample) const {
  if (!table_.has(sample.op)) return lacks_op("there is no such function");
  try {
    if (const std::string dtype = missing_dtype(sample); !dtype.empty()) {
      return {Verdict::kUnsupported, str_cat("the device has no ", dtype), 0};
    }
    return sample.must_fail ? run_error(sample) : run_answer(sample);
  } catch (const Error& error) {
    return of_error(error);
  } catch (const std::exception& error) {
    return failed(str_cat("throws something that is no remora::Error: ", error.what()));
  }
}

Outcome Runner::run_answer(const Case& sample) const {
  Run run(sample, tensors_, device_);
  const auto result =
      table_.call(sample, run.device, [&](const std::string& key) { return run.input(key); });
  if (const auto* not_offered = std::get_if<NotOffered>(&result)) {
    return lacks_op(not_offered->reason);
  }
  std::vector<Tensor> outputs;
  if (!flatten(std::get<Argument>(result), outputs)) {
    return failed(str_cat("gives ", std::get<Argument>(result).str(), ", which is no tensor"));
  }
  outputs = run.align(std::move(outputs));
  std::string reason = run.check_answers(outputs);
  if (reason.empty()) reason = run.check_gradients(outputs);
  if (!reason.empty()) return {Verdict::kFailed, reason, run.hash};
  return {Verdict::kPassed, "", run.hash};
}

Outcome Runner::run_error(const Case& sample) const {
  Run run(sample, tensors_, device_);
  try {
    const auto result =
        table_.call(sample, run.device, [&](const std::string& key) { return run.input(key); });
    if (const auto* not_offered = std::get_if<NotOffered>(&result)) {
      return lacks_op(not_offered->reason);
    }
    std::vector<Tensor> outputs;
    flatten(std::get<Argument>(result), outputs);
    for (const Tensor& output : outputs) output.read_async().get();
  } catch (const Error& error) {
    if (error.code() == absl::StatusCode::kUnimplemented) return lacks_op(error.what());
    return {Verdict::kPassed, error.what(), 0};
  }
  return failed("answers, but must be refused");
}

std::string Runner::missing_dtype(const Case& sample) const {
  std::vector<DType> dtypes;
  const auto note_tensor = [&](const std::string& key) {
    dtypes.push_back(tensors_.find(key)->spec.dtype);
  };
  for (const Json& arguments : {sample.args, sample.kwargs}) {
    for (const std::string& key : tensor_keys(arguments)) note_tensor(key);
    for (const std::string& name : dtype_names(arguments)) {
      const std::optional<DType> dtype = dtype_from_name(absl::AsciiStrToLower(name));
      if (!dtype) return name;
      dtypes.push_back(*dtype);
    }
  }
  for (const std::string& key : sample.outputs) note_tensor(key);
  for (const DType dtype : dtypes) {
    if (!device_.state().backend().supports(dispatch::OpCode::full, dtype)) {
      return std::string(dtype_name(dtype));
    }
  }
  return "";
}

}  // namespace remora::opinfo
