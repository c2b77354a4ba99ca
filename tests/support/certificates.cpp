#include "tests/support/certificates.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "tests/support/child_process.h"

namespace remora::test {
namespace {

const std::vector<std::string> kNewKey = {"-newkey", "ec", "-pkeyopt",
                                          "ec_paramgen_curve:prime256v1", "-nodes"};

}  // namespace

Certificates::Certificates()
    : folder_(std::filesystem::temp_directory_path() / "remora-certificates-XXXXXX") {
  if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + folder_);
}

Certificates::~Certificates() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Certificates::authority(const std::string& name) {
  std::vector<std::string> arguments = {"req", "-x509", "-subj", "/CN=" + name, "-days", "1"};
  arguments.insert(arguments.end(), kNewKey.begin(), kNewKey.end());
  arguments.insert(arguments.end(), {"-keyout", path(name + ".key"), "-out", path(name + ".pem")});
  openssl(std::move(arguments));
  return path(name + ".pem");
}

CertificateFiles Certificates::issue(const std::string& authority, const std::string& common_name,
                                     const std::string& names, bool expired) {
  const std::string stem = path(common_name + "-" + std::to_string(++issued_));
  const CertificateFiles files{stem + ".pem", stem + ".key"};
  std::vector<std::string> request = {"req", "-subj", "/CN=" + common_name};
  request.insert(request.end(), kNewKey.begin(), kNewKey.end());
  request.insert(request.end(), {"-keyout", files.key, "-out", stem + ".csr"});
  openssl(std::move(request));
  std::ofstream(stem + ".ext") << (names.empty() ? "basicConstraints=CA:FALSE"
                                                 : "subjectAltName=" + names)
                               << "\n";
  const std::filesystem::path ca(authority);
  openssl({"x509", "-req", "-in", stem + ".csr", "-CA", authority, "-CAkey",
           (ca.parent_path() / ca.stem()).string() + ".key", "-set_serial", std::to_string(issued_),
           "-days", expired ? "-1" : "1", "-extfile", stem + ".ext", "-out", files.certificate});
  return files;
}

void Certificates::openssl(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), "/usr/bin/openssl");
  ChildProcess process(arguments);
  if (process.wait().code == 0) return;
  throw std::runtime_error("openssl " + arguments[1] + " failed:\n" + process.errors());
}

}  // namespace remora::test
