// einsum: every operand becomes axes with labels; pairs of operands become one batched matmul.
#include <algorithm>
#include <cctype>

#include "client/apply.h"
#include "client/ops.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// A letter's code; kEllipsis + n is the n-th axis of "...", counted from the right.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;

bool has(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Labelled {
  Tensor tensor;
  Labels labels;  // one per axis, all different
};

[[noreturn]] void refuse_equation(std::string_view equation, std::string_view what) {
  refuse("einsum", str_cat("\"", equation, "\": ", what));
}

/// The labels of one term; `rank` says how many axes its "..." stands for, `ellipsis` the output's.
Labels parse_term(std::string_view equation, std::string_view term, int64_t ellipsis_axes) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term.substr(i, 3) == "...") {
      for (int64_t axis = ellipsis_axes - 1; axis >= 0; --axis) {
        labels.push_back(kEllipsis + static_cast<Label>(axis));
      }
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels.push_back(term[i]);
    } else {
      refuse_equation(equation, str_cat("unexpected character '", std::string(1, term[i]), "'"));
    }
  }
  return labels;
}

int64_t count_letters(std::string_view term) {
  return std::count_if(term.begin(), term.end(),
                       [](unsigned char c) { return std::isalpha(c) != 0; });
}

bool has_ellipsis(std::string_view term) { return term.find("...") != std::string_view::npos; }

/// Takes the diagonal of every label that occurs twice.
Labelled take_diagonals(std::string_view equation, Tensor tensor, Labels labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto again =
        std::find(labels.begin() + static_cast<int64_t>(i) + 1, labels.end(), labels[i]);
    if (again == labels.end()) continue;
    const auto first = static_cast<int64_t>(i);
    const int64_t second = again - labels.begin();
    if (tensor.size(first) != tensor.size(second)) {
      refuse_equation(equation, "a label names axes of different sizes of one operand");
    }
    tensor = movedim(diagonal(tensor, 0, first, second), Dims{-1}, Dims{first});
    labels.erase(again);
    --i;  // the same label may occur a third time
  }
  return {std::move(tensor), std::move(labels)};
}

/// The axes brought into the order of `wanted`, all of which it has.
Tensor arrange(const Labelled& operand, const Labels& wanted) {
  Dims order;
  for (const Label label : wanted) {
    order.push_back(std::find(operand.labels.begin(), operand.labels.end(), label) -
                    operand.labels.begin());
  }
  return permute(operand.tensor, order);
}

/// Sums the axes whose labels are not in `kept`.
Labelled sum_out(const Labelled& operand, const Labels& kept) {
  Dims axes;
  Labels left;
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (has(kept, operand.labels[i])) {
      left.push_back(operand.labels[i]);
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (axes.empty()) return operand;
  return {sum(operand.tensor, Axes(axes), false, operand.tensor.dtype()), std::move(left)};
}

int64_t size_of(const Labelled& operand, Label label) {
  return operand.tensor.size(std::find(operand.labels.begin(), operand.labels.end(), label) -
                             operand.labels.begin());
}

Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// How the labels of a pair take part in its matmul.
struct PairLabels {
  Labels batch;   // in both, and wanted later
  Labels summed;  // in both, and not
  Labels left;    // in the first alone
  Labels right;   // in the second alone
};

/// One matmul of two operands: [batch, left, summed] x [batch, summed, right].
Labelled contract(std::string_view equation, const Labelled& x, const Labelled& y,
                  const Labels& wanted) {
  const Labels needed_by_x = joined(wanted, y.labels);
  const Labelled a = sum_out(x, needed_by_x);
  const Labelled b = sum_out(y, joined(wanted, a.labels));
  PairLabels pair;
  Shape shared;  // broadcast sizes of batch and summed axes, in that order
  for (const Label label : a.labels) {
    if (!has(b.labels, label))
      pair.left.push_back(label);
    else
      (has(wanted, label) ? pair.batch : pair.summed).push_back(label);
  }
  for (const Label label : b.labels) {
    if (!has(a.labels, label)) pair.right.push_back(label);
  }
  for (const Label label : joined(pair.batch, pair.summed)) {
    const int64_t size_a = size_of(a, label);
    const int64_t size_b = size_of(b, label);
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      refuse_equation(equation, str_cat("sizes ", size_a, " and ", size_b, " of one label differ"));
    }
    shared.sizes().push_back(size_a == 1 ? size_b : size_a);
  }
  const size_t batches = pair.batch.size();
  const Shape batch_sizes(std::span(shared.sizes()).subspan(0, batches));
  const Shape sum_sizes(std::span(shared.sizes()).subspan(batches));

  const auto with = [](const Shape& first, const Shape& second, const Shape& third) {
    Shape sizes = first;
    for (const int64_t size : second.sizes()) sizes.sizes().push_back(size);
    for (const int64_t size : third.sizes()) sizes.sizes().push_back(size);
    return sizes;
  };
  Shape left_sizes;
  for (const Label label : pair.left) left_sizes.sizes().push_back(size_of(a, label));
  Shape right_sizes;
  for (const Label label : pair.right) right_sizes.sizes().push_back(size_of(b, label));

  const Tensor a_full = broadcast_to(arrange(a, joined(joined(pair.batch, pair.left), pair.summed)),
                                     with(batch_sizes, left_sizes, sum_sizes));
  const Tensor b_full =
      broadcast_to(arrange(b, joined(joined(pair.batch, pair.summed), pair.right)),
                   with(batch_sizes, sum_sizes, right_sizes));
  const int64_t batch = batch_sizes.numel();
  const int64_t summed = sum_sizes.numel();
  const Tensor product = matmul(reshape(a_full, {batch, left_sizes.numel(), summed}),
                                reshape(b_full, {batch, summed, right_sizes.numel()}));
  return {reshape(product, with(batch_sizes, left_sizes, right_sizes)),
          joined(joined(pair.batch, pair.left), pair.right)};
}

/// The terms before "->", and the one after it if there is one.
struct Equation {
  std::vector<std::string_view> terms;
  std::optional<std::string_view> output;
};

Equation split_equation(std::string_view text) {
  Equation equation;
  const size_t arrow = text.find("->");
  if (arrow != std::string_view::npos) equation.output = text.substr(arrow + 2);
  std::string_view inputs = text.substr(0, arrow);
  while (true) {
    const size_t comma = inputs.find(',');
    equation.terms.push_back(inputs.substr(0, comma));
    if (comma == std::string_view::npos) return equation;
    inputs.remove_prefix(comma + 1);
  }
}

/// Broadcast axes first, then the letters that occur once, in alphabetical order.
Labels implicit_output(const std::vector<Labels>& terms) {
  Labels ellipsis;
  Labels letters;
  for (const Labels& term : terms) {
    for (const Label label : term) (label >= kEllipsis ? ellipsis : letters).push_back(label);
  }
  std::sort(ellipsis.begin(), ellipsis.end(), std::greater<>());
  ellipsis.erase(std::unique(ellipsis.begin(), ellipsis.end()), ellipsis.end());
  std::sort(letters.begin(), letters.end());
  Labels output = std::move(ellipsis);
  for (const Label letter : letters) {
    if (std::count(letters.begin(), letters.end(), letter) == 1) output.push_back(letter);
  }
  return output;
}

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands) {
  const CallScope scope;
  const Equation parsed = split_equation(equation);
  if (operands.empty() || parsed.terms.size() != operands.size()) {
    refuse_equation(equation, str_cat("has ", parsed.terms.size(), " terms for ", operands.size(),
                                      " operands"));
  }
  std::vector<Labels> terms;
  int64_t widest_ellipsis = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const int64_t spare = operands[i].rank() - count_letters(parsed.terms[i]);
    if (spare < 0 || (spare > 0 && !has_ellipsis(parsed.terms[i]))) {
      refuse_equation(equation,
                      str_cat("term ", i, " does not fit the shape ", operands[i].shape().str()));
    }
    widest_ellipsis = std::max(widest_ellipsis, spare);
    terms.push_back(parse_term(equation, parsed.terms[i], spare));
    if (static_cast<int64_t>(terms.back().size()) != operands[i].rank()) {
      refuse_equation(equation, str_cat("term ", i, " has \"...\" twice"));
    }
  }
  const Labels output = parsed.output ? parse_term(equation, *parsed.output, widest_ellipsis)
                                      : implicit_output(terms);
  Labels all;
  for (const Labels& term : terms) all = joined(all, term);
  for (const Label label : output) {
    if (!has(all, label) || std::count(output.begin(), output.end(), label) > 1) {
      refuse_equation(equation, "a label of the result is in no term, or stands twice");
    }
  }

  Labelled result = take_diagonals(equation, operands[0], terms[0]);
  for (size_t i = 1; i < operands.size(); ++i) {
    Labels wanted = output;
    for (size_t later = i + 1; later < terms.size(); ++later) wanted = joined(wanted, terms[later]);
    result = contract(equation, result, take_diagonals(equation, operands[i], terms[i]), wanted);
  }
  return arrange(sum_out(result, output), output);
}

}  // namespace remora
