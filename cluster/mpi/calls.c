#include "calls.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

MPI_Comm s4d_comm[S4D_COMMUNICATORS];

int s4d_init(int *rank, int *ranks, int *thread_level) {
	setenv("OMPI_MCA_opal_signal", "", 0); // Go's runtime handles SIGSEGV and SIGBUS
	prctl(PR_SET_TIMERSLACK, 1000UL); // of the sleeps in s4d_poll, in nanoseconds
	int rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, thread_level);
	if (rc == MPI_SUCCESS) rc = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (rc == MPI_SUCCESS) rc = MPI_Comm_rank(MPI_COMM_WORLD, rank);
	if (rc == MPI_SUCCESS) rc = MPI_Comm_size(MPI_COMM_WORLD, ranks);
	for (int i = 0; i < S4D_COMMUNICATORS && rc == MPI_SUCCESS; i++) {
		rc = MPI_Comm_dup(MPI_COMM_WORLD, &s4d_comm[i]);
		if (rc == MPI_SUCCESS) rc = MPI_Comm_set_errhandler(s4d_comm[i], MPI_ERRORS_RETURN);
	}
	return rc;
}

int s4d_finalize(void) { return MPI_Finalize(); }

void s4d_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

void s4d_error(int code, char text[MPI_MAX_ERROR_STRING]) {
	int length = 0;
	text[0] = 0;
	MPI_Error_string(code, text, &length);
}

int s4d_alltoall(const float *send, const int *counts, const int *at, float *recv, const int *recv_counts,
                 const int *recv_at, MPI_Request *request) {
	return MPI_Ialltoallv(send, counts, at, MPI_FLOAT, recv, recv_counts, recv_at, MPI_FLOAT, s4d_comm[S4D_EXCHANGE], request);
}

int s4d_allgather_floats(const float *send, int count, float *recv, const int *counts, const int *at, MPI_Request *request) {
	return MPI_Iallgatherv(send, count, MPI_FLOAT, recv, counts, at, MPI_FLOAT, s4d_comm[S4D_SPREAD], request);
}

int s4d_allgather_doubles(const double *send, int count, double *recv, const int *counts, const int *at, MPI_Request *request) {
	return MPI_Iallgatherv(send, count, MPI_DOUBLE, recv, counts, at, MPI_DOUBLE, s4d_comm[S4D_CONTROL], request);
}

int s4d_allgather_bytes(const void *send, int count, void *recv, const int *counts, const int *at, MPI_Request *request) {
	return MPI_Iallgatherv(send, count, MPI_BYTE, recv, counts, at, MPI_BYTE, s4d_comm[S4D_CONTROL], request);
}

static int64_t now_us(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int s4d_poll(MPI_Request *requests, int count, int busy, const volatile int32_t *wake, int microseconds, int *index) {
	// A thread that sleeps is scheduled sooner than one that yields, where other processes compete
	// for the processors.
	const struct timespec pause = {0, busy ? 20000 : 100000};
	const int64_t yields = 10; // microseconds
	int64_t began = now_us(), end = began + microseconds;
	for (;;) {
		int done = 0, rc = MPI_Testany(count, requests, index, &done, MPI_STATUS_IGNORE);
		if (rc != MPI_SUCCESS) return rc;
		if (done && *index != MPI_UNDEFINED) return MPI_SUCCESS;
		*index = -1;
		int64_t now = now_us();
		if (*wake || now >= end) return MPI_SUCCESS;
		if (busy && now < began + yields) sched_yield();
		else nanosleep(&pause, NULL);
	}
}
