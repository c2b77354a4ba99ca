// What LeakSanitizer is to leave out in this program; read by its run-time library alone.

extern "C" const char*
__lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)

// OpenSSL keeps an error state for each of gRPC's threads and frees it when the thread ends, which
// may be after the check. The stack ends at CRYPTO_zalloc, since libcrypto has no frame pointers.
// c-ares, which looks up names for gRPC, keeps a string of /etc/resolv.conf (1.18).
extern "C" const char*
__lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
  return "leak:CRYPTO_zalloc\nleak:libcares.so\n";
}
