// The end of a block and the start of the next one, for teams without vectors. They give the same bytes as loops that
// add in the same order, whatever the order of the members. They are close to the results in double, and members meet
// seldom.
#include "kernels/products/tiled_products.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/lane/block_products.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/gram_memory.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using engine::StoredInverse;
using test::FiberTeam;

constexpr double kRidge = 0.8;

// Takes one matrix from block to block, by loops over the whole matrix.
template <class Real>
struct Naive {
  int m;
  std::vector<Real> P, image, gram, prediction;
  std::vector<double> exact;  // P in double, by one update after the other
  bool sound = true;

  explicit Naive(const test::GramMemory<Real>& memory) : m(memory.shape.m), exact(elements()) {
    for (int i = 0; i < m; ++i)
      for (int k = 0; k < m; ++k) P.push_back(memory.inverse(i, k));
    for (std::size_t at = 0; at < elements(); ++at) exact[at] = P[at];
  }
  std::size_t elements() const { return static_cast<std::size_t>(m) * m; }

  void end(const test::GramMemory<Real>& memory) {
    std::vector<std::vector<Real>> u;
    for (int k = 0; k < memory.count.updates; ++k) {
      const auto& update = memory.log[k];
      if (update.f == Real(0)) continue;
      std::vector<Real> v(static_cast<std::size_t>(m));
      for (int i = 0; i < m; ++i) {
        v[i] = image[update.period * m + i];
        for (std::size_t q = 0; q < u.size(); ++q)
          v[i] = fused(-memory.column[q * memory.shape.width + update.period], u[q][i], v[i]);
        v[i] *= update.f;
      }
      for (int i = 0; i < m; ++i)
        for (int k2 = 0; k2 < m; ++k2) P[i * m + k2] = fused(-v[i], v[k2], P[i * m + k2]);
      u.push_back(v);
    }
  }
  void update_exactly(const Real* psi, double h) {
    std::vector<double> v(static_cast<std::size_t>(m));
    double s = 1.0;
    for (int i = 0; i < m; ++i) {
      for (int k = 0; k < m; ++k) v[i] += exact[i * m + k] * psi[k];
      s += h * v[i] * psi[i];
    }
    for (int i = 0; i < m; ++i)
      for (int k = 0; k < m; ++k) exact[i * m + k] -= h / s * v[i] * v[k];
  }
  void begin(const engine::BlockContexts<Real>& block, const Real* rho) {
    const std::size_t B = static_cast<std::size_t>(block.B);
    image.assign(B * m, Real(0));
    gram.assign(B * B, Real(0));
    prediction.assign(B, Real(0));
    sound = true;
    const auto psi = [&](int j, int k) { return block.psi[j * block.stride + k]; };
    for (int j = 0; j < block.B; ++j) {
      Real norm = 0;
      for (int k = 0; k < m; ++k) {
        for (int l = 0; l < m; ++l) image[j * m + k] = fused(P[k * m + l], psi(j, l), image[j * m + k]);
        prediction[j] = fused(psi(j, k), rho[k], prediction[j]);
        norm = fused(psi(j, k), psi(j, k), norm);
      }
      for (int i = j; i < block.B; ++i)
        for (int k = 0; k < m; ++k) gram[j * B + i] = fused(image[j * m + k], psi(i, k), gram[j * B + i]);
      const Real bound = most_inverse<Real>(kRidge).bound(norm, psi(j, 0));
      sound = sound && gram[j * B + j] > Real(0) && gram[j * B + j] <= bound;
    }
  }

  void expect_inverse(const test::GramMemory<Real>& memory) const {
    const double epsilon = std::numeric_limits<Real>::epsilon();
    for (int i = 0; i < m; ++i)
      for (int k = 0; k <= i; ++k) {
        ASSERT_EQ(memory.inverse(i, k), P[i * m + k]) << i << ", " << k;
        ASSERT_NEAR(memory.inverse(i, k), exact[i * m + k], 300 * epsilon);
        if (k / 8 == i / 8) {  // tiles on the diagonal are stored in full
          const int other = memory.stored.at(i, k) + (k - i) * 7;
          ASSERT_EQ(memory.P[other], P[i * m + k]);
        }
      }
    double beyond = 0.0, all = 0.0;
    for (const Real value : memory.P) all += std::fabs(value);
    for (int i = 0; i < m; ++i)
      for (int k = 0; k < m && k / 8 <= i / 8; ++k) beyond += std::fabs(memory.inverse(i, k));
    ASSERT_NEAR(all, beyond, 1e-3 * all) << "zeros beyond m";
  }
  void expect_block(const test::GramMemory<Real>& memory, const SimdVector<Real>& predicted) const {
    const int B = static_cast<int>(prediction.size()), stride = memory.shape.stride, width = memory.shape.width;
    for (int j = 0; j < B; ++j) {
      for (int k = 0; k < m; ++k) ASSERT_EQ(memory.image[j * stride + k], image[j * m + k]) << j << ", " << k;
      for (int k = m; k < stride; ++k) ASSERT_EQ(memory.image[j * stride + k], Real(0));
      for (int i = j; i < B; ++i) ASSERT_EQ(memory.gram[j * width + i], gram[j * B + i]) << j << ", " << i;
      ASSERT_EQ(memory.diagonal[j], gram[j * B + j]);
      ASSERT_EQ(predicted[j], prediction[j]);
    }
    ASSERT_EQ(memory.count.updates + memory.count.columns + memory.count.materialised, 0);
  }
};

// Compares five blocks. The third one is flushed, and the last one is short. In some periods the box is not queried,
// and in some the weight is 0. The work is done by `advance(shape, g, ends, start, columns)`.
template <class Real, class Advance>
void expect_five_blocks(int m, int B, Advance&& advance) {
  SCOPED_TRACE(testing::Message() << m << " features, " << B << " periods");
  test::Random random(static_cast<unsigned>(17 + m + B));
  test::GramMemory<Real> memory(m, B, false);
  if (!memory.stored.tiled()) return;
  for (int k = 0; k < m; ++k) memory.P[memory.stored.at(k, k)] = static_cast<Real>(1.0 / kRidge);
  Naive<Real> naive(memory);
  SimdVector<Real> rho(memory.psi.begin(), memory.psi.begin() + memory.shape.stride), predicted(memory.norm);
  for (int k = 0; k < m; ++k) rho[k] = static_cast<Real>(random.uniform(-1, 1));
  const SerialTeam serial;
  for (int number = 0; number <= 5; ++number) {
    const bool ends = number > 0, begins = number < 5;
    const int n = number == 4 ? (B + 1) / 2 : B;
    if (ends) naive.end(memory);
    const engine::BlockContexts<Real> block =
        memory.contexts(n, [&](int, int k) { return k == 0 ? 1.0 : random.uniform(-1, 1) / std::sqrt(m); });
    const engine::BlockStart<Real> start{block, rho.data(), predicted.data(), true, most_inverse<Real>(kRidge)};
    if (begins) naive.begin(block, rho.data());
    const int columns = memory.count.columns;
    ASSERT_EQ(advance(memory.shape, memory.view, ends, begins ? &start : nullptr, columns), !begins || naive.sound);
    ASSERT_TRUE(naive.sound);
    naive.expect_inverse(memory);
    if (!begins) return;
    naive.expect_block(memory, predicted);
    for (int j = 0; j < n; ++j) {
      if (number == 3 || (number != 1 && random.uniform(0, 1) < 0.4)) continue;
      const double h = random.uniform(0, 1) < 0.2 ? 0.0 : random.uniform(0.1, 1.0);
      engine::update_gram(serial, memory.shape, memory.view, n, j, static_cast<Real>(h));
      naive.update_exactly(block.psi + j * block.stride, static_cast<double>(static_cast<Real>(h)));
    }
    if (number == 2) engine::materialise_gram(serial, memory.shape, memory.view, [](int, const auto&, int) {});
  }
}

std::vector<std::uint64_t> work_of(std::size_t bytes) {
  return std::vector<std::uint64_t>(bytes / 8 + 1, ~std::uint64_t{0});  // NaN everywhere
}

template <class Real>
void expect_serial(int m, int B) {
  expect_five_blocks<Real>(m, B, [](const auto& shape, const auto& g, bool ends, const auto* start, int) {
    auto work = work_of(engine::ProductMemory<Real>::bytes(shape));
    return engine::advance_tiles<Real, SerialTeam>(shape, work.data(), 0, g, ends, start);
  });
}

template <class Real>
void expect_fibers(int members, unsigned seed, int m, int B) {
  SCOPED_TRACE(testing::Message() << members << " members, seed " << seed);
  expect_five_blocks<Real>(m, B, [&](const auto& shape, const auto& g, bool ends, const auto* start, int) {
    std::vector<char> sound(static_cast<std::size_t>(members));
    const int barriers = test::by_fibers(members,
                                         [&](const FiberTeam& team) {
                                           sound[team.rank()] = engine::advance_tiles<Real, FiberTeam>(
                                               shape, nullptr, seed * 2654435769u, g, ends, start);
                                         },
                                         {seed});
    EXPECT_LE(barriers, 8);
    for (const char found : sound) EXPECT_EQ(found, sound[0]);
    return sound[0] != 0;
  });
}

TEST(TiledProducts, AreLoopsInTheSameOrder) {
  for (const int m : {1, 7, 8, 9, 16, 33, 40, 101, 104})
    for (const int B : {1, 2, 3, 16, 31, 32, 33, 48}) {
      expect_serial<float>(m, B);
      expect_serial<double>(m, B);
    }
}

TEST(TiledProducts, TeamsOfAnySizeGiveTheSameBytesInAnyOrder) {
  for (const int members : {1, 3, 32, 128, 384})
    for (const int m : {1, 9, 33, 61, 101})
      for (const int B : {5, 32, 40})
        for (const unsigned seed : {1u, 2u, 3u, 4u})
          if (seed <= (m == 101 ? 4u : 1u)) expect_fibers<float>(members, seed, m, B);
  expect_fibers<float>(128, 5, 160, 32);
  expect_fibers<float>(128, 6, 130, 7);
  expect_fibers<double>(128, 7, 57, 32);
}

TEST(TiledProducts, AnInverseThatIsNoneIsSeen) {
  for (const int feature : {0, 3, 100})
    for (const float wrong : {-1.0f, 1.3f, std::numeric_limits<float>::quiet_NaN()}) {
      test::GramMemory<float> memory(101, 32, false);
      memory.P[memory.stored.at(feature, feature)] = wrong;
      const auto block = memory.contexts(32, [&](int j, int k) { return k == (j == 17 ? feature : 50) ? 1.0 : 0.0; });
      const engine::BlockStart<float> start{block, nullptr, nullptr, true, most_inverse<float>(1.0)};
      test::by_fibers(128, [&](const FiberTeam&) {
        EXPECT_FALSE((engine::advance_tiles<float, FiberTeam>(memory.shape, nullptr, 0, memory.view, false, &start)));
      });
    }
}

// A team with shared memory computes the same as a team with vectors, up to rounding.
TEST(ProductsOfBlock, TilesDoWhatVectorsDo) {
  for (const int m : {33, 101}) {
    constexpr int B = 32;
    test::GramMemory<float> vectors(m, B, true), tiles(m, B, false);
    const auto fill = [&](test::GramMemory<float>& memory) {
      test::Random random(5);
      return memory.contexts(B, [&](int, int) { return random.uniform(-1, 1); });
    };
    const engine::BlockContexts<float> by_vectors = fill(vectors), by_tiles = fill(tiles);
    const auto three_blocks = [](const auto& team, test::GramMemory<float>& memory,
                                 const engine::BlockContexts<float>& block) {
      std::vector<float> found;  // 1 + psi' P psi
      const engine::SolveScratch<float> scratch{};
      const engine::BlockStart<float> start{block, nullptr, nullptr, true, most_inverse<float>(1.0)};
      for (int period = 0; period < 3; ++period) {
        const engine::ProductsOfBlock products(team, memory.shape, scratch, block);
        EXPECT_TRUE(products.advance(memory.view, period > 0, &start, false, false));
        for (int j = period; j < B; j += 2)
          found.push_back(engine::update_gram(team, memory.shape, memory.view, B, j, 1.0f));
      }
      const engine::ProductsOfBlock products(team, memory.shape, scratch, block);
      products.advance(memory.view, true, nullptr, false, false);
      return found;
    };
    const std::vector<float> expected = three_blocks(VectorTeam{}, vectors, by_vectors);
    test::by_fibers(32, [&](const FiberTeam& team) {
      const std::vector<float> found = three_blocks(team, tiles, by_tiles);
      for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-5f * expected[k]);
    });
    for (int i = 0; i < m; ++i)
      for (int k = 0; k <= i; ++k) EXPECT_NEAR(tiles.inverse(i, k), vectors.inverse(i, k), 5e-6);
  }
}

// The greatest m for which the memory fits. Only m and B decide this.
TEST(ProductMemory, FitsIntoABlocksSharedMemoryAtThePapersShape) {
  const auto bytes = [](int m, int B) {
    return engine::ProductMemory<float>::shared_bytes(test::GramMemory<float>(m, B, false).shape);
  };
  EXPECT_GT(bytes(101, 32), 0u);
  EXPECT_LE(bytes(101, 32), 48u << 10);  // four blocks share a multiprocessor's 227 KiB with room for the cache
  EXPECT_GT(bytes(176, 32), 0u);
  EXPECT_EQ(bytes(177, 32), 0u);
  EXPECT_EQ(bytes(101, 128), 0u);
}

TEST(StoredInverse, EveryElementHasItsPlace) {
  for (const bool vectors : {false, true})
    for (const int m : {1, 8, 9, 50, 176, 180}) {
      const engine::Shape shape = test::GramMemory<float>(m, 32, vectors).shape;
      const StoredInverse<float> stored(shape, vectors);
      EXPECT_EQ(stored.tiled(), !vectors && m <= 176);
      std::vector<float> P(static_cast<std::size_t>(stored.size()), -1.0f);
      const auto value = [](int i, int k) { return 1000.0f * i + k; };
      stored.store(SerialTeam{}, P.data(), value);
      for (int i = 0; i < m; ++i)
        for (int k = 0; k < m; ++k) ASSERT_EQ(P[stored.at(i, k)], k <= i ? value(i, k) : value(k, i));
      std::vector<int> seen(P.size());
      for (int n = 0; n < stored.squares(); ++n) {
        const auto at = stored.square(n);
        for (int r = 0; r < 4; ++r)
          for (int c = 0; c < 4 && at.i + r < m; ++c) {
            const int i = at.i + r, k = at.k + c, place = at.first + r * at.step + c;
            ++seen[place];
            ASSERT_EQ(P[place], k >= m ? 0.0f : k <= i ? value(i, k) : value(k, i));
          }
      }
      for (int i = 0; i < m; ++i)
        for (int k = 0; k < m; ++k) ASSERT_EQ(seen[stored.at(i, k)], 1);
    }
}

}  // namespace
}  // namespace pandora
