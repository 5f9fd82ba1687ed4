/* bankfold rgpu: dataflow graphs for a GPU whose cores can be wired to each other. */
#include "cli/wire/rgpu.h"

#include "reproduce/reproduce.h"
#include "reproduce/rgpu/bench.h"

#include <string.h>

static const cli_option options[] = {
    {"copies", CLI_NUMBER, offsetof(cli_rgpu_settings, copies), "N", NULL,
     "that many copies of the graph (default: as many as fit; benchmarks have their own)"},
    {"lanes", CLI_NUMBER, offsetof(cli_rgpu_settings, lanes), "N", NULL,
     "lanes of the ring (default 6)"},
    {"cores", CLI_NUMBER, offsetof(cli_rgpu_settings, cores), "N", NULL,
     "cores of an SM, one per slot (default 32)"},
    {"units", CLI_NUMBER, offsetof(cli_rgpu_settings, units), "N", NULL,
     "load/store units, at every second slot (default 16)"},
    {"unit-slots", CLI_TEXT, offsetof(cli_rgpu_settings, unit_slots), "WHICH", "odd even",
     "where they are (default odd)"},
    {"states", CLI_NUMBER, offsetof(cli_rgpu_settings, states), "N", NULL,
     "give up a proof after that many states (default 4000000)"},
    {"trade", CLI_FLAG, offsetof(cli_rgpu_settings, trade), NULL, NULL,
     "map: also what fewer lanes cost in cores, and what more lanes save"},
    {"recompute", CLI_FLAG, offsetof(cli_rgpu_settings, recompute), NULL, NULL,
     "map: where the lanes are too few, compute increments anew beside their readers"},
    {"svg", CLI_TEXT, offsetof(cli_rgpu_settings, svg), "[FILE]", NULL,
     "map, show, run: write a picture of the mapping, the graph or the activity over time (to "
     "standard output without FILE)"},
    {"dot", CLI_TEXT, offsetof(cli_rgpu_settings, dot), "FILE", NULL,
     "show: write the graph for Graphviz"},
    {"kernel", CLI_TEXT, offsetof(cli_rgpu_settings, kernel), "NAME", NULL,
     "extract: from that kernel (default: the only one)"},
    {"loop", CLI_NUMBER, offsetof(cli_rgpu_settings, loop), "LINE", NULL,
     "extract: the innermost loop that has this line (default: the only one)"},
    {"output", CLI_TEXT, offsetof(cli_rgpu_settings, output), "FILE", NULL,
     "extract: write the graph there (default: standard output); map: the graph that was mapped; "
     "sweep: the file of results"},
    {"gpu", CLI_TEXT, offsetof(cli_rgpu_settings, gpu), "GPU", NULL,
     "run, sweep, cost: the GPU (default gtx480 with 48 KB of first-level cache)"},
    {"set", CLI_TEXTS, offsetof(cli_rgpu_settings, set), "KEY=VALUE", NULL,
     "change a parameter of the GPU; may be repeated"},
    {"param", CLI_TEXTS, offsetof(cli_rgpu_settings, parameter), "NAME=NUMBER", NULL,
     "change a parameter of the graph; may be repeated"},
    {"data-fifo", CLI_NUMBER, offsetof(cli_rgpu_settings, data_fifo), "N", NULL,
     "entries of data FIFOs (default 8)"},
    {"address-fifo", CLI_NUMBER, offsetof(cli_rgpu_settings, address_fifo), "N", NULL,
     "entries of address FIFOs (default 256)"},
    {"core-cycles", CLI_NUMBER, offsetof(cli_rgpu_settings, core_cycles), "N", NULL,
     "latency of cores with one or two operands (default 8)"},
    {"three-operand-cycles", CLI_NUMBER, offsetof(cli_rgpu_settings, three_cycles), "N", NULL,
     "latency of cores with three operands (default 10)"},
    {"load-cycles", CLI_NUMBER, offsetof(cli_rgpu_settings, load_cycles), "N", NULL,
     "latency of a load that finds its line (default 8)"},
    {"fold", CLI_NUMBER, offsetof(cli_rgpu_settings, fold), "N", NULL,
     "copies of the graph that share their cores in turn (default 1)"},
    {"pipelines-take-entries", CLI_FLAG, offsetof(cli_rgpu_settings, pipelines_take_entries), NULL,
     NULL, "what is in the pipeline of a core takes an entry of the FIFO it goes to"},
    {"wait-for", CLI_TEXT, offsetof(cli_rgpu_settings, wait_for), "WHAT", "lines sectors",
     "what loads with \"wait\" and \"cg\" ask for at a time (default lines)"},
    {"no-prefetch", CLI_FLAG, offsetof(cli_rgpu_settings, no_prefetch), NULL, NULL,
     "without prefetchers"},
    {"order", CLI_TEXT, offsetof(cli_rgpu_settings, order), "ORDER", "increasing decreasing",
     "in which blocks are given to SMs (default increasing)"},
    {"no-kernels", CLI_FLAG, offsetof(cli_rgpu_settings, no_kernels), NULL, NULL,
     "run, cost: benchmarks without kernels beside them, which take most of the time"},
    {"quick", CLI_FLAG, offsetof(cli_rgpu_settings, quick), NULL, NULL,
     "benchmarks with small inputs"},
    {"max-cycles", CLI_NUMBER, offsetof(cli_rgpu_settings, most_cycles), "N", NULL,
     "give up after this many cycles (default: never)"},
    {"axes", CLI_TEXT, offsetof(cli_rgpu_settings, axes), "AXES", NULL,
     "sweep: NAME=VALUE|...;... of data-fifo, address-fifo, lanes, copies, core-cycles, "
     "three-operand-cycles, load-cycles, parameters of the GPU or of a graph's file"},
    {"threads", CLI_NUMBER, offsetof(cli_rgpu_settings, workers), "N", NULL,
     "sweep: threads to use (default one per core)"},
    CLI_OUTPUT(cli_rgpu_settings),
};

int cli_rgpu_read(const char *name, bf_rgpu_graph **graph, bf_diagnostic *diagnostic) {
  if (rgpu_benchmark_find(name))
    return bf_rgpu_parse(name, bf_reproduce_graph(name), graph, diagnostic);
  return bf_rgpu_read(name, graph, diagnostic);
}

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
} verbs[] = {{"map", cli_rgpu_map}, {"show", cli_rgpu_show},   {"extract", cli_rgpu_extract},
             {"run", cli_rgpu_run}, {"sweep", cli_rgpu_sweep}, {"cost", cli_rgpu_cost}};

/* Options of the verbs that simulate. */
static int check_simulation(const cli_rgpu_settings *s, bool runs, bool sweeps) {
  bool asks = s->gpu || s->set.count || s->parameter.count || s->data_fifo || s->address_fifo ||
              s->order || s->no_prefetch || s->quick || s->most_cycles;
  bool assumes = s->core_cycles || s->three_cycles || s->load_cycles || s->wait_for || s->fold ||
                 s->pipelines_take_entries;
  if (asks && !runs)
    return cli_usage_error(&cli_rgpu,
                           "--gpu, --set, --parameter, --data-fifo, --address-fifo, --order, "
                           "--no-prefetch, --quick and --max-cycles are for run, sweep and cost");
  if (assumes && !runs)
    return cli_usage_error(&cli_rgpu,
                           "--core-cycles, --three-operand-cycles, --load-cycles, --fold, "
                           "--pipelines-take-entries and --wait-for are for run, sweep and cost");
  if (s->no_kernels && (!runs || sweeps))
    return cli_usage_error(&cli_rgpu, "--no-kernels is for run and cost");
  if ((s->axes || s->workers) && !sweeps)
    return cli_usage_error(&cli_rgpu, "--axes and --workers are for sweep");
  if (sweeps && (!s->axes || !s->output))
    return cli_usage_error(&cli_rgpu, "sweep needs --axes and --output");
  if (s->workers > 1024)
    return cli_usage_error(&cli_rgpu, "--workers takes at most 1024");
  return -1;
}

/* Options that belong to another verb. */
static int check_usage(const cli_rgpu_settings *s, const char *verb) {
  bool maps = strcmp(verb, "map") == 0, shows = strcmp(verb, "show") == 0;
  bool extracts = strcmp(verb, "extract") == 0, sweeps = strcmp(verb, "sweep") == 0;
  bool runs = sweeps || strcmp(verb, "run") == 0 || strcmp(verb, "cost") == 0;
  if ((s->copies || s->lanes || s->cores || s->units || s->unit_slots || s->states) && !maps &&
      !runs)
    return cli_usage_error(&cli_rgpu, "--copies, --lanes, --cores, --units, --unit-slots and "
                                      "--states are for map, run, sweep and cost");
  if ((s->trade || s->recompute) && !maps)
    return cli_usage_error(&cli_rgpu, "--trade and --recompute are for map");
  int status = check_simulation(s, runs, sweeps);
  if (status >= 0)
    return status;
  if (s->dot && !shows)
    return cli_usage_error(&cli_rgpu, "--dot is for show");
  if (s->svg && !maps && !shows && strcmp(verb, "run") != 0)
    return cli_usage_error(&cli_rgpu, "--svg is for map, show and run");
  if ((s->kernel || s->loop) && !extracts)
    return cli_usage_error(&cli_rgpu, "--kernel and --loop are for extract");
  if (s->output && !extracts && !maps && !sweeps)
    return cli_usage_error(&cli_rgpu, "--output is for extract, map and sweep");
  if (cli_rgpu_same_output(s->svg, s->dot))
    return cli_usage_error(&cli_rgpu, "--svg and --dot need two files");
  if (s->common.json && (cli_rgpu_same_output(s->svg, "-") || cli_rgpu_same_output(s->dot, "-")))
    return cli_usage_error(&cli_rgpu, "--json needs --svg and --dot in files");
  if ((maps || sweeps || s->common.json) && cli_rgpu_same_output(s->output, "-"))
    return cli_usage_error(&cli_rgpu, "%s needs an --output file",
                           maps || sweeps ? verb : "--json");
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
  return cli_usage_error(&cli_rgpu, "rgpu map, show, extract, run, sweep or cost; not '%s'",
                         arguments[0]);
}

const cli_command cli_rgpu = {
    .name = "rgpu",
    .summary = "map, simulate, show or extract dataflow graphs for a GPU with wired cores (R-GPU)",
    .arguments = "map|show|extract|run|sweep|cost FILE|GRAPH",
    .details =
        "FILE (\"-\": standard input) is a dataflow graph, or PTX for extract. GRAPH is a "
        "benchmark "
        "of\n"
        "braak15: conv, hist, integr, mriq, nn, nw, path, stencil or stream; path_row,\n"
        "path_wide, path_four and path_deep are other graphs of path.\n"
        "\"map\" places the graph on the cores and load/store units of an SM and its results on\n"
        "lanes: the fewest lanes, with proof, and as many copies as fit; status 1 if it does not\n"
        "fit, with the reason. \"show\" prints the graph, or draws it. \"extract\" makes a graph\n"
        "of the innermost loop of a kernel, where it is straight-line code.\n"
        "\"run\" simulates a graph, cycle by cycle, on the memory of a GPU: cycles, what nodes "
        "and\n"
        "FIFOs wait for, activity over time. Results of benchmarks are checked, and two kernels\n"
        "of an ordinary GPU stand beside them, an optimised and a plain one. \"sweep\" simulates\n"
        "all combinations of values and goes on where it was stopped; \"cost\" gives area and\n"
        "power, with the source of every constant.",
    .examples = "bankfold rgpu map conv.df                     # fewest lanes, most copies\n"
                "bankfold rgpu map conv.df --svg conv.svg      # cores, units and lanes drawn\n"
                "bankfold rgpu map integral.df --trade         # lanes against cores\n"
                "bankfold rgpu show conv.df --dot - | dot -Tpng > conv.png\n"
                "bankfold rgpu extract kernel.ptx --output kernel.df\n"
                "bankfold rgpu run conv.df --svg activity.svg  # cycles, stalls, activity\n"
                "bankfold rgpu run nw                          # beside two kernels\n"
                "bankfold rgpu sweep conv --axes 'data-fifo=4..32*2;lanes=4|6' --output conv.csv\n"
                "bankfold rgpu cost stencil                    # area and power\n",
    CLI_OPTIONS(options, cli_rgpu_settings),
    .least_arguments = 2,
    .most_arguments = 2,
    .run = run,
};
