/* Diagnostics: what is wrong, where, and the piece of input around it. */
#include "base/base.h"

#include <string.h>

const char *bf_version(void) { return BF_VERSION; }

int bf_version_number(void) { return BF_VERSION_NUMBER; }

const char *bf_error_name(int error) {
  static const char *const names[] = {
      "no error",    "bad input",         "out of memory", "input or output failed",
      "unsupported", "fault of a kernel", "stopped"};
  return error <= 0 && error > -(int)(sizeof names / sizeof *names) ? names[-error]
                                                                    : "unknown error";
}

void bf_say(const bf_logger *logger, bf_log_level level, const char *format, ...) {
  char message[1024];
  va_list arguments;
  if (!logger->say)
    return;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  logger->say(logger->context, level, message);
}

static void set_message(bf_diagnostic *diagnostic, const char *format, va_list arguments) {
  vsnprintf(diagnostic->message, sizeof diagnostic->message, format, arguments);
}

/* Forgets what was there; the fault is in file. */
static void start(bf_diagnostic *diagnostic, const char *file) {
  memset(diagnostic, 0, sizeof *diagnostic);
  diagnostic->caret = -1;
  snprintf(diagnostic->file, sizeof diagnostic->file, "%s", file);
}

int bf_no_memory(bf_diagnostic *diagnostic) {
  return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
}

int bf_fail(bf_diagnostic *diagnostic, bf_error error, const char *format, ...) {
  if (diagnostic) {
    start(diagnostic, "");
    va_list arguments;
    va_start(arguments, format);
    set_message(diagnostic, format, arguments);
    va_end(arguments);
  }
  return error;
}

int bf_fail_file(bf_diagnostic *diagnostic, bf_error error, const char *file, const char *format,
                 ...) {
  if (diagnostic) {
    start(diagnostic, file);
    va_list arguments;
    va_start(arguments, format);
    set_message(diagnostic, format, arguments);
    va_end(arguments);
  }
  return error;
}

/* Copies at most the 96 bytes of text around offset; tabs become blanks, so that the caret stands
 * below its byte, and what cannot be printed '?'. */
static void set_excerpt(bf_diagnostic *diagnostic, const char *text, size_t offset) {
  const size_t width = 96;
  size_t from = offset > width / 2 ? offset - width / 2 : 0;
  size_t length = 0;
  const char *start = text + from;
  while (length < width && start[length] && start[length] != '\n') {
    unsigned char c = (unsigned char)start[length];
    diagnostic->excerpt[length++] = c == '\t' ? ' ' : c < 32 || c > 126 ? '?' : (char)c;
  }
  diagnostic->excerpt[length] = 0;
  diagnostic->caret = (int32_t)(offset - from);
}

int bf_fail_at(bf_diagnostic *diagnostic, const char *file, uint64_t line, const char *text,
               const char *at, const char *format, ...) {
  if (diagnostic) {
    start(diagnostic, file);
    diagnostic->line = line;
    diagnostic->column = (uint32_t)(at - text) + 1;
    set_excerpt(diagnostic, text, (size_t)(at - text));
    va_list arguments;
    va_start(arguments, format);
    set_message(diagnostic, format, arguments);
    va_end(arguments);
  }
  return BF_BAD_INPUT;
}
