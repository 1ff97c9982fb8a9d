#include "kernels/random/philox.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "kernels/random/distributions.hpp"
#include "tests/reference/naive_draws.hpp"
#include "tests/reference/naive_philox.hpp"
#ifdef PANDORA_HAVE_RANDOM123
#include <Random123/philox.h>
#endif
#ifdef PANDORA_HAVE_CUDA
#include <curand.h>
#endif

namespace pandora {
namespace {

using naive::Words;

// Generates the words of one counter by the form of width 1.
Words generate(const Words& counter, std::uint64_t seed) {
  std::uint32_t words[4][1] = {{counter[0]}, {counter[1]}, {counter[2]}, {counter[3]}};
  philox4x32_10<1>(words, seed);
  return {words[0][0], words[1][0], words[2][0], words[3][0]};
}

// Random counters and keys, in which every bit varies.
class RandomInput {
 public:
  Words counter() { return {word(), word(), word(), word()}; }
  std::uint64_t seed() { return static_cast<std::uint64_t>(word()) << 32 | word(); }

 private:
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }
  std::mt19937 engine_{12345};
};

// Known answers of Random123 1.14 (examples/kat_vectors, "philox4x32 10").
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(generate({0, 0, 0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(generate({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(generate({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),  // the digits of pi
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, EqualsTheDefinitionInPlainLoops) {
  RandomInput input;
  for (int i = 0; i < 10000; ++i) {
    const Words counter = input.counter();
    const std::uint64_t seed = input.seed();
    ASSERT_EQ(generate(counter, seed),
              naive::philox(counter, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}));
  }
}

TEST(Philox, WidthSixteenEqualsWidthOne) {
  RandomInput input;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t seed = input.seed();
    Words counters[16];
    std::uint32_t words[4][16];
    for (int lane = 0; lane < 16; ++lane) {
      counters[lane] = input.counter();
      for (int k = 0; k < 4; ++k) words[k][lane] = counters[lane][k];
    }
    philox4x32_10<16>(words, seed);
    for (int lane = 0; lane < 16; ++lane)
      ASSERT_EQ(generate(counters[lane], seed),
                (Words{words[0][lane], words[1][lane], words[2][lane], words[3][lane]}));
  }
}

// The counter has the documented words: block and attempt; period; box, purpose, environment and regime; replication.
TEST(Philox, CounterLayoutOfAStream) {
  const Stream stream{0x0123456789abcdef, Purpose::online_shock, 2, 1, 77};
  std::uint32_t words[4][2];
  philox<2>(stream, {5, 6 | 3u << 16}, {9, 29999}, {2, 15}, words);
  const std::array<std::uint32_t, 2> key = {0x89abcdef, 0x01234567};
  const Words first = naive::philox({5, 9, 0x01021102, 77}, key);
  const Words second = naive::philox({0x00030006, 29999, 0x0102110f, 77}, key);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(words[k][0], first[k]);
    EXPECT_EQ(words[k][1], second[k]);
  }
}

// Only word 2 packs several coordinates. Different coordinates must give different words.
TEST(Philox, PackedCoordinatesNeverCollide) {
  std::set<std::uint32_t> seen;
  std::size_t count = 0;
  for (int purpose = 0; purpose <= static_cast<int>(Purpose::projection_vector); ++purpose)
    for (int environment : {0, 1, 2, 3, 127, 255})
      for (int regime : {0, 1})
        for (std::uint32_t box = 0; box < kMaxBoxes; ++box, ++count)
          seen.insert(Stream{1, static_cast<Purpose>(purpose), static_cast<std::uint8_t>(environment),
                             static_cast<std::uint8_t>(regime), 0}
                          .word2(box));
  EXPECT_EQ(seen.size(), count);
}

// Instance::stream passes every coordinate on.
TEST(Philox, StreamsOfAnInstanceDifferInEveryCoordinate) {
  std::set<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>> seen;
  int count = 0;
  for (std::uint64_t seed : {1ull, 2ull, 1ull << 32})
    for (std::uint32_t replication : {0u, 1u, 49u})
      for (std::uint8_t environment : {0, 1, 2})
        for (Regime regime : {Regime::A, Regime::B})
          for (Purpose purpose : {Purpose::initial_shock, Purpose::calibration_shock, Purpose::online_shock}) {
            Instance instance;
            instance.seed = seed;
            instance.replication = replication;
            instance.environment.id = environment;
            instance.regime = regime;
            const Stream stream = instance.stream(purpose);
            seen.insert({stream.seed, stream.word2(0), stream.replication});
            ++count;
          }
  EXPECT_EQ(static_cast<int>(seen.size()), count);
}

// The first words of all draws of a small study, with attempts after rejections, are distinct. If two draws shared a
// counter, they would be equal. By chance a few thousand draws of 128 bits never agree.
TEST(Philox, DrawsWithDistinctCoordinatesAreDistinct) {
  std::set<Words> seen;
  std::size_t count = 0;
  for (std::uint8_t environment : {0, 2})
    for (std::uint8_t regime : {0, 1})
      for (std::uint32_t replication : {0u, 1u})
        for (Purpose purpose : {Purpose::oracle_shock, Purpose::online_shock})
          for (std::uint32_t box : {0u, 1u, 15u})
            for (std::uint32_t period : {0u, 1u, 255u, 65536u})
              for (std::uint32_t attempt : {0u, 1u, 2u, 65535u})
                for (std::uint32_t coordinate_block : {0u, 1u, 24u, 49u, 65535u}) {
                  std::uint32_t words[4][1];
                  philox<1>({1, purpose, environment, regime, replication}, {coordinate_block | attempt << 16},
                            {period}, {box}, words);
                  seen.insert({words[0][0], words[1][0], words[2][0], words[3][0]});
                  ++count;
                }
  EXPECT_EQ(seen.size(), count);
}

// In shock_group the number of the attempt must not reach the bits of the block of coordinates. This also holds for t5,
// which has two blocks in each group.
TEST(Philox, RejectionAttemptsOfAShockDoNotRepeatCoordinates) {
  for (Law law : {Law::uniform, Law::gaussian, Law::student_t5}) {
    std::set<float> seen;
    std::size_t count = 0;
    for (std::uint32_t attempt = 0; attempt < 8; ++attempt)
      for (std::uint32_t group = 0; group < 25; ++group) {
        float xi[4][1];
        shock_group<1>(law, {1, Purpose::online_shock, 0, 0, 0}, group, {attempt}, {3}, {1}, xi);
        for (int k = 0; k < 4; ++k, ++count) seen.insert(xi[k][0]);
      }
    // Among 800 floats of 24 bits, few agree by chance (0.04 pairs on average). A repeated vector would make 100 pairs.
    EXPECT_GE(seen.size() + 3, count);
  }
}

#ifdef PANDORA_HAVE_RANDOM123
TEST(Philox, EqualsRandom123) {
  RandomInput input;
  for (int i = 0; i < 100000; ++i) {
    const Words counter = input.counter();
    const std::uint64_t seed = input.seed();
    const r123::Philox4x32::ctr_type c = {{counter[0], counter[1], counter[2], counter[3]}};
    const r123::Philox4x32::key_type key = {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
    const auto expected = r123::Philox4x32()(c, key);
    ASSERT_EQ(generate(counter, seed), (Words{expected[0], expected[1], expected[2], expected[3]}));
  }
}
#endif

#ifdef PANDORA_HAVE_CUDA
// cuRAND's host generator runs 65,536 subsequences side by side, four words at a time. Words 4 i .. 4 i + 3 have the
// subsequence i mod 65536 in word 2 of the counter, and i / 65536 in word 0. The key is the seed. No GPU is needed.
TEST(Philox, EqualsTheHostGeneratorOfCurand) {
  const std::uint64_t seed = 0x123456789abcdef0;
  std::vector<unsigned int> words(4 * (65536 + 1000));
  curandGenerator_t generator;
  ASSERT_EQ(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10), CURAND_STATUS_SUCCESS);
  ASSERT_EQ(curandSetPseudoRandomGeneratorSeed(generator, seed), CURAND_STATUS_SUCCESS);
  ASSERT_EQ(curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_LEGACY), CURAND_STATUS_SUCCESS);
  ASSERT_EQ(curandGenerate(generator, words.data(), words.size()), CURAND_STATUS_SUCCESS);
  ASSERT_EQ(curandDestroyGenerator(generator), CURAND_STATUS_SUCCESS);
  for (std::uint32_t i = 0; i < words.size() / 4; ++i)
    ASSERT_EQ(generate({i / 65536, 0, i % 65536, 0}, seed),
              (Words{words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]}))
        << "block " << i;
}
#endif

}  // namespace
}  // namespace pandora
