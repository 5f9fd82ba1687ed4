/* A simulated GPU with the kernels of voting.cu or others, and what histograms and Hough transforms
 * of braak15, chapters 3 and 4, have in common. */
#ifndef BF_VOTING_DEVICE_H
#define BF_VOTING_DEVICE_H

#include "kernels/devices.h"
#include "sim/ledger.h"

/* Where copies lie (Table 3.1); lines of a Hough space take the place of histograms there. */
typedef enum bf_voting_layout {
  BF_VOTING_BIN_MAJOR,
  BF_VOTING_COPY_MAJOR,
  BF_VOTING_PADDED,
  BF_VOTING_LAYOUTS
} bf_voting_layout;

/* As in names of kernels. */
extern const char *const bf_voting_layout_names[BF_VOTING_LAYOUTS];

typedef struct bf_voting_choice {
  bf_voting_layout layout;
  unsigned copies;
  unsigned threads;       /* in a block */
  unsigned blocks_per_sm; /* of histograms */
} bf_voting_choice;

enum { BF_VOTING_WIDTH = 1536, BF_VOTING_HEIGHT = 1024 }; /* of pictures; voting.cu has it too */

typedef struct bf_voting_device {
  bf_sim_gpu *gpu;
  bf_sim_ledger ledger;
  bf_device device;
  bool is_made;
} bf_voting_device;

/* The GPU called name, for the kernels of reproduce/PTX.ptx; sms 0: with all its multiprocessors.
 * Freed with bf_voting_device_free, after errors too. */
int bf_voting_device_create(const char *name, const char *ptx, unsigned sms,
                            bf_voting_device *device, bf_diagnostic *diagnostic);
void bf_voting_device_free(bf_voting_device *device);

typedef struct bf_voting_launch {
  const char *kernel;
  bf_voting_layout layout; /* added to the name of the kernel, unless is_only_one */
  bool is_only_one;
  uint32_t blocks, threads;
  uint64_t shared_bytes;
  unsigned parameters;
  const void *const *parameter;
} bf_voting_launch;

/* Adds the time on the GPU to *seconds. */
int bf_voting_run(bf_voting_device *device, const bf_voting_launch *launch, double *seconds,
                  bf_diagnostic *diagnostic);

/* Memory of the device, set to 0 where bytes is NULL. */
int bf_voting_upload(const bf_voting_device *device, const void *bytes, uint64_t size,
                     uint64_t *address, bf_diagnostic *diagnostic);
int bf_voting_clear(const bf_voting_device *device, uint64_t address, uint64_t size,
                    bf_diagnostic *diagnostic);
/* Reads votes; BF_BAD_INPUT where they are not what they must be. */
int bf_voting_compare(const bf_voting_device *device, uint64_t address, const uint32_t *wanted,
                      uint64_t count, bf_diagnostic *diagnostic);

/* Words that copies of `bins` bins take. */
uint64_t bf_voting_words(bf_voting_layout layout, uint64_t bins, unsigned copies);
/* Whether blocks of so many threads and bytes of shared memory fit on a multiprocessor together. */
bool bf_voting_fits(const bf_sim_gpu *gpu, unsigned blocks, unsigned threads, uint64_t bytes);

#endif
