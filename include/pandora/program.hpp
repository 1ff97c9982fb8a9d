// The program as a function, for programs that bring policies and environments of their own:
//
//   int main(int argc, char** argv) {
//     pandora::register_policy({...});
//     return pandora::run_program(argc, argv);
//   }
#pragma once

namespace pandora {

/// Does what the program `pandora` does with these arguments, and returns its exit code. Call it once.
int run_program(int argc, char** argv);

}  // namespace pandora
