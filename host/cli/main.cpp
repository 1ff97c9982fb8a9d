// The program, which host/cli/program.cpp runs.
#include "pandora/program.hpp"

int main(int argc, char** argv) {
  return pandora::run_program(argc, argv);
}
