// Times of the engine's parts: block products, tape, oracle and solves. Block products are compared with the machine's
// rate of fma instructions, and with the sequential recursions that they replace. If a counter's name says so, it has
// microseconds for each matrix and period.
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <random>

#include "host/lanes/model/draw_instance.hpp"
#include "kernels/base/simd.hpp"
#include "kernels/products/tiles.hpp"
#include "oracle/oracle.hpp"
#include "pandora/paper_setting.hpp"
#include "tests/reference/gram_memory.hpp"
#include "tests/reference/one_box.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// Eight independent chains of fma in registers. They show the core's greatest rate in single precision.
void FmaPeak(benchmark::State& state) {
  using S = Simd<float>;
  constexpr int kChains = 8;
  S::Vector b = S::broadcast(0.5f), c = S::broadcast(0.25f);
  S::Vector a0 = b, a1 = b, a2 = b, a3 = b, a4 = b, a5 = b, a6 = b, a7 = b;  // an array would live in memory
  for (auto _ : state)
    for (int i = 0; i < 1000; ++i) {
      a0 = S::fused(a0, b, c), a1 = S::fused(a1, b, c), a2 = S::fused(a2, b, c), a3 = S::fused(a3, b, c);
      a4 = S::fused(a4, b, c), a5 = S::fused(a5, b, c), a6 = S::fused(a6, b, c), a7 = S::fused(a7, b, c);
      asm volatile("" : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5), "+v"(a6), "+v"(a7));
    }
  benchmark::DoNotOptimize(S::sum(a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7));
  state.counters["GFLOP/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 1000 * kChains * 2 * S::width,
                         benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}
BENCHMARK(FmaPeak);

struct BlockProblem {
  int m, stride, B, width;
  SimdVector<float> P, psi, transposed;
  std::vector<const float*> rows;

  BlockProblem(int m_, int B_) : m(m_), stride(padded_to_vector<float>(m_)), B(B_), width(padded_to_vector<float>(B_)) {
    std::mt19937 engine(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    P.assign(static_cast<std::size_t>(m) * stride, 0.0f);
    reset();
    psi.assign(static_cast<std::size_t>(B) * stride, 0.0f);
    transposed.assign(static_cast<std::size_t>(m) * width, 0.0f);
    for (int j = 0; j < B; ++j) {
      for (int k = 0; k < m; ++k)
        psi[static_cast<std::size_t>(j) * stride + k] = transposed[static_cast<std::size_t>(k) * width + j] =
            uniform(engine);
      rows.push_back(&psi[static_cast<std::size_t>(j) * stride]);
    }
  }
  void reset() {
    std::fill(P.begin(), P.end(), 0.0f);
    for (int k = 0; k < m; ++k) P[static_cast<std::size_t>(k) * stride + k] = 1.0f;
  }
};

void per_matrix_period(benchmark::State& state, double periods, double flop) {
  const double n = static_cast<double>(state.iterations()) * periods;
  state.counters["us_per_matrix_period"] =
      benchmark::Counter(n * 1e-6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["GFLOP/s"] = benchmark::Counter(n * flop, benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}

// The three products of a block in which the box is queried in half of the periods.
void BlockProducts(benchmark::State& state) {
  const int m = static_cast<int>(state.range(0)), B = static_cast<int>(state.range(1));
  BlockProblem p(m, B);
  SimdVector<float> image(p.psi.size()), gram(static_cast<std::size_t>(B) * p.width), u(p.psi);
  for (float& x : u) x *= 1e-4f;
  for (auto _ : state) {
    form_images(p.P.data(), m, p.stride, p.psi.data(), p.transposed.data(), B, p.width, image.data());
    form_gram(image.data(), m, p.stride, p.transposed.data(), B, p.width, gram.data());
    rank_update(p.P.data(), m, p.stride, u.data(), B / 2, UpdateSign::subtract);
    benchmark::DoNotOptimize(gram.data());
  }
  per_matrix_period(state, B, 2.0 * m * m + 1.0 * m * B + 1.0 * m * m);
}
BENCHMARK(BlockProducts)
    ->Args({101, 16})
    ->Args({101, 32})
    ->Args({101, 64})
    ->Args({11, 32})
    ->Args({201, 32})
    ->Args({401, 32});

// All work on the design matrix of one box of a lane: the products, and the updates between them. It runs on vectors,
// and in the form for a device's teams, which take one element at a time.
template <class Team>
void BlockedDesign(benchmark::State& state) {
  const int m = static_cast<int>(state.range(0)), B = 32;
  BlockProblem p(m, B);
  test::GramMemory<float> memory(m, B, true);
  const Team team;
  const engine::BlockContexts<float> block = memory.contexts(B, [&](int j, int k) { return p.rows[j][k]; });
  float sum = 0.0f;
  for (auto _ : state) {
    test::form_gram(team, memory.shape, memory.view, block);
    for (int j = 0; j < B; ++j) {
      sum += memory.diagonal[j];
      if (j % 2 == 0) engine::update_gram(team, memory.shape, memory.view, B, j, 1.0f);
    }
    engine::apply_gram(team, memory.shape, memory.view);
  }
  benchmark::DoNotOptimize(sum);
  per_matrix_period(state, B, 2.0 * m * m + 1.0 * m * B + 1.0 * m * m);
}
BENCHMARK_TEMPLATE(BlockedDesign, VectorTeam)->Arg(11)->Arg(101)->Arg(401);
BENCHMARK_TEMPLATE(BlockedDesign, SerialTeam)->Arg(101);

// The recursion that BlockedDesign replaces. It takes one period after the other, each with a width and every second
// one with a rank-one update, in single precision on the packed upper triangle. Row i begins with the whole vector in
// which column i lies, so that every load is a whole vector. Elements of this vector below the diagonal are zero.
void PackedSequential(benchmark::State& state) {
  using S = Simd<float>;
  constexpr int W = S::width;
  const int m = static_cast<int>(state.range(0)), B = 32;
  BlockProblem p(m, B);
  SimdVector<float> packed;
  for (int i = 0; i < m; ++i) {
    packed.insert(packed.end(), static_cast<std::size_t>(p.stride - i / W * W), 0.0f);
    packed[packed.size() - static_cast<std::size_t>(p.stride - i)] = 1.0f;
  }
  SimdVector<float> image(static_cast<std::size_t>(p.stride));
  float sum = 0.0f;
  for (auto _ : state)
    for (int j = 0; j < B; ++j) {
      const float* const psi = p.rows[j];
      float* const v = image.data();
      std::fill(image.begin(), image.end(), 0.0f);
      float* row = packed.data();
      for (int i = 0; i < m; ++i) {
        const int first = i / W * W;
        const S::Vector weight = S::broadcast(psi[i]);
        const float diagonal = row[i - first];
        S::Vector dot{};
        for (int k = first; k < p.stride; k += W) {
          const S::Vector part = S::load(row + k - first);
          dot = S::fused(part, S::load(psi + k), dot);
          S::store(v + k, S::fused(weight, part, S::load(v + k)));
        }
        v[i] += S::sum(dot) - diagonal * psi[i];
        row += p.stride - first;
      }
      const float quadratic = padded_dot(v, psi, p.stride);
      sum += quadratic;
      if (j % 2 != 0) continue;
      const float scale = 1.0f / (1.0f + quadratic);
      row = packed.data();
      for (int i = 0; i < m; ++i) {
        const int first = i / W * W;
        const S::Vector weight = S::broadcast(scale * v[i]);
        for (int k = first; k < p.stride; k += W)
          S::store(row + k - first, S::fused_negative(weight, S::load(v + k), S::load(row + k - first)));
        for (int k = first; k < i; ++k) row[k - first] = 0.0f;
        row += p.stride - first;
      }
    }
  benchmark::DoNotOptimize(sum);
  per_matrix_period(state, B, 3.0 * m * m);
}
BENCHMARK(PackedSequential)->Arg(11)->Arg(101)->Arg(401);

// The same recursion on the whole matrix. It takes more memory, but its sums stay in registers.
void FullSequential(benchmark::State& state) {
  using S = Simd<float>;
  const int m = static_cast<int>(state.range(0)), B = 32;
  BlockProblem p(m, B);
  SimdVector<float> image(static_cast<std::size_t>(p.stride));
  float sum = 0.0f;
  for (auto _ : state)
    for (int j = 0; j < B; ++j) {
      form_images(p.P.data(), m, p.stride, &p.rows[j], 1, image.data());
      const float quadratic = padded_dot(image.data(), p.rows[j], p.stride);
      sum += quadratic;
      if (j % 2 != 0) continue;
      const float scale = 1.0f / (1.0f + quadratic);
      for (int i = 0; i < m; ++i) {
        float* const row = p.P.data() + static_cast<std::size_t>(i) * p.stride;
        const S::Vector weight = S::broadcast(scale * image[i]);
        for (int k = 0; k < p.stride; k += S::width)
          S::store(row + k, S::fused_negative(weight, S::load(image.data() + k), S::load(row + k)));
      }
    }
  benchmark::DoNotOptimize(sum);
  per_matrix_period(state, B, 3.0 * m * m);
}
BENCHMARK(FullSequential)->Arg(11)->Arg(101)->Arg(401);

// The same recursion in double, as the reference engine has it.
void DoubleSequential(benchmark::State& state) {
  const int m = static_cast<int>(state.range(0)), B = 32;
  BlockProblem p(m, B);
  Eigen::MatrixXd P = Eigen::MatrixXd::Identity(m, m);
  Eigen::VectorXd psi, image;
  double sum = 0.0;
  for (auto _ : state)
    for (int j = 0; j < B; ++j) {
      psi = Eigen::Map<const Eigen::VectorXf>(p.rows[j], m).cast<double>();
      image.noalias() = P.selfadjointView<Eigen::Lower>() * psi;
      const double quadratic = psi.dot(image);
      sum += quadratic;
      if (j % 2 == 0) P.selfadjointView<Eigen::Lower>().rankUpdate(image, -1.0 / (1.0 + quadratic));
    }
  benchmark::DoNotOptimize(sum);
  per_matrix_period(state, B, 3.0 * m * m);
}
BENCHMARK(DoubleSequential)->Arg(101);

// One gradient of the index loss over n samples that are scattered over a tape of 31,001 contexts, for both teams.
template <class Team>
void IndexGradient(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0)), m = 101, rows = 31001;
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::vector<float>> psi(rows, std::vector<float>(m));
  for (std::vector<float>& row : psi)
    for (float& x : row) x = uniform(engine);
  IndexSamples samples;
  for (int s = 0; s < n; ++s)
    samples.add(static_cast<int>(static_cast<long>(s) * rows / n), 0.1, 0.5 + 0.4 * uniform(engine));
  test::OneBox<float> box(test::contexts_of(psi), samples);
  const Team team;
  const Ridges ridges(1.0);
  engine::IndexSums<float, Team> sums(team, box.samples(), &ridges, box.scratch());
  sums.start(SimdVector<float>(112, 0.02f).data());
  for (auto _ : state) sums.evaluate();
  state.counters["ns_per_sample"] = benchmark::Counter(static_cast<double>(state.iterations()) * n * 1e-9,
                                                       benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_TEMPLATE(IndexGradient, VectorTeam)->Arg(200)->Arg(2000)->Arg(20000);
BENCHMARK_TEMPLATE(IndexGradient, SerialTeam)->Arg(2000);

// A device's solve of a box whose samples have grown by half, by a team of one thread. It also counts the passes. The
// solve starts from the minimum for the first two thirds of the samples.
void DeviceSolve(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0)), m = 101;
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<std::vector<float>> psi(static_cast<std::size_t>(n), std::vector<float>(m, 1.0f));
  IndexSamples samples;
  for (int s = 0; s < n; ++s) {
    for (int k = 1; k < m; ++k) psi[s][k] = normal(engine) * 0.1f;
    const double mu = 0.02 + 0.96 * uniform(engine);
    samples.add(s, 0.23 * uniform(engine), mu);
  }
  test::OneBox<float> box(test::contexts_of(psi), samples);
  const SerialTeam team;
  box.use((2 * n + 2) / 3);
  box.solve(team);
  const SimdVector<float> start = box.rho();
  const int before = box.gradients();
  box.use(n);
  for (auto _ : state) {
    box.rho() = start;
    if (!box.solve(team)) state.SkipWithError("no solution");
  }
  const double solves = static_cast<double>(state.iterations());
  state.counters["passes"] = (box.gradients() - before) / solves;
}
BENCHMARK(DeviceSolve)->Arg(5)->Arg(50)->Arg(200)->Arg(1000)->Arg(5000)->Arg(20000);

const Environment& environment_of(const benchmark::State& state) {
  return paper_environments()[state.range(0)];
}
Regime regime_of(const benchmark::State& state) {
  return state.range(1) == 0 ? Regime::A : Regime::B;
}

void DrawInstance(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(draw_instance({}, environment_of(state), regime_of(state), 0, 1));
}
void DrawTape(benchmark::State& state) {
  const Instance instance = draw_instance({}, environment_of(state), regime_of(state), 0, 1);
  for (auto _ : state) benchmark::DoNotOptimize(draw_tape(instance, 1000, 30000));
}
void DrawShockSample(benchmark::State& state) {
  const Instance instance = draw_instance({}, environment_of(state), regime_of(state), 0, 1);
  for (auto _ : state) benchmark::DoNotOptimize(draw_shock_sample(instance, 400000));
}
void OracleIndices(benchmark::State& state) {
  const Instance instance = draw_instance({}, environment_of(state), regime_of(state), 0, 1);
  const ShockSample sample = draw_shock_sample(instance, 400000);
  const Contexts contexts = draw_contexts(instance, {{Purpose::online_context, 0, 30000}});
  for (auto _ : state) benchmark::DoNotOptimize(oracle_indices(instance, sample, contexts, {}));
}
void cells(benchmark::internal::Benchmark* b) {
  b->ArgNames({"environment", "regime"})->Unit(benchmark::kMillisecond);
  for (int e = 0; e < 3; ++e)
    for (int r = 0; r < 2; ++r) b->Args({e, r});
}
BENCHMARK(DrawInstance)->Apply(cells);
BENCHMARK(DrawTape)->Apply(cells);
BENCHMARK(DrawShockSample)->Apply(cells);
BENCHMARK(OracleIndices)->Apply(cells);

}  // namespace
}  // namespace pandora
