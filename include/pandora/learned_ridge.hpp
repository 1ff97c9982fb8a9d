// learned_ridge under its public name, for policies that fit a linear model with a ridge.
#pragma once

#include "kernels/rules/learned_ridge.hpp"
