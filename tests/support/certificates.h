// Certificates for a test, made by the openssl program at test time and gone with this object.
// Owned by one thread.
#pragma once

#include <string>
#include <vector>

namespace remora::test {

/// Paths of a certificate and its key.
struct CertificateFiles {
  std::string certificate;
  std::string key;
};

class Certificates {
 public:
  /// Throws std::runtime_error where openssl does not do as it should.
  Certificates();
  ~Certificates();
  Certificates(const Certificates&) = delete;

  /// A new authority; gives its certificate's path.
  std::string authority(const std::string& name);
  /// A certificate of that authority for these names ("DNS:localhost,IP:127.0.0.1").
  CertificateFiles issue(const std::string& authority, const std::string& common_name,
                         const std::string& names, bool expired = false);
  /// A path in a folder of this object's own.
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  void openssl(std::vector<std::string> arguments) const;

  std::string folder_;
  int issued_ = 0;
};

/// What a worker on 127.0.0.1 is called.
inline constexpr const char* kLoopbackNames = "IP:127.0.0.1,DNS:localhost";

}  // namespace remora::test
