// A folder of results that is open in Python.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "beside.hpp"
#include "host/studies/results/stored_results.hpp"

namespace pandora::python {

class Results {
 public:
  explicit Results(const std::string& path);

  StoredResults& stored() { return stored_; }
  const StoredResults& stored() const { return stored_; }
  const Texts& notes() const { return notes_; }
  /// Only one thread reads at a time.
  std::mutex& mutex() { return mutex_; }
  /// Returns the result of `body(StoredResults&)`, which runs in a thread of its own.
  template <class Body>
  auto read(Body&& body) {
    return beside([&](Beside&) {
      const std::lock_guard lock(mutex_);
      return body(stored_);
    });
  }

 private:
  Texts notes_;
  StoredResults stored_;
  std::mutex mutex_;
};

/// Numbers of single lanes: for each field an array lanes x replications x the field's shape.
Dict numbers_of_lanes(Results& results, std::size_t setting, const std::string& environment, const std::string& regime,
                      const std::vector<std::size_t>& lanes, const Texts& fields);

/// One lane's decisions in a replication, empty where it was not run, failed, or decisions were not kept.
Dict decisions_of_lane(Results& results, std::size_t setting, const std::string& environment, const std::string& regime,
                       std::size_t lane, std::size_t replication);

}  // namespace pandora::python
