// Stacks between which one thread changes (fibers). On x86-64 this is assembly, because ucontext's system calls would
// take most of the time. The code is never inlined into code that a sanitiser watches.
#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(__x86_64__)

extern "C" void pandora_switch_stack(void** from, void* to);

namespace pandora::test {

/// The point at which a stack waits, or the start of a stack on which nothing has run.
class StackPoint {
 public:
  /// The stack has `bytes` from `lowest` on. The first switch to it runs start(), which must not return.
  void start_at(char* lowest, std::size_t bytes, void (*start)()) {
    // These are the values that pandora_switch_stack pops, and the address to which it returns. The stack is then
    // aligned as at a function's start.
    auto** top = reinterpret_cast<void**>(lowest + bytes / 16 * 16 - 64);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(start);
    for (int k = 0; k < 6; ++k) *--top = nullptr;
    at_ = top;
  }
  /// Switches from this stack to `there`. Returns when somebody switches back.
  void leave_for(const StackPoint& there) { pandora_switch_stack(&at_, there.at_); }

 private:
  void* at_ = nullptr;
};

}  // namespace pandora::test

// Every file that includes this header has its own symbol.
asm(R"(
.text
.type pandora_switch_stack,@function
pandora_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size pandora_switch_stack,.-pandora_switch_stack
)");

#else
#include <ucontext.h>

namespace pandora::test {

class StackPoint {
 public:
  void start_at(char* lowest, std::size_t bytes, void (*start)()) {
    getcontext(&at_);
    at_.uc_stack.ss_sp = lowest;
    at_.uc_stack.ss_size = bytes;
    at_.uc_link = nullptr;
    makecontext(&at_, start, 0);
  }
  void leave_for(const StackPoint& there) { swapcontext(&at_, &there.at_); }

 private:
  ucontext_t at_;
};

}  // namespace pandora::test
#endif
