// Command corpus generates sounds to train and test word detectors. The program espeak-ng speaks
// words and sentences; the command computes noises.
//
//	corpus words     -out DIR -words LIST            DIR/WORD/VOICE_nohash_N.wav, one word each
//	corpus sentences -out DIR -text FILE -minutes N  DIR/VOICE/N.wav, about a minute each
//	corpus noises    -out DIR -minutes N             DIR/KIND/N.wav, half a minute each
//
// The voices (accents and variants of espeak-ng) and the kinds of noise are divided into two
// disjoint sets. -set train or -set test selects one of them.
//
// A LIST contains words and names of word lists, separated by commas. The names are commands,
// digits, near (words that sound similar to a command or a digit) and frequent (the most frequent
// words of -text). -without is a LIST of words to leave out, together with the sentences that
// contain them. In -without, commands and digits include the words that sound the same. Examples:
//
//	go run ./bench/corpus words -out data/commands -words commands -clips 150
//	go run ./bench/corpus words -out data/others -words near,frequent -text aclImdb-train.tar.xz -without commands
//	go run ./bench/corpus sentences -out data/sentences -text aclImdb-train.tar.xz -match train/neg/ -without commands,digits -minutes 40
//	go run ./bench/corpus noises -out data/noises -minutes 10
//
// With the same -seed and the same version of espeak-ng, the files are the same. Existing files are
// kept, so run the same command again to resume.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/level"
)

// options are the flags.
type options struct {
	out     string
	set     string
	rate    int
	seed    uint64
	workers int

	words   string
	clips   int
	most    int // words that "frequent" stands for
	text    string
	match   string
	without string
	minutes float64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := level.Set("")
	if err == nil {
		err = run(ctx, os.Args[1:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// run executes the command in args and writes a summary to w.
func run(ctx context.Context, args []string, w io.Writer) error {
	commands := map[string]func(context.Context, options, io.Writer) error{"words": words, "sentences": sentences, "noises": noises}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("command %q, expected words, sentences or noises", strings.Join(args[:min(1, len(args))], ""))
	}
	var o options
	f := flag.NewFlagSet("corpus "+args[0], flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.out, "out", "", "`folder` to write to")
	f.StringVar(&o.set, "set", train, "voices and kinds of noise: train or test")
	f.IntVar(&o.rate, "rate", 16000, "sampling `rate` in Hz")
	f.Uint64Var(&o.seed, "seed", 1, "seed of all choices")
	f.IntVar(&o.workers, "workers", 0, "files made at the same time; 0: one per processor")
	if args[0] == "words" {
		f.StringVar(&o.words, "words", "", "`list` of words to speak")
		f.IntVar(&o.clips, "clips", 100, "clips per word")
		f.IntVar(&o.most, "frequent", 300, "number of words that \"frequent\" stands for")
	} else {
		f.Float64Var(&o.minutes, "minutes", 10, "total length")
	}
	if args[0] != "noises" {
		f.StringVar(&o.text, "text", "", "text `file`, folder of .txt files, or tar archive of them (.tar, .tar.gz, .tar.xz)")
		f.StringVar(&o.match, "match", "", "read only the files of -text whose path contains this `string`")
		f.StringVar(&o.without, "without", "", "`list` of words that must not occur")
	}
	if err := f.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(w)
			f.Usage()
			return nil
		}
		return err
	}
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.out == "":
		return errors.New("-out is required")
	case o.set != train && o.set != test:
		return fmt.Errorf("-set %q, expected %s or %s", o.set, train, test)
	case o.rate < 4000 || o.rate > 192000:
		return fmt.Errorf("-rate %d, expected 4000 to 192000 Hz", o.rate)
	case args[0] == "words" && (o.clips < 1 || o.clips > 1e6 || o.most < 1):
		return fmt.Errorf("-clips %d, -frequent %d: expected at least 1, and at most 1000000 clips", o.clips, o.most)
	case args[0] != "words" && !(o.minutes > 0 && o.minutes <= 1e5):
		return fmt.Errorf("-minutes %v, expected more than 0 and at most 100000", o.minutes)
	}
	return commands[args[0]](ctx, o, w)
}

// parallel calls job(ctx, i) for i in [0, n) on several goroutines. It stops at the first error and
// returns it.
func (o options) parallel(ctx context.Context, n int, job func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := o.workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := job(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// dice draws values in sequence from a stream of random numbers.
type dice struct {
	stream random.Stream
	used   uint64
}

// dice returns the random numbers of a file. what is one of the constants below.
func (o options) dice(what, file int) *dice {
	return &dice{stream: random.New(o.seed, random.Signal, file, what)}
}

// The purposes of random numbers.
const (
	ofWord = iota + 1
	ofOrder
	ofFile
	ofNoise
)

// between draws from [low, high).
func (d *dice) between(low, high float64) float64 {
	d.used++
	return low + (high-low)*d.stream.Float64(d.used)
}

// below draws from 0 … n − 1.
func (d *dice) below(n int) int { return int(d.between(0, float64(n))) }
