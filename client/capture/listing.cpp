#include "client/capture/listing.h"

#include <string>

#include "dispatch/str_cat.h"

namespace remora::capture {

using dispatch::CapturedProgram;
using dispatch::CapturedSource;
using dispatch::GraphOp;
using dispatch::Position;

namespace {

std::string name_of(const CapturedSource& source) {
  switch (source.kind) {
    case CapturedSource::Kind::kInput:
      return str_cat("in", source.index);
    case CapturedSource::Kind::kInitializer:
      return str_cat("w", source.index);
    case CapturedSource::Kind::kResult:
      break;
  }
  return str_cat("%", source.index);
}

CapturedSource source_of(const CapturedProgram& program, Position position) {
  if (position.is_external()) return program.externals[position.index()];
  return {CapturedSource::Kind::kResult, position.index()};
}

/// "matmul(in0, w1; axis=0)", without what it gives.
std::string call_of(const CapturedProgram& program, const GraphOp& op) {
  std::string text = str_cat(op.info->name, "(");
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    text += str_cat(i == 0 ? "" : ", ", name_of(source_of(program, op.inputs[i])));
  }
  const std::string attributes = attrs_str(program.attrs_of(op));
  return str_cat(text, attributes.empty() ? "" : "; ", attributes, ")");
}

size_t op_count(const CapturedProgram& program) {
  return program.graph == nullptr ? 0 : program.graph->ops.size();
}

/// The node of a source in Graphviz's graph: an op's name is that of its first output.
std::string node_of(const CapturedProgram& program, const CapturedSource& source) {
  if (source.kind != CapturedSource::Kind::kResult) return name_of(source);
  uint32_t first = 0;
  for (const GraphOp& op : program.graph->ops) {
    if (op.first_output > source.index) break;
    first = op.first_output;
  }
  return str_cat("op", first);
}

std::string node_line(std::string_view node, std::string_view shape, std::string_view label) {
  return str_cat("  ", node, " [shape=", shape, ", label=", dot_quoted(label), "];\n");
}

}  // namespace

std::string list_program(const CapturedProgram& program) {
  std::string out =
      str_cat("captured graph: ", program.inputs.size(), " inputs, ", program.initializers.size(),
              " initializers, ", op_count(program), " ops, ", program.outputs.size(), " outputs\n");
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    out += str_cat("in", i, " : ", program.inputs[i].str(), "\n");
  }
  for (size_t i = 0; i < program.initializers.size(); ++i) {
    out += str_cat("w", i, " : ", program.initializers[i].spec.str(), "\n");
  }
  for (size_t k = 0; k < op_count(program); ++k) {
    const GraphOp& op = program.graph->ops[k];
    std::string results;
    std::string specs;
    for (uint32_t i = 0; i < static_cast<uint32_t>(op.info->outputs); ++i) {
      results += str_cat(i == 0 ? "%" : ", %", op.first_output + i);
      specs += str_cat(i == 0 ? "" : ", ", program.graph->outputs[op.first_output + i].str());
    }
    out += str_cat(results, " = ", call_of(program, op), " : ", specs, "\n");
  }
  out += "return ";
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    out += str_cat(i == 0 ? "" : ", ", name_of(program.outputs[i]));
  }
  return out + "\n";
}

std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += '?';
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string draw_program(const CapturedProgram& program) {
  std::string out = "digraph captured_graph {\n";
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    out += node_line(str_cat("in", i), "invhouse",
                     str_cat("input ", i, "\n", program.inputs[i].str()));
  }
  for (size_t i = 0; i < program.initializers.size(); ++i) {
    out += node_line(str_cat("w", i), "cylinder",
                     str_cat("initializer ", i, "\n", program.initializers[i].spec.str()));
  }
  for (size_t k = 0; k < op_count(program); ++k) {
    const GraphOp& op = program.graph->ops[k];
    const std::string node = str_cat("op", op.first_output);
    const std::string attributes = attrs_str(program.attrs_of(op));
    out +=
        node_line(node, "box", str_cat(op.info->name, attributes.empty() ? "" : "\n", attributes));
    for (const Position position : op.inputs) {
      out += str_cat("  ", node_of(program, source_of(program, position)), " -> ", node,
                     " [label=", dot_quoted(program.graph->spec(position).str()), "];\n");
    }
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const std::string node = str_cat("out", i);
    const std::string spec = program.spec(program.outputs[i]).str();
    out += node_line(node, "house", str_cat("output ", i, "\n", spec));
    out += str_cat("  ", node_of(program, program.outputs[i]), " -> ", node, ";\n");
  }
  return out + "}\n";
}

}  // namespace remora::capture
