// Attention and its gradients: masks, groups of heads, more than one block of queries and keys.
#include "tests/op_cases/op_case.h"

namespace remora::test {
namespace {

using dispatch::AttentionAttrs;

/// Sizes of one case.
struct Sizes {
  int64_t batch, heads, group, queries, keys, width, value_width;
};

Input small(Shape shape) { return f32(std::move(shape), -1.0, 1.0); }

/// f32 in the 16-bit variants too.
Input sums(Shape shape, double low, double high) {
  Input input = f32(std::move(shape), low, high);
  input.is_wide = true;
  return input;
}

std::vector<Input> operands(const Sizes& s) {
  return {small({s.batch, s.heads * s.group, s.queries, s.width}),
          small({s.batch, s.heads, s.keys, s.width}),
          small({s.batch, s.heads, s.keys, s.value_width})};
}

/// Both rows with the same query, key, value and mask.
void add_pair(OpCases& cases, const std::string& name, const Sizes& s, const AttentionAttrs& attrs,
              const std::vector<Input>& mask = {}) {
  std::vector<Input> inputs = operands(s);
  inputs.insert(inputs.end(), mask.begin(), mask.end());
  cases.push_back({"attention", name, inputs, attrs});
  const Shape rows = {s.batch, s.heads * s.group, s.queries};
  const Input g = small({s.batch, s.heads * s.group, s.queries, s.value_width});
  // Sums near those of the forward pass keep the weights near 1 / keys.
  inputs.insert(inputs.begin(), {g, sums(rows, -1.0, 1.0), sums(rows, 1.0, 2.0)});
  cases.push_back({"attention_grad", name, inputs, attrs});
}

}  // namespace

void add_attention_cases(OpCases& cases) {
  const Sizes plain{2, 3, 1, 4, 5, 2, 3};
  const AttentionAttrs half{false, 0.5}, causal{true, 0.7};
  add_pair(cases, "f32", plain, half);
  add_pair(cases, "f32 causal", plain, causal);
  add_pair(cases, "f32 causal, more queries than keys", {1, 2, 1, 5, 3, 2, 2}, causal);
  add_pair(cases, "f32 groups", {2, 2, 3, 3, 4, 2, 2}, half);
  add_pair(cases, "f32 bool mask", plain, half, {boolean({2, 3, 4, 5})});
  add_pair(cases, "f32 one bool mask for all", plain, half, {boolean({1, 1, 1, 5})});
  add_pair(cases, "f32 added mask", plain, half, {small({2, 1, 4, 5})});
  add_pair(cases, "f32 causal, added mask, groups", {1, 2, 2, 4, 4, 2, 2}, causal,
           {small({1, 4, 1, 4})});
  add_pair(cases, "f32 one key", {1, 1, 1, 3, 1, 2, 2}, half);
  add_pair(cases, "f32 no keys", {1, 2, 1, 3, 0, 2, 2}, half);
  add_pair(cases, "f32 no queries", {1, 2, 1, 0, 3, 2, 2}, half);
  add_pair(cases, "f32 no batch", {0, 2, 1, 3, 3, 2, 2}, half);
  add_pair(cases, "f32 no heads", {2, 0, 1, 3, 3, 2, 2}, half);
  add_pair(cases, "f32 no width", {1, 1, 1, 2, 3, 0, 2}, half);
  add_pair(cases, "f32 no value width", {1, 1, 1, 2, 3, 2, 0}, half);
  add_pair(cases, "f32 several blocks", {1, 1, 1, 150, 300, 8, 4}, half);
  add_pair(cases, "f32 several blocks, causal, groups", {1, 1, 2, 270, 270, 4, 4}, causal);
}

}  // namespace remora::test
