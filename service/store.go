package service

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/filelock"
)

const (
	suffix         = ".stream"
	lockFile       = "lock" // in the folder; locked while a store is open
	maxWriters     = 4      // snapshots that are written at a time; those of disconnected streams come first
	maxUnremovable = 100    // files that cannot be removed; if there are more, no snapshot is written
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
	lock      io.Closer     // of the folder; nil if no other process can use it
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
	saved       time.Time // or, if later, disconnected; with a monotonic reading, so that a change of the clock does not change its age
	connected   bool      // the stream; such snapshots do not count for their client
	unremovable bool
}

// openStore creates a folder if necessary, locks it and lists its snapshots. It deletes damaged and
// expired ones, and the oldest beyond the limits. Other files stay. It is an error if a snapshot
// cannot be read: to ignore it would start its stream again without notice. After a crash a client
// may have as many snapshots of streams that were connected as of others, so its limit is doubled
// here. The caller calls close.
func openStore(files atomicfile.Files, dir string, keep time.Duration, maxBytes int64, perClient int, log *slog.Logger) (*store, error) {
	if err := files.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &store{
		files: files, dir: dir, keep: keep, max: maxBytes, perClient: 2 * perClient, log: log,
		writers: make(chan struct{}, maxWriters), list: map[string]entry{},
	}
	if err := s.lockFolder(); err != nil {
		return nil, err
	}
	if err := s.readFolder(); err != nil {
		s.close()
		return nil, err
	}
	s.perClient = perClient
	s.expire(time.Now())
	for s.total > s.max {
		id, _ := s.oldest(func(string, entry) bool { return true })
		s.drop(id)
	}
	s.deleteObsolete()
	return s, nil
}

// lockFolder locks the folder against other stores, also of this process, because two stores would
// not see each other's streams. File systems other than the operating system's occur only in tests
// and need no lock.
func (s *store) lockFolder() error {
	if s.files != atomicfile.System() {
		return nil
	}
	lock, err := filelock.Try(filepath.Join(s.dir, lockFile))
	switch {
	case errors.Is(err, filelock.ErrLocked):
		return fmt.Errorf("snapshots: another service uses the folder %s: stop it, or choose another folder", s.dir)
	case err != nil:
		return fmt.Errorf("snapshots: %w", err)
	case !lock.Locked():
		s.log.Warn("the folder of snapshots cannot be locked on its file system: do not use it with another service", "folder", s.dir)
	}
	s.lock = lock
	return nil
}

// close lets other stores use the folder. The list is not used afterwards.
func (s *store) close() {
	if s.lock == nil {
		return
	}
	if err := s.lock.Close(); err != nil {
		s.log.Error("the folder of snapshots is still locked", "error", err)
	}
}

// readFolder lists the snapshots in the folder.
func (s *store) readFolder() error {
	list, err := s.files.ReadDir(s.dir)
	if err != nil {
		return err
	}
	now := time.Now()
	var unreadable error
	for _, f := range list {
		if err := s.open(f, now); err != nil && !errors.Is(err, fs.ErrNotExist) { // deleted since
			unreadable = errors.Join(unreadable, err)
		}
	}
	if unreadable != nil {
		return fmt.Errorf("snapshots cannot be read; make the files readable, or move them away so that their streams start again: %w", unreadable)
	}
	return nil
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
		s.log.Warn("a file in the folder of snapshots is ignored", "error", fmt.Errorf("%s: mode %v: expected a regular file", path, info.Mode()))
		return nil
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
	age := max(0, now.Sub(saved.Saved))
	if saved.Identity.Connected { // until the crash
		age = 0
	}
	e.describe(&saved.Identity, now.Add(-age))
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
// bytes. If all of them have fewer, it drops none and returns false. The caller holds mu.
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

// expire drops expired snapshots, except those of connected streams. If newer snapshots cannot be
// written, a stream resumes from this one after a crash.
func (s *store) expire(now time.Time) {
	for id, e := range s.list {
		if !e.connected && now.Sub(e.saved) > s.keep {
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

// size returns the number of snapshots and their total size in bytes.
func (s *store) size() (n int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list), s.total
}
