package service

import (
	"context"
	"slices"
	"sync"
)

// scheduler shares processors among clients. Clients take turns: a block waits for at most one
// block of every other client, and for those that are being processed, however many streams the
// other clients have. For MaxBytes a scheduler of one processor shares the right to receive.
type scheduler struct {
	processors int

	mu     sync.Mutex
	busy   int
	blocks map[string][]chan struct{} // that wait, by client, in the order of their arrival
	turns  []string                   // the clients with such blocks
}

func newScheduler(processors int) *scheduler {
	return &scheduler{processors: processors, blocks: map[string][]chan struct{}{}}
}

// acquire waits for a processor for a block of a client. After nil the caller calls release.
func (s *scheduler) acquire(ctx context.Context, client string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	turn := s.queue(client)
	if turn == nil {
		return nil
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	if !s.withdraw(client, turn) {
		s.release() // the processor was granted meanwhile
	}
	return context.Cause(ctx)
}

// queue takes a processor if one is free, and returns nil. Otherwise it returns a channel that is
// closed when the block has one.
func (s *scheduler) queue(client string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy < s.processors {
		s.busy++
		return nil
	}
	turn := make(chan struct{})
	if len(s.blocks[client]) == 0 {
		s.turns = append(s.turns, client)
	}
	s.blocks[client] = append(s.blocks[client], turn)
	return turn
}

// withdraw removes a block that waits. It reports whether the block was still waiting.
func (s *scheduler) withdraw(client string, turn chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.blocks[client]
	i := slices.Index(waiting, turn)
	if i < 0 {
		return false
	}
	if s.blocks[client] = slices.Delete(waiting, i, i+1); len(waiting) == 1 {
		delete(s.blocks, client)
		s.turns = slices.Delete(s.turns, slices.Index(s.turns, client), slices.Index(s.turns, client)+1)
	}
	return true
}

// release passes a processor on to the client whose turn it is.
func (s *scheduler) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.turns) == 0 {
		s.busy--
		return
	}
	client := s.turns[0]
	s.turns = slices.Delete(s.turns, 0, 1)
	waiting := s.blocks[client]
	close(waiting[0])
	if len(waiting) == 1 {
		delete(s.blocks, client)
		return
	}
	s.blocks[client] = slices.Delete(waiting, 0, 1)
	s.turns = append(s.turns, client)
}
