#include "calls.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

int s4d_init(int *rank, int *ranks, int *thread_level) {
	setenv("OMPI_MCA_opal_signal", "", 0); // Go's runtime handles SIGSEGV and SIGBUS
	int rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, thread_level);
	if (rc == MPI_SUCCESS) rc = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (rc == MPI_SUCCESS) rc = MPI_Comm_rank(MPI_COMM_WORLD, rank);
	if (rc == MPI_SUCCESS) rc = MPI_Comm_size(MPI_COMM_WORLD, ranks);
	return rc;
}

int s4d_finalize(void) { return MPI_Finalize(); }

void s4d_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

void s4d_error(int code, char text[MPI_MAX_ERROR_STRING]) {
	int length = 0;
	text[0] = 0;
	MPI_Error_string(code, text, &length);
}

static int64_t now_us(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int s4d_exchange(const void *send, int send_bytes, void *recv, int recv_bytes, int rank,
                 const volatile int64_t *patience, int *late) {
	MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	int rc = MPI_SUCCESS;
	if (recv_bytes > 0) rc = MPI_Irecv(recv, recv_bytes, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests[0]);
	if (rc == MPI_SUCCESS && send_bytes > 0) rc = MPI_Isend(send, send_bytes, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests[1]);
	// A thread that sleeps is scheduled sooner than one that yields, where other processes compete
	// for the processors.
	const struct timespec pause = {0, 20000};
	const int64_t yields = 10, began = now_us(); // microseconds
	prctl(PR_SET_TIMERSLACK, 1000UL);            // of the pauses, in nanoseconds
	for (*late = 0; rc == MPI_SUCCESS;) {
		int done = 0;
		rc = MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
		if (done) break;
		int64_t waited = now_us() - began, limit = *patience;
		if (limit > 0 && waited > limit) {
			*late = 1;
			break;
		}
		if (waited < yields) sched_yield();
		else nanosleep(&pause, NULL);
	}
	return rc;
}
