// Compares the numbers of texts with their definition and with a dense singular value decomposition.
#include "host/outcomes/tables/text_projection.hpp"

#include <gmock/gmock.h>

#include <Eigen/Dense>

#include "tests/host/outcomes/tables/naive_ngrams.hpp"

namespace pandora {
namespace {

TEST(CountNgramsTest, IsWhatItsDefinitionSays) {
  const std::string texts[] = {"",
                               "!?",
                               "a",
                               "A b",
                               "The cat, the CAT: the-cat's 3.5",
                               "Zo\u00eb \u4f60\u597d\u4e16\u754c",
                               "\u00c9T\u00c9",
                               std::string(1000, 'x'),
                               "tab\tand\nline",
                               std::string("nul\0inside", 10)};
  for (const std::string& text : texts)
    for (const int bits : {3, 12, 16}) {
      const auto found = count_ngrams(text, bits);
      const std::map<std::uint32_t, std::uint32_t> counts(found.begin(), found.end());
      EXPECT_EQ(counts.size(), found.size()) << text;
      EXPECT_EQ(counts, test::naive_counts(text, bits)) << text;
    }
}

TEST(CountNgramsTest, TakesTheBeginningOfALongText) {
  std::string text;
  while (text.size() < kMostText - 1) text += "ab cd ";
  text.resize(kMostText - 1);
  const auto before = count_ngrams(text, 12);
  EXPECT_EQ(count_ngrams(text + "\u4f60 and much more", 12), before);  // no character is cut
  EXPECT_NE(count_ngrams(text + "x", 12), before);
}

TEST(TextProjectionTest, AppliesItsBasisToWeights) {
  const TextProjection projection = test::projection_of(test::some_texts(60), 5);
  ASSERT_EQ(projection.basis.size(), 5u << kBucketBits);
  for (const char* const text :
       {"What is the capital of Chile?", "words never seen before", "\u00dcbersetze Stra\u00dfe", ""}) {
    std::vector<double> found(5, 7.0), expected(5);
    projection.apply(text, found);
    for (const auto& [bucket, weight] : test::naive_weights(text, kBucketBits, projection.idf))
      for (std::size_t j = 0; j < 5; ++j) expected[j] += weight * projection.basis[bucket * 5 + j];
    EXPECT_THAT(found, testing::Pointwise(testing::DoubleNear(1e-14), expected)) << text;
  }
}

TEST(TextProjectionTest, WeighsBucketsByHowRareTheyAre) {
  const TextColumn texts = test::some_texts(60);
  const TextProjection projection = test::projection_of(texts, 1);
  std::vector<double> with(std::size_t{1} << kBucketBits);
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (const auto& [bucket, count] : test::naive_counts(std::string(texts[i]), kBucketBits)) ++with[bucket];
  for (std::size_t b = 0; b < with.size(); ++b)
    ASSERT_NEAR(projection.idf[b], 1 + std::log(61.0 / (1 + with[b])), 0.51e-6);
}

TEST(TextProjectionTest, FindsTheDirectionsOfADenseDecomposition) {
  constexpr Eigen::Index kTexts = 80, kSize = 4;
  const TextColumn texts = test::some_texts(kTexts);
  const TextProjection projection = test::projection_of(texts, kSize);
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(kTexts, 1 << kBucketBits);
  for (Eigen::Index i = 0; i < kTexts; ++i)
    for (const auto& [bucket, weight] :
         test::naive_weights(std::string(texts[static_cast<std::size_t>(i)]), kBucketBits, projection.idf))
      x(i, bucket) = weight;
  x.rowwise() -= x.colwise().mean().eval();
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(x.transpose(), Eigen::ComputeThinU);
  for (Eigen::Index j = 0; j < kSize; ++j) {
    Eigen::VectorXd expected = svd.matrixU().col(j), found(expected.size());
    Eigen::Index largest = 0;
    expected.cwiseAbs().maxCoeff(&largest);
    if (expected[largest] < 0) expected = -expected;
    for (Eigen::Index b = 0; b < found.size(); ++b)
      found[b] = projection.basis[static_cast<std::size_t>(b * kSize + j)];
    // Numbers are rounded to a millionth. The error of the power iterations is about (sigma_15 / sigma_j)^9.
    EXPECT_LT((found - expected).norm(), 1e-3) << j;
  }
}

TEST(TextProjectionTest, GivesZerosBeyondTheRank) {
  const TextProjection projection = test::projection_of(test::some_texts(3), 6);  // three centred texts have the rank 2
  std::vector<double> numbers(6);
  projection.apply(test::some_texts(1)[0], numbers);
  EXPECT_NE(numbers[1], 0);
  for (std::size_t j = 2; j < 6; ++j) EXPECT_EQ(numbers[j], 0);
  for (const int count : {0, 1}) {
    test::projection_of(test::some_texts(count), 2).apply("anything", std::span(numbers).first(2));
    EXPECT_EQ(numbers[0], 0);
  }
  TextColumn blank;
  for (int i = 0; i < 20; ++i) blank.push_back("");
  test::projection_of(blank, 2).apply("anything", std::span(numbers).first(2));
  EXPECT_EQ(numbers[0], 0);
}

}  // namespace
}  // namespace pandora
