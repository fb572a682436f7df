// Command studio measures how well a detector that is made on the page of s4d-fast studio works. It
// makes the requests that the page makes, with speech by espeak-ng in place of a microphone:
//
//  1. Three made-up words, ten clips of each, and a minute of background train a detector.
//
//  2. New utterances by the same voices are streamed to it.
//
//  3. Speech without the words is streamed to it. Every event is a false alarm. The program marks
//     them as wrong and trains again.
//
//  4. The same speech, and speech that was not heard before, are streamed to the new detector.
//
//     go run ./bench/studio -out runs/studio
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
	minutes float64 // of speech without the words
	threads int
	seed    uint64
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "runs/studio", "`folder` for the projects; the project trial in it is replaced")
	words := flag.String("words", "lumo,tarvek,zibbit", "the words")
	voices := flag.String("voices", "en-us+m3,en-gb+f2", "voices of espeak-ng")
	flag.IntVar(&o.clips, "clips", 10, "training clips of each word, by the voices in turn")
	flag.IntVar(&o.tests, "tests", 10, "test utterances of each word")
	flag.Float64Var(&o.minutes, "minutes", 2, "minutes of speech without the words, twice")
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
