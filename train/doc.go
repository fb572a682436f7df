// Package train trains networks on any data and evaluates them.
//
// New takes a configuration (a network, an optimiser and a budget) and a data set. Fit trains the
// network:
//
//	data, err := dataset.FromSlices(info, training, validation, nil)
//	cfg := train.Default()
//	cfg.SSM.Bidirectional = false // so that the model can process a stream
//	t, err := train.New(ctx, cfg, data, train.Options{Dir: "runs/x"})
//	err = t.Fit(ctx)
//	m := t.Best() // the model of the best epoch, for recurrent, events or m.Save
//
// Without Options.Dir, nothing is written and Trainer.Close does nothing. A run folder contains
//   - config.toml, with every value that was used,
//   - metrics.jsonl, with one JSON object per epoch,
//   - best.safetensors, the model of the best epoch,
//   - last/checkpoint.safetensors, from which a run resumes with bit-identical results for any
//     number of workers,
//   - last/lock, which is locked while a process trains in the folder.
//
// A run with a folder can be resumed after a crash or a power cut at any moment.
//
// Related packages: train/dataset has the data sets, train/task the named tasks and their presets,
// train/loss the losses, train/optim AdamW, and convmode the forward and backward passes.
package train
