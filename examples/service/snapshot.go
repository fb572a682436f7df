package main

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/natefinch/atomic"
)

// snapshot is a stream that is not connected. Its file has a magic word, the CRC-32 (IEEE, little endian) of what follows, and a gob of
// this. Every snapshot has a file of a new name, so that to list one is the last step of writing it, and to remove one never hits the next.
type snapshot struct {
	Identity identity
	Detector []byte
	Saved    time.Time
}

const (
	magic      = "S4DSVC2\n"
	suffix     = ".stream"
	headerSize = len(magic) + crc32.Size
	writers    = 4 // snapshots in memory at once
)

// ours are the names of snapshots; with more digits, those of writes that a crash has cut.
var snapshotName = regexp.MustCompile(`^[A-Z2-7]{26}\` + suffix + `([0-9]*)$`)

// store is a folder of snapshots, and a list of them.
type store struct {
	dir       string
	keep      time.Duration
	max       int64 // bytes
	perClient int
	log       *slog.Logger
	writing   chan struct{}

	mu       sync.Mutex
	list     map[string]entry // by the stream's name
	total    int64            // bytes, with those that are being written and those that are stuck
	obsolete []entry          // files no longer listed, to be deleted
}

type entry struct {
	file   string
	client string
	size   int64
	saved  time.Time
	stuck  bool // it could not be removed
}

// openStore lists the snapshots of a folder, which it makes. Damaged ones are removed, and the oldest of those beyond the limits; other files are
// left alone.
func openStore(dir string, keep time.Duration, maxBytes int64, perClient int, log *slog.Logger) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &store{
		dir: dir, keep: keep, max: maxBytes, perClient: perClient, log: log,
		writing: make(chan struct{}, writers), list: map[string]entry{},
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := s.open(f); err != nil {
			return nil, err
		}
	}
	s.expire(time.Now())
	for s.total > s.max {
		id, _ := s.oldest("")
		s.drop(id)
	}
	s.deleteObsolete()
	return s, nil
}

// open lists a file, if it is a snapshot.
func (s *store) open(f os.DirEntry) error {
	parts := snapshotName.FindStringSubmatch(f.Name())
	if parts == nil {
		return nil
	}
	info, err := f.Info()
	if err != nil {
		return err
	}
	e := entry{file: filepath.Join(s.dir, f.Name()), size: info.Size()}
	s.total += e.size
	if parts[1] != "" {
		s.retire(e)
		return nil
	}
	b, err := os.ReadFile(e.file)
	if err != nil {
		return err
	}
	kept, err := decodeSnapshot(b)
	if err != nil {
		s.retire(e)
		return nil
	}
	e.client, e.saved = kept.Identity.Client, kept.Saved
	if other, has := s.list[kept.Identity.ID]; has && other.saved.After(e.saved) { // a crash came between list and sweep
		s.retire(e)
		return nil
	}
	s.add(kept.Identity.ID, e)
	return nil
}

func encodeSnapshot(v snapshot) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(magic + "\x00\x00\x00\x00")
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return nil, err
	}
	all := b.Bytes()
	binary.LittleEndian.PutUint32(all[len(magic):], crc32.ChecksumIEEE(all[headerSize:]))
	return all, nil
}

func decodeSnapshot(b []byte) (*snapshot, error) {
	if len(b) < headerSize || string(b[:len(magic)]) != magic || binary.LittleEndian.Uint32(b[len(magic):]) != crc32.ChecksumIEEE(b[headerSize:]) {
		return nil, errors.New("the snapshot is damaged")
	}
	v := &snapshot{}
	err := gob.NewDecoder(bytes.NewReader(b[headerSize:])).Decode(v)
	return v, err
}

// put writes a stream's snapshot. A client that then has too many loses its oldest; a full store takes none.
func (s *store) put(st *stream) error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	now := time.Now()
	b, err := encodeSnapshot(snapshot{st.identity, st.detector.Snapshot(), now})
	if err != nil {
		return err
	}
	e := entry{file: filepath.Join(s.dir, rand.Text()+suffix), client: st.Client, size: int64(len(b)), saved: now}
	defer s.deleteObsolete()
	if err := s.reserve(st.ID, e); err != nil {
		return err
	}
	err = atomic.WriteFile(e.file, bytes.NewReader(b))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.total -= e.size
		return err
	}
	s.add(st.ID, e)
	return nil
}

// reserve counts the bytes of a snapshot that is about to be written; those of the stream's last one do not stand in its way.
func (s *store) reserve(id string, e entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(e.saved)
	if want := s.total + e.size - s.list[id].size; want > s.max {
		return fmt.Errorf("%s: stream %s: the snapshots would take %d bytes, at most %d are wanted", s.dir, id, want, s.max)
	}
	s.total += e.size
	return nil
}

// enlist lists a snapshot whose bytes are counted, in place of the stream's last one, and drops the client's oldest where it has too many.
// Like all below it is for who holds mu.
func (s *store) add(id string, e entry) {
	s.drop(id)
	s.list[id] = e
	if oldest, n := s.oldest(e.client); n > s.perClient {
		s.drop(oldest)
	}
}

// oldest returns a client's oldest snapshot, and how many it has; "" is all clients.
func (s *store) oldest(client string) (oldest string, n int) {
	for id, e := range s.list {
		if client != "" && e.client != client {
			continue
		}
		if n++; n == 1 || e.saved.Before(s.list[oldest].saved) {
			oldest = id
		}
	}
	return oldest, n
}

// expire drops what is too old.
func (s *store) expire(now time.Time) {
	for id, e := range s.list {
		if now.Sub(e.saved) > s.keep {
			s.drop(id)
		}
	}
}

// drop forgets a snapshot, if there is one; its file is left to sweep.
func (s *store) drop(id string) {
	if e, has := s.list[id]; has {
		delete(s.list, id)
		s.retire(e)
	}
}

// discard takes off a file's bytes and leaves it to sweep.
func (s *store) retire(e entry) {
	s.total -= e.size
	s.obsolete = append(s.obsolete, e)
}

// find returns the entry of a stream, or none; another client's is an error.
func (s *store) find(id, client string) (entry, error) {
	s.expire(time.Now())
	e, has := s.list[id]
	if has && e.client != client {
		return entry{}, newError(http.StatusForbidden, "owner", "stream %s is another client's", id)
	}
	return e, nil
}

// sweep removes the files that are listed no more. Those that it cannot remove count, and it tries them again when it comes next. It is for
// who does not hold mu, and comes after all that may drop.
func (s *store) deleteObsolete() {
	s.mu.Lock()
	obsolete := s.obsolete
	s.obsolete = nil
	s.mu.Unlock()
	for _, e := range obsolete {
		err := os.Remove(e.file)
		s.mu.Lock()
		switch failed := err != nil && !errors.Is(err, os.ErrNotExist); {
		case failed && !e.stuck:
			s.log.Error("a file was not removed", "error", err) // once, not at each sweep
			s.total += e.size
			e.stuck = true
			s.obsolete = append(s.obsolete, e)
		case failed:
			s.obsolete = append(s.obsolete, e)
		case e.stuck:
			s.total -= e.size
		}
		s.mu.Unlock()
	}
}

// get returns the snapshot of a stream, or nil; its file stays until the stream ends, is kept again or makes room, so that a crash
// loses what came since, not the stream.
func (s *store) get(id, client string) (*snapshot, error) {
	s.mu.Lock()
	e, err := s.find(id, client)
	s.mu.Unlock()
	s.deleteObsolete()
	if err != nil || e.file == "" {
		return nil, err
	}
	b, err := os.ReadFile(e.file)
	if errors.Is(err, os.ErrNotExist) { // it has just made room
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := decodeSnapshot(b)
	if err != nil {
		return nil, errUnusable(id, err)
	}
	return v, nil
}

// useless refuses to go on with a stream whose snapshot cannot be used.
func errUnusable(id string, err error) error {
	return newError(http.StatusConflict, "snapshot", "stream %s cannot go on: %v; DELETE it to begin anew", id, err)
}

// remove ends a stream that its session holds.
func (s *store) remove(id string) {
	s.mu.Lock()
	s.drop(id)
	s.mu.Unlock()
	s.deleteObsolete()
}

// forget drops a client's stream and reports whether there was one.
func (s *store) forget(id, client string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(id, client)
	if err == nil {
		s.drop(id)
	}
	return e.file != "", err
}

// size returns how many snapshots there are, and their bytes.
func (s *store) size() (n int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list), s.total
}
