package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/atomicfile"
)

// snapshot is a stream that is not connected. Its file has a magic word, the CRC-32 (IEEE, little endian) of what follows, and a gob of
// this; it is named after a hash of the stream's name, which so may contain anything.
type snapshot struct {
	Identity identity
	Detector []byte
	Saved    time.Time
}

const (
	magic      = "S4DSVC1\n"
	suffix     = ".stream"
	headerSize = len(magic) + crc32.Size
	writers    = 4 // snapshots in memory at once
)

// store is a folder of snapshots, and a list of them.
type store struct {
	dir       string
	keep      time.Duration
	max       int64 // bytes
	perClient int
	writing   chan struct{}

	mu    sync.Mutex
	list  map[string]entry // by the stream's name
	total int64            // bytes
}

type entry struct {
	client string
	size   int64
	saved  time.Time
}

// openStore lists the snapshots of a folder, which it makes. Damaged ones are removed, other files are left alone.
func openStore(dir string, keep time.Duration, maxBytes int64, perClient int) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &store{dir: dir, keep: keep, max: maxBytes, perClient: perClient, writing: make(chan struct{}, writers), list: map[string]entry{}}
	paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix+"*"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, ".tmp") { // of a write that a crash has cut
			err = os.Remove(path)
		} else {
			err = s.add(path)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, s.expire(time.Now())
}

func (s *store) add(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(b), magic) {
		return nil
	}
	kept, err := decodeSnapshot(b)
	if err != nil || s.path(kept.Identity.ID) != path {
		return os.Remove(path)
	}
	s.list[kept.Identity.ID] = entry{kept.Identity.Client, int64(len(b)), kept.Saved}
	s.total += int64(len(b))
	return nil
}

func (s *store) path(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+suffix)
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

// put writes a stream's snapshot. A client that has too many loses its oldest; a full store takes none.
func (s *store) put(st *stream) error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	now := time.Now()
	b, err := encodeSnapshot(snapshot{st.identity, st.detector.Snapshot(), now})
	if err != nil {
		return err
	}
	if err := s.reserve(st.ID, entry{st.Client, int64(len(b)), now}); err != nil {
		return err
	}
	err = atomicfile.Write(s.path(st.ID), func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		return errors.Join(err, s.remove(st.ID))
	}
	return nil
}

// reserve lists a snapshot that is about to be written.
func (s *store) reserve(id string, e entry) error {
	if err := s.expire(e.saved); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.list[id]; !known {
		if err := s.makeRoom(e.client); err != nil {
			return err
		}
	}
	if s.total+e.size-s.list[id].size > s.max {
		return fmt.Errorf("%s: stream %s: the snapshots take %d bytes, at most %d are wanted", s.dir, id, s.total+e.size, s.max)
	}
	s.total += e.size - s.list[id].size
	s.list[id] = e
	return nil
}

// makeRoom removes a client's oldest snapshot where it has as many as it may.
func (s *store) makeRoom(client string) error {
	n, oldest := 0, ""
	for id, e := range s.list {
		if e.client != client {
			continue
		}
		if n++; oldest == "" || e.saved.Before(s.list[oldest].saved) {
			oldest = id
		}
	}
	if n < s.perClient {
		return nil
	}
	return s.drop(oldest)
}

// owns reports whether there is a snapshot of the stream; another client's is an error.
func (s *store) owns(id, client string) (bool, error) {
	if err := s.expire(time.Now()); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, has := s.list[id]
	if has && e.client != client {
		return false, refusal(http.StatusForbidden, "owner", "stream %s is another client's", id)
	}
	return has, nil
}

// get returns the snapshot of a stream, or nil; its file stays until the stream ends or is kept again, so that a crash
// loses what came since, not the stream.
func (s *store) get(id, client string) (*snapshot, error) {
	has, err := s.owns(id, client)
	if err != nil || !has {
		return nil, err
	}
	b, err := os.ReadFile(s.path(id))
	if err != nil {
		return nil, err
	}
	return decodeSnapshot(b)
}

func (s *store) remove(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drop(id)
}

// drop is remove for who holds mu.
func (s *store) drop(id string) error {
	e, has := s.list[id]
	if !has {
		return nil
	}
	delete(s.list, id)
	s.total -= e.size
	if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// expire removes what is too old.
func (s *store) expire(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all error
	for id, e := range s.list {
		if now.Sub(e.saved) > s.keep {
			all = errors.Join(all, s.drop(id))
		}
	}
	return all
}

// size returns how many snapshots there are, and their bytes.
func (s *store) size() (n int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list), s.total
}
