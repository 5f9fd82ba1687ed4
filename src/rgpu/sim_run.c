/* Multiprocessors, blocks and time. Every SM runs by itself for a span of cycles no longer than
 * return_cycles; memory then serves what all of them asked for (sim/hierarchy.h). Cycles in which
 * nothing can happen on an SM are skipped.
 *
 * An SM has one block at a time. Blocks are given out in a fixed order, each as an SM becomes free.
 */
#include "rgpu/sim_inner.h"

#include <stdlib.h>
#include <string.h>

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

int rgpu_sim_fail(sim_sm *sm, const plan_node *node, const char *format, ...) {
  char problem[200];
  va_list arguments;
  if (sm->chip->error)
    return sm->chip->error;
  va_start(arguments, format);
  vsnprintf(problem, sizeof problem, format, arguments);
  va_end(arguments);
  return sm->chip->error =
             bf_fail_file(sm->chip->diagnostic, BF_BAD_INPUT, sm->chip->plan->graph->file,
                          "node %s of copy %u, block %llu, iteration %llu: %s", node->node->name,
                          node->copy, (unsigned long long)sm->block,
                          (unsigned long long)sm->node[node - sm->chip->plan->node].fired, problem);
}

/* ---- Memory before the first block ---- */

int bf_rgpu_memory_create(const bf_rgpu_setup *setup, unsigned char **global,
                          bf_diagnostic *diagnostic) {
  unsigned char *made = calloc(setup->global_bytes + 1, 1);
  int error = made ? BF_OK : bf_no_memory(diagnostic);
  for (unsigned i = 0; !error && i < setup->graph->arrays; i++) {
    const bf_rgpu_array *array = &setup->graph->array[i];
    unsigned bytes = bf_rgpu_type_bytes(array->type);
    if (array->is_shared || (array->fill == BF_RGPU_FILL_TERM && !array->content))
      continue;
    unsigned char *at = made + (setup->array_address[i] - BF_RGPU_GLOBAL_BASE);
    for (uint64_t j = 0; !error && j < setup->array_count[i]; j++) {
      uint32_t bits = 0;
      error = bf_rgpu_array_element(setup, i, j, &bits, diagnostic);
      bf_rgpu_store(array->type, bits, at + j * bytes);
    }
  }
  if (error) {
    free(made);
    return error;
  }
  *global = made;
  return BF_OK;
}

/* ---- Answers: a heap by cycle ---- */

static void swap_answers(sm_answer *a, sm_answer *b) {
  sm_answer kept = *a;
  *a = *b;
  *b = kept;
}

static bool add_answer(sim_sm *sm, const bf_sim_request *request, uint64_t cycle) {
  if (sm->answers == sm->answer_capacity) {
    size_t capacity = sm->answer_capacity ? 2 * sm->answer_capacity : 64;
    sm_answer *made = realloc(sm->answer, capacity * sizeof *made);
    if (!made)
      return false;
    sm->answer = made;
    sm->answer_capacity = capacity;
  }
  size_t at = sm->answers++;
  sm->answer[at] = (sm_answer){.cycle = cycle, .request = *request};
  for (; at && sm->answer[at].cycle < sm->answer[(at - 1) / 2].cycle; at = (at - 1) / 2)
    swap_answers(&sm->answer[at], &sm->answer[(at - 1) / 2]);
  return true;
}

/* Takes the first answer out of the heap. */
static bf_sim_request take_answer(sim_sm *sm) {
  bf_sim_request first = sm->answer[0].request;
  sm->answer[0] = sm->answer[--sm->answers];
  for (size_t at = 0;;) {
    size_t least = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < sm->answers; child++)
      if (sm->answer[child].cycle < sm->answer[least].cycle)
        least = child;
    if (least == at)
      return first;
    swap_answers(&sm->answer[at], &sm->answer[least]);
    at = least;
  }
}

/* Takes all answers that are due. */
static void take_due(sim_sm *sm) {
  while (sm->answers && sm->answer[0].cycle <= sm->now) {
    bf_sim_request request = take_answer(sm);
    rgpu_unit_answer(sm, &request);
    sm->last_moved = sm->now;
  }
}

/* Memory calls this for every answer; context is the array of SMs. */
static void answer(void *context, const bf_sim_request *request, uint64_t cycle) {
  sim_sm *sm = &((sim_sm *)context)[request->sm];
  if (!add_answer(sm, request, cycle) && !sm->chip->error)
    sm->chip->error = bf_no_memory(sm->chip->diagnostic);
}

/* ---- An SM ---- */

static int create_sm(sim_chip *chip, unsigned index, sim_sm *sm) {
  const sim_plan *plan = chip->plan;
  bf_arena *arena = &chip->result->arena;
  *sm = (sim_sm){.index = index, .chip = chip};
  sm->fifo = bf_arena_alloc(arena, (plan->fifos + 1) * sizeof *sm->fifo);
  sm->node = bf_arena_alloc(arena, (plan->nodes + 1) * sizeof *sm->node);
  sm->unit = bf_arena_alloc(arena, (plan->units + 1) * sizeof *sm->unit);
  sm->count = bf_arena_alloc(arena, (plan->nodes + 1) * sizeof *sm->count);
  sm->core_taken = bf_arena_alloc(arena, (plan->cores + 1) * sizeof *sm->core_taken);
  sm->kept = bf_arena_alloc(arena, (plan->kept + 1) * sizeof *sm->kept);
  sm->shared = bf_arena_alloc(arena, plan->setup->shared_bytes + 1);
  if (!sm->fifo || !sm->node || !sm->unit || !sm->count || !sm->core_taken || !sm->kept ||
      !sm->shared)
    return bf_no_memory(chip->diagnostic);
  for (unsigned i = 0; i < plan->fifos; i++) {
    sm_fifo *fifo = &sm->fifo[i];
    fifo->capacity = plan->fifo[i].capacity;
    fifo->places = plan->fifo[i].places;
    fifo->value = bf_arena_alloc(arena, fifo->places * sizeof *fifo->value);
    fifo->ready = bf_arena_alloc(arena, fifo->places * sizeof *fifo->ready);
    if (!fifo->value || !fifo->ready)
      return bf_no_memory(chip->diagnostic);
  }
  return bf_sim_l1_create(chip->gpu, &sm->l1, chip->diagnostic);
}

/* Gives a block to an SM; its configuration is there at `begin`. */
static void give_block(sim_sm *sm, uint64_t block, uint64_t cycle) {
  sm->has_block = true;
  sm->is_running = false;
  sm->block = block;
  sm->begin = cycle + sm->chip->enter_cycles;
  sm->last_moved = sm->begin;
}

/* The block is in R-GPU mode from now on. */
static void start_block(sim_sm *sm) {
  int error = rgpu_block_enter(sm);
  if (error && !sm->chip->error)
    sm->chip->error = error;
  sm->is_running = true;
  sm->began = sm->last_moved = sm->now;
}

/* All iterations are done. */
static void end_block(sim_sm *sm) {
  bf_rgpu_sim_result *result = sm->chip->result;
  const bf_rgpu_after *after = sm->chip->settings->after;
  result->rgpu_cycles += sm->now - sm->began;
  sm->now += sm->chip->leave_cycles + (after ? after->cycles : 0);
  int error = rgpu_block_leave(sm);
  if (error && !sm->chip->error)
    sm->chip->error = error;
  sm->has_block = sm->is_running = false;
}

/* Runs one cycle, and goes to the next one in which something can happen. */
static void run_cycle(sim_sm *sm, uint64_t until) {
  sm->has_moved = false;
  sm->next = UINT64_MAX;
  rgpu_step(sm);
  uint64_t next = sm->now + 1;
  if (sm->has_moved) {
    sm->last_moved = sm->now;
  } else {
    next = smaller(sm->next, until);
    next = sm->answers ? smaller(next, sm->answer[0].cycle) : next;
    next = next > sm->now ? next : sm->now + 1;
    rgpu_stall_again(sm, next - sm->now - 1);
  }
  sm->now = next;
}

/* Runs an SM up to a cycle, or to the end of its block if that is later. */
static void run_sm(sim_sm *sm, uint64_t until) {
  while (sm->has_block && sm->now < until && !sm->chip->error) {
    take_due(sm);
    if (!sm->is_running && sm->now < sm->begin)
      sm->now = smaller(sm->begin, until);
    else if (!sm->is_running)
      start_block(sm);
    else if (sm->left)
      run_cycle(sm, until);
    else
      end_block(sm);
  }
}

/* ---- Blocks ---- */

typedef struct dispatch {
  uint64_t given, blocks;
  bf_rgpu_order order;
} dispatch;

/* Gives the next block to the SM that has been free for longest. */
static bool give_next(sim_chip *chip, sim_sm *sm, dispatch *state, bool is_first) {
  sim_sm *chosen = NULL;
  for (unsigned i = 0; i < chip->gpu->sms; i++)
    if (!sm[i].has_block && (!chosen || sm[i].now < chosen->now))
      chosen = &sm[i];
  if (!chosen || state->given == state->blocks)
    return false;
  uint64_t number = state->given++;
  uint64_t block = state->order == BF_RGPU_INCREASING ? number : state->blocks - 1 - number;
  uint64_t wait = is_first ? chip->gpu->launch_cycles : chip->gpu->block_launch_cycles;
  give_block(chosen, block, chosen->now + wait);
  return true;
}

static bool has_work(const sim_chip *chip, const sim_sm *sm) {
  for (unsigned i = 0; i < chip->gpu->sms; i++)
    if (sm[i].has_block)
      return true;
  return false;
}

/* ---- Deadlock ---- */

static int report_deadlock(sim_chip *chip, const sim_sm *sm, uint64_t now, const char *reason) {
  BF_TRY(rgpu_find_stuck(chip, sm));
  return bf_fail_file(chip->diagnostic, BF_BAD_INPUT, chip->plan->graph->file,
                      "deadlock in cycle %llu: %s", (unsigned long long)now, reason);
}

/* Nothing has happened on any SM for much longer than memory and pipelines take, and nothing but
 * loads that wait for a hit is on its way. */
static int check_deadlock(sim_chip *chip, const sim_sm *sm, uint64_t now) {
  enum { LONG_CYCLES = 2 * BF_RGPU_MOST_LATENCY };
  if (bf_sim_memory_waiting(chip->memory) >= BF_SIM_SLICE_QUEUE)
    return report_deadlock(
        chip, sm, now,
        "loads that wait for a hit fill the queue of a slice of the second-level "
        "cache, and the store that they wait for cannot reach it");
  for (unsigned i = 0; i < chip->gpu->sms; i++) {
    bool is_stuck = !sm[i].has_block || (sm[i].is_running && sm[i].outstanding == 0 &&
                                         sm[i].last_moved + LONG_CYCLES < now);
    if (!is_stuck)
      return BF_OK;
  }
  return report_deadlock(chip, sm, now, "no node can fire");
}

/* ---- Time ---- */

/* Tells how far it is; false: it is to stop. */
static bool tell(const sim_chip *chip) {
  const bf_rgpu_sim_settings *settings = chip->settings;
  const bf_rgpu_setup *setup = chip->plan->setup;
  const uint64_t *fired = chip->result->fired;
  return !settings->progress ||
         settings->progress(settings->progress_context, fired[0] + fired[1] + fired[2],
                            chip->plan->nodes * setup->iterations * setup->blocks);
}

static int run_blocks(sim_chip *chip, sim_sm *sm) {
  const bf_sim_gpu *gpu = chip->gpu;
  dispatch state = {.blocks = chip->plan->setup->blocks, .order = chip->settings->order};
  uint64_t most = chip->settings->most_cycles;
  uint64_t span = smaller(gpu->return_cycles, gpu->block_launch_cycles), now = 0;
  while (state.given < gpu->sms && give_next(chip, sm, &state, true))
    chip->result->sms++;
  while (has_work(chip, sm) || state.given < state.blocks) {
    now += span;
    for (unsigned i = 0; i < gpu->sms; i++)
      run_sm(&sm[i], now);
    BF_TRY(bf_sim_memory_advance(chip->memory, now, answer, sm));
    chip->until = now;
    if (chip->error)
      return chip->error;
    while (give_next(chip, sm, &state, false)) {
    }
    if (has_work(chip, sm))
      BF_TRY(check_deadlock(chip, sm, now));
    if (!tell(chip))
      return bf_fail(chip->diagnostic, BF_BAD_INPUT, "interrupted");
    if (most && now > most)
      return bf_fail_file(chip->diagnostic, BF_BAD_INPUT, chip->plan->graph->file,
                          "not finished after %llu cycles", (unsigned long long)most);
  }
  for (unsigned i = 0; i < gpu->sms; i++)
    if (sm[i].now > chip->result->cycles)
      chip->result->cycles = sm[i].now;
  return BF_OK;
}

/* Waits until all stores have reached the second-level cache, as launches of the GPU do. */
static int finish_stores(sim_chip *chip, sim_sm *sm) {
  uint64_t now = chip->until, left = 1;
  while (left) {
    left = 0;
    for (unsigned i = 0; i < chip->gpu->sms; i++) {
      sm[i].now = now;
      take_due(&sm[i]);
      left += sm[i].stores;
    }
    if (!left)
      break;
    now += chip->gpu->return_cycles;
    BF_TRY(bf_sim_memory_advance(chip->memory, now, answer, sm));
    for (unsigned i = 0; i < chip->gpu->sms; i++)
      for (size_t j = 0; j < sm[i].answers; j++)
        if (sm[i].answer[j].request.kind == BF_SIM_STORE &&
            sm[i].answer[j].cycle - chip->gpu->return_cycles > chip->result->cycles)
          chip->result->cycles = sm[i].answer[j].cycle - chip->gpu->return_cycles;
  }
  return BF_OK;
}

/* ---- All of it ---- */

/* What loads with `wait` may find: nothing but what the graph declares. */
static int create_presence(sim_chip *chip, bf_arena *arena) {
  const bf_rgpu_setup *setup = chip->plan->setup;
  unsigned arrays = setup->graph->arrays;
  if (!chip->plan->has_wait)
    return BF_OK;
  chip->present = bf_arena_alloc(arena, setup->global_bytes / 8 + 1);
  chip->declared_first = bf_arena_alloc(arena, (arrays + 1) * sizeof(uint64_t));
  chip->declared_end = bf_arena_alloc(arena, (arrays + 1) * sizeof(uint64_t));
  if (!chip->present || !chip->declared_first || !chip->declared_end)
    return bf_no_memory(chip->diagnostic);
  for (unsigned i = 0; i < arrays; i++) {
    if (setup->graph->array[i].is_shared)
      continue;
    uint64_t first = setup->array_address[i];
    uint64_t bytes = setup->array_present[i] * bf_rgpu_type_bytes(setup->graph->array[i].type);
    chip->declared_first[i] = first;
    chip->declared_end[i] = first + bytes;
    for (uint64_t j = first - BF_RGPU_GLOBAL_BASE; j < first - BF_RGPU_GLOBAL_BASE + bytes; j++)
      chip->present[j / 8] |= (uint8_t)(1u << j % 8);
  }
  return BF_OK;
}

/* Adds what an SM has counted to the nodes of the graph. */
static void add_counts(const sim_chip *chip, const sim_sm *sm) {
  const sim_plan *plan = chip->plan;
  bf_rgpu_node_count *result = chip->result->node;
  for (unsigned i = 0; i < plan->nodes; i++) {
    bf_rgpu_node_count *to = &result[plan->node[i].index];
    to->fired += sm->count[i].fired;
    for (unsigned j = 0; j < BF_RGPU_STALLS; j++)
      to->stalled[j] += sm->count[i].stalled[j];
  }
  for (unsigned i = 0; i < plan->fifos; i++) {
    const plan_fifo *at = &plan->fifo[i];
    bf_rgpu_fifo_count *to = &result[plan->node[at->reader].index].fifo[at->position];
    to->empty_cycles += sm->fifo[i].empty_cycles;
    to->full_cycles += sm->fifo[i].full_cycles;
    to->written += sm->count[at->writer].fired;
    to->most = sm->fifo[i].most > to->most ? sm->fifo[i].most : to->most;
  }
}

/* Units that may wait for a hit at the same time: those of all SMs that have a block. */
static uint64_t count_waiting_units(const sim_chip *chip) {
  const bf_rgpu_setup *setup = chip->plan->setup;
  uint64_t sms = setup->blocks < chip->gpu->sms ? setup->blocks : chip->gpu->sms, units = 0;
  for (unsigned i = 0; i < chip->plan->graph->nodes; i++)
    units += bf_rgpu_is_memory(&chip->plan->graph->node[i]) &&
             chip->plan->graph->node[i].cache == BF_RGPU_CACHE_WAIT;
  return units * setup->copies * sms;
}

/* Fills the result from what was counted. */
static void conclude(const sim_chip *chip, const sim_sm *sm) {
  bf_rgpu_sim_result *result = chip->result;
  const bf_rgpu_setup *setup = chip->plan->setup;
  result->seconds = (double)result->cycles / (chip->gpu->clock_mhz * 1e6);
  result->blocks = setup->blocks;
  result->copies = setup->copies;
  result->iterations = setup->iterations;
  result->enter_cycles = chip->enter_cycles;
  result->leave_cycles =
      chip->leave_cycles + (chip->settings->after ? chip->settings->after->cycles : 0);
  result->most_waiting = bf_sim_memory_most_waiting(chip->memory);
  result->could_wait = count_waiting_units(chip);
  bf_sim_memory_count(chip->memory, &result->memory);
  for (unsigned i = 0; i < chip->gpu->sms; i++) {
    add_counts(chip, &sm[i]);
    bf_sim_l1_count(sm[i].l1, &result->memory);
  }
}

/* Makes what the chip needs besides its plan, runs it, and frees that. */
static int run_chip(sim_chip *chip) {
  bf_arena *arena = &chip->result->arena;
  unsigned sms = (unsigned)chip->gpu->sms;
  sim_sm *sm = calloc(sms, sizeof *sm);
  chip->result->node =
      bf_arena_alloc(arena, (chip->plan->graph->nodes + 1) * sizeof *chip->result->node);
  int error =
      sm && chip->result->node ? create_presence(chip, arena) : bf_no_memory(chip->diagnostic);
  for (unsigned i = 0; !error && i < sms; i++)
    error = create_sm(chip, i, &sm[i]);
  if (!error)
    error = bf_sim_memory_create(chip->gpu, &chip->memory, chip->diagnostic);
  if (!error)
    error = run_blocks(chip, sm);
  if (!error)
    error = finish_stores(chip, sm);
  if (!error)
    conclude(chip, sm);
  for (unsigned i = 0; sm && i < sms; i++) {
    bf_sim_l1_free(sm[i].l1);
    free(sm[i].answer);
  }
  bf_sim_memory_free(chip->memory);
  free(sm);
  return error;
}

int bf_rgpu_simulate(const bf_rgpu_sim_settings *settings, const bf_rgpu_setup *setup,
                     unsigned char *global, bf_rgpu_sim_result *result, bf_diagnostic *diagnostic) {
  enum { FIRST_PIECE = 64 };
  sim_plan *plan;
  *result = (bf_rgpu_sim_result){.activity.piece_cycles = FIRST_PIECE};
  BF_TRY(bf_sim_gpu_check(settings->gpu, diagnostic));
  BF_TRY(rgpu_plan_create(settings, setup, &plan, diagnostic));
  unsigned banks = 1u << bf_machine_geometry(settings->gpu->machine).bank_bits;
  sim_chip chip = {.settings = settings,
                   .gpu = settings->gpu,
                   .plan = plan,
                   .global = global,
                   .banks = banks < MOST_BANKS ? banks : MOST_BANKS,
                   .result = result,
                   .diagnostic = diagnostic};
  rgpu_switch_cycles(plan, settings->gpu, &chip.enter_cycles, &chip.leave_cycles);
  int error = run_chip(&chip);
  rgpu_plan_free(plan);
  return error;
}

int bf_rgpu_simulate_described(const bf_rgpu_sim_settings *settings, const bf_rgpu_graph *graph,
                               unsigned copies, unsigned overrides, const char *const *override,
                               bf_rgpu_sim_result *result, bf_diagnostic *diagnostic) {
  bf_rgpu_setup *setup;
  unsigned char *memory = NULL;
  BF_TRY(bf_rgpu_setup_create(graph, copies, overrides, override, &setup, diagnostic));
  int error = bf_rgpu_memory_create(setup, &memory, diagnostic);
  if (!error)
    error = bf_rgpu_simulate(settings, setup, memory, result, diagnostic);
  free(memory);
  bf_rgpu_setup_free(setup);
  return error;
}
