// Gradient rules: one for each row of the catalogue. gradients.cpp holds them; a row without a rule
// does not compile. Rules are made of public ops, so gradients of gradients work.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "absl/container/inlined_vector.h"
#include "client/tensor.h"
#include "dispatch/op.h"

namespace remora::autodiff {

struct Kept;
struct Saved;
class Node;
class Recomputation;

/// By input; undefined where none was asked for.
using Gradients = absl::InlinedVector<Tensor, 3>;

/// What a rule sees of the op it differentiates.
class RuleContext {
 public:
  /// `cotangents` by output, undefined meaning zero; `needs` by input. All outlive this object.
  RuleContext(const std::shared_ptr<Node>& node, const Kept& kept, Recomputation& recomputation,
              std::span<const Tensor> cotangents, std::span<const bool> needs)
      : node_(node),
        kept_(kept),
        recomputation_(recomputation),
        cotangents_(cotangents),
        needs_(needs) {}

  const Tensor& cotangent(size_t output = 0) const { return cotangents_[output]; }
  /// A saved input or output, with its place on the tape; undefined where the rule does not save
  /// it.
  Tensor input(size_t index) const;
  Tensor output(size_t index = 0) const;
  const Spec& input_spec(size_t index) const;
  size_t input_count() const { return needs_.size(); }
  /// True if the gradient of this input is wanted.
  bool needs(size_t index) const { return needs_[index]; }
  const dispatch::Attrs& any_attrs() const;
  template <typename T>
  const T& attrs() const {
    return std::get<T>(any_attrs());
  }

 private:
  Tensor tensor_of(const Saved& saved, const Edge& edge) const;

  const std::shared_ptr<Node>& node_;
  const Kept& kept_;
  Recomputation& recomputation_;
  std::span<const Tensor> cotangents_;
  std::span<const bool> needs_;
};

struct GradientRule {
  uint32_t saved_inputs = 0;   // bit i: the rule uses input i
  uint32_t saved_outputs = 0;  // bit i: the rule uses output i
  Gradients (*backward)(const RuleContext&) = nullptr;
  bool bilinear = false;  // of two inputs, each is used for the other's gradient alone

  /// False for rows declared kNotDifferentiable: their results are never tracked.
  bool differentiable() const { return backward != nullptr; }
  bool saves_input(size_t index) const { return index < 32 && (saved_inputs >> index & 1) != 0; }
  bool saves_output(size_t index) const { return index < 32 && (saved_outputs >> index & 1) != 0; }
};

const GradientRule& gradient_rule(dispatch::OpCode code);

}  // namespace remora::autodiff
