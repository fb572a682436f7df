// Package train trains networks and evaluates them.
//
// In goes a Config: a task, a network, an optimiser and a budget, from TOML. Out comes a run folder:
// config.toml (every value that was used), metrics.jsonl (one object an epoch), best.safetensors (the model of
// the best epoch) and last/ (a checkpoint from which the run continues to the same bits, whatever the number
// of threads). Tasks and their data are in train/dataset; forward and backward passes in convmode.
package train
