#include "tests/reference/array.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace remora::reference {
namespace {

template <typename T, typename Source>
void write_elements(const Source& elements, std::span<std::byte> out) {
  for (size_t i = 0; i < elements.size(); ++i) {
    const T element = static_cast<T>(elements[i]);
    std::memcpy(out.data() + i * sizeof(T), &element, sizeof(T));
  }
}

template <typename T, typename Target>
void read_elements(std::span<const std::byte> in, Target& elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    T element;
    std::memcpy(&element, in.data() + i * sizeof(T), sizeof(T));
    elements[i] = static_cast<typename Target::value_type>(element);
  }
}

[[noreturn]] void refuse(DType dtype) {
  throw std::logic_error("reference: no storage for dtype " + std::string(dtype_name(dtype)));
}

}  // namespace

Array::Array(Spec spec_in) : spec(std::move(spec_in)) {
  const auto count = static_cast<size_t>(spec.numel());
  if (is_real()) {
    reals.assign(count, 0.0);
  } else {
    integers.assign(count, 0);
  }
}

double Array::as_real(int64_t offset) const {
  const auto at = static_cast<size_t>(offset);
  return is_real() ? reals[at] : static_cast<double>(integers[at]);
}

int64_t offset_of(const Shape& shape, const Dims& index) {
  int64_t offset = 0;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    offset = offset * shape[axis] + index[static_cast<size_t>(axis)];
  }
  return offset;
}

void for_each(const Shape& shape, const std::function<void(const Dims&, int64_t)>& visit) {
  Dims index(static_cast<size_t>(shape.rank()), 0);
  const int64_t count = shape.numel();
  for (int64_t offset = 0; offset < count; ++offset) {
    visit(index, offset);
    for (int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
      int64_t& position = index[static_cast<size_t>(axis)];
      if (++position < shape[axis]) break;
      position = 0;
    }
  }
}

void copy_element(const Array& source, int64_t from, Array& target, int64_t to) {
  if (source.is_real()) {
    target.reals[static_cast<size_t>(to)] = source.reals[static_cast<size_t>(from)];
  } else {
    target.integers[static_cast<size_t>(to)] = source.integers[static_cast<size_t>(from)];
  }
}

Array broadcast(const Array& array, const Shape& shape) {
  Array result({array.spec.dtype, shape});
  const int64_t missing = shape.rank() - array.rank();
  for_each(shape, [&](const Dims& index, int64_t offset) {
    Dims from;
    for (int64_t axis = 0; axis < array.rank(); ++axis) {
      from.push_back(array.spec.shape[axis] == 1 ? 0 : index[static_cast<size_t>(missing + axis)]);
    }
    copy_element(array, offset_of(array.spec.shape, from), result, offset);
  });
  return result;
}

dispatch::HostData to_host(const Array& array) {
  return dispatch::HostData::make(array.spec, [&](std::span<std::byte> out) {
    switch (array.spec.dtype) {
      case DType::kBool:
        return write_elements<uint8_t>(array.integers, out);
      case DType::kI32:
        return write_elements<int32_t>(array.integers, out);
      case DType::kI64:
        return write_elements<int64_t>(array.integers, out);
      case DType::kF32:
        return write_elements<float>(array.reals, out);
      case DType::kF64:
        return write_elements<double>(array.reals, out);
      default:
        refuse(array.spec.dtype);
    }
  });
}

Array from_host(const dispatch::HostData& data) {
  Array array(data.spec);
  switch (data.spec.dtype) {
    case DType::kBool:
      read_elements<uint8_t>(data.span(), array.integers);
      break;
    case DType::kI32:
      read_elements<int32_t>(data.span(), array.integers);
      break;
    case DType::kI64:
      read_elements<int64_t>(data.span(), array.integers);
      break;
    case DType::kF32:
      read_elements<float>(data.span(), array.reals);
      break;
    case DType::kF64:
      read_elements<double>(data.span(), array.reals);
      break;
    default:
      refuse(data.spec.dtype);
  }
  return array;
}

}  // namespace remora::reference
