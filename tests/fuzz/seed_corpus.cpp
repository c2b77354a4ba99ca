// Writes the files that the fuzz targets start from: `fuzz_corpus FOLDER` makes FOLDER/<target>/.
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "client/io/captured_file.h"
#include "client/io/numpy_files.h"
#include "client/io/safetensors_file.h"
#include "dispatch/error.h"

namespace remora::fuzz {
namespace {

using io::NamedData;

NamedData tensor(const std::string& name, DType dtype, const Shape& shape) {
  const Spec spec{dtype, shape};
  return {name, dispatch::HostData::copy_of(
                    spec, std::vector<std::byte>(static_cast<size_t>(spec.byte_size())))};
}

void write_idx(const std::filesystem::path& folder) {
  for (const char type : {8, 11, 14}) {
    const std::string header = {'\0', '\0', type, '\2', '\0', '\0',
                                '\0', '\2', '\0', '\0', '\0', '\3'};
    const std::string bytes = header + std::string(type == 8 ? 6 : type == 11 ? 12 : 48, 'x');
    const std::string name = "type" + std::to_string(type);
    std::ofstream(folder / name, std::ios::binary) << bytes;
    gzFile file = gzopen((folder / (name + ".gz")).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
  }
}

/// x + w, scaled: an input, an initializer, a constant with a param.
void write_captured_graph(const std::filesystem::path& folder) {
  using dispatch::OpCode;
  using dispatch::Position;
  const Spec spec{DType::kF32, {2}};
  const dispatch::Attrs value = dispatch::FullAttrs{DType::kF32, {}, 2.5};
  const Spec scalar{DType::kF32, {}};
  dispatch::GraphBuilder builder;
  const std::vector<Position> operands = {Position::external(builder.add_input(spec)),
                                          Position::external(builder.add_input(spec))};
  builder.add_op(dispatch::op_info(OpCode::add), operands, dispatch::NoAttrs{}, {&spec, 1});
  builder.add_op(dispatch::op_info(OpCode::full), {}, value, {&scalar, 1});
  const std::vector<Position> factors = {Position::output(0), Position::output(1)};
  builder.add_op(dispatch::op_info(OpCode::mul), factors, dispatch::NoAttrs{}, {&spec, 1});
  dispatch::CapturedProgram program;
  program.graph = builder.finish(program.params);
  program.inputs = {spec};
  program.initializers = {tensor("", DType::kF32, {2}).data};
  program.externals = {{dispatch::CapturedSource::Kind::kInput, 0},
                       {dispatch::CapturedSource::Kind::kInitializer, 0}};
  program.outputs = {{dispatch::CapturedSource::Kind::kResult, 2}};
  throw_if_error(io::write_captured(folder / "file", program));
  std::ofstream(folder / "encoding", std::ios::binary) << encode_program(program);
}

void write_corpus(const std::filesystem::path& root) {
  for (const char* target : {"safetensors", "npy", "npz", "idx", "captured"}) {
    std::filesystem::create_directories(root / target);
  }
  const NamedData matrix = tensor("layer.weight", DType::kF32, {2, 3});
  const NamedData scalar = tensor("b", DType::kBool, {});
  const NamedData empty = tensor("e", DType::kI64, {0, 2});
  throw_if_error(io::write_safetensors(root / "safetensors/none", {}, {}));
  throw_if_error(io::write_safetensors(root / "safetensors/three", {matrix, scalar, empty},
                                       {{"format", "pt"}, {"a", "\n"}}));
  throw_if_error(io::write_npy_file(root / "npy/matrix", matrix.data));
  throw_if_error(io::write_npy_file(root / "npy/scalar", scalar.data));
  std::ofstream(root / "npy/fortran", std::ios::binary)
      << std::string("\x93NUMPY\x02\0\x39\0\0\0", 12)
      << "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 2)}\n12345678";
  for (const bool deflated : {false, true}) {
    const std::string name = deflated ? "deflated" : "stored";
    const std::vector<NamedData> tensors = {matrix, scalar, empty};
    throw_if_error(io::write_npz(root / "npz" / name, tensors, deflated));
  }
  write_idx(root / "idx");
  write_captured_graph(root / "captured");
}

}  // namespace
}  // namespace remora::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: fuzz_corpus FOLDER\n");
    return 2;
  }
  remora::fuzz::write_corpus(argv[1]);
  return 0;
}
