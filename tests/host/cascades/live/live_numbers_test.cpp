// Numbers of requests: nobody else's, over restarts, objects and forks. And a fork while another thread learns.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "host/cascades/live/cascade_state.hpp"
#include "kernels/base/sanitisers.hpp"
#include "tests/host/cascades/live/play.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

CascadeOptions learner() {
  CascadeOptions options;
  options.models = {"a", "b", "c"};
  options.price = 2.0;
  options.rules = dow_rules(true, 0.2, 0.1);
  options.evaluator = "score";
  options.index_features = 2;
  return options;
}

// A request that waits for its feedback.
std::uint64_t deployed(Cascade& cascade, float x) {
  const float psi[] = {1.0f, x};
  const std::uint64_t request = cascade.begin(psi);
  while (const auto model = cascade.next(request)) cascade.observe(request, *model, {0.01, {0.5}});
  cascade.deploy(request);
  return request;
}

// After a kill a service goes on from what it saved last; feedback of requests that were lost comes late.
TEST(RequestNumbers, ThatWereLostWithAKillAreNoOneElses) {
  Cascade first(learner());
  const std::uint64_t kept = deployed(first, 0.1f);
  const std::string saved = first.text();
  std::set<std::uint64_t> lost;
  for (int k = 0; k < 20; ++k) lost.insert(deployed(first, 0.2f));
  Cascade again = Cascade::parse(saved, "memory"), worker = Cascade::parse(saved, "memory");
  std::set<std::uint64_t> known = lost;
  for (Cascade* const one : {&again, &worker})
    for (int k = 0; k < 20; ++k) EXPECT_TRUE(known.insert(deployed(*one, 0.3f)).second);
  const std::string before = again.text();
  for (const std::uint64_t request : lost) {
    EXPECT_LT(request, std::uint64_t{1} << 53);
    test::expect_refused([&] { again.feedback(request, 1.0); },
                         "it began in another process, or was lost with one since");
  }
  EXPECT_TRUE(again.text() == before);
  again.feedback(kept, 1.0);
  worker.feedback(kept, 1.0);
  EXPECT_EQ(again.counts().feedbacks, 1u);
}

TEST(RequestNumbers, AreTheSameForCallsThatAreMadeAgain) {
  Cascade first(learner()), again(learner());
  again.set_epoch(first.epoch());
  for (int k = 0; k < 5; ++k) EXPECT_EQ(deployed(first, 0.1f), deployed(again, 0.1f));
  EXPECT_TRUE(first.text() == again.text());
  test::expect_refused([&] { first.set_epoch(7); }, "give one that epoch() has returned");
}

TEST(RequestNumbers, GoOnInAnotherEpochWhenTheirPlacesAreThrough) {
  const std::uint64_t epoch = drawn_epoch(), end = kOfAnEpoch - 1;
  EXPECT_EQ(epoch_of(end, epoch), epoch);
  const std::uint64_t next = epoch_of(end + 1, epoch);
  EXPECT_NE(next, epoch);
  for (const std::uint64_t one : {epoch, next}) {
    EXPECT_GE(one, kFirstEpoch);
    EXPECT_LT(one, kEpochEnd);
  }
  EXPECT_EQ(number_of(end, epoch) + 1, (epoch + 1) * kOfAnEpoch);
  EXPECT_EQ(number_of(end + 1, next), next * kOfAnEpoch);
  EXPECT_EQ(number_of(end + 1, epoch_of(end + 1, 0)), end + 1);
  CascadeOptions cheap = test::two_thresholds();
  cheap.most_requests = 4;
  Cascade cascade(cheap);
  const float psi[] = {1.0f};
  std::uint64_t last = 0;
  for (std::uint64_t k = 0; k < kOfAnEpoch + 2; ++k) last = cascade.begin(psi);
  EXPECT_EQ(last % kOfAnEpoch, 2u);
  EXPECT_EQ(cascade.next(last), 1u);
  EXPECT_EQ(cascade.next(last - 1), 1u);  // of the new epoch, as its first one is
  test::expect_refused([&] { cascade.next(last + 1); }, "there was no request");
  Cascade loaded = Cascade::parse(cascade.text(), "memory");
  EXPECT_EQ(loaded.next(last), 1u);
}

// A child that is forked while another thread learns has a cascade that is whole, and numbers of its own.
TEST(RequestNumbers, AndCascadesOfAForkedChild) {
#if defined(PANDORA_SANITISED)
  GTEST_SKIP() << "the thread sanitiser does not follow a fork";
#endif
  CascadeOptions options = learner();
  options.estimation.most_samples = 100;
  Cascade cascade(options);
  std::atomic<bool> enough = false;
  std::thread learning([&] {
    for (int k = 0; !enough; ++k) cascade.feedback(deployed(cascade, static_cast<float>(k % 7) / 7.0f), 0.5);
  });
  for (int k = 0; k < 10; ++k) {
    const std::uint64_t own = deployed(cascade, 0.5f);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // where it hangs
      const bool whole = Cascade::parse(cascade.text(), "memory").counts().requests == cascade.counts().requests;
      const std::uint64_t request = deployed(cascade, 0.5f);
      cascade.feedback(request, 0.5);
      ::_exit(whole && request / kOfAnEpoch != own / kOfAnEpoch ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << k;
  }
  enough = true;
  learning.join();
}

}  // namespace
}  // namespace pandora
