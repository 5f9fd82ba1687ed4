/* Nobody else has the files. */
#ifndef BF_WEB_FILE_H
#define BF_WEB_FILE_H

enum { LOCK_EX = 2, LOCK_NB = 4, LOCK_UN = 8 };
#define flock(file, how) ((void)(file), 0)

#endif
