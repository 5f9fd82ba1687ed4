/* replay IMAGE LAUNCHES: loads an image by the driver, and makes the launches that launches.c has
 * noted. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IMAGE = 64 << 20, MOST_LINE = 1 << 16, MOST_PARAMETERS = 256 };

static void *function(void *driver, const char *name) {
  void *found = dlsym(driver, name);
  if (!found)
    exit(2);
  return found;
}

static unsigned digit(char c) { return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10); }

/* A parameter from its digits. */
static void *read_parameter(const char *digits) {
  size_t size = strlen(digits) / 2;
  unsigned char *made = calloc(1, size + 16);
  for (size_t i = 0; made && i < size; i++)
    made[i] = (unsigned char)(16 * digit(digits[2 * i]) + digit(digits[2 * i + 1]));
  return made;
}

int main(int count, char **word) {
  static char line[MOST_LINE];
  char *image = calloc(1, MOST_IMAGE), name[1024];
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module, *kernel;
  int (*load)(void **, const void *), (*find)(void **, void *, const char *);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
  FILE *from = count == 3 ? fopen(word[1], "rb") : NULL;
  if (!image || !driver || !from || !fread(image, 1, MOST_IMAGE - 1, from))
    return 2;
  *(void **)&load = function(driver, "cuModuleLoadData");
  *(void **)&find = function(driver, "cuModuleGetFunction");
  *(void **)&launch = function(driver, "cuLaunchKernel");
  if (!freopen(word[2], "r", from) || load(&module, image))
    return 1;
  while (fgets(line, sizeof line, from)) {
    unsigned size[6], bytes;
    void *parameter[MOST_PARAMETERS] = {0};
    int used, n = 0;
    if (sscanf(line, "%1023s %u %u %u %u %u %u %u%n", name, &size[0], &size[1], &size[2], &size[3],
               &size[4], &size[5], &bytes, &used) < 8 ||
        find(&kernel, module, name))
      return 1;
    for (char *at = strtok(line + used, " \n"); at && n < MOST_PARAMETERS; at = strtok(NULL, " \n"))
      parameter[n++] = read_parameter(at);
    launch(kernel, size[0], size[1], size[2], size[3], size[4], size[5], bytes, NULL, parameter,
           NULL);
    while (n > 0)
      free(parameter[--n]);
  }
  return 0;
}
