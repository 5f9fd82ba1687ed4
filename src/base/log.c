/* Logs that several threads and processes add to. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Writes a line at once: lines of several threads and processes do not mix. */
static void write_line(const char *log, const char *line, size_t size) {
  bool to_stderr = strcmp(log, "stderr") == 0;
  int file = to_stderr ? 2 : open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0)
    return;
  ssize_t unused = write(file, line, size);
  (void)unused;
  if (!to_stderr)
    close(file);
}

void bf_log(const char *log, const char *format, va_list arguments) {
  char line[2048];
  int kept = errno;
  if (!log)
    return;
  int start = snprintf(line, sizeof line, "bankfold[%ld]: ", (long)getpid());
  vsnprintf(line + start, sizeof line - (size_t)start - 1, format, arguments);
  size_t size = strlen(line);
  line[size++] = '\n';
  write_line(log, line, size);
  errno = kept;
}
