package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A block waits for the blocks in progress, and for at most one more of every other client,
// whatever number of streams the other clients have.
func TestFairness(t *testing.T) {
	tried, held := 0, 0
	for _, processors := range []int{1, 2, 5} {
		for _, greedy := range []int{1, 31, 200} { // streams of client 0
			for _, small := range []int{1, 5, 40} { // clients with a stream
				s := newScheduler(processors)
				r := rand.New(rand.NewPCG(uint64(greedy), uint64(small)))
				waiting := map[int]map[int]int{} // by client that waits: blocks granted to others meanwhile
				turns := map[chan struct{}]int{} // clients of the blocks that wait
				queue := func(client int) {
					turn := s.queue(fmt.Sprint(client))
					if turn == nil {
						return
					}
					turns[turn] = client
					if client > 0 {
						waiting[client] = map[int]int{}
					}
				}
				release := func() {
					s.release()
					for turn, client := range turns {
						select {
						case <-turn:
						default:
							continue
						}
						delete(turns, turn)
						if client > 0 {
							tried++
							most := 0
							for _, n := range waiting[client] {
								most = max(most, n)
							}
							if most <= 1 {
								held++
							} else {
								t.Errorf("%d processors, %d streams: a block waited for %d of a client", processors, greedy, most)
							}
							delete(waiting, client)
						}
						for _, others := range waiting {
							others[client]++
						}
						if client == 0 {
							queue(0) // the stream's next block
						}
					}
				}
				for range greedy + processors {
					queue(0)
				}
				for steps, end := 0, tried+500; tried < end; steps++ {
					if steps > 1e6 {
						t.Fatalf("%d processors, %d streams: a client starves", processors, greedy)
					}
					if client := 1 + r.IntN(small); r.IntN(2) == 0 && waiting[client] == nil {
						queue(client)
					} else {
						release()
					}
				}
			}
		}
	}
	must.Tally(t, "a block of audio waits for the blocks in progress, and for at most one more of every other client", tried, held)
}

// A block whose stream is interrupted while it waits leaves the queue, and its processor is free.
func TestSchedulerCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(1)
		must.Do(t, s.acquire(t.Context(), "first"))
		reason := errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if err := s.acquire(ctx, fmt.Sprint(i%3)); err != reason {
					t.Errorf("acquire returns %v, expected %v", err, reason)
				}
			})
		}
		synctest.Wait()
		cancel(reason)
		all.Wait()
		s.release()
		must.Equal(t, s.busy, 0, "busy processors")
		must.Equal(t, len(s.clients)+len(s.waiting), 0, "waiting clients")
	})
}

// The streams of a client wait as one.
func TestStreamsOfAClientShareTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.TokenHeader = "Token" })
		s := in.server.processors
		for range s.slots {
			must.Do(t, s.acquire(t.Context(), "test"))
		}
		var clients []*wsClient
		for i := range 12 {
			c := in.dial("/v1/streams", "Token", []string{"greedy", "small"}[i/11])
			c.sendAudio(make([]byte, 1600), 1600)
			c.sendText(`{"type":"end"}`)
			clients = append(clients, c)
		}
		synctest.Wait()
		var waiting []int
		for _, client := range s.clients {
			waiting = append(waiting, len(s.waiting[client]))
		}
		must.Equal(t, fmt.Sprint(waiting), "[11 1]", "waiting blocks by client")
		for range s.slots {
			s.release()
		}
		for _, c := range clients {
			if got, _ := c.rest(); got.end == nil {
				t.Errorf("no end line, but %+v", got.err)
			}
		}
	})
}

// The audio of a client is processed at most at MaxRate, in all of its streams together, and none
// is lost. Other clients are not slowed down.
func TestMaxRate(t *testing.T) {
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.MaxRate, c.TokenHeader = 4, "Token" })
		const seconds, streams = 10, 2
		began := time.Now()
		var all sync.WaitGroup
		for i := range streams {
			all.Go(func() {
				rate := 8000 * (1 + i) // the second stream is resampled
				c := in.dial(fmt.Sprintf("/v1/streams?rate=%d&resample=true", rate), "Token", "greedy")
				c.sendAudio(make([]byte, 2*rate*seconds), 1600)
				c.sendText(`{"type":"end"}`)
				got, _ := c.rest()
				if got.end == nil || got.end.Samples != int64(rate)*seconds {
					t.Errorf("stream %d: end line %+v", i, got.end)
				}
			})
		}
		small := in.dial("/v1/streams", "Token", "small")
		small.sendAudio(make([]byte, 1600), 1600)
		small.sendText(`{"type":"end"}`)
		small.rest()
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the small client waited for %v", took)
		}
		all.Wait()
		want := time.Second * seconds * streams / 4
		if took := time.Since(began); took < want-time.Second/2 || took > want+time.Second/2 {
			t.Errorf("20 s of audio took %v, expected %v", took, want)
		}
		cases.add(t)
	})
	must.Tally(t, promiseLimits, cases.tried, cases.held)
}

// The bytes of a client, or of all clients, are read at most at their limit, in uploads and
// messages together, and none is lost. A limit per client does not slow down others.
func TestMaxBytes(t *testing.T) {
	const seconds, limit = 10, 64_000
	audio := make([]byte, 2*8000*seconds)
	var cases counter
	for _, perClient := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			in := startService(t, toneModel(t, 0), func(c *Options) {
				c.TokenHeader = "Token"
				if c.MaxBytes = limit; perClient {
					c.MaxBytes, c.MaxBytesPerClient = 0, limit
				}
			})
			began := time.Now()
			var all sync.WaitGroup
			all.Go(func() {
				c := in.dial("/v1/streams", "Token", "greedy")
				c.sendAudio(audio, 1600)
				c.sendText(`{"type":"end"}`)
				if got, _ := c.rest(); got.end == nil || got.end.Samples != 8000*seconds {
					t.Errorf("messages: end line %+v", got.end)
				}
			})
			client := map[bool]string{true: "greedy", false: "another"}[perClient]
			all.Go(func() {
				_, body := in.post("/v1/streams?format=s16le", bytes.NewReader(audio), "Token", client)
				if got := parse(t, body); got.end == nil || got.end.Samples != 8000*seconds {
					t.Errorf("upload: end line %+v", got.end)
				}
			})
			if perClient {
				in.post("/v1/streams?format=s16le", bytes.NewReader(audio[:1600]), "Token", "small")
				if took := time.Since(began); took > 100*time.Millisecond {
					t.Errorf("another client waited for %v", took)
				}
			}
			all.Wait()
			want := time.Second * time.Duration(2*len(audio)) / limit
			if took := time.Since(began); took < want-time.Second/2 || took > want+time.Second/2 {
				t.Errorf("per client %v: %d bytes took %v, expected %v", perClient, 2*len(audio), took, want)
			}
			cases.add(t)
		})
	}
	must.Tally(t, promiseLimits, cases.tried, cases.held)
}

// Under the limit for all clients, a client of one stream with small messages has a third of the
// turns beside a client of many streams: it waits for the turn in progress and the next one.
func TestMaxBytesTurns(t *testing.T) {
	var cases counter
	for _, streams := range []int{8, 16, 32} {
		synctest.Test(t, func(t *testing.T) {
			const limit = 64_000
			in := startService(t, toneModel(t, 0), func(c *Options) { c.MaxBytes, c.TokenHeader = limit, "Token" })
			var all sync.WaitGroup
			for range streams {
				all.Go(func() {
					_, body := in.post("/v1/streams?format=s16le", bytes.NewReader(make([]byte, 1_024_000/streams)), "Token", "greedy")
					must.Equal(t, parse(t, body).end != nil, true, "an upload ends")
				})
			}
			time.Sleep(time.Second)
			began := time.Now()
			c := in.dial("/v1/streams", "Token", "small")
			c.sendAudio(make([]byte, limit), 160)
			c.sendText(`{"type":"end"}`)
			got, _ := c.rest()
			must.Equal(t, got.end != nil && got.end.Samples == limit/2, true, "end line")
			if took := time.Since(began); took > 4*time.Second { // in turns of 53 bytes on average
				t.Errorf("%d streams: the bytes of a second took the small client %v, expected 3.4 s", streams, took)
			}
			all.Wait()
			if took := time.Since(began); took < 15*time.Second || took > 17*time.Second {
				t.Errorf("%d streams: all bytes took %v after the first second, expected 16 s", streams, took)
			}
			cases.add(t)
		})
	}
	must.Tally(t, "under -max-bytes, a client with one stream receives at least a quarter of the byte rate while another client has many streams", cases.tried, cases.held)
}

// A shutdown does not wait for a client that is slowed down.
func TestShutdownOfPacedStream(t *testing.T) {
	var cases counter
	for name, change := range map[string]func(*Options){
		"audio":               func(c *Options) { c.MaxRate = 1e-3 },
		"bytes":               func(c *Options) { c.MaxBytes = 16 },
		"bytes of the client": func(c *Options) { c.MaxBytesPerClient = 16 },
	} {
		synctest.Test(t, func(t *testing.T) {
			in := startService(t, toneModel(t, 0), func(c *Options) { change(c); c.Snapshots, c.Grace = t.TempDir(), time.Hour })
			c := in.dial("/v1/streams/mine")
			go c.conn.Write(t.Context(), 2, make([]byte, 32000))
			body, result := in.upload("/v1/streams/other?format=s16le")
			go body.Write(make([]byte, 32000))
			defer body.Close()
			synctest.Wait()
			time.Sleep(200 * time.Second) // for a block of 1600 bytes
			began := time.Now()
			must.Do(t, in.stop())
			if took := time.Since(began); took > time.Second { // net/http polls its connections
				t.Errorf("%s: the shutdown took %v", name, took)
			}
			got, _ := c.rest()
			checkLine(t, name, got.err, "shutdown")
			checkLine(t, name, parse(t, result()).err, "shutdown")
			cases.add(t)
		})
	}
	must.Tally(t, promiseStop, cases.tried, cases.held)
}

// The limits of a client hold for all its streams together, also for successive ones.
func TestLimitsOfShortStreams(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"bytes": func(c *Options) { c.MaxBytesPerClient = 16000 },
		"audio": func(c *Options) { c.MaxRate = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := startService(t, toneModel(t, 0), change)
				began := time.Now()
				for range 100 { // of 0.05 s
					in.post("/v1/streams?format=s16le", bytes.NewReader(make([]byte, 800)))
				}
				if d := time.Since(began); d < 4800*time.Millisecond || d > 5*time.Second {
					t.Errorf("5 s of audio at the limit took %v", d)
				}
				time.Sleep(time.Second)
				in.server.streams.mu.Lock()
				defer in.server.streams.mu.Unlock()
				must.Equal(t, len(in.server.streams.clients), 0, "clients a second after the last stream")
			})
		})
	}
}

// The timer of an earlier stream does not remove the client of a later one.
func TestClientsAreForgottenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), nil)
		s := in.server.streams
		for range 100 {
			for range 2 {
				must.Do(t, s.admit("a", "client"))
				s.dismiss("a", "client")
			}
			time.Sleep(time.Nanosecond) // the first timer may fire
			for range 3 {
				must.Do(t, s.admit("a", "client"))
				synctest.Wait() // the second one too
				s.dismiss("a", "client")
			}
			s.handlers.Add(-5)
		}
	})
}
