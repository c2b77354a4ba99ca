// Files exchanged with NumPy itself, where this machine's Python has it.
#include <gtest/gtest.h>
#include <unistd.h>

#include "client/io/numpy_files.h"
#include "dispatch/error.h"
#include "tests/io/format_cases.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace remora::io {
namespace {

constexpr const char* kPython = "/usr/bin/python3";

// Reads ours.npz, says what it found, and writes the same arrays in every way NumPy writes them.
constexpr const char* kScript = R"(
import numpy as np
for name in ['stored.npz', 'deflated.npz']:
    ours = np.load(name, allow_pickle=False)
    print(name, ' '.join(key + ':' + ours[key].dtype.str + str(ours[key].shape).replace(' ', '')
                         for key in ours.files))
arrays = {key: ours[key] for key in ours.files}
np.savez('c.npz', **arrays)
np.savez_compressed('f.npz', **{key: np.array(a, order='F') for key, a in arrays.items()})
for key, a in arrays.items():
    for version in [(1, 0), (2, 0), (3, 0)]:
        with open('%s-%d.npy' % (key, version[0]), 'wb') as file:
            np.lib.format.write_array(file, a, version=version, allow_pickle=False)
np.save('alone.npy', np.load('ours.npy', allow_pickle=False))
np.savez('big.npz', x=np.arange(3, dtype='>f4'))
np.savez('object.npz', x=np.array([None, {}], dtype=object))
print('done')
)";

class NumpyExchange : public testing::Test {
 protected:
  void SetUp() override {
    if (access(kPython, X_OK) != 0) GTEST_SKIP() << kPython << " is not there";
    test::ChildProcess python({kPython, "-c", "import numpy"});
    if (python.wait().code != 0) GTEST_SKIP() << kPython << " has no numpy: " << python.errors();
  }
  test::TemporaryFolder folder_;
};

std::vector<NamedData> some_tensors() {
  std::vector<NamedData> tensors;
  for (const DType dtype : all_dtypes()) {
    if (dtype == DType::kBF16) continue;
    tensors.push_back({std::string(dtype_name(dtype)), random_data(dtype, {2, 3, 4}, 1)});
  }
  tensors.push_back({"scalar", random_data(DType::kF64, {}, 2)});
  tensors.push_back({"vector", random_data(DType::kI32, {7}, 3)});
  tensors.push_back({"empty", random_data(DType::kF32, {3, 0}, 3)});
  return tensors;
}

TEST_F(NumpyExchange, NumPyReadsOursAndWeReadWhatItWrites) {
  const std::vector<NamedData> tensors = some_tensors();
  throw_if_error(write_npz(folder_ / "stored.npz", tensors, false));
  throw_if_error(write_npz(folder_ / "deflated.npz", tensors, true));
  throw_if_error(write_npy_file(folder_ / "ours.npy", tensors[0].data));
  const std::string script =
      "import os\nos.chdir('" + folder_.path().string() + "')\n" + std::string(kScript);
  test::ChildProcess python({kPython, "-c", script});
  ASSERT_EQ(python.wait().code, 0) << python.errors();
  const std::string found =
      "bool:|b1(2,3,4) i8:|i1(2,3,4) i16:<i2(2,3,4) i32:<i4(2,3,4) i64:<i8(2,3,4) u8:|u1(2,3,4) "
      "u16:<u2(2,3,4) u32:<u4(2,3,4) u64:<u8(2,3,4) f16:<f2(2,3,4) f32:<f4(2,3,4) f64:<f8(2,3,4) "
      "scalar:<f8() vector:<i4(7,) empty:<f4(3,0)";
  EXPECT_EQ(python.read_line(), "stored.npz " + found);
  EXPECT_EQ(python.read_line(), "deflated.npz " + found);

  for (const char* name : {"c.npz", "f.npz"}) {
    SCOPED_TRACE(name);
    const NpzFile file = value_or_throw(NpzFile::open(folder_ / name));
    ASSERT_EQ(file.names().size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(file.names()[i], tensors[i].name);
      expect_same(value_or_throw(file.read(i)), tensors[i].data);
    }
  }
  for (const NamedData& tensor : tensors) {
    for (const char* version : {"-1.npy", "-2.npy", "-3.npy"}) {
      expect_same(value_or_throw(read_npy_file(folder_ / (tensor.name + version))), tensor.data);
    }
  }
  expect_same(value_or_throw(read_npy_file(folder_ / "alone.npy")), tensors[0].data);
  for (const char* name : {"big.npz", "object.npz"}) {
    EXPECT_EQ(value_or_throw(NpzFile::open(folder_ / name)).read(0).status().code(),
              absl::StatusCode::kUnimplemented);
  }
}

}  // namespace
}  // namespace remora::io
