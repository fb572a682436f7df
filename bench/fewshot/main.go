// Command fewshot measures how many recordings of new words a word detector needs. It trains a base
// detector of all words of a data set except four. It then trains detectors of these four words on
// a few clips of a few speakers, in three ways: it trains only the decoder of the base detector, it
// fine-tunes all weights of the base detector or, for comparison, it trains a network from scratch.
// The test set is the clips of the four words by all other speakers.
//
//	go run ./bench/fewshot -data data/speech-commands-12 -background data/esc10 -out runs/fewshot
//
// -data is a folder in the layout of Speech Commands (WORD/SPEAKER_nohash_N.flac), with other words
// in _unknown_, noises in _silence_ and the list validation_list.txt. The command writes the base
// detector to OUT/base.safetensors. If that file exists, the command uses it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
)

// options are the flags.
type options struct {
	data, background, out string
	words                 []string // the four
	counts, speakers      []int
	steps, baseEpochs     int
	lr                    float64
	seed                  uint64
	workers               int
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "", "`folder` of Speech Commands")
	flag.StringVar(&o.background, "background", "", "`folder` of recordings without speech, at any depth")
	flag.StringVar(&o.out, "out", "runs/fewshot", "`folder` for the base detector")
	words := flag.String("words", "no,up,on,stop", "the new words")
	counts := flag.String("clips", "5,10,20", "number of clips of each new word")
	speakers := flag.String("speakers", "10", "number of speakers of these clips")
	flag.IntVar(&o.steps, "steps", 400, "training steps on the new words")
	flag.IntVar(&o.baseEpochs, "base-epochs", 20, "epochs of 100 training steps of the base detector")
	flag.Float64Var(&o.lr, "lr", 0.002, "learning rate of fine-tuning")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of initial weights and mixtures")
	flag.IntVar(&o.workers, "threads", 2, "worker threads")
	flag.Parse()
	fail(level.Set(""))
	o.words = strings.Split(*words, ",")
	for _, list := range []struct {
		text string
		dst  *[]int
	}{{*counts, &o.counts}, {*speakers, &o.speakers}} {
		for field := range strings.SplitSeq(list.text, ",") {
			n, err := strconv.Atoi(field)
			if err != nil || n < 1 {
				fail(fmt.Errorf("%q: expected numbers of at least 1, separated by commas", list.text))
			}
			*list.dst = append(*list.dst, n)
		}
	}
	if o.data == "" || flag.NArg() > 0 {
		fail(errors.New("-data is required, and arguments are not accepted"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fail(run(ctx, o, os.Stdout))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fewshot:", err)
		os.Exit(1)
	}
}

// run trains and tests, and prints a table.
func run(ctx context.Context, o options, w io.Writer) error {
	c, err := load(o.data, o.background, o.words)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return err
	}
	base, err := baseModel(ctx, o, c)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d parameters, %d threads, level %s\n\n", base.Config.CountParams(), o.workers, level.Current())
	fmt.Fprintln(w, "| speakers | clips per word | training | steps | seconds | CPU seconds | accuracy | accuracy at 5 % false acceptance | test clips |")
	fmt.Fprintln(w, "|---:|---:|---|---:|---:|---:|---:|---:|---:|")
	for _, speakers := range o.speakers {
		who, err := c.choose(speakers)
		if err != nil {
			return err
		}
		for _, k := range o.counts {
			shots, test, err := c.split(who, k)
			if err != nil {
				fmt.Fprintf(os.Stderr, "fewshot: %d speakers, %d clips: %v\n", speakers, k, err)
				continue
			}
			for _, m := range methods {
				began, cpu := time.Now(), cpuTime()
				net, err := teach(ctx, o, c, shots, base, m)
				if err != nil {
					return err
				}
				seconds, cpuSeconds := time.Since(began).Seconds(), (cpuTime() - cpu).Seconds()
				r, err := measure(net, test, c.rejects)
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "| %d | %d | %s | %d | %.0f | %.0f | %.3f | %.3f | %d |\n",
					speakers, k, m.name, m.times*o.steps, seconds, cpuSeconds, r.forced, r.accuracy, len(test))
			}
		}
	}
	return nil
}

// baseModel returns the base detector. It trains it unless its file exists.
func baseModel(ctx context.Context, o options, c *corpus) (*model.Model, error) {
	path := filepath.Join(o.out, "base.safetensors")
	m, err := model.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		if m, err = trainBase(ctx, o, c); err != nil {
			return nil, err
		}
		return m, m.Save(path)
	}
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(o.words, func(word string) bool { return slices.Contains(m.Meta.Labels, word) }); i >= 0 {
		return nil, fmt.Errorf("%s has the label %q, expected only words that are not new", path, o.words[i])
	}
	return m, nil
}
