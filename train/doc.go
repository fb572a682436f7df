// Package train trains networks and evaluates them.
//
// New takes a Config: a task, a network, an optimiser and a budget. It makes a run folder, and Fit
// trains. The folder holds
//   - config.toml, with every value that was used,
//   - metrics.jsonl, with one JSON object per epoch,
//   - best.safetensors, the model of the best epoch,
//   - last/checkpoint.safetensors, from which a run resumes with bit-identical results for any
//     number of workers,
//   - last/previous.safetensors, the checkpoint before it, which replaces a damaged one,
//   - last/lock, which is locked while a process trains in the folder.
//
// A run can be resumed after a crash or a power cut at any moment. Tasks and their data are in
// train/dataset, the forward and backward passes in convmode.
package train
