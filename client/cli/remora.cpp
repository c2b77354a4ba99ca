// remora, the program; all of it is in commands.cpp.
#include "client/cli/commands.h"

int main(int argc, char** argv) { return remora::cli::remora_main(argc, argv); }
