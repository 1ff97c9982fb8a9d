// Starts the program that was compiled for the highest level of x86-64 that this processor has, or for the one that PANDORA_LEVEL
// names. It is compiled for the baseline, so it runs everywhere.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* best_level(void) {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return "v4";
  if (__builtin_cpu_supports("x86-64-v3")) return "v3";
  if (__builtin_cpu_supports("x86-64-v2")) return "v2";
  return NULL;
}

int main(int argc, char** argv) {
  (void)argc;
  const char* const best = best_level();
  const char* const asked = getenv("PANDORA_LEVEL");
  const char* const level = asked != NULL && *asked != '\0' ? asked : best;
  if (level == NULL) {
    fputs("pandora: this processor is older than x86-64-v2 (SSE4.2, of 2009); a build from source runs on it\n", stderr);
    return 4;
  }
  if (strlen(level) != 2 || strchr("234", level[1]) == NULL || level[0] != 'v') {
    fprintf(stderr, "pandora: PANDORA_LEVEL=%s: give v2, v3 or v4\n", level);
    return 2;
  }
  if (best == NULL || strcmp(level, best) > 0) {
    fprintf(stderr, "pandora: PANDORA_LEVEL=%s: this processor has %s; leave it out, or give that\n", level,
            best == NULL ? "no level" : best);
    return 4;
  }
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "/../libexec/pandora-v4");
  if (length < 0) {
    perror("pandora: /proc/self/exe");
    return 4;
  }
  path[length] = '\0';
  char* const slash = strrchr(path, '/');
  strcpy(slash == NULL ? path : slash, "/../libexec/pandora-");
  strcat(path, level);
  execv(path, argv);
  fprintf(stderr, "pandora: %s: %s; install the program again\n", path, strerror(errno));
  return 4;
}
