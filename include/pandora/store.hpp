// A cascade in a folder, which survives kills: what a service holds in the place of a Cascade.
//
//   pandora::Store store({.folder = "kept", .cascade = "cascade.json"});
//   store.call(R"({"op": "begin", "text": "What is 2 + 2?"})")        {"request": 7124838092242945, "next": "small"}
//
// docs/serving.md lists the calls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "pandora/cascade.hpp"

namespace pandora {

struct StoreOptions {
  std::filesystem::path folder;   ///< made where there is none
  std::filesystem::path cascade;  ///< with which it begins where the folder has none; never removed, whatever its name
  std::string text;               ///< likewise, as Cascade::text(), in the place of a file
  double sync_seconds = 1.0;      ///< after which a call that was answered is on the disk; 0: before it is answered
  double timeout_seconds = 0.0;   ///< after which an open request that nobody asks for is cancelled; 0: never
  std::uint64_t calls_of_a_snapshot = 100'000;  ///< of more, those before are made a snapshot of, beside all else
  /// Whether refits run beside calls: decisions go by the estimates that were adopted last, which happens as soon as a
  /// thread of the store's own has learned from what was told. So no call waits for a refit, and what is decided depends
  /// on when that was. Else, and in kinds that do not learn, calls learn at once, and equal calls give equal decisions.
  bool beside = false;
  bool decisions = false;  ///< whether decisions are logged, to FOLDER/decisions (Cascade::log_to)
  bool prompts = false;    ///< with the prompts' texts and columns
};

/// Calls that change the cascade are in the folder's journal before they are made, and out of it again where they are
/// refused. Opened again, the store makes those anew that came after the last snapshot, and is what it was, in every
/// byte. A kill loses no call that was answered, a power failure those of the last `sync_seconds`. Snapshots are made by
/// a thread of its own, of a cascade of its own, which makes the calls again: nobody waits for them. Safe for threads; one
/// process alone has a folder open, and a child that is forked may not use it. The folder's files are for their owner
/// alone (mode 0600); of a prompt the journal keeps what the features make of it, not its text or columns.
class Store {
 public:
  /// Throws Error: usage for a folder that is open elsewhere, has no cascade where none is given, or has a link, a pipe or
  /// a device in the place of `lock` or `calls-N.jsonl`; bad_data for what is none or cannot be made again, output_lost
  /// where it cannot be written.
  explicit Store(const StoreOptions& options);
  /// Makes a snapshot, where that is possible; nothing is lost where it is not.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// An object of JSON in, one out. Throws Error (usage) for what is no call or is refused, and nothing has happened;
  /// Error (output_lost) where the journal cannot be written, likewise.
  std::string call(const std::string& line);
  /// A snapshot now. Throws Error (output_lost) where it cannot be made; nothing is lost.
  void save();
  /// Whether the folder had a cascade, and how many calls were made again.
  bool resumed() const;
  std::uint64_t calls_made_again() const;
  /// A sentence where the folder goes on with another cascade than the one given, of another fit or evaluator or without
  /// one of its models; else empty.
  std::string passed_over() const;
  /// Cascade::caution(), and a copy of the cascade as it is.
  std::string caution() const;
  Cascade cascade() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pandora
