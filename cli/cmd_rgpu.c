/* bankfold rgpu: dataflow graphs for a GPU whose cores can be wired to each other. */
#include "rgpu.h"

#include <string.h>

static const cli_option options[] = {
    {"copies", CLI_NUMBER, offsetof(cli_rgpu_settings, copies), "N", NULL,
     "map: that many copies of the graph (default: as many as fit)"},
    {"lanes", CLI_NUMBER, offsetof(cli_rgpu_settings, lanes), "N", NULL,
     "map: lanes of the ring (default 6)"},
    {"cores", CLI_NUMBER, offsetof(cli_rgpu_settings, cores), "N", NULL,
     "map: cores of an SM, one per slot (default 32)"},
    {"units", CLI_NUMBER, offsetof(cli_rgpu_settings, units), "N", NULL,
     "map: load/store units, at every second slot (default 16)"},
    {"unit-slots", CLI_TEXT, offsetof(cli_rgpu_settings, unit_slots), "WHICH", "odd even",
     "map: where they are (default odd)"},
    {"states", CLI_NUMBER, offsetof(cli_rgpu_settings, states), "N", NULL,
     "map: give up a proof after that many states (default 4000000)"},
    {"trade", CLI_FLAG, offsetof(cli_rgpu_settings, trade), NULL, NULL,
     "map: also what fewer lanes cost in cores, and what more lanes save"},
    {"recompute", CLI_FLAG, offsetof(cli_rgpu_settings, recompute), NULL, NULL,
     "map: where the lanes are too few, compute increments anew beside their readers"},
    {"svg", CLI_TEXT, offsetof(cli_rgpu_settings, svg), "FILE", NULL,
     "map, show: write a picture of the mapping or the graph"},
    {"dot", CLI_TEXT, offsetof(cli_rgpu_settings, dot), "FILE", NULL,
     "show: write the graph for Graphviz"},
    {"kernel", CLI_TEXT, offsetof(cli_rgpu_settings, kernel), "NAME", NULL,
     "extract: from that kernel (default: the only one)"},
    {"loop", CLI_NUMBER, offsetof(cli_rgpu_settings, loop), "LINE", NULL,
     "extract: the innermost loop that has this line (default: the only one)"},
    {"output", CLI_TEXT, offsetof(cli_rgpu_settings, output), "FILE", NULL,
     "extract: write the graph there (default: standard output); map: the graph that was mapped"},
    CLI_OUTPUT(cli_rgpu_settings),
};

bf_rgpu_ring cli_rgpu_ring(const cli_rgpu_settings *s) {
  bf_rgpu_ring ring = bf_rgpu_ring_usual();
  if (s->cores)
    ring.cores = s->cores > UINT32_MAX ? UINT32_MAX : (unsigned)s->cores;
  if (s->units)
    ring.units = s->units > UINT32_MAX ? UINT32_MAX : (unsigned)s->units;
  if (s->lanes)
    ring.lanes = s->lanes > UINT32_MAX ? UINT32_MAX : (unsigned)s->lanes;
  if (s->unit_slots && strcmp(s->unit_slots, "even") == 0)
    ring.unit_first = 0;
  if (s->cores && !s->units)
    ring.units = (ring.cores > BF_RGPU_MOST_CORES ? BF_RGPU_MOST_CORES : ring.cores) / 2;
  return ring;
}

bool cli_rgpu_same_output(const char *one, const char *other) {
  return one && other && strcmp(one, other) == 0;
}

/* ---- The command ---- */

static const struct {
  const char *name;
  int (*run)(const cli_rgpu_settings *s, const char *file);
} verbs[] = {{"map", cli_rgpu_map}, {"show", cli_rgpu_show}, {"extract", cli_rgpu_extract}};

/* Options that belong to another verb. */
static int check_usage(const cli_rgpu_settings *s, const char *verb) {
  bool maps = strcmp(verb, "map") == 0, shows = strcmp(verb, "show") == 0;
  bool extracts = strcmp(verb, "extract") == 0;
  if ((s->copies || s->lanes || s->cores || s->units || s->unit_slots || s->states || s->trade ||
       s->recompute) &&
      !maps)
    return cli_usage_error(&cli_rgpu,
                           "--copies, --lanes, --cores, --units, --unit-slots, --states, "
                           "--trade and --recompute are for map");
  if (s->dot && !shows)
    return cli_usage_error(&cli_rgpu, "--dot is for show");
  if (s->svg && !maps && !shows)
    return cli_usage_error(&cli_rgpu, "--svg is for map and show");
  if ((s->kernel || s->loop) && !extracts)
    return cli_usage_error(&cli_rgpu, "--kernel and --loop are for extract");
  if (s->output && !extracts && !maps)
    return cli_usage_error(&cli_rgpu, "--output is for extract and map");
  if (cli_rgpu_same_output(s->svg, s->dot))
    return cli_usage_error(&cli_rgpu, "--svg and --dot need two files");
  if (s->common.json && (cli_rgpu_same_output(s->svg, "-") || cli_rgpu_same_output(s->dot, "-")))
    return cli_usage_error(&cli_rgpu, "--json needs --svg and --dot in files");
  if ((maps || s->common.json) && cli_rgpu_same_output(s->output, "-"))
    return cli_usage_error(&cli_rgpu, "%s needs an --output file", maps ? "map" : "--json");
  if (cli_rgpu_same_output(s->output, s->svg))
    return cli_usage_error(&cli_rgpu, "--svg and --output need two files");
  return -1;
}

static int run(const void *given, int count, char **arguments) {
  const cli_rgpu_settings *s = given;
  (void)count;
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    if (strcmp(verbs[i].name, arguments[0]) == 0) {
      int status = check_usage(s, arguments[0]);
      return status >= 0 ? status : verbs[i].run(s, arguments[1]);
    }
  return cli_usage_error(&cli_rgpu, "rgpu map, show or extract; not '%s'", arguments[0]);
}

const cli_command cli_rgpu = {
    .name = "rgpu",
    .summary = "map, show or extract dataflow graphs for a GPU with wired cores (R-GPU)",
    .arguments = "map|show|extract FILE",
    .details =
        "FILE (\"-\": standard input) is a dataflow graph for map and show, PTX for extract.\n"
        "\"map\" places the graph on the cores and load/store units of an SM and its results on\n"
        "lanes: the fewest lanes, with proof, and as many copies as fit; status 1 if it does not\n"
        "fit, with the reason. \"show\" prints the graph, or draws it. \"extract\" makes a graph\n"
        "of the innermost loop of a kernel, where it is straight-line code.",
    .examples = "bankfold rgpu map conv.df                     # fewest lanes, most copies\n"
                "bankfold rgpu map conv.df --svg conv.svg      # cores, units and lanes drawn\n"
                "bankfold rgpu map integral.df --trade         # lanes against cores\n"
                "bankfold rgpu show conv.df --dot - | dot -Tpng > conv.png\n"
                "bankfold rgpu extract kernel.ptx --output kernel.df\n",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .settings_size = sizeof(cli_rgpu_settings),
    .least_arguments = 2,
    .most_arguments = 2,
    .run = run,
};
