// The calls of Open MPI that package mpi makes. Functions return an MPI error code, unless stated
// otherwise.
#include <mpi.h>
#include <stdint.h>

int s4d_init(int *rank, int *ranks, int *thread_level);
int s4d_finalize(void);
void s4d_abort(int code);

// s4d_error writes the text of an error code to text.
void s4d_error(int code, char text[MPI_MAX_ERROR_STRING]);

// s4d_exchange sends bytes to a rank, receives bytes from it, and waits until both are complete.
// It sets *late to 1 and returns if that takes longer than *patience microseconds, unless these
// are 0. MPI may then still read and write the memory.
int s4d_exchange(const void *send, int send_bytes, void *recv, int recv_bytes, int rank,
                 const volatile int64_t *patience, int *late);
