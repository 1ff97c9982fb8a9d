// What the bodies of kernels ask of a launch at the paper's shape, a line each: name, threads, blocks of a
// multiprocessor that its registers are for, bytes of shared memory, lanes of a cohort (0: not in cohorts).
// scripts/device/listing.py compiles and runs it.
#include <cstdio>

#include "kernels/lane/stages.hpp"
#if __has_include("kernels/lane/cohort.hpp")
#include "kernels/lane/cohort.hpp"
#endif

namespace pandora::engine {
namespace {

// As kernels/cuda/cuda_backend.cuh has it.
template <class Body>
void print(const char* name, RefitSchedule::Kind refit = {}) {
  alignas(Body) unsigned char room[sizeof(Body)] = {};
  Body& body = *reinterpret_cast<Body*>(room);
  body.problem.shape = {.A = 3, .m = 101, .stride = 112, .d = 10, .B = 32, .width = 32, .capacity = 30000};
  body.problem.refit.kind = refit;
  int threads = kBlockMembers;
  if constexpr (requires { Body::kThreads; }) threads = Body::kThreads;
  int resident = threads < kBlockMembers ? 3 : 1;
  if constexpr (requires { Body::kResident; }) resident = Body::kResident;
  if constexpr (requires { body.threads(); }) threads = body.threads();
  std::size_t shared = 0;
  if constexpr (requires { body.shared_bytes(); }) shared = body.shared_bytes();
  int lanes = 0;
  if constexpr (requires { body.members; }) lanes = lanes_of_cohort(body.problem.refit);
  std::printf("%s,%d,%d,%zu,%d\n", name, threads, resident, shared, lanes);
}

}  // namespace
}  // namespace pandora::engine

int main() {
  using namespace pandora;
  using namespace pandora::engine;
  print<AdvanceBlock<float>>("AdvanceBlock<float>");
  print<SolveBoxes<float, false>>("SolveBoxes<float, false>");
  print<SolveBoxes<float, true>>("SolveBoxes<float, true>");
  print<SolveTheta<float>>("SolveTheta<float>");
  print<SolveJoint<float>>("SolveJoint<float>");
  print<StartBox<float>>("StartBox<float>");
#if __has_include("kernels/lane/cohort.hpp")
  print<RunCohort<float, kFewBoxes, false>>("RunCohort<float, 4, false>");
  print<RunCohort<float, kFewBoxes, false>>("RunCohort<float, 4, false> under tracking", RefitSchedule::Kind::tracking);
#endif
}
