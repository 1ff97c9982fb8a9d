// How the program ends when memory runs out or an exception escapes: one line and an exit code, if at all possible.
#pragma once

namespace pandora {

/// Sets up two things. The first is a reserve of memory, which the first failed allocation frees, so that its exception
/// finds memory for a message and for closing files. The second is a handler for exceptions that nothing catches (in a
/// thread, during another exception, in a destructor): it writes one line to standard error and exits with code 4 if
/// memory ran out, otherwise 1. Call this once, before anything else. `line` is a literal, which say_out_of_memory()
/// writes.
void prepare_for_want_of_memory(const char* line);

/// Whether an allocation has failed since then.
bool memory_was_wanted();

/// Writes the line to standard error; takes no memory.
void say_out_of_memory();

}  // namespace pandora
