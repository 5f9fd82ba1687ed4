/* inject: the one lock, held for short and never while the driver is called. It is free in a child
 * after fork, whatever other threads of the parent were doing. */
#ifndef INJECT_LOCK_H
#define INJECT_LOCK_H

void inject_lock(void);
void inject_unlock(void);

#endif
