/* There are no libraries to open. */
#ifndef BF_WEB_DLFCN_H
#define BF_WEB_DLFCN_H

#include <stddef.h>

enum { RTLD_NOW, RTLD_LOCAL };
#define dlopen(path, how) ((void *)NULL)
#define dlsym(library, name) ((void)(library), (void *)NULL)

#endif
