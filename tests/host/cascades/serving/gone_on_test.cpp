// A store that goes on with the cascade of its folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pandora/store.hpp"
#include "tests/host/cascades/live/exploring.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

class GoneOnTest : public test::FolderTest {
 protected:
  StoreOptions options(const CascadeOptions& of) const {
    StoreOptions out;
    out.folder = base_ / "kept";
    out.text = Cascade(of).text();
    return out;
  }
};

TEST_F(GoneOnTest, SaysWhereThatIsAnotherCascadeThanTheOneGiven) {
  CascadeOptions of = test::exploring_learner(0.2);
  const auto said = [&] { return Store(options(of)).passed_over(); };
  EXPECT_EQ(said(), "");
  EXPECT_EQ(said(), "");  // goes on with its own
  {
    Store kept(options(of));
    kept.call(R"({"op": "add_model", "model": "new"})");
    kept.call(R"({"op": "set_price", "price": 3.0})");
  }
  EXPECT_EQ(said(), "");
  of.about = R"({"fit": 2})";
  EXPECT_THAT(said(), HasSubstr("kept: goes on with the cascade that it has; the one given has another fit"));
  of = test::exploring_learner(0.2);
  of.models[0] = "unheard";
  EXPECT_THAT(said(), HasSubstr("has another model, unheard"));
  StoreOptions gone = options(test::exploring_learner(0.2));
  gone.text.clear();
  gone.cascade = base_ / "gone.json";
  EXPECT_EQ(Store(gone).passed_over(), "");
}

}  // namespace
}  // namespace pandora
