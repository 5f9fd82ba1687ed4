/* What <elf.h> of the host includes; nothing of it is needed. */
