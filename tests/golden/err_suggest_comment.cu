__global__ void k() {
  __shared__ float s[32]; /* no end
  s[0] = 1;
}
