// Errors that reach the user, under their public names: whoever builds on pandora throws and catches these.
#pragma once

#include <string>

#include "host/ground/base/error.hpp"
#include "kernels/base/failure.hpp"

namespace pandora {

/// Ends a lane, not the run: the engines catch it and record what it carries in the lane's tally.
class LaneFailure : public Error {
 public:
  explicit LaneFailure(Failure failure) : LaneFailure(failure, failure_text(failure)) {}
  LaneFailure(Failure failure, const std::string& message) : Error(ExitCode::internal, message), failure_(failure) {}
  Failure failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace pandora
