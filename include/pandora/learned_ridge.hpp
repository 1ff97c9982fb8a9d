// learned_ridge, under its public name: for policies that fit a plane of their own with a ridge.
#pragma once

#include "kernels/rules/learned_ridge.hpp"
