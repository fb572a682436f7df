package service

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// snapshot is the state of a stream. Its file holds the magic word, the CRC-32 (IEEE,
// little endian) of the rest, and a gob of this struct. Every snapshot gets a new file name, so
// that removing one never affects the next.
type snapshot struct {
	Identity  identity
	Detector  []byte
	Resampler []byte // empty if the client's audio has the model's rate
	Saved     time.Time
}

const (
	magic          = "S4DSVC3\n"
	suffix         = ".stream"
	headerSize     = len(magic) + crc32.Size
	maxSnapshot    = 16 << 20 // bytes
	maxWriters     = 4        // snapshots that are written at a time; those of disconnected streams come first
	maxUnremovable = 100      // files that cannot be removed; if there are more, no snapshot is written
)

// snapshotName matches the names of snapshots and of the temporary files that a crash leaves.
var snapshotName = regexp.MustCompile(`^[A-Z2-7]{26}\` + suffix + `(\.[0-9]+\.tmp)?$`)

// store is a folder of snapshots and their list.
type store struct {
	files     atomicfile.Files
	dir       string
	keep      time.Duration
	max       int64 // bytes
	perClient int
	log       *slog.Logger
	writers   chan struct{} // has an element for each snapshot that is being written

	mu          sync.Mutex
	list        map[string]entry // by the stream's name
	total       int64            // bytes; files being written and unremovable files count
	obsolete    []entry          // files that are no longer listed, to be deleted
	unremovable int              // those of them that could not be deleted
}

type entry struct {
	file        string
	client      string
	ended       bool // the stream, whose client has not confirmed that
	began       int64
	samples     int64
	size        int64
	saved       time.Time // with a monotonic reading, so that a change of the clock does not change its age
	connected   bool      // the stream; such snapshots do not count for their client
	unremovable bool
}

// openStore creates a folder if necessary and lists its snapshots. It deletes damaged and expired
// ones, and the oldest beyond the limits. Other files stay. After a crash a client may have as many
// snapshots of streams that were connected as of others, so its limit is doubled here.
func openStore(files atomicfile.Files, dir string, keep time.Duration, maxBytes int64, perClient int, log *slog.Logger) (*store, error) {
	if err := files.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &store{
		files: files, dir: dir, keep: keep, max: maxBytes, perClient: 2 * perClient, log: log,
		writers: make(chan struct{}, maxWriters), list: map[string]entry{},
	}
	list, err := files.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for _, f := range list {
		if err := s.open(f, now); err != nil {
			log.Warn("a file in the folder of snapshots is ignored", "error", err)
		}
	}
	s.perClient = perClient
	s.expire(now)
	for s.total > s.max {
		id, _ := s.oldest(func(string, entry) bool { return true })
		s.drop(id)
	}
	s.deleteObsolete()
	return s, nil
}

// open lists a file if it is a snapshot. One that was saved later than now, because the clock has
// been set back, counts as saved now.
func (s *store) open(f fs.DirEntry, now time.Time) error {
	parts := snapshotName.FindStringSubmatch(f.Name())
	if parts == nil {
		return nil
	}
	path := filepath.Join(s.dir, f.Name())
	info, err := f.Info()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: mode %v: expected a regular file", path, info.Mode())
	}
	e := entry{file: path, size: info.Size()}
	if parts[1] != "" {
		s.total += e.size
		s.retire(e)
		return nil
	}
	saved, err := s.read(path)
	var damaged *damagedError
	if err != nil && !errors.As(err, &damaged) {
		return err
	}
	s.total += e.size
	if err != nil {
		s.retire(e)
		return nil
	}
	e.describe(&saved.Identity, now.Add(-max(0, now.Sub(saved.Saved))))
	// A crash after a snapshot was written leaves its predecessor too.
	if other, has := s.list[saved.Identity.ID]; has && e.precedes(other) {
		s.retire(e)
		return nil
	}
	s.add(saved.Identity.ID, e)
	return nil
}

// describe sets the fields that depend on the stream.
func (e *entry) describe(id *identity, saved time.Time) {
	e.client, e.ended, e.began, e.samples, e.saved = id.Client, id.End != nil, id.Began, id.Samples, saved
}

// precedes reports whether e is older than other, a snapshot with the same name. The later stream
// wins, then the later position. The clock decides only between equal positions, because it may
// have been set back.
func (e *entry) precedes(other entry) bool {
	switch {
	case e.began != other.began:
		return e.began < other.began
	case e.samples != other.samples:
		return e.samples < other.samples
	case e.ended != other.ended:
		return other.ended
	}
	return e.saved.Before(other.saved)
}

func encodeSnapshot(v snapshot) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(magic + "\x00\x00\x00\x00")
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return nil, err
	}
	all := b.Bytes()
	if len(all) > maxSnapshot {
		return nil, fmt.Errorf("stream %s: a snapshot of %d bytes: expected at most %d", v.Identity.ID, len(all), maxSnapshot)
	}
	binary.LittleEndian.PutUint32(all[len(magic):], crc32.ChecksumIEEE(all[headerSize:]))
	return all, nil
}

// damagedError is an error in the content of a snapshot.
type damagedError struct{ error }

func decodeSnapshot(b []byte) (*snapshot, error) {
	switch {
	case len(b) > maxSnapshot:
		return nil, &damagedError{fmt.Errorf("the snapshot is longer than %d bytes", maxSnapshot)}
	case len(b) < headerSize || string(b[:len(magic)]) != magic:
		return nil, &damagedError{errors.New("the snapshot is damaged: it has no header")}
	case binary.LittleEndian.Uint32(b[len(magic):]) != crc32.ChecksumIEEE(b[headerSize:]):
		return nil, &damagedError{errors.New("the snapshot is damaged: its checksum differs")}
	}
	v := &snapshot{}
	if err := gob.NewDecoder(bytes.NewReader(b[headerSize:])).Decode(v); err != nil {
		return nil, &damagedError{fmt.Errorf("the snapshot is damaged: %w", err)}
	}
	if err := v.Identity.validate(); err != nil {
		return nil, &damagedError{fmt.Errorf("the snapshot is damaged: %w", err)}
	}
	return v, nil
}

// read reads a file, of which it takes at most a little more than maxSnapshot.
func (s *store) read(path string) (*snapshot, error) {
	f, err := s.files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSnapshot+1))
	if err != nil {
		return nil, err
	}
	return decodeSnapshot(b)
}

// put writes a stream's snapshot. If the client then has too many, its oldest is deleted. A full
// store is an error.
func (s *store) put(st *stream) error {
	s.writers <- struct{}{}
	defer s.freeWriter()
	return s.write(st.snapshot(), false)
}

// begin is put for a stream that is connected.
func (s *store) begin(st *stream) error {
	s.writers <- struct{}{}
	defer s.freeWriter()
	return s.write(st.snapshot(), true)
}

// tryWriter reports whether the caller may write a snapshot now. It then calls freeWriter.
func (s *store) tryWriter() bool {
	select {
	case s.writers <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *store) freeWriter() { <-s.writers }

// write writes a snapshot. The caller has reserved a writer. connected states that the stream is
// still connected.
func (s *store) write(v snapshot, connected bool) error {
	id := v.Identity.ID
	b, err := encodeSnapshot(v)
	if err != nil {
		return err
	}
	e := entry{file: filepath.Join(s.dir, rand.Text()+suffix), size: int64(len(b)), connected: connected}
	e.describe(&v.Identity, v.Saved)
	s.deleteObsolete()
	defer s.deleteObsolete()
	if err := s.reserve(id, e); err != nil {
		return err
	}
	err = s.files.Write(e.file, 0o600, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.retire(e) // the file exists if only the folder could not be synced
		return err
	}
	s.add(id, e)
	return nil
}

// reserve counts the bytes of a snapshot before it is written. Those of the stream's previous one,
// which it replaces, are available. If the store is full, the snapshot of a disconnected stream
// replaces the oldest of connected ones.
func (s *store) reserve(id string, e entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(e.saved)
	if s.unremovable > maxUnremovable {
		return fmt.Errorf("%s: stream %s: %d files cannot be removed, expected at most %d", s.dir, id, s.unremovable, maxUnremovable)
	}
	total := s.total + e.size - s.list[id].size
	if total > s.max && (e.connected || !s.makeRoom(total-s.max, id)) {
		return fmt.Errorf("%s: stream %s: the snapshots would take %d bytes, expected at most %d: raise MaxStore", s.dir, id, total, s.max)
	}
	s.total += e.size
	return nil
}

// makeRoom drops the oldest snapshots of connected streams other than id until they had a number of
// bytes. If all of them have fewer, it drops none and returns false.
func (s *store) makeRoom(bytes int64, id string) bool {
	connected := func(other string, e entry) bool { return e.connected && other != id }
	available := int64(0)
	for other, e := range s.list {
		if connected(other, e) {
			available += e.size
		}
	}
	if available < bytes {
		return false
	}
	for bytes > 0 {
		oldest, _ := s.oldest(connected)
		bytes -= s.list[oldest].size
		s.drop(oldest)
	}
	return true
}

// add lists a snapshot whose bytes are counted, in place of the stream's previous one. The caller
// of this and the following methods holds mu, unless they lock it.
func (s *store) add(id string, e entry) {
	s.drop(id)
	s.list[id] = e
	s.evict(e.client)
}

// evict drops the oldest snapshot of a client if it has too many, without those of connected
// streams.
func (s *store) evict(client string) {
	oldest, n := s.oldest(func(_ string, e entry) bool { return e.client == client && !e.connected })
	if n > s.perClient {
		s.drop(oldest)
	}
}

// oldest returns the oldest of some snapshots, first among streams that have ended, and their
// number.
func (s *store) oldest(among func(id string, e entry) bool) (oldest string, n int) {
	for id, e := range s.list {
		if !among(id, e) {
			continue
		}
		best := s.list[oldest]
		if n++; n == 1 || e.ended && !best.ended || e.ended == best.ended && e.saved.Before(best.saved) {
			oldest = id
		}
	}
	return oldest, n
}

// expire drops expired snapshots.
func (s *store) expire(now time.Time) {
	for id, e := range s.list {
		if now.Sub(e.saved) > s.keep {
			s.drop(id)
		}
	}
}

// drop removes a snapshot from the list, if it is there.
func (s *store) drop(id string) {
	if e, has := s.list[id]; has {
		delete(s.list, id)
		s.retire(e)
	}
}

// retire no longer counts a file's bytes and leaves the file to deleteObsolete.
func (s *store) retire(e entry) {
	s.total -= e.size
	s.obsolete = append(s.obsolete, e)
}

// find returns the entry of a stream, or an empty one. It is an error if the stream is another
// client's.
func (s *store) find(id, client string) (entry, error) {
	s.expire(time.Now())
	e, has := s.list[id]
	if has && e.client != client {
		return entry{}, newError(http.StatusForbidden, "owner", "stream %s belongs to another client", id)
	}
	return e, nil
}

// deleteObsolete deletes the files that are no longer listed. A file that cannot be removed counts
// again, and the next call retries. Every method that may drop a snapshot calls it, after it has
// released mu.
func (s *store) deleteObsolete() {
	s.mu.Lock()
	obsolete := s.obsolete
	s.obsolete = nil
	s.mu.Unlock()
	for _, e := range obsolete {
		err := s.files.Remove(e.file)
		s.mu.Lock()
		switch failed := err != nil && !errors.Is(err, fs.ErrNotExist); {
		case failed && !e.unremovable:
			s.log.Error("a file was not removed", "error", err) // retries are not logged
			s.total += e.size
			s.unremovable++
			e.unremovable = true
			s.obsolete = append(s.obsolete, e)
		case failed:
			s.obsolete = append(s.obsolete, e)
		case e.unremovable:
			s.total -= e.size
			s.unremovable--
		}
		s.mu.Unlock()
	}
}

// get returns the snapshot of a stream that is now connected, or nil. The file stays until the
// stream ends, is saved again or is dropped, so that a crash loses only what followed. When the
// session ends, the caller calls disconnect.
func (s *store) get(id, client string) (*snapshot, error) {
	s.mu.Lock()
	e, err := s.find(id, client)
	if e.file != "" {
		e.connected = true
		s.list[id] = e
	}
	s.mu.Unlock()
	s.deleteObsolete()
	if err != nil || e.file == "" {
		return nil, err
	}
	v, err := s.read(e.file)
	var damaged *damagedError
	switch {
	case errors.Is(err, fs.ErrNotExist): // evicted since
		return nil, nil
	case errors.As(err, &damaged):
		return nil, errUnusable(id, err)
	}
	return v, err
}

// errUnusable is the error of a stream whose snapshot cannot be used.
func errUnusable(id string, err error) error {
	return newError(http.StatusConflict, "snapshot", "stream %s cannot be resumed: %v; DELETE it to start again", id, err)
}

// disconnect counts the snapshot of a stream for its client, if there is one.
func (s *store) disconnect(id string) {
	s.mu.Lock()
	if e, has := s.list[id]; has && e.connected {
		e.connected = false
		s.list[id] = e
		s.evict(e.client)
	}
	s.mu.Unlock()
	s.deleteObsolete()
}

// remove deletes a stream's snapshot, if there is one, and what could not be deleted earlier.
func (s *store) remove(id string) {
	s.mu.Lock()
	s.drop(id)
	n := len(s.obsolete)
	s.mu.Unlock()
	if n > 0 {
		s.deleteForGood()
	}
}

// discard is remove, but if the file cannot be deleted, the snapshot stays listed and discard
// returns the error.
func (s *store) discard(id string) error {
	s.mu.Lock()
	e, has := s.list[id]
	s.mu.Unlock()
	if !has {
		return nil
	}
	if err := s.files.Remove(e.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.remove(id)
	return nil
}

// deleteForGood is deleteObsolete for a stream that must not return after a power cut.
func (s *store) deleteForGood() {
	s.deleteObsolete()
	if err := s.files.SyncFolder(s.dir); err != nil {
		s.log.Error("a deleted stream may return after a power cut", "error", err)
	}
}

// forget drops a client's stream and reports whether there was one. The caller calls
// deleteForGood.
func (s *store) forget(id, client string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(id, client)
	if err == nil {
		s.drop(id)
	}
	return e.file != "", err
}

// size returns the number of snapshots and their total size in bytes.
func (s *store) size() (n int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list), s.total
}
