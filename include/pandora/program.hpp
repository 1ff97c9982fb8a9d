// The program as a function, for programs that bring policies and environments of their own:
//
//   int main(int argc, char** argv) {
//     pandora::register_policy({...});
//     return pandora::run_program(argc, argv);
//   }
#pragma once

namespace pandora {

/// What `pandora` does with these arguments; returns its exit code. To be called once.
int run_program(int argc, char** argv);

}  // namespace pandora
