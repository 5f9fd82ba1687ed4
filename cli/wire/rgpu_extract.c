/* bankfold rgpu extract: a graph of a kernel's innermost loop. */
#include "cli/wire/rgpu.h"
#include "ptx/fatbin.h"
#include "rgpu/extract.h"

/* The text of the best PTX of the only module of a file. */
static int read_ptx(const char *file, bf_text *text, bf_diagnostic *diagnostic) {
  bf_fatbin *fatbin;
  bf_arch any = {0};
  BF_TRY(bf_fatbin_open(file, &fatbin, diagnostic));
  const bf_image *image = bf_fatbin_pick(fatbin, 1, any);
  int error = BF_OK;
  if (fatbin->module_count > 1)
    error = bf_fail_file(diagnostic, BF_UNSUPPORTED, fatbin->name,
                         "%u modules; 'bankfold ptx extract' takes one of them out",
                         fatbin->module_count);
  else if (!image)
    error = bf_fatbin_no_ptx(fatbin, 0, any, diagnostic);
  else
    error = bf_fatbin_text(fatbin, image, text, diagnostic);
  bf_fatbin_close(fatbin);
  return error;
}

/* The graph, as text and in numbers. */
static int print_json(const char *file, bf_text *text) {
  bf_rgpu_graph *graph;
  bf_diagnostic diagnostic;
  bf_text out = {0};
  bf_json json = {.text = &out};
  if (bf_rgpu_parse(bf_input_name(file), text->data, &graph, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "file", bf_input_name(file));
  bf_json_string(&json, "graph", graph->name);
  bf_json_number(&json, "node_count", graph->nodes);
  bf_json_string(&json, "text", text->data);
  bf_json_end(&json, '}');
  bf_rgpu_free(graph);
  return cli_print(&out);
}

int cli_rgpu_extract(const cli_rgpu_settings *s, const char *file) {
  bf_text ptx = {0}, graph = {0};
  bf_ptx_module *module = NULL;
  bf_diagnostic diagnostic;
  int error = read_ptx(file, &ptx, &diagnostic);
  if (!error)
    error =
        bf_ptx_parse(bf_input_name(file), ptx.data ? ptx.data : "", ptx.size, &module, &diagnostic);
  if (!error)
    error = bf_rgpu_extract(module, s->kernel, s->loop, &graph, &diagnostic);
  bf_ptx_free(module);
  bf_text_free(&ptx);
  int status = error            ? cli_complain(&diagnostic)
               : s->common.json ? print_json(file, &graph)
                                : CLI_OK;
  if (status == CLI_OK && (!s->common.json || s->output))
    return cli_write(s->output, &graph);
  bf_text_free(&graph);
  return status;
}
