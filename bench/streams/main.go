// Command streams measures how many streams of audio one core processes in real time:
//
//	go run ./bench/streams [-seconds 5] [-block 10ms] [-load 0.9] [-level LEVEL]
//	go run ./bench/streams -streams 1,10,100,1000,10000 -block 1ms [-seconds 5] [-level LEVEL]
//
// It measures two networks that read samples: four layers with H = 64 at 8 kHz, and six
// layers of H = 128, N = 64 at 16 kHz. It advances the streams in four ways: a block of each
// stream in turn (Process), a sample of each stream in turn (Step), a sample of all streams
// together (StepMany), and a block of all streams together (ProcessMany). The network's pool looks
// back over a window of one second (recurrent.Options.Window), as in package events.
//
// It also measures detectors of the built-in models, which have a filter bank with 50 frames per
// second. Their time includes the filter bank, the network and the decisions. They process a block
// of each stream in turn.
//
// It first finds the number of streams that takes all of the core's time. It then runs that number
// times load and measures the latency of a block: from the arrival of the blocks of all streams to
// the stream's own output.
//
// With -streams it instead measures the time per sample for the given numbers of streams, even
// where these are too many for real time. It also prints the memory of their states. -seconds is
// then the time per measurement, but each measurement processes at least four blocks of all
// streams. For 10,000 streams of the large network, use short blocks and a machine with more than 4
// GiB of memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/level"
)

func main() {
	seconds := flag.Float64("seconds", 5, "seconds of wall time per row")
	block := flag.Duration("block", 10*time.Millisecond, "length of a block of audio")
	load := flag.Float64("load", 0.9, "`share` of the core's time in use while latency is measured")
	name := flag.String("level", "", "kernel `level` (default: the best one)")
	var counts bench.Numbers
	flag.Var(&counts, "streams", "measure the time per sample of these `numbers` of streams, separated by commas")
	bench.Main("streams", func(context.Context) error {
		if !(*seconds > 0) || *block <= 0 || !(*load > 0 && *load <= 1) {
			return fmt.Errorf("-seconds %v, -block %v, -load %v: expected positive values, and a load of at most 1", *seconds, *block, *load)
		}
		runtime.GOMAXPROCS(1)
		all, err := subjects()
		if err := errors.Join(err, level.Set(*name)); err != nil {
			return err
		}
		if counts != nil {
			fmt.Printf("level %s, one core, blocks of %v\n\n", level.Current(), *block)
			for _, s := range all {
				if s.memory != nil {
					s.printScale(counts, *block, *seconds)
				}
			}
			return nil
		}
		fmt.Printf("level %s, one core, blocks of %v, latency at %.0f %% load\n\n", level.Current(), *block, 100**load)
		fmt.Println("| network | call | µs per sample | streams in real time | p50 | p99 | max |")
		fmt.Println("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
		for _, s := range all {
			for _, w := range s.ways {
				s.print(w, *block, *seconds, *load)
			}
		}
		return nil
	})
}

// print measures and prints the row of a way.
func (s *subject) print(w way, block time.Duration, seconds, load float64) {
	audio := s.audio(block)
	perSample, n := s.capacity(w, audio, seconds/2)
	late := latencies(w.start(max(1, int(load*float64(n))), audio), block, seconds/2)
	quantile := func(q float64) string {
		return fmt.Sprintf("%.2f ms", 1e3*late[min(int(q*float64(len(late))), len(late)-1)])
	}
	fmt.Printf("| %s | %s | %.3g | %d | %s | %s | %s |\n", s.name, w.name, 1e6*perSample, n,
		quantile(0.5), quantile(0.99), quantile(1))
}

// printScale prints a row per number of streams: the memory of the states and the time per sample
// of each way to advance them.
func (s *subject) printScale(counts []int, block time.Duration, seconds float64) {
	fmt.Print("| network | streams | MiB |")
	for _, w := range s.ways {
		fmt.Printf(" %s, µs per sample |", w.name)
	}
	fmt.Printf("\n| --- | ---: | ---: |%s\n", strings.Repeat(" ---: |", len(s.ways)))
	for _, n := range counts {
		fmt.Printf("| %s | %d | %.1f |", s.name, n, s.memory(n)/(1<<20))
		for _, w := range s.ways {
			audio := s.audio(block)
			fmt.Printf(" %.3g |", 1e6*perSample(w.start(n, audio), n*len(audio), seconds))
		}
		fmt.Println()
	}
	fmt.Println()
}

// audio returns a block of noise.
func (s *subject) audio(block time.Duration) []float32 {
	x := bench.Noise(max(1, int(block.Seconds()*s.rate)), 1)
	for i := range x {
		x[i] *= 0.1
	}
	return x
}

// capacity returns the number of streams that take all of the time, and the seconds per sample of
// one stream that they need.
func (s *subject) capacity(w way, audio []float32, seconds float64) (each float64, n int) {
	n = 16
	for range 3 { // with more streams, their states lie in slower caches
		each = perSample(w.start(n, audio), n*len(audio), seconds/3)
		n = max(1, int(1/(s.rate*each)))
	}
	return each, n
}

// perSample returns the seconds per sample of a call that processes some, the median over rounds.
func perSample(call advance, samples int, seconds float64) float64 {
	call(func(int) {}) // warm up
	var rounds []float64
	for begin := time.Now(); len(rounds) < 3 || time.Since(begin).Seconds() < seconds; {
		start := time.Now()
		call(func(int) {})
		rounds = append(rounds, time.Since(start).Seconds())
	}
	return bench.Median(rounds) / float64(samples)
}

// latencies returns the sorted latencies of streams whose blocks arrive together, in real time.
func latencies(call advance, block time.Duration, seconds float64) (late []float64) {
	start := time.Now()
	for round := 0; float64(round)*block.Seconds() < seconds; round++ {
		arrival := start.Add(time.Duration(round) * block)
		time.Sleep(time.Until(arrival))
		counted := 0
		call(func(done int) {
			for ; counted < done; counted++ {
				late = append(late, time.Since(arrival).Seconds())
			}
		})
	}
	slices.Sort(late)
	return late
}
