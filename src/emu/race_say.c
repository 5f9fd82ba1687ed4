/* Races: what is said of one, with both threads and both lines. */
#include "emu/device.h"
#include "emu/race_check.h"
#include "ptx/demangle.h"
#include "ptx/site.h"

void bf_race_put_place(char *text, size_t bytes, uint32_t index, const uint32_t size[3]) {
  snprintf(text, bytes, "(%u,%u,%u)", index % size[0], index / size[0] % size[1],
           index / size[0] / size[1]);
}

/* Of which kernel an access of another launch was. */
static void put_kernel(char *text, size_t bytes, const bf_emu_kernel *kernel, const char *how) {
  bf_text name = {0};
  bf_ptx_readable_name(kernel->function->name, &name);
  snprintf(text, bytes, " of kernel %.*s, %s,", name.failed ? 0 : (int)name.size,
           name.data ? name.data : "", how);
  bf_text_free(&name);
}

/* A source line, or one of the PTX, of a site. */
void bf_race_put_line(char *text, size_t bytes, const bf_emu_kernel *kernel, unsigned site) {
  if (site >= kernel->site_count)
    return;
  const bf_emu_site *at = &kernel->sites[site];
  const char *file;
  uint64_t source_line;
  bf_ptx_user_line(kernel->module->ptx, at->instruction, &file, &source_line);
  if (file && strlen(file) > 80)
    file = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
  if (source_line)
    snprintf(text, bytes, " at %s:%llu", file ? file : "line", (unsigned long long)source_line);
  else
    snprintf(text, bytes, " at PTX line %llu", (unsigned long long)at->line);
}

/* Says who else was at the byte; false: the launch has ended. */
bool bf_race_report(const bf_race_check *what, const bf_race_record *other, bool other_writes,
                    unsigned lane, uint64_t address) {
  struct bf_race_memory *memory = what->races->memory;
  const bf_race_launch *launch = NULL;
  char thread[48] = "", block[48] = "", line[200] = "", text[600], name[160] = "", far[48] = "";
  pthread_mutex_lock(&memory->lock);
  for (size_t i = 0; i < memory->launches; i++)
    if (memory->launch[i].number == other->launch)
      launch = &memory->launch[i];
  if (launch) {
    bf_race_put_place(thread, sizeof thread, other->who & BF_RACE_THREAD, launch->block);
    bf_race_put_place(block, sizeof block, other->block, launch->grid);
    bf_race_put_line(line, sizeof line, launch->kernel, other->site);
    if (other->launch != what->now.launch)
      put_kernel(name, sizeof name, launch->kernel,
                 other->launch == what->races->overlaps
                     ? "which this one may run beside until griddepcontrol.wait"
                     : "launched before in another stream");
  }
  pthread_mutex_unlock(&memory->lock);
  if (what->is_shared && what->owner != what->warp->block)
    snprintf(far, sizeof far, "of block (%u,%u,%u): ", what->owner->id[0], what->owner->id[1],
             what->owner->id[2]);
  snprintf(text, sizeof text, "%sblock %s, thread %s%s %s it%s, %s", far, block, thread, name,
           other->who & BF_RACE_COPY ? "copies asynchronously to"
           : other_writes            ? "wrote"
                                     : "read",
           line,
           other->who & BF_RACE_COPY ? "and has not waited for it" : "and nothing orders the two");
  return bf_emu_say_race(what->warp, what->op,
                         what->is_shared ? BF_PTX_SPACE_SHARED : BF_PTX_SPACE_GLOBAL, lane, address,
                         what->width_bytes, what->is_write, text);
}
