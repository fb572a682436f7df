// Command load loads the service with many clients in real time and reports the latency of events.
// The events of every client must be those that the model finds in the same audio without the
// service.
//
//	load -clients 1000 -seconds 5 -minutes 1 clips/*.wav
//	load -ramp clips/*.wav
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/report"
)

// load is one run with a fixed number of clients.
type load struct {
	http    *http.Client
	address string
	metrics string // address of the service's metrics; empty for none
	scripts []*script
	clients int
	period  time.Duration // between the starts of a client's clips
	late    time.Duration // latency above which an event counts as late

	mu       sync.Mutex
	events   int
	lateOnes int
	times    report.Times
	failures map[string]int // number of clients per error
}

func main() {
	address := flag.String("address", "localhost:8080", "`address` of the service")
	metrics := flag.String("metrics", "", "`address` of the service's metrics (default: its memory is not shown)")
	clients := flag.Int("clients", 100, "number of connected `clients`")
	seconds := flag.Float64("seconds", 5, "`seconds` of audio that each client sends per minute")
	minutes := flag.Int("minutes", 1, "duration in `minutes`")
	late := flag.Duration("late", 250*time.Millisecond, "`latency` above which an event counts as late")
	name := flag.String("model", "digits", "model `file` or name of a built-in model, the same as the service's")
	ramp := flag.Bool("ramp", false, "increase the number of clients, which send without a pause, until more than 1 % of the events are late")
	step := flag.Float64("step", 1.2, "with -ramp, `factor` between two numbers of clients")
	flag.Parse()
	length, rounds := *seconds, *minutes
	if *ramp {
		length, rounds = 5, 3
	}
	var scripts []*script
	err := checkFlags(*clients, *step)
	if err == nil {
		err = level.Set("")
	}
	if err == nil {
		scripts, err = makeScripts(*name, flag.Args(), length, rounds)
	}
	l := load{http: http.DefaultClient, address: *address, metrics: *metrics, scripts: scripts, clients: *clients, period: time.Minute, late: *late}
	if err == nil && *ramp {
		err = l.findMaximum(*step)
	} else if err == nil {
		stop := func() {}
		if *metrics != "" {
			stop = l.watch(10 * time.Second)
		}
		l.run()
		stop()
		fmt.Println(&l)
		err = l.failed()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// checkFlags checks the numbers that makeScripts does not.
func checkFlags(clients int, step float64) error {
	if clients < 1 || clients > maxClients {
		return fmt.Errorf("-clients %d: expected 1 to %d", clients, maxClients)
	}
	if !(step > 1 && step <= 100) { // or NaN
		return fmt.Errorf("-step %g: expected more than 1, at most 100", step)
	}
	return nil
}

const maxClients = 100000

// findMaximum runs with more and more clients that send without a pause.
func (l *load) findMaximum(step float64) error {
	best := 0
	for n := l.clients; n <= maxClients; n = max(n+1, int(float64(n)*step)) {
		run := load{http: l.http, address: l.address, scripts: l.scripts, clients: n, period: l.scripts[0].duration(), late: l.late}
		run.run()
		fmt.Println(&run)
		if run.failed() != nil || 100*run.lateOnes > run.events {
			break
		}
		best = n
	}
	if best == 0 {
		return fmt.Errorf("%d clients are too many: start with fewer (-clients)", l.clients)
	}
	fmt.Printf("real-time maximum: %d clients that send without a pause\n", best)
	return nil
}

// run returns when every client has finished.
func (l *load) run() {
	l.failures = map[string]int{}
	var all sync.WaitGroup
	for i := range l.clients {
		all.Go(func() {
			delay := time.Duration(rand.Float64() * float64(l.period))
			if err := l.client(l.scripts[i%len(l.scripts)], delay); err != nil {
				l.mu.Lock()
				l.failures[err.Error()]++
				l.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// record counts an event with its latency.
func (l *load) record(latency time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events++
	l.times.Add(latency)
	if latency > l.late {
		l.lateOnes++
	}
}

func (l *load) failed() error {
	for text, n := range l.failures {
		return fmt.Errorf("%d clients: %s", n, text)
	}
	return nil
}

func (l *load) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.times.Block(0)
	text := fmt.Sprintf("%5d clients  %6d events  p50 %s  p99 %s  max %s  late %d",
		l.clients, l.events, milliseconds(b.P50), milliseconds(b.P99), milliseconds(b.Max), l.lateOnes)
	for failure, n := range l.failures {
		text += fmt.Sprintf("\n%d failures: %s", n, failure)
	}
	return text
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.1f ms", 1e3*seconds) }

// watch prints the service's memory periodically until stop is called.
func (l *load) watch(every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan bool)
	began := time.Now()
	go func() {
		defer close(done)
		for tick := time.Tick(every); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
				rss, streams := l.metric("process_resident_memory_bytes"), l.metric("s4d_streams")
				l.mu.Lock()
				events := l.events
				l.mu.Unlock()
				fmt.Printf("%4.0f s  %5.0f streams  RSS %6.1f MB  %6d events\n", time.Since(began).Seconds(), streams, rss/1e6, events)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// metric reads one of the service's metrics. It returns −1 if there is none.
func (l *load) metric(name string) float64 {
	r, err := l.http.Get("http://" + l.metrics + "/metrics")
	if err != nil {
		return -1
	}
	defer r.Body.Close()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		if text, is := strings.CutPrefix(lines.Text(), name+" "); is {
			value := -1.0
			fmt.Sscan(text, &value)
			return value
		}
	}
	return -1
}
