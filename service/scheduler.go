package service

import (
	"context"
	"slices"
	"sync"
)

// scheduler grants slots to clients in turn: processors to blocks of audio, and under MaxBytes one
// slot, the right to receive. A block waits for the blocks in progress, and for at most one
// more of every other client, however many streams the other clients have.
type scheduler struct {
	slots int

	mu      sync.Mutex
	busy    int                        // slots that are granted
	waiting map[string][]chan struct{} // blocks, by client, in the order of their arrival
	clients []string                   // with blocks that wait, in the order of their turns
}

func newScheduler(slots int) *scheduler {
	return &scheduler{slots: slots, waiting: map[string][]chan struct{}{}}
}

// acquire waits for a slot for a block of a client. After nil the caller calls release.
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
		s.release() // the slot was granted meanwhile
	}
	return context.Cause(ctx)
}

// queue takes a slot if one is free, and returns nil. Otherwise it returns a channel that is closed
// when the block has one.
func (s *scheduler) queue(client string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy < s.slots {
		s.busy++
		return nil
	}
	turn := make(chan struct{})
	if len(s.waiting[client]) == 0 {
		s.clients = append(s.clients, client)
	}
	s.waiting[client] = append(s.waiting[client], turn)
	return turn
}

// withdraw removes a block that waits. It reports whether the block was still waiting.
func (s *scheduler) withdraw(client string, turn chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	blocks := s.waiting[client]
	i := slices.Index(blocks, turn)
	if i < 0 {
		return false
	}
	if s.waiting[client] = slices.Delete(blocks, i, i+1); len(blocks) == 1 {
		delete(s.waiting, client)
		s.clients = slices.Delete(s.clients, slices.Index(s.clients, client), slices.Index(s.clients, client)+1)
	}
	return true
}

// release passes a slot on to the client whose turn it is.
func (s *scheduler) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) == 0 {
		s.busy--
		return
	}
	client := s.clients[0]
	s.clients = slices.Delete(s.clients, 0, 1)
	blocks := s.waiting[client]
	close(blocks[0])
	if len(blocks) == 1 {
		delete(s.waiting, client)
		return
	}
	s.waiting[client] = slices.Delete(blocks, 0, 1)
	s.clients = append(s.clients, client)
}
