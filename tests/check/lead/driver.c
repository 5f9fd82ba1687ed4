/* Stands for a program of the driver's interface that nvcc linked: device code without a runtime.
 */
#include <stdio.h>

__attribute__((section(".nv_fatbin"), used)) static const char device_code[16] = "none";

int main(void) {
  puts(device_code);
  return 0;
}
