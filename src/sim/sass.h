/* sim/sass: kernel traces of machine instructions as Accel-Sim's tracer records them on a GPU
 * (.traceg), and how long the launch takes that one is of. Instructions, their registers and their
 * addresses are the trace's; nothing is executed, so values do not matter. docs/simulator.md says
 * what a trace leaves open. */
#ifndef BF_SIM_SASS_H
#define BF_SIM_SASS_H

#include "sim/sim.h"

typedef struct bf_sim_sass bf_sim_sass;

/* Reads a trace, zstd-compressed or not, whole into memory. Its shared accesses must be such as the
 * machine can make. */
int bf_sim_sass_read(const char *path, const bf_machine *machine, bf_sim_sass **trace,
                     bf_diagnostic *diagnostic);
/* The same for a trace in memory; name is for messages. */
int bf_sim_sass_parse(const char *name, const char *text, size_t size, const bf_machine *machine,
                      bf_sim_sass **trace, bf_diagnostic *diagnostic);
void bf_sim_sass_free(bf_sim_sass *trace);

const char *bf_sim_sass_kernel(const bf_sim_sass *trace);
/* Its file; a site stands in the line where it came first. */
const char *bf_sim_sass_file(const bf_sim_sass *trace);
uint64_t bf_sim_sass_site_line(const bf_sim_sass *trace, unsigned site);
/* Grid and block; there is no kernel. */
bf_emu_launch bf_sim_sass_launch(const bf_sim_sass *trace);

/* Simulates the launch. */
int bf_sim_sass_run(const bf_sim_settings *settings, const bf_sim_sass *trace,
                    const bf_emu_launch *launch, bf_sim_result *result, bf_diagnostic *diagnostic);

#endif
