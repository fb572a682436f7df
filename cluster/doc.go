// Package cluster distributes the runs of a sweep over machines, by NATS with JetStream.
//
// A Coordinator puts the runs of a train.Sweep into a work queue. Each Worker takes one run at a
// time, trains it, and stores its checkpoints in the broker. The coordinator copies the results to
// the folder of the sweep, as if it had made the runs itself:
//
//	nc, err := cluster.Connect(ctx, cluster.Connection{URL: "nats://host:4222"})
//	rows, err := (&cluster.Coordinator{Sweep: sweep}).Run(ctx, nc) // on one machine
//	err = (&cluster.Worker{Load: load}).Run(ctx, nc)               // on any number of machines
//
// The broker holds three things. The stream S4D_RUNS is the queue. Its messages are jobs. The
// key-value bucket S4D has one entry per run, which is the truth about that run: who trains it, its
// last checkpoint, its result. The object store S4D has the files of the checkpoints and the data.
//
// A worker that takes a run writes a new lease into the entry. Every later write requires that the
// entry is the one that the worker has read. A worker whose run was given to another one therefore
// cannot write any more, and stops. Messages may be delivered twice; entries decide.
package cluster
