/* Numbers of all types, and what the stand-ins do not have. */
#include "stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int stand_in_refuse(const char *name, int status) {
  static const char *last;
  if (last != name)
    fprintf(stderr, "bankfold: %s is not among the stand-ins (docs/exec.md lists them)\n", name);
  last = name;
  return status;
}

size_t stand_in_bytes(int type) {
  switch (type) {
  case R_8I:
    return 1;
  case R_16F:
  case R_16BF:
    return 2;
  case R_32F:
  case R_32I:
    return 4;
  case R_64F:
  case C_32F:
    return 8;
  case C_64F:
    return 16;
  default:
    return 0;
  }
}

bool stand_in_is_complex(int type) { return type == C_32F || type == C_64F; }

/* ---- Half precision ---- */

/* 2^exponent for normal results. */
static double power_of_two(int exponent) {
  uint64_t bits = (uint64_t)(1023 + exponent) << 52;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double from_half(uint16_t half) {
  int exponent = half >> 10 & 31, mantissa = half & 1023;
  double sign = half >> 15 ? -1 : 1;
  if (exponent == 31)
    return mantissa ? __builtin_nan("") : sign * __builtin_inf();
  if (exponent == 0)
    return sign * mantissa * power_of_two(-24);
  return sign * (1024 + mantissa) * power_of_two(exponent - 25);
}

/* Rounds to a format of 16 bits with so many bits of mantissa and this largest exponent. */
static uint16_t to_16_bits(double value, int mantissa_bits, int most) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  uint16_t infinity = (uint16_t)(((2 * most + 1) << mantissa_bits) & 0x7fff);
  double size = value < 0 ? -value : value;
  if (value != value)
    return (uint16_t)(infinity | 1 << (mantissa_bits - 1));
  int exponent = (int)(bits >> 52 & 2047) - 1023;
  if (exponent > most) /* infinity, too */
    return sign | infinity;
  if (exponent < 1 - most)
    exponent = 1 - most; /* denormal */
  /* In units of the last place; the addition rounds to nearest even. */
  double units = size * power_of_two(mantissa_bits - exponent);
  units = units + 0x1p52 - 0x1p52;
  uint32_t whole = (uint32_t)units; /* at most 2^(mantissa_bits + 1), which carries */
  uint32_t biased = (uint32_t)(exponent + most - 1) << mantissa_bits;
  uint32_t result = whole + biased; /* the leading one of a normal number adds 1 to the exponent */
  return sign | (uint16_t)(result > infinity ? infinity : result);
}

static double from_bfloat(uint16_t value) {
  uint32_t bits = (uint32_t)value << 16;
  float single;
  memcpy(&single, &bits, sizeof single);
  return (double)single;
}

/* ---- Loads and stores ---- */

number stand_in_load(int type, const void *base, int64_t index) {
  switch (type) {
  case R_8I:
    return (number){((const int8_t *)base)[index], 0};
  case R_32I:
    return (number){((const int32_t *)base)[index], 0};
  case R_16F:
    return (number){from_half(((const uint16_t *)base)[index]), 0};
  case R_16BF:
    return (number){from_bfloat(((const uint16_t *)base)[index]), 0};
  case R_32F:
    return (number){(double)((const float *)base)[index], 0};
  case R_64F:
    return (number){((const double *)base)[index], 0};
  case C_32F:
    return (number){(double)((const float *)base)[2 * index],
                    (double)((const float *)base)[2 * index + 1]};
  default:
    return (number){((const double *)base)[2 * index], ((const double *)base)[2 * index + 1]};
  }
}

/* A whole number of 64 bits, or the nearest. */
static int64_t whole(double value) {
  return value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

void stand_in_store(int type, void *base, int64_t index, number value) {
  switch (type) {
  case R_8I:
    ((int8_t *)base)[index] = (int8_t)whole(value.re);
    break;
  case R_32I:
    ((int32_t *)base)[index] = (int32_t)whole(value.re);
    break;
  case R_16F:
    ((uint16_t *)base)[index] = to_16_bits(value.re, 10, 15);
    break;
  case R_16BF:
    ((uint16_t *)base)[index] = to_16_bits(value.re, 7, 127);
    break;
  case R_32F:
    ((float *)base)[index] = (float)value.re;
    break;
  case R_64F:
    ((double *)base)[index] = value.re;
    break;
  case C_32F:
    ((float *)base)[2 * index] = (float)value.re;
    ((float *)base)[2 * index + 1] = (float)value.im;
    break;
  default:
    ((double *)base)[2 * index] = value.re;
    ((double *)base)[2 * index + 1] = value.im;
    break;
  }
}
