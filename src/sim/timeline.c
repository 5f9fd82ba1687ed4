/* Timelines: trace events in JSON, written while the launch runs.
 *
 * Viewers want the events of a thread not to overlap, but a warp has several instructions on their
 * way at once. So a slot has lanes, each a thread of its own: an event goes to the first lane whose
 * events have all ended when it begins. Threads are numbered in the order in which they are needed,
 * over all processes, because viewers do not like a number to occur twice, or to be 0; their names
 * and places are written as metadata. Thread 1 shows launches. */
#include "sim/timeline.h"
#include "sim/label.h"

#include <stdlib.h>
#include <string.h>

enum {
  LAUNCHES_PROCESS = 1, /* one event for each launch */
  LAUNCHES_THREAD = 1,
  FIRST_SM_PROCESS = 2,
  SLOTS_PER_SM = 64, /* the most that gpu.def allows */
  FLUSH_BYTES = 1 << 16
};

typedef struct lane {
  uint64_t free_from; /* cycle */
  unsigned next;      /* thread number of the next lane of the slot; 0: none */
} lane;

struct bf_timeline {
  bf_writer *writer;
  bf_text text; /* not written yet */
  uint64_t events;
  bool has_event; /* of any kind: a comma comes before the next */
  int error;
  bf_diagnostic diagnostic;
  lane *lane; /* by thread number - 1 */
  unsigned lanes, lane_capacity;
  unsigned *first_lane; /* of slots, by sm * SLOTS_PER_SM + slot: thread number, 0: none */
  unsigned slot_count;
  unsigned sms; /* that have a name */
  /* Of the launch that runs. */
  bf_arena arena;
  const char *kernel;
  const char **fragment; /* of instructions: name and arguments as JSON */
  uint64_t start;        /* cycle on the timeline */
};

/* ---- Writing ---- */

static void flush(bf_timeline *timeline) {
  if (!timeline->error && timeline->text.failed)
    timeline->error = bf_no_memory(&timeline->diagnostic);
  if (!timeline->error)
    timeline->error = bf_writer_write(timeline->writer, timeline->text.data, timeline->text.size,
                                      &timeline->diagnostic);
  timeline->text.size = 0;
}

/* What stands before an event. */
static void begin_event(bf_timeline *timeline) {
  if (timeline->text.size >= FLUSH_BYTES)
    flush(timeline);
  bf_text_puts(&timeline->text, timeline->has_event ? ",\n" : "\n");
  timeline->has_event = true;
}

/* Names process pid, or thread tid of it, and says where it stands among others. */
static void write_name(bf_timeline *timeline, const char *kind, unsigned pid, unsigned tid,
                       const char *name, unsigned order) {
  begin_event(timeline);
  bf_text_addf(
      &timeline->text,
      "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s_name\",\"args\":{\"name\":\"%s\"}}"
      ",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s_sort_index\",\"args\":"
      "{\"sort_index\":%u}}",
      pid, tid, kind, name, pid, tid, kind, order);
}

/* ---- Lanes ---- */

static bool grow_slots(bf_timeline *timeline, unsigned wanted) {
  unsigned *grown = realloc(timeline->first_lane, wanted * sizeof *grown);
  if (!grown)
    return false;
  memset(grown + timeline->slot_count, 0, (wanted - timeline->slot_count) * sizeof *grown);
  timeline->first_lane = grown;
  timeline->slot_count = wanted;
  return true;
}

static bool grow_lanes(bf_timeline *timeline) {
  unsigned capacity = timeline->lane_capacity ? 2 * timeline->lane_capacity : 64;
  lane *grown = realloc(timeline->lane, capacity * sizeof *grown);
  if (!grown)
    return false;
  timeline->lane = grown;
  timeline->lane_capacity = capacity;
  return true;
}

/* Lane `number` of a slot, with its name; returns its thread number, or 0: out of memory. */
static unsigned add_lane(bf_timeline *timeline, unsigned sm, unsigned slot, unsigned number) {
  if (timeline->lanes == timeline->lane_capacity && !grow_lanes(timeline))
    return 0;
  timeline->lane[timeline->lanes] = (lane){0};
  unsigned tid = ++timeline->lanes;
  char name[64];
  for (; timeline->sms <= sm; timeline->sms++) {
    snprintf(name, sizeof name, "SM %u", timeline->sms);
    write_name(timeline, "process", FIRST_SM_PROCESS + timeline->sms, 0, name, 1 + timeline->sms);
  }
  if (number)
    snprintf(name, sizeof name, "warp slot %u, in flight %u", slot, number + 1);
  else
    snprintf(name, sizeof name, "warp slot %u", slot);
  write_name(timeline, "thread", FIRST_SM_PROCESS + sm, tid, name, slot * 1000 + number);
  return tid;
}

/* The thread for an instruction of a slot that is issued at cycle; 0: out of memory. */
static unsigned find_lane(bf_timeline *timeline, unsigned sm, unsigned slot, uint64_t cycle) {
  unsigned place = sm * SLOTS_PER_SM + slot;
  if (place >= timeline->slot_count && !grow_slots(timeline, (sm + 1) * SLOTS_PER_SM))
    return 0;
  unsigned last = 0, number = 0;
  for (unsigned tid = timeline->first_lane[place]; tid; tid = timeline->lane[tid - 1].next) {
    if (timeline->lane[tid - 1].free_from <= cycle)
      return tid;
    last = tid;
    number++;
  }
  unsigned tid = add_lane(timeline, sm, slot, number);
  if (tid && last)
    timeline->lane[last - 1].next = tid;
  else if (tid)
    timeline->first_lane[place] = tid;
  return tid;
}

/* ---- Launches ---- */

int bf_timeline_open(const char *path, bf_timeline **timeline, bf_diagnostic *diagnostic) {
  bf_timeline *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  int error = bf_writer_open(path, false, &made->writer, diagnostic);
  if (!error && !grow_lanes(made))
    error = bf_no_memory(diagnostic);
  if (error) {
    bf_timeline_close(made);
    return error;
  }
  bf_text_puts(&made->text, "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"unit\":\"a microsecond "
                            "stands for a cycle of the multiprocessors\"},\n\"traceEvents\":[");
  write_name(made, "process", LAUNCHES_PROCESS, 0, "launches", 0);
  write_name(made, "thread", LAUNCHES_PROCESS, LAUNCHES_THREAD, "kernels", 0);
  made->lane[0] = (lane){0};
  made->lanes = LAUNCHES_THREAD;
  *timeline = made;
  return BF_OK;
}

/* Name and arguments that are the same for all executions of an instruction. */
static char *make_fragment(bf_arena *arena, const bf_sim_label *label) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  bf_json_begin(&json, NULL, '{', true);
  bf_json_string(&json, "name", label->name);
  bf_json_begin(&json, "args", '{', true);
  bf_json_string(&json, "instruction", label->text);
  bf_json_number(&json, "ptx_line", label->line);
  if (label->source)
    bf_json_string(&json, "source", label->source);
  char *fragment = text.failed ? NULL : bf_arena_copy(arena, text.data + 1);
  bf_text_free(&text);
  return fragment;
}

static void write_event(void *context, const bf_sim_event *event) {
  bf_timeline *timeline = context;
  uint64_t start = timeline->start + event->issued;
  uint64_t cycles = event->done > event->issued ? event->done - event->issued : 1;
  unsigned tid = timeline->error ? 0 : find_lane(timeline, event->sm, event->slot, start);
  if (!tid) {
    if (!timeline->error)
      timeline->error = bf_no_memory(&timeline->diagnostic);
    return;
  }
  timeline->lane[tid - 1].free_from = start + cycles;
  timeline->events++;
  begin_event(timeline);
  bf_text_addf(&timeline->text, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%llu,\"dur\":%llu,%s",
               FIRST_SM_PROCESS + event->sm, tid, (unsigned long long)start,
               (unsigned long long)cycles, timeline->fragment[event->instruction]);
  bf_text_addf(&timeline->text, ",\"block\":%llu,\"warp\":%u,\"scheduler\":%u",
               (unsigned long long)event->block, event->warp, event->scheduler);
  if (event->wavefronts)
    bf_text_addf(&timeline->text, ",\"wavefronts\":%u", event->wavefronts);
  bf_text_puts(&timeline->text, "}}");
}

int bf_timeline_begin(bf_timeline *timeline, const bf_emu_kernel *kernel, uint64_t cycles,
                      bf_sim_watch *watch, bf_diagnostic *diagnostic) {
  bf_arena_free(&timeline->arena);
  uint32_t count = bf_emu_kernel_instructions(kernel);
  const bf_sim_label *label = bf_sim_labels(&timeline->arena, kernel);
  timeline->kernel = bf_arena_copy(&timeline->arena, bf_emu_kernel_name(kernel));
  timeline->fragment = bf_arena_alloc(&timeline->arena, (count + 1) * sizeof *timeline->fragment);
  bool good = label && timeline->kernel && timeline->fragment;
  for (uint32_t i = 0; good && i < count; i++)
    good = (timeline->fragment[i] = make_fragment(&timeline->arena, &label[i])) != NULL;
  if (!good)
    return bf_no_memory(diagnostic);
  *watch = (bf_sim_watch){
      .context = timeline, .last_cycle = cycles ? cycles - 1 : 0, .event = write_event};
  return BF_OK;
}

void bf_timeline_end(bf_timeline *timeline, uint64_t cycles) {
  begin_event(timeline);
  bf_json json = {.text = &timeline->text};
  bf_json_begin(&json, NULL, '{', true);
  bf_json_string(&json, "ph", "X");
  bf_json_number(&json, "pid", LAUNCHES_PROCESS);
  bf_json_number(&json, "tid", LAUNCHES_THREAD);
  bf_json_number(&json, "ts", timeline->start);
  bf_json_number(&json, "dur", cycles);
  bf_json_string(&json, "name", timeline->kernel);
  bf_json_end(&json, '}');
  /* Results that are still on their way when the last warp ends lie behind it. */
  timeline->start += cycles;
  for (unsigned i = 0; i < timeline->lanes; i++)
    if (timeline->lane[i].free_from > timeline->start)
      timeline->start = timeline->lane[i].free_from;
}

uint64_t bf_timeline_events(const bf_timeline *timeline) { return timeline->events; }

int bf_timeline_commit(bf_timeline *timeline, bf_diagnostic *diagnostic) {
  bf_text_puts(&timeline->text, "\n]}\n");
  flush(timeline);
  if (timeline->error) {
    if (diagnostic)
      *diagnostic = timeline->diagnostic;
    return timeline->error;
  }
  return bf_writer_commit(timeline->writer, diagnostic);
}

void bf_timeline_close(bf_timeline *timeline) {
  if (!timeline)
    return;
  bf_writer_close(timeline->writer);
  bf_text_free(&timeline->text);
  bf_arena_free(&timeline->arena);
  free(timeline->lane);
  free(timeline->first_lane);
  free(timeline);
}
