// Which sanitiser this is compiled with. GCC defines a macro, clang has a feature test.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define PANDORA_ADDRESS_SANITISER 1
#elif defined(__SANITIZE_THREAD__)
#define PANDORA_THREAD_SANITISER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PANDORA_ADDRESS_SANITISER 1
#elif __has_feature(thread_sanitizer)
#define PANDORA_THREAD_SANITISER 1
#endif
#endif
#if defined(PANDORA_ADDRESS_SANITISER) || defined(PANDORA_THREAD_SANITISER)
#define PANDORA_SANITISED 1  ///< memory use and times are then not the program's own
#endif
