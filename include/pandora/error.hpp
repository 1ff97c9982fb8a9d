// Errors that reach the user, under their public names. Programs that use pandora throw and catch these.
#pragma once

#include <string>

#include "host/ground/base/error.hpp"
#include "kernels/base/failure.hpp"

namespace pandora {

/// Ends a lane, not the run. The engines catch it and record its reason in the lane's tally.
class LaneFailure : public Error {
 public:
  explicit LaneFailure(Failure failure) : LaneFailure(failure, failure_text(failure)) {}
  LaneFailure(Failure failure, const std::string& message) : Error(ExitCode::internal, message), failure_(failure) {}
  Failure failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace pandora
