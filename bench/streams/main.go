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
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/recurrent"
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
		networks, err := networks()
		if err := errors.Join(err, level.Set(*name)); err != nil {
			return err
		}
		if counts != nil {
			fmt.Printf("level %s, one core, blocks of %v\n\n", level.Current(), *block)
			for _, n := range networks {
				printScale(n, counts, *block, *seconds)
			}
			return nil
		}
		fmt.Printf("level %s, one core, blocks of %v, latency at %.0f %% load\n\n", level.Current(), *block, 100**load)
		fmt.Println("| network | call | µs per sample | streams in real time | p50 | p99 | max |")
		fmt.Println("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
		for _, n := range networks {
			for _, w := range ways {
				newMeasurement(n, w, *block).print(*seconds, *load)
			}
		}
		for _, name := range pretrained.Names() {
			d, err := newDetectors(name)
			if err != nil {
				return err
			}
			newMeasurement(d, way{"Detector", processDetectors}, *block).print(*seconds, *load)
		}
		return nil
	})
}

func milliseconds(s float64) string { return fmt.Sprintf("%.2f ms", 1e3*s) }

// quantile returns the q-quantile of sorted values.
func quantile(x []float64, q float64) float64 {
	return x[min(int(q*float64(len(x))), len(x)-1)]
}

// network is a network with its sampling rate in Hz, or the detectors of a model.
type network struct {
	name       string
	net        *recurrent.Network
	recognizer *events.Recognizer // else net
	rate       float64
}

// networks returns two networks that read samples: a small one, and a large one.
func networks() (list []network, err error) {
	for _, v := range []struct {
		h, layers int
		rate      float64
	}{{64, 4, 8000}, {128, 6, 16000}} {
		c := model.Default()
		c.DModel, c.NLayers, c.DOutput = v.h, v.layers, 10
		m, err := model.New(c, 1)
		if err != nil {
			return nil, err
		}
		net, err := recurrent.New(m, recurrent.Options{Window: int(v.rate)})
		if err != nil {
			return nil, err
		}
		list = append(list, network{name: fmt.Sprintf("H=%d N=64 layers=%d at %g kHz", v.h, v.layers, v.rate/1000), net: net, rate: v.rate})
	}
	return list, nil
}

// newDetectors returns the detectors of a built-in model.
func newDetectors(name string) (network, error) {
	m, err := pretrained.Load(name)
	if err != nil {
		return network{}, err
	}
	r, err := events.New(m, events.DefaultsFor(m))
	c, f := m.Config, m.Meta.Filterbank
	return network{
		name: fmt.Sprintf("%s: H=%d N=%d layers=%d at %g kHz, %g frames per second",
			name, c.DModel, c.SSM.DState, c.NLayers, f.SampleRate/1000, f.SampleRate/float64(f.Hop)),
		recognizer: r, rate: f.SampleRate,
	}, err
}

// way is one of the ways to advance streams by a block. run calls done with the number of streams
// that have been advanced.
type way struct {
	name string
	run  func(b *measurement, streams []*recurrent.Stream, done func(n int))
}

var ways = []way{
	{"Process", func(b *measurement, streams []*recurrent.Stream, done func(n int)) {
		for i, s := range streams {
			s.Process(b.audio, len(b.audio))
			done(i + 1)
		}
	}},
	{"Step", func(b *measurement, streams []*recurrent.Stream, done func(n int)) {
		for i, s := range streams {
			for t := range b.audio {
				s.Step(b.audio[t : t+1])
			}
			done(i + 1)
		}
	}},
	{"StepMany", func(b *measurement, streams []*recurrent.Stream, done func(n int)) {
		x := b.column[:len(streams)]
		for _, v := range b.audio {
			for i := range x {
				x[i] = v
			}
			b.net.StepMany(b.out[:b.outputs*len(streams)], x, streams)
		}
		done(len(streams))
	}},
	{"ProcessMany", func(b *measurement, streams []*recurrent.Stream, done func(n int)) {
		b.blocks = b.blocks[:0]
		for range streams {
			b.blocks = append(b.blocks, b.audio...)
		}
		b.net.ProcessMany(b.out[:b.outputs*len(streams)], b.blocks, len(b.audio), streams)
		done(len(streams))
	}},
}

// processDetectors is the way of detectors, which has no streams of its own.
func processDetectors(b *measurement, _ []*recurrent.Stream, done func(n int)) {
	for i, d := range b.detectors[:b.count] {
		if _, err := d.Process(b.audio); err != nil {
			panic(err) // of samples that are not finite
		}
		done(i + 1)
	}
}

// measurement runs streams of one network in one way.
type measurement struct {
	network
	way
	block       time.Duration
	audio       []float32 // a block
	streams     []*recurrent.Stream
	detectors   []*events.Stream // of which count are in use
	count       int
	outputs     int
	column, out []float32
	blocks      []float32 // of all streams
}

func newMeasurement(n network, w way, block time.Duration) *measurement {
	b := &measurement{network: n, way: w, block: block, audio: bench.Noise(max(1, int(block.Seconds()*n.rate)), 1)}
	if n.net != nil {
		b.outputs = n.net.Outputs()
	}
	for i := range b.audio {
		b.audio[i] *= 0.1
	}
	return b
}

// print measures and prints a row.
func (b *measurement) print(seconds, load float64) {
	perSample, streams := b.capacity(seconds / 2)
	late := b.latencies(max(1, int(load*float64(streams))), seconds/2)
	fmt.Printf("| %s | %s | %.3g | %d | %s | %s | %s |\n", b.network.name, b.way.name, 1e6*perSample, streams,
		milliseconds(quantile(late, 0.5)), milliseconds(quantile(late, 0.99)), milliseconds(late[len(late)-1]))
}

// some returns n streams, or puts n detectors in use.
func (b *measurement) some(n int) []*recurrent.Stream {
	if b.recognizer != nil {
		for len(b.detectors) < n {
			s, err := b.recognizer.NewStream(0)
			if err != nil {
				panic(err)
			}
			b.detectors = append(b.detectors, s)
		}
		b.count = n
		return nil
	}
	for len(b.streams) < n {
		b.streams = append(b.streams, b.net.NewStream())
	}
	b.column, b.out = make([]float32, n), make([]float32, n*b.outputs)
	return b.streams[:n]
}

// capacity returns the number of streams that take all of the time, and the seconds per sample of
// one stream that they need.
func (b *measurement) capacity(seconds float64) (perSample float64, streams int) {
	streams = 16
	for range 3 { // with more streams, their states lie in slower caches
		perSample = b.time(streams, seconds/3)
		streams = max(1, int(1/(b.rate*perSample)))
	}
	return perSample, streams
}

// time returns the seconds per sample of n streams, the median over rounds.
func (b *measurement) time(n int, seconds float64) float64 {
	streams := b.some(n)
	b.run(b, streams, func(int) {}) // warm up
	var rounds []float64
	for begin := time.Now(); len(rounds) < 3 || time.Since(begin).Seconds() < seconds; {
		start := time.Now()
		b.run(b, streams, func(int) {})
		rounds = append(rounds, time.Since(start).Seconds())
	}
	return bench.Median(rounds) / float64(n*len(b.audio))
}

// latencies returns the sorted latencies of n streams whose blocks arrive together, in real time.
func (b *measurement) latencies(n int, seconds float64) (late []float64) {
	streams := b.some(n)
	start := time.Now()
	for round := 0; float64(round)*b.block.Seconds() < seconds; round++ {
		arrival := start.Add(time.Duration(round) * b.block)
		time.Sleep(time.Until(arrival))
		counted := 0
		b.run(b, streams, func(done int) {
			for ; counted < done; counted++ {
				late = append(late, time.Since(arrival).Seconds())
			}
		})
	}
	slices.Sort(late)
	return late
}
