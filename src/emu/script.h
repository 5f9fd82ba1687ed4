/* emu/script: launch descriptions, for PTX without a program around it (docs/profile.md). Lines are
 *
 *   buffer NAME TYPE COUNT CONTENT
 *   launch KERNEL grid X [Y [Z]] block X [Y [Z]] [shared BYTES] [hash HASH] [with ARGUMENT...]
 *
 * CONTENT is zero, value V, index [START [STEP]], random LOW HIGH [SEED] or file PATH; an argument
 * is the name of a buffer, or TYPE:VALUE. */
#ifndef BF_EMU_SCRIPT_H
#define BF_EMU_SCRIPT_H

#include "emu/emu.h"

typedef struct bf_script bf_script;

/* Reads a description; file is its name in diagnostics, and where files it names are looked for. */
int bf_script_read(const char *file, const char *text, bf_script **script,
                   bf_diagnostic *diagnostic);
void bf_script_free(bf_script *script);

/* Called for a launch of a description, which has everything set but workers, checks and callbacks.
 * hash is the text behind `hash`, or NULL: the emulator has no use for it, those who count or
 * simulate banks have. Returns a bf_error. */
typedef int bf_script_launch(void *context, bf_emu_launch *launch, const char *hash,
                             bf_diagnostic *diagnostic);

/* Makes the buffers and calls launch for the launches in order. An error that says no place gets
 * that of the launch in the description. */
int bf_script_run(const bf_script *script, bf_emu *emu, bf_emu_module *module,
                  bf_script_launch *launch, void *context, bf_diagnostic *diagnostic);
/* After that: the name of the buffer that starts at address, or NULL. */
const char *bf_script_buffer_at(const bf_script *script, uint64_t address);

#endif
