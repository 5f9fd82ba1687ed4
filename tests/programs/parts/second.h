/* What several.cu and its second file share. */
#ifndef SECOND_H
#define SECOND_H

template <class T> __global__ void add_number(T *data, T number) { data[threadIdx.x] += number; }

void advance_by_hundred(int *data);

#endif
