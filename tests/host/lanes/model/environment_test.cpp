#include "pandora/environment.hpp"

#include <gtest/gtest.h>

#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "kernels/tape/shock_projection.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

TEST(Environments, ThePapersAreKnown) {
  EXPECT_EQ(known_environments().size(), 3u);
  ASSERT_NE(find_environment("gaussian"), nullptr);
  EXPECT_EQ(find_environment("gaussian")->truncation_radius, 11.65f);
  EXPECT_EQ(find_environment("cauchy"), nullptr);
  EXPECT_FALSE(find_drawer("gaussian"));
}

TEST(RegisterEnvironment, RefusesTakenNamesAndIds) {
  for (const Environment& environment : {Environment{"uniform", 50, Law::uniform},
                                         {"other", 2, Law::uniform},
                                         {"a b", 50, Law::uniform},
                                         {"", 50, Law::uniform},
                                         {"own", 50, Law::custom}})  // without a coordinate function
    EXPECT_THROW(register_environment(environment), Error) << environment.name;
  EXPECT_EQ(known_environments().size(), 3u);
}

// A custom law gets the same two words as student_t5. If it has the same formula, it is the same law.
TEST(OwnLaw, StudentT5WrittenAsOnesOwnHasTheSameDraws) {
  Environment t5 = paper_environments()[2], own = t5;
  own.law = Law::custom;
  own.coordinate = [](std::uint32_t radial, std::uint32_t angular) { return student_t5(radial, angular); };
  ShockWeights weights;
  weights.n_linear = weights.n_absolute = 1;
  weights.linear.assign(9, 0.5f);
  weights.absolute.assign(9, 0.25f);
  const Stream stream{3, Purpose::online_shock, 2, 1, 4};
  constexpr std::uint32_t kCount = 37;
  std::vector<float> linear[2], absolute[2];
  for (int k = 0; k < 2; ++k) {
    linear[k].resize(kCount);
    absolute[k].resize(kCount);
    draw_projected_shocks(k == 0 ? t5 : own, 9, stream, {0, kCount, 1, 0}, weights, linear[k].data(),
                          absolute[k].data());
  }
  EXPECT_EQ(linear[0], linear[1]);
  EXPECT_EQ(absolute[0], absolute[1]);
}

TEST(NeedsCpu, NamesWhatIsCode) {
  Study study;
  study.environments = {paper_environments()[0]};
  EXPECT_EQ(needs_cpu(study, make_plan(study)), "");
  study.environments[0].law = Law::custom;
  EXPECT_NE(needs_cpu(study, make_plan(study)).find("environment uniform"), std::string::npos);
  study.environments = {paper_environments()[0]};
  Plan plan = make_plan(study);
  plan.lanes[3].variant.custom = [](const Replication&, int, const EstimationOptions&) {
    return std::unique_ptr<CustomPolicy>();
  };
  EXPECT_NE(needs_cpu(study, plan).find("policy "), std::string::npos);
}

}  // namespace
}  // namespace pandora
