// The option structs and enums of public functions, as dynamic arguments see them: a struct is so
// many parameters, one per field, in this order; an enum is text.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "client/bindings/convert.h"
#include "client/ops.h"

namespace remora::bindings {

/// The fields of an option struct. A struct without a specialisation is one parameter.
template <typename T>
struct OptionFields {
  static constexpr std::tuple<> kFields = {};
};
template <>
struct OptionFields<Conv2dOptions> {
  static constexpr auto kFields = std::make_tuple(&Conv2dOptions::stride, &Conv2dOptions::padding,
                                                  &Conv2dOptions::dilation, &Conv2dOptions::groups);
};
template <>
struct OptionFields<Conv1dOptions> {
  static constexpr auto kFields = std::make_tuple(&Conv1dOptions::stride, &Conv1dOptions::padding,
                                                  &Conv1dOptions::dilation, &Conv1dOptions::groups);
};
template <>
struct OptionFields<ConvTranspose2dOptions> {
  static constexpr auto kFields =
      std::make_tuple(&ConvTranspose2dOptions::stride, &ConvTranspose2dOptions::padding,
                      &ConvTranspose2dOptions::output_padding, &ConvTranspose2dOptions::groups,
                      &ConvTranspose2dOptions::dilation);
};
template <>
struct OptionFields<Pool2dOptions> {
  static constexpr auto kFields =
      std::make_tuple(&Pool2dOptions::stride, &Pool2dOptions::padding, &Pool2dOptions::dilation,
                      &Pool2dOptions::ceil_mode);
};
template <>
struct OptionFields<AvgPool2dOptions> {
  static constexpr auto kFields = std::make_tuple(
      &AvgPool2dOptions::stride, &AvgPool2dOptions::padding, &AvgPool2dOptions::ceil_mode,
      &AvgPool2dOptions::count_include_pad, &AvgPool2dOptions::divisor);
};
template <>
struct OptionFields<ConvTranspose1dOptions> {
  static constexpr auto kFields =
      std::make_tuple(&ConvTranspose1dOptions::stride, &ConvTranspose1dOptions::padding,
                      &ConvTranspose1dOptions::output_padding, &ConvTranspose1dOptions::groups,
                      &ConvTranspose1dOptions::dilation);
};
template <>
struct OptionFields<Conv3dOptions> {
  static constexpr auto kFields = std::make_tuple(&Conv3dOptions::stride, &Conv3dOptions::padding,
                                                  &Conv3dOptions::dilation, &Conv3dOptions::groups);
};
template <>
struct OptionFields<ConvTranspose3dOptions> {
  static constexpr auto kFields =
      std::make_tuple(&ConvTranspose3dOptions::stride, &ConvTranspose3dOptions::padding,
                      &ConvTranspose3dOptions::output_padding, &ConvTranspose3dOptions::groups,
                      &ConvTranspose3dOptions::dilation);
};
template <>
struct OptionFields<Pool3dOptions> {
  static constexpr auto kFields =
      std::make_tuple(&Pool3dOptions::stride, &Pool3dOptions::padding, &Pool3dOptions::dilation,
                      &Pool3dOptions::ceil_mode);
};
template <>
struct OptionFields<AvgPool3dOptions> {
  static constexpr auto kFields = std::make_tuple(
      &AvgPool3dOptions::stride, &AvgPool3dOptions::padding, &AvgPool3dOptions::ceil_mode,
      &AvgPool3dOptions::count_include_pad, &AvgPool3dOptions::divisor);
};
template <>
struct OptionFields<InterpolateOptions> {
  static constexpr auto kFields =
      std::make_tuple(&InterpolateOptions::size, &InterpolateOptions::scale,
                      &InterpolateOptions::mode, &InterpolateOptions::align_corners);
};
template <>
struct OptionFields<MaxUnpoolOptions> {
  static constexpr auto kFields = std::make_tuple(
      &MaxUnpoolOptions::stride, &MaxUnpoolOptions::padding, &MaxUnpoolOptions::size);
};
template <>
struct OptionFields<DeformConv2dOptions> {
  static constexpr auto kFields =
      std::make_tuple(&DeformConv2dOptions::stride, &DeformConv2dOptions::padding,
                      &DeformConv2dOptions::dilation, &DeformConv2dOptions::mask);
};
template <>
struct OptionFields<StftOptions> {
  static constexpr auto kFields = std::make_tuple(&StftOptions::hop, &StftOptions::window,
                                                  &StftOptions::center, &StftOptions::normalized);
};
template <>
struct OptionFields<AttentionOptions> {
  static constexpr auto kFields = std::make_tuple(
      &AttentionOptions::mask, &AttentionOptions::dropout, &AttentionOptions::causal,
      &AttentionOptions::scale, &AttentionOptions::grouped_heads);
};
template <>
struct OptionFields<CrossEntropyOptions> {
  static constexpr auto kFields =
      std::make_tuple(&CrossEntropyOptions::weight, &CrossEntropyOptions::ignore_index,
                      &CrossEntropyOptions::reduction, &CrossEntropyOptions::label_smoothing);
};
template <>
struct OptionFields<CtcOptions> {
  static constexpr auto kFields =
      std::make_tuple(&CtcOptions::blank, &CtcOptions::reduction, &CtcOptions::zero_infinity);
};
template <>
struct OptionFields<NllOptions> {
  static constexpr auto kFields =
      std::make_tuple(&NllOptions::weight, &NllOptions::ignore_index, &NllOptions::reduction);
};

/// An enum whose values are written as text.
template <typename Enum, size_t kCount>
struct EnumConverter {
  using Names = std::array<std::pair<std::string_view, Enum>, kCount>;

  static std::string wanted(const Names& names) {
    std::string text;
    for (const auto& [name, value] : names) {
      text += str_cat(text.empty() ? "one of '" : ", '", name, "'");
    }
    return text;
  }
  static std::optional<Enum> from(const Argument& argument, const Names& names) {
    const auto* text = argument.get_if<std::string>();
    if (text == nullptr) return std::nullopt;
    for (const auto& [name, value] : names) {
      if (name == *text) return value;
    }
    return std::nullopt;
  }
};

template <>
struct Converter<Reduction> : EnumConverter<Reduction, 3> {
  static constexpr Names kNames = {
      {{"none", Reduction::kNone}, {"mean", Reduction::kMean}, {"sum", Reduction::kSum}}};
  static std::string wanted() { return EnumConverter::wanted(kNames); }
  static std::optional<Reduction> from(const Argument& argument) {
    return EnumConverter::from(argument, kNames);
  }
};

template <>
struct Converter<GeluForm> : EnumConverter<GeluForm, 2> {
  static constexpr Names kNames = {{{"none", GeluForm::kErf}, {"tanh", GeluForm::kTanh}}};
  static std::string wanted() { return EnumConverter::wanted(kNames); }
  static std::optional<GeluForm> from(const Argument& argument) {
    return EnumConverter::from(argument, kNames);
  }
};

template <>
struct Converter<QuantileForm> : EnumConverter<QuantileForm, 5> {
  static constexpr Names kNames = {{{"linear", QuantileForm::kLinear},
                                    {"lower", QuantileForm::kLower},
                                    {"higher", QuantileForm::kHigher},
                                    {"nearest", QuantileForm::kNearest},
                                    {"midpoint", QuantileForm::kMidpoint}}};
  static std::string wanted() { return EnumConverter::wanted(kNames); }
  static std::optional<QuantileForm> from(const Argument& argument) {
    return EnumConverter::from(argument, kNames);
  }
};

inline Argument to_argument(Distinct distinct) {
  return Argument::List{distinct.values, distinct.inverse, distinct.counts};
}

template <>
struct Converter<PadMode> : EnumConverter<PadMode, 4> {
  static constexpr Names kNames = {{{"constant", PadMode::kConstant},
                                    {"reflect", PadMode::kReflect},
                                    {"replicate", PadMode::kReplicate},
                                    {"circular", PadMode::kCircular}}};
  static std::string wanted() { return EnumConverter::wanted(kNames); }
  static std::optional<PadMode> from(const Argument& argument) {
    return EnumConverter::from(argument, kNames);
  }
};

template <>
struct Converter<Interpolation> : EnumConverter<Interpolation, 9> {
  static constexpr Names kNames = {{{"nearest", Interpolation::kNearest},
                                    {"nearest_exact", Interpolation::kNearestExact},
                                    {"linear", Interpolation::kLinear},
                                    {"bilinear", Interpolation::kLinear},
                                    {"trilinear", Interpolation::kLinear},
                                    {"cubic", Interpolation::kCubic},
                                    {"bicubic", Interpolation::kCubic},
                                    {"area", Interpolation::kArea},
                                    {"lanczos3", Interpolation::kLanczos3}}};
  static std::string wanted() { return EnumConverter::wanted(kNames); }
  static std::optional<Interpolation> from(const Argument& argument) {
    return EnumConverter::from(argument, kNames);
  }
};

}  // namespace remora::bindings
