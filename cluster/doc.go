// Package cluster distributes the runs of a sweep over machines, by NATS with JetStream.
//
// A Coordinator stores the runs of a train.Sweep in the broker. Each Worker takes one run at a
// time, trains it, and stores its checkpoints in the broker. The coordinator copies the results to
// the folder of the sweep, as if it had made the runs itself:
//
//	nc, err := cluster.Connect(cluster.Connection{URL: "nats://host:4222", Log: slog.Default()})
//	rows, err := (&cluster.Coordinator{Sweep: sweep, Log: slog.Default()}).Run(ctx, nc) // on one machine
//	err = (&cluster.Worker{Load: load, Log: slog.Default()}).Run(ctx, nc)               // on any number of machines
//
// The broker holds two things. The key-value bucket S4D has a job per run, which says what to
// train, and an entry, which says who trains it, its progress, its last checkpoint and its result.
// The object store S4D has the files of the checkpoints and the data.
//
// A worker that takes a run writes its lease into the entry, and renews the entry as long as it
// trains. If an entry has not changed for the time of a lease, another worker may take the run.
// Every write requires that the entry is the one that the worker has read. A worker whose run was
// given to another one therefore cannot write any more, and stops.
package cluster
