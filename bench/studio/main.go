// Command studio measures the accuracy of a detector that is trained on the page of s4d-fast
// studio. It sends the requests that the page would send. The speech is from espeak-ng instead of a
// microphone:
//
//	go run ./bench/studio
//
// The command works in four steps:
//
//  1. It trains a detector on three made-up words, ten clips of each, and a minute of background.
//  2. It streams new utterances of the words by the same voices to the detector.
//  3. It streams speech without the words. Every event is a false alarm. The command marks these
//     events as wrong and trains again.
//  4. It streams the same speech, and new speech without the words, to the new detector.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/s4d-fast/s4d-fast/level"
)

// options are the flags.
type options struct {
	out     string
	words   []string
	voices  []string
	clips   int
	tests   int
	minutes float64 // duration of each of the two recordings of speech without the words
	threads int
	seed    uint64
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "", "new `folder` that keeps the project (default: a temporary folder, which is removed)")
	words := flag.String("words", "lumo,tarvek,zibbit", "the words")
	voices := flag.String("voices", "en-us+m3,en-gb+f2", "voices of espeak-ng")
	flag.IntVar(&o.clips, "clips", 10, "training clips of each word; the voices take turns")
	flag.IntVar(&o.tests, "tests", 10, "test utterances of each word")
	flag.Float64Var(&o.minutes, "minutes", 2, "minutes of speech without the words, in each of two recordings")
	flag.IntVar(&o.threads, "threads", 2, "worker threads")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the pitch and the speed of the utterances")
	flag.Parse()
	fail(level.Set(""))
	o.words, o.voices = strings.Split(*words, ","), strings.Split(*voices, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fail(run(ctx, o, os.Stdout))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "studio:", err)
		os.Exit(1)
	}
}
