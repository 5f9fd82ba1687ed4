/* For mpi.sh: each process makes numbers in a kernel; all are added up. */
#include <cstdio>
#include <mpi.h>

__global__ void numbers(int *to, int rank) { to[threadIdx.x] = rank * 100 + threadIdx.x; }

int main(int count, char **argument) {
  int rank, ranks, *device, made[32], sum = 0, all = 0;
  MPI_Init(&count, &argument);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaMalloc(&device, sizeof made);
  numbers<<<1, 32>>>(device, rank);
  cudaMemcpy(made, device, sizeof made, cudaMemcpyDeviceToHost);
  for (int number : made)
    sum += number;
  MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d processes: %d\n", ranks, all);
  MPI_Finalize();
  return cudaDeviceSynchronize() != cudaSuccess;
}
