// Measures the engine on one GPU and prints a table of seconds: of lanes in cohorts, of the same lanes stage by stage,
// and of each stage, which is compared with ceilings that the same run measures. It also measures the CPU of the
// machine, on one core and on all. In the target pandora_device_cycles (PANDORA_COUNT_CYCLES) it says in which phases
// cohorts spend their cycles.
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "host/lanes/devices/device.hpp"
#include "host/lanes/engine/run_lanes.hpp"
#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/model/kernel_errors.hpp"
#include "host/studies/study/study.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"
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
  int copy_mib = 2048;  // MiB that are copied
  int product = 8192;   // rows and columns of the matrices that are multiplied
  std::vector<std::string> schedules = {"geometric:1.5", "tracking"};
};

// Reads `--name value` for every size above.
Sizes parse(int argc, char** argv) {
  Sizes sizes;
  const std::map<std::string, int*> names = {{"--replications", &sizes.replications},
                                             {"--periods", &sizes.periods},
                                             {"--samples", &sizes.samples},
                                             {"--copy-mib", &sizes.copy_mib},
                                             {"--product", &sizes.product}};
  for (int i = 1; i < argc; i += 2) {
    if (argv[i] == std::string("--schedule") && i + 1 < argc) {
      parse_refit(argv[i + 1]);  // throws if it is no schedule
      sizes.schedules = {argv[i + 1]};
      continue;
    }
    const auto found = names.find(argv[i]);
    int value = 0;
    try {
      value = i + 1 < argc ? std::stoi(argv[i + 1]) : 0;
    } catch (const std::exception&) {
    }
    if (found == names.end() || value < 1) {
      std::string usage = "usage: pandora_device_bench";
      for (const auto& [name, size] : names) usage += " [" + name + " " + std::to_string(*size) + "]";
      usage += " [--schedule geometric:1.5|tracking]";
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

// The study that is measured. Its replications are prepared on the CPU.
struct Workload {
  Study study;
  Plan plan;
  std::vector<Replication> prepared;
  std::vector<UnitOfLanes> units;

  explicit Workload(const Sizes& sizes) {
    study.environments = {paper_environments()[0]};
    study.regimes = {Regime::A};
    study.replications = sizes.replications;
    study.periods = sizes.periods;
    study.oracle.samples = sizes.samples;
    study.order = false;
    plan = make_plan(study);
    prepared.resize(plan.units.size());
    prepare();
    for (const Replication& replication : prepared) {
      units.push_back({&replication, {}});
      for (const PlannedLane& lane : plan.lanes) units.back().lanes.push_back(lane.variant.lane(replication, lane.T0));
    }
  }
  double lanes() const { return static_cast<double>(units.size() * plan.lanes.size()); }

  // How many m x m matrices advance in every block: P of each box of a lane that has widths or a payoff, and under
  // `tracking` also the inverse curvatures.
  double matrices(bool tracking) const {
    double count = 0.0;
    for (const UnitOfLanes& unit : units)
      for (const LaneSpec& lane : unit.lanes) {
        if (lane.has_width_bonus() || (lane.learns_payoff() && lane.online())) count += study.dimensions.boxes;
        if (tracking && lane.learns_index() && lane.online()) count += study.dimensions.boxes;
      }
    return count;
  }

 private:
  void prepare() {
    std::vector<std::jthread> threads;
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    for (unsigned k = 0; k < cores; ++k)
      threads.emplace_back([this, k, cores] {
        for (std::size_t u = k; u < prepared.size(); u += cores)
          prepared[u] = prepare_replication(study, plan, plan.units[u], nullptr);
      });
  }
};

// What the device can do at most: bytes per second of a copy, operations per second of a product, and blocks of threads
// that run at the same time.
struct Ceilings {
  double bandwidth, rate, slots;
};

void print_stage(const std::string& stage, double seconds, const Workload& work, bool tracking,
                 const Ceilings& ceilings, const EngineCounters& counters) {
  const Study& study = work.study;
  std::printf("  %-10s %8.2f s", stage.c_str(), seconds);
  if (stage == "advance") {
    const double m = study.dimensions.index_size(), B = study.engine.block;
    const double matrix_blocks = work.matrices(tracking) * study.periods / B;
    const double q = B / 2;  // about half of the periods open a box
    const double flop = matrix_blocks * (2 * m * m * B + m * B * B + m * m * q);
    const double bytes = matrix_blocks * 4 * (m * m + m * B + m * q + B * B);
    std::printf("   %5.1f TFLOP/s (%.0f%% of the product's), %5.0f GB/s (%.0f%% of the copy's)", flop / seconds / 1e12,
                100 * flop / seconds / ceilings.rate, bytes / seconds / 1e9,
                100 * bytes / seconds / ceilings.bandwidth);
  }
  if (stage == "walk") std::printf("   %5.2f ns per lane and period", 1e9 * seconds / (work.lanes() * study.periods));
  if (stage == "solve")
    std::printf("   %.2f M solves, %.1f passes each, %.1f us per pass of a block", counters.index_solves / 1e6,
                static_cast<double>(counters.index_gradients) / static_cast<double>(counters.index_solves),
                1e6 * seconds * ceilings.slots / static_cast<double>(counters.index_gradients));
  if (stage == "theta")
    std::printf("   %.2f M solves, %.1f us each of a block", counters.reward_solves / 1e6,
                1e6 * seconds * ceilings.slots / static_cast<double>(counters.reward_solves));
  std::printf("\n");
}

// A type of this file alone. So the engine's templates are compiled here once more: those of the library, for
// CudaBackend, do not count cycles.
struct Measured : cuda::CudaBackend {
  using CudaBackend::CudaBackend;
};

int run(const Sizes& sizes) {
  const DeviceReport report = find_devices();
  if (!report.none.empty()) {
    std::fprintf(stderr, "no GPU: %s\n", report.none.c_str());
    return static_cast<int>(ExitCode::device);
  }
  const auto& device = report.devices[static_cast<std::size_t>(report.usable()[0])];
  std::printf("%s, driver %s\n", device.name.c_str(), report.driver.c_str());
  cuda::select_device(report.usable()[0]);
  // The slots are the blocks of 128 threads that solve at the same time.
  const Ceilings ceilings{copy_bandwidth(static_cast<std::size_t>(sizes.copy_mib) << 20), product_rate(sizes.product),
                          1.0 * engine::SolveBoxes<float, false>::kResident * device.multiprocessors};
  std::printf("copy %.0f GB/s, single-precision product %.1f TFLOP/s\n", ceilings.bandwidth / 1e9,
              ceilings.rate / 1e12);
  const Workload work(sizes);
  const double lanes = work.lanes(), periods = work.study.periods;
  for (const std::string& schedule : sizes.schedules) {
    const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, work.study.engine.block};
    Measured backend(report.usable()[0]);
    EngineCounters counters;
    const double in_cohorts =
        seconds_of([&] { engine::run_in_memory<float>(backend, work.units, options, &counters); });
    std::printf("\n%s: %.0f lanes x %.0f periods\n", schedule.c_str(), lanes, periods);
    const auto print_rate = [&](const char* how, double seconds) {
      std::printf("%-24s %8.2f s   %8.2f M policy-periods/s\n", how, seconds, lanes * periods / seconds / 1e6);
    };
    print_rate("in cohorts", in_cohorts);
    double all = 0.0;
    for (const auto& [phase, cycles] : counters.cycles) all += static_cast<double>(cycles);
    for (const auto& [phase, cycles] : counters.cycles)
      std::printf("  %-10s %5.1f%% of the cycles of a block of threads\n", phase.c_str(),
                  100.0 * static_cast<double>(cycles) / all);
    backend.cohorts(false);
    print_rate("from stage to stage", seconds_of([&] { engine::run_in_memory<float>(backend, work.units, options); }));
    backend.profile(true);
    counters = {};
    engine::run_in_memory<float>(backend, work.units, options, &counters);
    for (const auto& [stage, seconds] : backend.seconds())
      print_stage(stage, seconds, work, schedule == "tracking", ceilings, counters);
    // On the CPU each core runs one replication, if there are that many. The seconds of all lanes follow from theirs.
    for (const std::size_t cores :
         {std::size_t{1}, std::min<std::size_t>(std::thread::hardware_concurrency(), work.units.size())}) {
      const double seconds = seconds_of([&] {
        std::vector<std::jthread> threads;
        for (std::size_t k = 0; k < cores; ++k)
          threads.emplace_back([&, k] { run_on_cpu<float>(*work.units[k].replication, work.units[k].lanes, options); });
      });
      const double wanted = seconds * static_cast<double>(work.units.size()) / static_cast<double>(cores);
      print_rate((std::to_string(cores) + (cores == 1 ? " core of the CPU" : " cores of the CPU")).c_str(), wanted);
      std::printf("  the device, in cohorts, is %.1f times that\n", wanted / in_cohorts);
    }
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
