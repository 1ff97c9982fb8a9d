// The program.
#include "pandora/program.hpp"

int main(int argc, char** argv) {
  return pandora::run_program(argc, argv);
}
