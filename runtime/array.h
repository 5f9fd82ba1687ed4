/* Inside runtime: what arrays of texels are, for those who make textures of them. */
#ifndef RT_ARRAY_H
#define RT_ARRAY_H

#include "context.h"

/* Flags of arrays. */
enum { RT_LAYERED = 1, RT_CUBEMAP = 4 };

struct rt_array {
  rt_channel channel;
  rt_extent extent; /* texels, 0 for dimensions that it does not have; depth: layers too */
  unsigned flags;
  char *address;
  size_t texel_bytes, pitch_bytes, slice_bytes;
};

/* A mipmapped array: an array for each level, the largest first. */
typedef struct rt_mipmap {
  unsigned levels;
  rt_array *level[BF_EMU_MOST_LEVELS];
} rt_mipmap;

/* Makes a texture object, or a surface object where sampler is NULL; a cudaError. */
int rt_texture_make(rt_context *context, const rt_resource *resource, const rt_sampler *sampler,
                    uint64_t *handle, const char *call);
/* Destroys one; false where there is none. */
bool rt_texture_remove(rt_context *context, uint64_t handle);
/* Channels of a texel, all of the same bits; false where no texture has such texels. */
bool rt_count_channels(const rt_channel *channel, unsigned *channels, unsigned *bits);

#endif
