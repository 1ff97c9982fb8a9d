// The engine on one GPU: time per stage against ceilings measured in the same run, and the CPU path of the
// same machine beside it. Prints a table.
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "host/devices/device.hpp"
#include "host/engine/run_lanes.hpp"
#include "host/engine/run_on_cpu.hpp"
#include "host/study/refit_text.hpp"
#include "host/study/study.hpp"
#include "host/sweep/prepare_replication.hpp"
#include "host/sweep/sweep.hpp"
#include "kernels/cuda/cuda_backend.cuh"
#include "pandora/error.hpp"
#include "pandora/policy.hpp"

namespace pandora {
namespace {

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What is measured; the defaults are the paper's study and sizes that fill a large device.
struct Sizes {
  int replications = 32, periods = 30000, samples = 400000;
  int copy_mib = 2048;  // of a copy
  int product = 8192;   // rows and columns of a matrix product
};

// --name value, for every size above.
Sizes parse(int argc, char** argv) {
  Sizes sizes;
  const std::map<std::string, int*> names = {{"--replications", &sizes.replications},
                                             {"--periods", &sizes.periods},
                                             {"--samples", &sizes.samples},
                                             {"--copy-mib", &sizes.copy_mib},
                                             {"--product", &sizes.product}};
  for (int i = 1; i < argc; i += 2) {
    const auto found = names.find(argv[i]);
    int value = 0;
    try {
      value = i + 1 < argc ? std::stoi(argv[i + 1]) : 0;
    } catch (const std::exception&) {
    }
    if (found == names.end() || value < 1) {
      std::string usage = "usage: pandora_device_bench";
      for (const auto& [name, size] : names) usage += " [" + name + " " + std::to_string(*size) + "]";
      throw Error(ExitCode::usage, usage);
    }
    *found->second = value;
  }
  return sizes;
}

// Bytes read and written per second by a copy within the device's memory.
double copy_bandwidth(std::size_t bytes) {
  const cuda::Memory from(bytes), to(bytes);
  const cuda::Stream stream;
  stream.zero(from.get(), bytes);
  const auto copy = [&] {
    for (int i = 0; i < 20; ++i) stream.copy(to.get(), from.get(), bytes);
    stream.wait("copying");
  };
  copy();
  return 2.0 * 20 * static_cast<double>(bytes) / seconds_of(copy);
}

// Floating-point operations per second of a large single-precision matrix product, TF32 off.
double product_rate(int n) {
  const std::size_t elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const cuda::Memory memory(3 * sizeof(float) * elements);
  const cuda::Stream stream;
  stream.zero(memory.get(), memory.bytes());
  const cuda::Cublas cublas(stream);
  float* const a = static_cast<float*>(memory.get());
  const float one = 1.0f, zero = 0.0f;
  const auto multiply = [&] {
    for (int i = 0; i < 10; ++i)
      cuda::check(cublas->sgemm(cublas.get(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, a + elements, n, &zero,
                                a + 2 * elements, n),
                  "multiplying");
    stream.wait("multiplying");
  };
  multiply();
  return 10 * 2.0 * static_cast<double>(elements) * n / seconds_of(multiply);
}

int run(const Sizes& sizes) {
  const DeviceReport report = find_devices();
  if (!report.none.empty()) {
    std::fprintf(stderr, "no GPU: %s\n", report.none.c_str());
    return static_cast<int>(ExitCode::device);
  }
  std::printf("%s, driver %s\n", report.devices[static_cast<std::size_t>(report.usable()[0])].name.c_str(),
              report.driver.c_str());
  cuda::select_device(report.usable()[0]);
  const double bandwidth = copy_bandwidth(static_cast<std::size_t>(sizes.copy_mib) << 20),
               rate = product_rate(sizes.product);
  std::printf("copy %.0f GB/s, single-precision product %.1f TFLOP/s\n", bandwidth / 1e9, rate / 1e12);

  Study study;
  study.environments = {paper_environments()[0]};
  study.regimes = {Regime::A};
  study.replications = sizes.replications;
  study.periods = sizes.periods;
  study.oracle.samples = sizes.samples;
  study.order = false;
  const Plan plan = make_plan(study);
  std::vector<Replication> prepared(plan.units.size());
  {
    std::vector<std::jthread> threads;
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    for (unsigned k = 0; k < cores; ++k)
      threads.emplace_back([&, k] {
        for (std::size_t u = k; u < prepared.size(); u += cores)
          prepared[u] = prepare_replication(study, plan, plan.units[u], nullptr);
      });
  }
  std::vector<UnitOfLanes> units;
  for (const Replication& replication : prepared) {
    units.push_back({&replication, {}});
    for (const PlannedLane& lane : plan.lanes) units.back().lanes.push_back(lane.variant.lane(replication, lane.T0));
  }
  const double lanes = static_cast<double>(units.size() * plan.lanes.size());
  // Blocks of 128 threads that solve at the same time: three on a multiprocessor.
  const double slots = 3.0 * report.devices[static_cast<std::size_t>(report.usable()[0])].multiprocessors;
  double matrices = 0.0;  // that take part in every block's products
  for (const UnitOfLanes& unit : units)
    for (const LaneSpec& lane : unit.lanes)
      if (lane.has_width_bonus() || (lane.learns_payoff() && lane.online())) matrices += study.dimensions.boxes;
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, study.engine.block};
    cuda::CudaBackend backend(report.usable()[0]);
    const double end_to_end = seconds_of([&] { engine::run_in_memory<float>(backend, units, options); });
    backend.profile(true);
    EngineCounters counters;
    engine::run_in_memory<float>(backend, units, options, &counters);
    std::printf("\n%s: %.0f lanes x %d periods in %.2f s, %.1f M policy-periods/s\n", schedule, lanes, study.periods,
                end_to_end, lanes * study.periods / end_to_end / 1e6);
    const double m = study.dimensions.index_size(), B = study.engine.block, blocks = study.periods / B;
    const double tracked = std::string(schedule) == "tracking" ? 1.0 : 0.0;
    double with_curvature = matrices;
    for (const UnitOfLanes& unit : units)
      for (const LaneSpec& lane : unit.lanes)
        if (tracked > 0.0 && lane.learns_index() && lane.online()) with_curvature += study.dimensions.boxes;
    const double matrix_blocks = with_curvature * blocks;
    for (const auto& [stage, seconds] : backend.seconds()) {
      std::printf("  %-10s %8.2f s", stage.c_str(), seconds);
      if (stage == "advance") {
        const double q = B / 2;  // periods with a query, about
        const double flop = matrix_blocks * (2 * m * m * B + m * B * B + m * m * q);
        const double bytes = matrix_blocks * 4 * (m * m + m * B + m * q + B * B);
        std::printf("   %5.1f TFLOP/s (%.0f%% of the product's), %5.0f GB/s (%.0f%% of the copy's)",
                    flop / seconds / 1e12, 100 * flop / seconds / rate, bytes / seconds / 1e9,
                    100 * bytes / seconds / bandwidth);
      }
      if (stage == "walk") std::printf("   %5.2f ns per lane and period", 1e9 * seconds / (lanes * study.periods));
      if (stage == "solve")
        std::printf("   %.2f M solves, %.1f passes each, %.1f us per pass of a block", counters.index_solves / 1e6,
                    static_cast<double>(counters.index_gradients) / static_cast<double>(counters.index_solves),
                    1e6 * seconds * slots / static_cast<double>(counters.index_gradients));
      if (stage == "theta")
        std::printf("   %.2f M solves, %.1f us each of a block", counters.reward_solves / 1e6,
                    1e6 * seconds * slots / static_cast<double>(counters.reward_solves));
      std::printf("\n");
    }
    const double cpu = seconds_of([&] { run_on_cpu<float>(*units[0].replication, units[0].lanes, options); });
    std::printf("  one CPU core: %.0f k policy-periods/s; the device is %.0f times that\n",
                static_cast<double>(units[0].lanes.size()) * study.periods / cpu / 1e3,
                (lanes / end_to_end) / (static_cast<double>(units[0].lanes.size()) / cpu));
  }
  return 0;
}

}  // namespace
}  // namespace pandora

int main(int argc, char** argv) {
  try {
    return pandora::for_the_user([&] { return pandora::run(pandora::parse(argc, argv)); });
  } catch (const pandora::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
