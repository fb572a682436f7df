package main

import (
	"context"
	"log/slog"
	"os"
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

const batch = 16 // streams of 4 s

// method is a way to learn the new words.
type method struct {
	name   string
	from   bool // the base model
	freeze []string
	times  int // as many steps as fine-tuning
}

var methods = []method{
	{name: "from scratch", times: 1},
	{name: "from scratch, five times the steps", times: 5},
	{name: "fine-tuned, decoder only", from: true, freeze: []string{"encoder", "layers"}, times: 1},
	{name: "fine-tuned", from: true, times: 1},
}

// config is the preset of the task audio.
func (o *options) config() (train.Config, error) {
	audio, err := task.Lookup("audio")
	if err != nil {
		return train.Config{}, err
	}
	c := audio.Preset()
	c.Task, c.Data = "", nil
	c.Seed, c.Workers, c.Train.Batch = o.seed, o.workers, batch
	return c, nil
}

// fit trains on streams mixed from the sounds and returns the model of the best epoch.
func fit(ctx context.Context, c train.Config, sounds, val dataset.Sounds, epochs, perEpoch int, opt train.Options) (*model.Model, error) {
	streams := dataset.DefaultStreams(sampleRate)
	streams.Seed, streams.Streams, streams.ValStreams = c.Seed, perEpoch*batch, 4*batch
	data, err := dataset.MixStreams(sounds, val, streams)
	if err != nil {
		return nil, err
	}
	c.Train.Epochs = epochs
	t, err := train.New(ctx, c, data, opt)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := t.Fit(ctx); err != nil {
		return nil, err
	}
	return t.Best(), nil
}

// trainBase trains the base detector.
func trainBase(ctx context.Context, o options, c *corpus) (*model.Model, error) {
	cfg, err := o.config()
	if err != nil {
		return nil, err
	}
	lines := train.LogLines(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	return fit(ctx, cfg, c.sounds(c.others, c.known, c.strange), c.sounds(c.others, c.knownVal, c.strange), o.baseEpochs, 100, train.Options{Reporter: lines})
}

// teach trains a detector of the new words on a few clips of them. Other words are sounds that it
// must not detect. The run has one epoch, because there are no validation clips to select the best
// epoch.
func teach(ctx context.Context, o options, c *corpus, shots []clip, base *model.Model, m method) (*model.Model, error) {
	cfg, err := o.config()
	if err != nil {
		return nil, err
	}
	var opt train.Options
	if m.from {
		cfg.SetFrom(base)
		cfg.Optim.LR, cfg.Optim.Freeze = o.lr, m.freeze
		opt.From = base
	}
	sounds := c.sounds(c.words, shots, slices.Concat(c.strange, c.known))
	return fit(ctx, cfg, sounds, sounds, 1, m.times*o.steps, opt)
}

// falseAccept is the fraction of clips of other words that may get the label of a new word.
const falseAccept = 0.05

// result is the accuracy of a detector of the new words.
type result struct {
	forced float64 // if every clip gets the new word with the highest peak
	// If a clip gets that word only if its peak exceeds a threshold, which the fraction falseAccept
	// of the clips of other words exceeds.
	accuracy float64
}

// measure tests a detector on single clips.
func measure(m *model.Model, test, rejects []clip) (r result, err error) {
	detector, err := events.New(m, events.DefaultsFor(m))
	if err != nil {
		return r, err
	}
	var x []float32
	classify := func(c clip) (word string, peak float32, err error) {
		x = c.Samples(x)
		_, peaks, err := detector.Classify(x)
		for o, p := range peaks {
			if m.Meta.Labels[o] != events.None && p > peak {
				word, peak = m.Meta.Labels[o], p
			}
		}
		return word, peak, err
	}
	var others []float32 // peaks
	for _, c := range rejects {
		_, peak, err := classify(c)
		if err != nil {
			return r, err
		}
		others = append(others, peak)
	}
	slices.Sort(others)
	threshold := others[min(int((1-falseAccept)*float64(len(others))), len(others)-1)]
	for _, c := range test {
		word, peak, err := classify(c)
		if err != nil {
			return r, err
		}
		if word == c.word {
			r.forced += 1 / float64(len(test))
			if peak > threshold {
				r.accuracy += 1 / float64(len(test))
			}
		}
	}
	return r, nil
}
