// The way out when memory ends or an exception escapes: one line and an exit code, whatever still works.
#pragma once

namespace pandora {

/// Keeps a reserve that the first allocation to fail sets free, so that its exception finds memory for a message and
/// for what has to be closed; and a handler for exceptions that nothing catches (in a thread, while another is thrown,
/// in a destructor): one line on standard error and exit code 4 if memory ran out, else 1. To be called once, first;
/// `line`, a literal, is what say_out_of_memory() says.
void prepare_for_want_of_memory(const char* line);

/// Whether an allocation has failed since.
bool memory_was_wanted();

/// The line on standard error, which takes no memory.
void say_out_of_memory();

}  // namespace pandora
