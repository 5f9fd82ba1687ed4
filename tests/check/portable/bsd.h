/* What macOS and the BSDs declare beyond POSIX and _DEFAULT_SOURCE, and what only Linux has taken
 * away: with it tests/check/portable.sh compiles the library. */
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>

#undef MADV_HUGEPAGE
#undef F_OFD_SETLK
#undef F_OFD_SETLKW
#undef MFD_CLOEXEC

void *memmem(const void *, size_t, const void *, size_t);
char *strcasestr(const char *, const char *);
extern char **environ;
