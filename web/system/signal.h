/* Signals, which never come. */
#ifndef BF_WEB_SIGNAL_H
#define BF_WEB_SIGNAL_H

typedef int sig_atomic_t;
typedef int sigset_t;
struct sigaction {
  void (*sa_handler)(int);
  sigset_t sa_mask;
  int sa_flags;
};
enum { SIGINT, SIGTERM, SIGPIPE, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF };
enum { SIG_BLOCK, SIG_SETMASK, SA_RESETHAND = 1 };
#define SIG_IGN ((void (*)(int))0)

#define sigfillset(set) ((void)(set))
#define sigemptyset(set) ((void)(set))
#define sigdelset(set, number) ((void)(number))
#define pthread_sigmask(how, set, before) ((void)(before), 0)
#define sigaction(number, action, before) ((void)(action))

#endif
