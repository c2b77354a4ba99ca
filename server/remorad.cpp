// remorad, the program; all of it is in daemon.cpp.
#include "server/daemon.h"

int main(int argc, char** argv) { return remora::server::run_daemon(argc, argv); }
