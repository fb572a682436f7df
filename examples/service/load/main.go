// Command load speaks to the service as many clients do, in real time, and reports how long answers take. Every client's events must be
// those that the model hears here, in the same audio.
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

	"github.com/s4d-fast/s4d-fast/report"
)

// load is one run: so many clients for so long.
type load struct {
	address string
	scripts []*script
	clients int
	period  time.Duration // between the beginnings of a client's clips
	rounds  int           // clips of each client
	late    time.Duration

	mu       sync.Mutex
	answers  int
	tooLate  int
	times    report.Times
	failures map[string]int
}

func main() {
	address := flag.String("address", "localhost:8080", "of the service")
	clients := flag.Int("clients", 100, "connected at once")
	seconds := flag.Float64("seconds", 5, "of audio that each sends a minute")
	minutes := flag.Int("minutes", 1, "that it lasts")
	late := flag.Duration("late", 250*time.Millisecond, "an answer that takes longer is late")
	name := flag.String("model", "digits", "model file or name of a built-in model, as of the service")
	ramp := flag.Bool("ramp", false, "find out how many clients can speak without a pause: more and more of them, until more than 1 % of the answers are late")
	step := flag.Float64("step", 1.2, "with -ramp, the factor between two numbers of clients")
	flag.Parse()
	length, rounds := *seconds, *minutes
	if *ramp {
		length, rounds = 5, 3
	}
	scripts, err := write(*name, flag.Args(), length, rounds)
	if err == nil && *ramp {
		err = climb(*address, scripts, *clients, *step, *late)
	} else if err == nil {
		l := &load{address: *address, scripts: scripts, clients: *clients, period: time.Minute, rounds: rounds, late: *late}
		watched := l.watch(10 * time.Second)
		l.run()
		watched()
		fmt.Println(l)
		err = l.failed()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// climb loads the service with more and more clients that never pause.
func climb(address string, scripts []*script, clients int, step float64, late time.Duration) error {
	best := 0
	for n := clients; n <= 1e5; n = max(n+1, int(float64(n)*step)) {
		l := &load{address: address, scripts: scripts, clients: n, period: scripts[0].duration(), rounds: scripts[0].rounds, late: late}
		l.run()
		fmt.Println(l)
		if l.failed() != nil || 100*l.tooLate > l.answers {
			break
		}
		best = n
	}
	if best == 0 {
		return fmt.Errorf("%d clients are too many: begin with fewer", clients)
	}
	fmt.Printf("real-time maximum: %d clients that never pause\n", best)
	return nil
}

// run returns when every client has sent all and heard all.
func (l *load) run() {
	l.failures = map[string]int{}
	var all sync.WaitGroup
	for i := range l.clients {
		all.Go(func() {
			wait := time.Duration(rand.Float64() * float64(l.period))
			if err := l.client(l.scripts[i%len(l.scripts)], wait); err != nil {
				l.mu.Lock()
				l.failures[err.Error()]++
				l.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// heard counts an answer.
func (l *load) heard(after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers++
	l.times.Add(after)
	if after > l.late {
		l.tooLate++
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
	text := fmt.Sprintf("%5d clients  %6d answers  p50 %s  p99 %s  max %s  late %d", l.clients, l.answers, ms(b.P50), ms(b.P99), ms(b.Max), l.tooLate)
	for what, n := range l.failures {
		text += fmt.Sprintf("\n%d failures: %s", n, what)
	}
	return text
}

func ms(seconds float64) string { return fmt.Sprintf("%.1f ms", 1e3*seconds) }

// watch prints the service's memory until it is told to stop.
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
				rss, streams := l.gauge("process_resident_memory_bytes"), l.gauge("s4d_streams")
				l.mu.Lock()
				answers := l.answers
				l.mu.Unlock()
				fmt.Printf("%4.0f s  %5.0f streams  RSS %6.1f MB  %6d answers\n", time.Since(began).Seconds(), streams, rss/1e6, answers)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// gauge reads a number from the service's metrics; −1 if there is none.
func (l *load) gauge(name string) float64 {
	r, err := http.Get("http://" + l.address + "/metrics")
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
