#include "tests/reference/reference.h"

#include <cmath>
#include <stdexcept>

namespace remora::reference {

const Table& table() {
  static const Table kTable = [] {
    Table table;
    add_elementwise(table);
    add_creation(table);
    add_reductions(table);
    add_shapes(table);
    add_indexing(table);
    add_contractions(table);
    add_attention(table);
    add_special(table);
    add_order(table);
    add_linalg(table);
    return table;
  }();
  return kTable;
}

Arrays evaluate(std::string_view op, const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto found = table().find(op);
  if (found == table().end()) {
    throw std::logic_error("reference: no implementation of '" + std::string(op) + "'");
  }
  return found->second(inputs, attrs);
}

Arrays magnitudes(std::string_view op, const Arrays& inputs, const dispatch::Attrs& attrs) {
  Arrays positive = inputs;
  for (Array& input : positive) {
    for (double& element : input.reals) element = std::abs(element);
  }
  return evaluate(op, positive, attrs);
}

}  // namespace remora::reference
