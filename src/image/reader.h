/* Inside room image: what readers of the file formats share. */
#ifndef BF_IMAGE_READER_H
#define BF_IMAGE_READER_H

#include "image/image.h"
#include "image/source.h"

struct bf_image_reader {
  image_source source;
  bf_image_format format;
  uint32_t next_row;
  bool is_broken;        /* a fault was met */
  bool is_plain;         /* PNM: samples are decimal numbers */
  uint64_t line;         /* PNM: of the text read so far, */
  uint64_t line_begin;   /* and the offset where that line begins */
  struct image_png *png; /* PNG: libpng's state */
};

/* Fails unless the picture's sizes are within the limits of image.h. */
int bf_image_check_format(const bf_image_reader *reader, bf_diagnostic *diagnostic);

/* Each reads the header of a file that begins like one of its kind, and fills format. */
int bf_image_open_pnm(bf_image_reader *reader, bf_diagnostic *diagnostic);
int bf_image_open_png(bf_image_reader *reader, bf_diagnostic *diagnostic);
/* The next rows. */
int bf_image_read_pnm(bf_image_reader *reader, uint32_t rows, uint8_t *pixels,
                      bf_diagnostic *diagnostic);
int bf_image_read_png(bf_image_reader *reader, uint32_t rows, uint8_t *pixels,
                      bf_diagnostic *diagnostic);
void bf_image_free_png(bf_image_reader *reader);

#endif
