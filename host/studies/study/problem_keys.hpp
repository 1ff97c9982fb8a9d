// The general keys that change the problem: wider actions, tied boxes, feedback and budget.
#pragma once

#include "host/studies/study/key_list.hpp"
#include "host/studies/study/study.hpp"

namespace pandora {

void add_actions(KeyList<Study>& keys);
void add_feedback(KeyList<Study>& keys);
void add_budget(KeyList<Study>& keys);

}  // namespace pandora
