// Learning beside decisions: lessons wait, a thread learns from them, and decisions adopt what it has learned.
#include <algorithm>
#include <utility>

#include "host/cascades/live/cascade_state.hpp"

namespace pandora {

Cascade::State::Alone::Alone(State& all) : state(all) {
  if (state.beside != nullptr) estimates = std::unique_lock(state.estimating);
  lock = std::unique_lock(state.mutex);
  if (state.beside != nullptr && state.beside->told > state.beside->adopted)
    state.adopt(state.beside->told - state.beside->adopted);
  state.alone = true;
}

Cascade::State::Alone::~Alone() {
  state.alone = false;
  if (state.beside != nullptr) state.beside->serving = state.estimator->estimates();
}

void Cascade::State::take_in(const WaitingLesson& lesson) {
  if (current != lesson.id) {
    settle();
    current = 0;
    estimator->begin({lesson.period, lesson.psi, {}});
    current = lesson.id;
  }
  if (lesson.quality) {
    estimator->learn_reward(output(lesson.calls[0]), static_cast<float>(*lesson.quality));
    estimator->end_period();
    return;
  }
  std::vector<Output> outputs;
  for (const CascadeRequest::Call& call : lesson.calls) outputs.push_back(output(call));
  estimator->learn_outputs(outputs);
  if (!needs_feedback()) settle();
}

// By whoever holds `estimating`; from how many nothing could be learned.
std::uint64_t Cascade::State::learn(const std::deque<WaitingLesson>& lessons) {
  std::uint64_t unlearned = 0;
  for (const WaitingLesson& lesson : lessons) {
    ++beside->learned;
    estimator->mark();
    try {
      take_in(lesson);
      estimator->commit();
    } catch (const LaneFailure&) {
      estimator->roll_back();
      current = 0;
      ++unlearned;
    }
  }
  return unlearned;
}

std::uint64_t Cascade::State::learn_waiting() {
  const std::lock_guard estimates(estimating);
  std::deque<WaitingLesson> lessons;
  {
    const std::lock_guard lock(mutex);
    if (beside->waiting.empty() && (beside->prepared || beside->adopted == beside->learned))
      return beside->learned - beside->adopted;
    lessons.swap(beside->waiting);
    beside->prepared.reset();
  }
  const std::uint64_t unlearned = learn(lessons);
  WeitzmanEstimator found = estimator->estimates();
  const std::lock_guard lock(mutex);
  beside->prepared = std::move(found);
  counts.unlearned += unlearned;
  return beside->learned - beside->adopted;
}

// Holding `estimating` and the state's mutex.
void Cascade::State::adopt(std::uint64_t more) {
  const std::uint64_t lessons = beside->adopted + more;
  if (lessons < beside->learned || lessons > beside->told)
    throw refusal("{} lessons more cannot be adopted: {} wait, of which {} are learned", more,
                  beside->told - beside->adopted, beside->learned - beside->adopted);
  const bool is_prepared = beside->prepared && lessons == beside->learned;
  std::deque<WaitingLesson> due;
  for (; beside->learned + due.size() < lessons; beside->waiting.pop_front())
    due.push_back(std::move(beside->waiting.front()));
  counts.unlearned += learn(due);
  beside->serving = is_prepared ? std::move(*beside->prepared) : estimator->estimates();
  beside->prepared.reset();
  beside->adopted = lessons;
}

void Cascade::set_beside(bool on) {  // before threads share it
  const State::Alone state(*state_);
  if (!state->learns() || on == (state->beside != nullptr)) return;
  if (!on) return state->beside.reset();
  auto beside = std::make_unique<LearnsBeside>();
  if (state->last_id == 0) {  // what was calibrated is solved for
    std::vector<float> one(state->index_features(), 0.0f);
    one[0] = 1.0f;
    state->estimator->begin({0, one, {}});
  }
  beside->serving = state->estimator->estimates();
  state->beside = std::move(beside);
}

bool Cascade::is_beside() const {
  return state_->beside != nullptr;
}

std::uint64_t Cascade::learn_waiting() {
  return state_->beside == nullptr ? 0 : state_->learn_waiting();
}

void Cascade::adopt(std::uint64_t more) {
  const std::lock_guard estimates(state_->estimating);
  const std::lock_guard lock(state_->mutex);
  if (state_->beside == nullptr) throw refusal("it learns at once, and nothing waits");
  state_->adopt(more);
}

std::uint64_t Cascade::not_adopted() const {
  const std::lock_guard lock(state_->mutex);
  return state_->beside == nullptr ? 0 : state_->beside->told - state_->beside->adopted;
}

}  // namespace pandora
