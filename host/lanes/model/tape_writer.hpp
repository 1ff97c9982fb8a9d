// The tape of a replication whose outcomes come from tables: of a file, or drawn from laws.
#pragma once

#include <span>
#include <vector>

#include "host/lanes/model/drawn_rows.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "pandora/environment.hpp"

namespace pandora {

/// The sizes of an environment, taken from its table or its laws.
struct TraceSizes {
  int boxes = 0;            ///< A, models
  int context = 0;          ///< d_x, numbers of a prompt's context; at least 1
  int reward_features = 0;  ///< d = A (1 + scores)
  int calibration = 0;      ///< rows of the calibration table, one of them for x_0
  int online = 0;           ///< rows of the online table
  int prompts = 0;          ///< prompts of the online table

  Dimensions dimensions() const;
  bool has_rows_of_one_prompt() const { return prompts < online; }
  /// As in TraceKeys::sizes.
  std::vector<std::int64_t> list() const;
  /// How many online periods there are if boxes can be opened that often. With several openings a period is a prompt.
  int periods(int openings) const { return openings > 1 ? prompts : online; }
};

/// The sizes of an environment with laws, of which any number of periods can be drawn.
TraceSizes sizes_of_laws(const FiniteProblem& laws);

/// The stream of a purpose in the request's replication.
Stream stream_of(const ReplicationRequest& request, Purpose purpose);

/// Writes the rows of a tape, one after the other. mu* is the quality, the cost is price x dollars, and the reward
/// follows the feedback.
class TapeWriter {
 public:
  /// `rows`: of the tape. The request and the sizes must outlive the writer.
  TapeWriter(const ReplicationRequest& request, const TraceSizes& sizes, std::size_t rows);

  /// Appends the periods [first, last) of `rows`, with what their openings number `opening` show. `context` holds the
  /// contexts of all rows of the table; `rewards` is the stream of the Bernoulli draws of this segment.
  void append(const TraceTable& table, std::span<const float> context, const DrawnRows& rows, std::size_t first,
              std::size_t last, Purpose rewards, std::size_t opening = 0);

  /// The replication with everything but the benchmark's indices, which are 0 unless a column has them.
  Replication replication() &&;

 private:
  const TraceKeys& keys_;
  const ReplicationRequest& request_;
  const TraceSizes& sizes_;
  Tape tape_;
  std::vector<double> sigma_;
  std::size_t row_ = 0;
};

}  // namespace pandora
