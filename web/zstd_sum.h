/* web/zstd_sum: the sum that zstd checks data by (XXH64 with seed 0). */
#ifndef BF_WEB_ZSTD_SUM_H
#define BF_WEB_ZSTD_SUM_H

#include <stddef.h>
#include <stdint.h>

typedef struct zstd_sum {
  uint64_t lane[4], bytes;
  uint8_t rest[32];
} zstd_sum;

void zstd_sum_begin(zstd_sum *sum);
void zstd_sum_add(zstd_sum *sum, const uint8_t *bytes, size_t size);
uint64_t zstd_sum_end(const zstd_sum *sum);

#endif
