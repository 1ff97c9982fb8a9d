// Weitzman's equation E[(V - sigma)^+] = cost solved for sigma, under its public name: for policies that learn the law
// of what a box brings, and for environments whose costs or outputs are changed.
#pragma once

#include "oracle/reservation_index.hpp"
