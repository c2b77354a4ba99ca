#include "client/bindings/argument.h"

#include "dispatch/str_cat.h"

namespace remora::bindings {
namespace {

/// Elements of a list that errors show.
constexpr size_t kShownElements = 8;

struct Printer {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return str_cat(value); }
  std::string operator()(double value) const { return str_cat(value); }
  std::string operator()(const std::string& value) const { return str_cat("'", value, "'"); }
  std::string operator()(DType value) const { return std::string(dtype_name(value)); }
  std::string operator()(const Device& value) const { return str_cat("device ", value.str()); }
  std::string operator()(const Tensor& value) const {
    return value.defined() ? str_cat(value.spec().str(), " tensor") : "empty tensor";
  }
  std::string operator()(const Argument::List& list) const {
    std::string text = "[";
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) text += ", ";
      if (i == kShownElements) {
        text += "...";
        break;
      }
      text += list[i].str();
    }
    return text + "]";
  }
};

}  // namespace

std::string Argument::str() const { return std::visit(Printer{}, value); }

}  // namespace remora::bindings
