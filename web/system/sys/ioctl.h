/* Output goes to no terminal. */
#ifndef BF_WEB_IOCTL_H
#define BF_WEB_IOCTL_H

struct winsize {
  unsigned short ws_col;
};
enum { TIOCGWINSZ };
#define ioctl(file, request, size) ((size)->ws_col = 0, -1)

#endif
