/* ptx/demangle: names of C++ for people. */
#ifndef BF_PTX_DEMANGLE_H
#define BF_PTX_DEMANGLE_H

#include "base/base.h"

/* Appends the name that a mangled C++ name (Itanium ABI) stands for, as c++filt prints it, but
 * without return type and parameters: ns::reduce<int, 64>. Of a variable inside a function its own
 * name remains. Names that are not mangled, or too long for people, are left as they are. Check
 * text->failed. */
void bf_ptx_readable_name(const char *mangled, bf_text *text);
/* Appends the name, just as readable, of the function that a variable is inside of; nothing where
 * it is inside none. */
void bf_ptx_enclosing_name(const char *mangled, bf_text *text);

#endif
