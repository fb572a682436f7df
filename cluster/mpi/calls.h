// The calls of Open MPI that package mpi makes. Functions return an MPI error code, unless stated
// otherwise. All calls come from one thread.
#include <mpi.h>
#include <stdint.h>

enum { S4D_EXCHANGE, S4D_SPREAD, S4D_CONTROL, S4D_COMMUNICATORS };

// The communicators. Each has its own order of collective calls.
extern MPI_Comm s4d_comm[S4D_COMMUNICATORS];

int s4d_init(int *rank, int *ranks, int *thread_level);
int s4d_finalize(void);
void s4d_abort(int code);

// s4d_error writes the text of an error code to text.
void s4d_error(int code, char text[MPI_MAX_ERROR_STRING]);

// The calls below start an operation. Counts and displacements are in elements, one per rank.
int s4d_alltoall(const float *send, const int *counts, const int *at, float *recv,
                 const int *recv_counts, const int *recv_at, MPI_Request *request);
int s4d_allgather_floats(const float *send, int count, float *recv, const int *counts,
                         const int *at, MPI_Request *request);
int s4d_allgather_doubles(const double *send, int count, double *recv, const int *counts,
                          const int *at, MPI_Request *request);
int s4d_allgather_bytes(const void *send, int count, void *recv, const int *counts,
                        const int *at, MPI_Request *request);

// s4d_poll tests the requests until one is complete, wake is not 0, or about microseconds have
// passed. It sets *index to the complete request, or to −1. If busy is 0, it sleeps between tests;
// otherwise it yields first.
int s4d_poll(MPI_Request *requests, int count, int busy, const volatile int32_t *wake,
             int microseconds, int *index);
