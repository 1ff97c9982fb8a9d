// Solves Weitzman's equation E[(V - sigma)^+] = cost for sigma, under its public name. It is for policies that learn
// the law of a box's value, and for environments whose costs or outputs are changed.
#pragma once

#include "oracle/reservation_index.hpp"
