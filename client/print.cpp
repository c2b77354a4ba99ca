// Tensors as text, in PyTorch's form.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "client/limits.h"
#include "client/tensor.h"
#include "dispatch/str_cat.h"

namespace remora {

namespace {

/// Chooses one format for all elements, as PyTorch does, and pads them to one width.
class ElementFormat {
 public:
  explicit ElementFormat(const dispatch::HostData& data, std::span<const int64_t> shown);
  std::string format(const dispatch::HostData& data, int64_t index) const;
  int64_t width() const { return width_; }

 private:
  std::string text(const Scalar& scalar) const;

  bool boolean_ = false;
  bool unsigned_ = false;  // a scalar holds the bits of a u64
  bool integral_ = true;   // every finite element is an integer: printed "2."
  bool scientific_ = false;
  int64_t width_ = 1;
};

ElementFormat::ElementFormat(const dispatch::HostData& data, std::span<const int64_t> shown)
    : boolean_(data.spec.dtype == DType::kBool), unsigned_(data.spec.dtype == DType::kU64) {
  double smallest = INFINITY;
  double largest = 0;
  for (const int64_t index : shown) {
    const Scalar scalar = element_as_scalar(data, index);
    if (!scalar.is_float()) continue;
    const double magnitude = std::fabs(scalar.as_double());
    if (!std::isfinite(magnitude)) continue;
    if (magnitude != std::floor(magnitude)) integral_ = false;
    if (magnitude == 0) continue;
    smallest = std::min(smallest, magnitude);
    largest = std::max(largest, magnitude);
  }
  if (largest > 0) {
    const bool wide = largest / smallest > 1000.0 || smallest < 1e-4;
    scientific_ = largest > 1e8 || (!integral_ && wide);
  }
  for (const int64_t index : shown) {
    width_ = std::max(width_, static_cast<int64_t>(text(element_as_scalar(data, index)).size()));
  }
}

std::string ElementFormat::text(const Scalar& scalar) const {
  if (boolean_) return scalar.as_int64() != 0 ? "true" : "false";
  if (!scalar.is_float()) {
    return unsigned_ ? std::to_string(scalar.bits()) : std::to_string(scalar.as_int64());
  }
  const double value = scalar.as_double();
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::ostringstream out;
  if (scientific_) {
    out << std::scientific << std::setprecision(4) << value;
  } else {
    out << std::fixed << std::setprecision(integral_ ? 0 : 4) << value << (integral_ ? "." : "");
  }
  return out.str();
}

std::string ElementFormat::format(const dispatch::HostData& data, int64_t index) const {
  const std::string element = text(element_as_scalar(data, index));
  return std::string(static_cast<size_t>(width_) - element.size(), ' ') + element;
}

/// Writes nested brackets; long axes keep their ends.
class Printer {
 public:
  explicit Printer(const dispatch::HostData& data)
      : data_(data),
        shape_(data.spec.shape),
        strides_(contiguous_strides(shape_)),
        short_form_(shape_.numel() > kPrintThreshold) {
    collect(0, 0);
    format_.emplace(data_, shown_);
  }

  std::string print(int64_t indent) {
    out_.str("");
    axis(0, 0, indent);
    return out_.str();
  }

 private:
  static constexpr int64_t kGap = -1;

  std::vector<int64_t> positions(int64_t axis) const {
    std::vector<int64_t> result;
    const int64_t size = shape_[axis];
    const bool gap = short_form_ && size > 2 * kPrintEdgeItems;
    for (int64_t i = 0; i < size; ++i) {
      if (gap && i == kPrintEdgeItems) {
        result.push_back(kGap);
        i = size - kPrintEdgeItems;
      }
      result.push_back(i);
    }
    return result;
  }

  void collect(int64_t axis, int64_t offset) {
    if (axis == shape_.rank()) {
      shown_.push_back(offset);
      return;
    }
    for (const int64_t i : positions(axis)) {
      if (i != kGap) collect(axis + 1, offset + i * strides_[static_cast<size_t>(axis)]);
    }
  }

  void axis(int64_t axis, int64_t offset, int64_t indent) {
    if (axis == shape_.rank()) {
      out_ << format_->format(data_, offset);
      return;
    }
    const bool innermost = axis + 1 == shape_.rank();
    const int64_t columns = (kPrintLineColumns - indent - 1) / (format_->width() + 2);
    const int64_t per_line = std::max<int64_t>(1, columns);
    out_ << '[';
    int64_t written = 0;
    for (const int64_t i : positions(axis)) {
      if (written > 0) separate(innermost, written % per_line == 0, shape_.rank() - axis, indent);
      ++written;
      if (i == kGap) {
        out_ << "...";
      } else {
        this->axis(axis + 1, offset + i * strides_[static_cast<size_t>(axis)], indent + 1);
      }
    }
    out_ << ']';
  }

  void separate(bool innermost, bool line_full, int64_t depth, int64_t indent) {
    if (innermost && !line_full) {
      out_ << ", ";
      return;
    }
    out_ << ',' << std::string(innermost ? 1 : static_cast<size_t>(depth - 1), '\n')
         << std::string(static_cast<size_t>(indent + 1), ' ');
  }

  const dispatch::HostData& data_;
  const Shape& shape_;
  const Dims strides_;
  const bool short_form_;
  std::vector<int64_t> shown_;
  std::optional<ElementFormat> format_;
  std::ostringstream out_;
};

bool is_default_dtype(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI64 || dtype == DType::kBool;
}

}  // namespace

std::string Tensor::str() const {
  if (!defined()) return "tensor(undefined)";
  constexpr std::string_view kHead = "tensor(";
  const ReadFuture future = read_async();
  std::string text =
      str_cat(kHead, Printer(future.get()).print(static_cast<int64_t>(kHead.size())));
  if (numel() == 0 && rank() != 1) text += str_cat(", size=", shape().str());
  if (!is_default_dtype(dtype()) || numel() == 0) text += str_cat(", dtype=", dtype_name(dtype()));
  const Device plain = device().without_autodiff();
  if (plain.kind() != BackendKind::kCpu) text += str_cat(", device=", plain.str());
  if (requires_grad()) text += ", requires_grad=true";
  return text + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.str(); }

}  // namespace remora
