// The exact dynamic programme of finite laws, under its public name, for policies that estimate the laws of boxes.
#pragma once

#include "oracle/exact_programme.hpp"
