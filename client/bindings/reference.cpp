#include "client/bindings/reference.h"

#include <array>
#include <vector>

#include "client/autodiff/gradients.h"
#include "client/bindings/function.h"
#include "dispatch/op.h"
#include "dispatch/str_cat.h"

namespace remora::bindings {
namespace {

using dispatch::OpInfo;
using dispatch::OpKind;

constexpr std::string_view kHead = R"(# Operations

Made by `REMORA_UPDATE_DOCS=1 build/release/bin/bindings_test` from `dispatch/ops.def`, `client/autodiff/gradients.cpp`, the
kernels and `client/bindings/functions.def`; a test compares it with them. Meaning, errors and gradients where there is a
choice: `client/ops.h` and the headers that it includes, and [numerics.md](numerics.md).

)";

constexpr std::string_view kCatalogueHead = R"(## The catalogue

A row is what a backend runs, a plan consists of and the wire carries. An expression is the kernel on every backend. "Native" names
the element types for which `cpu` has a kernel; "decomposed" means that it runs the rows into which this one expands.

)";

constexpr std::string_view kFunctionsHead = R"(
## The functions

In namespace `remora`, by name, with the parameters of `client/bindings/functions.def`. "Row" means that the function records the
catalogue's row of that name, after promotion and broadcasting; every other one is composed of rows and has their gradients.

)";

constexpr DType kDTypes[] = {
#define DTYPE(number, enumerator, ...) DType::enumerator,
#include "dispatch/dtypes.def"
#undef DTYPE
};

std::string_view kind_title(OpKind kind) {
  switch (kind) {
    case OpKind::kCreation:
      return "Creation";
    case OpKind::kUnary:
      return "Elementwise, one input";
    case OpKind::kBinary:
      return "Elementwise, two inputs";
    case OpKind::kTernary:
      return "Elementwise, three inputs";
    case OpKind::kCast:
      return "Casts";
    case OpKind::kReduction:
      return "Reductions and scans";
    case OpKind::kShape:
      return "Shape";
    case OpKind::kIndexing:
      return "Indexing and order";
    case OpKind::kContraction:
      return "Contraction";
    case OpKind::kLinearAlgebra:
      return "Linear algebra over the last two axes";
    case OpKind::kPooling:
      return "Pooling";
    case OpKind::kComposite:
      return "Composites with a fast path";
  }
  return "";
}

/// The types of a set, or what stands for all of them.
std::string dtypes_text(const std::vector<DType>& dtypes, dispatch::DTypeSet set) {
  std::vector<DType> whole;
  std::string names;
  for (const DType dtype : kDTypes) {
    if (contains(set, dtype)) whole.push_back(dtype);
  }
  if (dtypes == whole) return "all of these";
  for (const DType dtype : dtypes) {
    if (!names.empty()) names += ' ';
    names += dtype_name(dtype);
  }
  return names.empty() ? "none" : names;
}

std::string_view set_text(dispatch::DTypeSet set) {
  constexpr std::array<std::string_view, 8> kNames = {
      "",     "floats",       "integers",       "floats, integers",
      "bool", "floats, bool", "integers, bool", "all"};
  return kNames[set];
}

std::string native_text(const OpInfo& info, const dispatch::Backend& backend) {
  std::vector<DType> dtypes;
  for (const DType dtype : kDTypes) {
    if (contains(info.dtypes, dtype) && backend.supports(info.code, dtype)) dtypes.push_back(dtype);
  }
  if (dtypes.empty() && info.fast) return "decomposed";
  return dtypes_text(dtypes, info.dtypes);
}

/// A table cell: `|` would end it.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string row_text(const OpInfo& info, const dispatch::Backend& backend) {
  const std::string inputs =
      info.inputs == dispatch::kVariadic ? "any number" : str_cat(info.inputs);
  const std::string expression =
      info.expression.empty() ? "" : str_cat(" `", cell(info.expression), "`");
  return str_cat("| `", info.name, "` | ", static_cast<int>(info.code), " | ", inputs, " -> ",
                 info.outputs, " | ", set_text(info.dtypes), " | ", native_text(info, backend),
                 " | ", autodiff::gradient_rule(info.code).differentiable() ? "yes" : "none", " | ",
                 cell(info.doc), expression, " |\n");
}

}  // namespace

std::string operations_reference(const dispatch::Backend& cpu) {
  std::string text = str_cat(kHead, kCatalogueHead, dispatch::catalogue().size(), " rows.\n");
  std::string_view title;
  for (const OpInfo& info : dispatch::catalogue()) {
    if (title != kind_title(info.kind)) {
      title = kind_title(info.kind);
      text += str_cat("\n### ", title,
                      "\n\n| row | number | inputs -> outputs | element types | native on cpu | "
                      "gradient | |\n|---|---|---|---|---|---|---|\n");
    }
    text += row_text(info, cpu);
  }
  text += str_cat(kFunctionsHead, "| function | |\n|---|---|\n");
  for (const Function& function : functions()) {
    const bool is_row = dispatch::find_op(function.name) != nullptr;
    text += str_cat("| `", function.name, "(", cell(function.signature.str()), ")` | ",
                    is_row ? "row" : "", " |\n");
  }
  return text;
}

}  // namespace remora::bindings
