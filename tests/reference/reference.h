// A slow interpreter of the catalogue: each op from its documentation alone, in f64 for floats and
// exact 64-bit integers for the rest, without a look at any kernel. It is what every device is
// compared with.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/attrs.h"
#include "tests/reference/array.h"

namespace remora::reference {

using Arrays = std::vector<Array>;
using Function = std::function<Arrays(const Arrays& inputs, const dispatch::Attrs& attrs)>;
using Table = std::map<std::string, Function, std::less<>>;

/// The implementation of every op, by name.
const Table& table();

/// Runs one op. Throws std::logic_error for an op that has no reference and Error(INVALID_ARGUMENT)
/// for an index or slice outside its operand.
Arrays evaluate(std::string_view op, const Arrays& inputs, const dispatch::Attrs& attrs);

/// For each output element the sum of the magnitudes that were added to give it: what an error of a
/// reduction or contraction is measured by.
Arrays magnitudes(std::string_view op, const Arrays& inputs, const dispatch::Attrs& attrs);

// One function per source file adds its ops.
void add_elementwise(Table& table);
void add_creation(Table& table);
void add_reductions(Table& table);
void add_shapes(Table& table);
void add_indexing(Table& table);
void add_contractions(Table& table);
void add_attention(Table& table);
void add_special(Table& table);
void add_order(Table& table);
void add_linalg(Table& table);

}  // namespace remora::reference
