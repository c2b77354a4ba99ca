// opinfo_conformance, the program; all of it is in conformance.cpp.
#include "tests/opinfo/conformance.h"

int main(int argc, char** argv) { return remora::opinfo::run_conformance(argc, argv); }
