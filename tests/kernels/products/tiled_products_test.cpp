// The products of teams without vectors against triple loops in double; teams of any size compute the same bytes, read
// the lower triangle alone and seldom wait.
#include "kernels/products/tiled_products.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/lane/block_products.hpp"
#include "tests/reference/gram_memory.hpp"
#include "tests/reference/small_problem.hpp"
#include "tests/reference/fiber_team.hpp"

namespace pandora {
namespace {

using test::FiberTeam;

// A matrix with a block's contexts and updates. What lies above the tiles of the diagonal is not a number.
template <class Real>
struct Problem {
  test::Random random{17};
  test::GramMemory<Real> memory;
  engine::BlockContexts<Real> block;
  SimdVector<Real> start;  // P
  int columns;

  Problem(int m, int B, int updates)
      : memory(m, B), block(memory.contexts(B, [&](int, int) { return random.uniform(-1, 1); })), columns(updates) {
    const int stride = memory.shape.stride;
    for (int i = 0; i < m; ++i)
      for (int k = 0; k < m; ++k)
        memory.P[i * stride + k] = k / 8 > i / 8 ? std::numeric_limits<Real>::quiet_NaN()
                                   : k > i       ? memory.P[0]
                                                 : static_cast<Real>(random.uniform(-1, 1));
    for (int i = 0; i < m; ++i)
      for (int k = i + 1; k < m && k / 8 == i / 8; ++k) memory.P[i * stride + k] = memory.P[k * stride + i];
    for (int q = 0; q < updates; ++q)
      for (int k = 0; k < m; ++k) memory.u[q * stride + k] = static_cast<Real>(random.uniform(-1, 1));
    start = memory.P;
  }

  template <class Team>
  void advance(const Team& team, void* work) {
    const engine::TiledProducts<Real, Team> products(team, memory.shape, {work, memory.shape});
    const engine::BlockContexts<Real> staged = products.stage(block);
    for (int at = team.rank(); at < columns * memory.shape.stride; at += team.size())
      products.updates()[at] = memory.u[static_cast<std::size_t>(at)];
    products.take(memory.view.P, columns);
    products.form(memory.view, staged);
  }
};

std::vector<std::uint64_t> work_of(std::size_t bytes) {
  return std::vector<std::uint64_t>(bytes / 8 + 1, ~std::uint64_t{0});  // not numbers
}

template <class Real>
class TiledProductsOf : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(TiledProductsOf, Precisions);

TYPED_TEST(TiledProductsOf, AdvanceAsTripleLoopsDo) {
  using Real = TypeParam;
  const double epsilon = std::numeric_limits<Real>::epsilon();
  for (const int m : {1, 7, 8, 9, 33, 101})
    for (const int B : {1, 3, 16, 32, 33})
      for (const int updates : {0, (B + 1) / 2}) {
        SCOPED_TRACE(testing::Message() << m << " features, " << B << " periods, " << updates << " updates");
        Problem<Real> problem(m, B, updates);
        auto work = work_of(engine::ProductMemory<Real>::bytes(problem.memory.shape));
        problem.advance(SerialTeam{}, work.data());
        const auto& memory = problem.memory;
        const int stride = memory.shape.stride;
        std::vector<double> P(static_cast<std::size_t>(m) * m);
        for (int i = 0; i < m; ++i)
          for (int k = 0; k <= i; ++k) {
            double value = problem.start[i * stride + k];
            for (int q = 0; q < updates; ++q)
              value -= static_cast<double>(memory.u[q * stride + i]) * static_cast<double>(memory.u[q * stride + k]);
            P[i * m + k] = P[k * m + i] = value;
            ASSERT_NEAR(memory.P[i * stride + k], value, 2 * (updates + 1) * epsilon);
            if (k / 8 == i / 8) {
              ASSERT_EQ(memory.P[k * stride + i], memory.P[i * stride + k]);
            }
          }
        for (int j = 0; j < B; ++j) {
          for (int k = 0; k < m; ++k) {
            double expected = 0.0;
            for (int l = 0; l < m; ++l) expected += P[k * m + l] * static_cast<double>(memory.psi[j * stride + l]);
            ASSERT_NEAR(memory.image[j * stride + k], expected, 2 * m * (updates + 2) * epsilon);
          }
          for (int i = j; i < B; ++i) {
            double expected = 0.0;
            for (int k = 0; k < m; ++k)
              expected += static_cast<double>(memory.image[j * stride + k]) * memory.psi[i * stride + k];
            ASSERT_NEAR(memory.gram[j * memory.shape.width + i], expected, 4 * m * m * epsilon);
          }
        }
      }
}

TYPED_TEST(TiledProductsOf, TeamsOfAnySizeGiveTheSameBytes) {
  using Real = TypeParam;
  for (const int m : {9, 61}) {
    Problem<Real> one(m, 32, 16);
    auto work = work_of(engine::ProductMemory<Real>::bytes(one.memory.shape));
    one.advance(SerialTeam{}, work.data());
    for (const int members : {1, 3, 32, 128}) {
      Problem<Real> problem(m, 32, 16);
      test::by_fibers(members, [&](const FiberTeam& team) { problem.advance(team, team.shared()); });
      const auto lower = [m](const test::GramMemory<Real>& memory) {  // the rest is not numbers
        std::vector<Real> out;
        for (int i = 0; i < m; ++i)
          out.insert(out.end(), &memory.P[i * memory.shape.stride], &memory.P[i * memory.shape.stride] + i + 1);
        return out;
      };
      EXPECT_EQ(lower(problem.memory), lower(one.memory)) << members << " members, " << m << " features";
      EXPECT_EQ(problem.memory.image, one.memory.image);
      EXPECT_EQ(problem.memory.gram, one.memory.gram);
    }
  }
}

// The end of a block and the start of the next: what a team with memory of its own does is what one with vectors does,
// to rounding, and waits a number of times that does not grow with m or B.
TEST(ProductsOfBlock, TilesDoWhatVectorsDo) {
  for (const int m : {33, 101}) {
    constexpr int B = 32;
    test::GramMemory<float> vectors(m, B), tiles(m, B);
    const auto fill = [&](test::GramMemory<float>& memory) {
      test::Random random(5);
      return memory.contexts(B, [&](int, int) { return random.uniform(-1, 1); });
    };
    const engine::BlockContexts<float> by_vectors = fill(vectors), by_tiles = fill(tiles);
    const auto three_blocks = [](const auto& team, test::GramMemory<float>& memory,
                                 const engine::BlockContexts<float>& block) {
      std::vector<float> found;  // 1 + psi' P psi
      const engine::SolveScratch<float> scratch{};
      for (int period = 0; period < 3; ++period) {
        engine::ProductsOfBlock products(team, memory.shape, scratch, block);
        if (period > 0) products.finish(memory.view);
        products.form(memory.view, false);
        for (int j = period; j < B; j += 2)
          found.push_back(engine::update_gram(team, memory.shape, memory.view, B, j, 1.0f));
      }
      return found;
    };
    const std::vector<float> expected = three_blocks(VectorTeam{}, vectors, by_vectors);
    const int barriers = test::by_fibers(4, [&](const FiberTeam& team) {
      const std::vector<float> found = three_blocks(team, tiles, by_tiles);
      for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-5f * expected[k]);
    });
    // Two for every update, and of the products of a block as many whatever m and B.
    EXPECT_LE(barriers, 2 * static_cast<int>(expected.size()) + 3 * 9);
    for (int i = 0; i < m; ++i)
      for (int k = 0; k <= i; ++k)
        EXPECT_NEAR(tiles.P[i * tiles.shape.stride + k], vectors.P[i * vectors.shape.stride + k], 5e-6);
  }
}

// Up to which m a block of threads has room for it: m and B alone decide.
TEST(ProductMemory, FitsIntoABlocksSharedMemoryAtThePapersShape) {
  const auto bytes = [](int m, int B) {
    return engine::ProductMemory<float>::shared_bytes(test::GramMemory<float>(m, B).shape);
  };
  EXPECT_GT(bytes(101, 32), 0u);
  EXPECT_LE(bytes(101, 32), 56u << 10);  // four blocks share a multiprocessor's 227 KiB
  EXPECT_GT(bytes(160, 32), 0u);
  EXPECT_EQ(bytes(161, 32), 0u);
  EXPECT_EQ(bytes(101, 128), 0u);
}

}  // namespace
}  // namespace pandora
