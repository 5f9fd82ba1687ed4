/* Files that appear whole or not at all, and what they are called until then. */
#include "base/temporary.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/bankfold_files.XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char command[96];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

/* A path in the folder. */
static const char *path_of(const char *name, char path[160]) {
  snprintf(path, 160, "%s/%s", folder, name);
  return path;
}

/* Files in the folder. */
static unsigned count_files(void) {
  DIR *directory = opendir(folder);
  unsigned count = 0;
  assert_non_null(directory);
  for (const struct dirent *entry; (entry = readdir(directory));)
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(directory);
  return count;
}

static void assert_content(const char *path, const char *content) {
  bf_text text = {0};
  assert_int_equal(bf_read_file(path, SIZE_MAX, &text, NULL), BF_OK);
  assert_string_equal(text.data, content);
  bf_text_free(&text);
}

/* What a process with the same number has left must not be in the way. */
static void leftovers_do_not_block(void **state) {
  (void)state;
  char path[160], name[96], left[160];
  snprintf(name, sizeof name, "out.tmp.%ld", (long)getpid());
  assert_int_equal(bf_write_file(path_of(name, left), "left", 4, NULL), BF_OK);
  assert_int_equal(bf_write_file(path_of("out", path), "whole", 5, NULL), BF_OK);
  assert_content(path, "whole");
  assert_content(left, "left");
  assert_int_equal(count_files(), 2);
  unlink(path);
  unlink(left);
}

static void names_differ_and_start_with_a_mark(void **state) {
  (void)state;
  char path[160];
  bf_temporary one, two;
  path_of("result", path);
  assert_int_equal(bf_temporary_open(path, 0600, &one), BF_OK);
  assert_int_equal(bf_temporary_open(path, 0600, &two), BF_OK);
  assert_string_not_equal(one.name, two.name);
  assert_int_equal(strncmp(one.name, folder, strlen(folder)), 0);
  assert_int_equal(strncmp(one.name + strlen(folder), "/.bankfold-", 11), 0);
  assert_int_equal(strlen(one.name + strlen(folder)), 11 + 32);
  bf_temporary_close(&two);
  assert_true(bf_temporary_write(&one, "abc", 3));
  assert_int_equal(access(path, F_OK), -1);
  assert_true(bf_temporary_commit(&one, path));
  bf_temporary_close(&one);
  assert_content(path, "abc");
  assert_int_equal(count_files(), 1);
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  assert_int_equal(status.st_mode & 0777, 0600);
  unlink(path);
}

static void what_is_not_finished_is_removed(void **state) {
  (void)state;
  char path[160];
  bf_writer *writer;
  path_of("half", path);
  assert_int_equal(bf_writer_open(path, false, &writer, NULL), BF_OK);
  assert_int_equal(bf_writer_write(writer, "half", 4, NULL), BF_OK);
  assert_int_equal(count_files(), 1);
  bf_writer_close(writer);
  assert_int_equal(count_files(), 0);
}

/* Names of files may be as long as the system lets them be. */
static void long_names_can_be_written(void **state) {
  (void)state;
  char name[256], path[512];
  memset(name, 'x', 255);
  name[255] = 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(bf_write_file(path, "long", 4, NULL), BF_OK);
  assert_content(path, "long");
  unlink(path);
}

static void a_folder_that_is_not_there_is_an_error(void **state) {
  (void)state;
  char path[160];
  bf_diagnostic diagnostic;
  assert_int_equal(bf_write_file(path_of("none/file", path), "", 0, &diagnostic), BF_IO);
  assert_string_equal(diagnostic.message, "cannot write: No such file or directory");
  assert_string_equal(diagnostic.file, path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(leftovers_do_not_block),
      cmocka_unit_test(names_differ_and_start_with_a_mark),
      cmocka_unit_test(what_is_not_finished_is_removed),
      cmocka_unit_test(long_names_can_be_written),
      cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
