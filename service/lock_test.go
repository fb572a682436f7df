package service

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/memfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A stream that is still being saved after Grace keeps the folder locked until it has been saved.
func TestFolderIsLockedAfterGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := Defaults()
		opt.Snapshots, opt.Grace = filepath.Join(t.TempDir(), "streams"), time.Second
		in := startService(t, toneModel(t, 0), func(o *Options) { o.Snapshots, o.Grace = opt.Snapshots, opt.Grace })
		in.fails = true
		c := in.dial("/v1/streams/mine")
		c.sendAudio(make([]byte, 1600), 1600)
		synctest.Wait()
		st := in.server.streams.store
		for range maxWriters {
			must.Equal(t, st.tryWriter(), true, "a free place") // for which the stream must wait
		}
		must.Fail(t, in.stop(), "1 of 1 streams were not saved", "1 took too long")
		synctest.Wait()
		second := func() (*Server, error) { return New(toneModel(t, 0), events.Defaults(), opt) }
		must.Reject(second())(t, "another service uses the folder "+opt.Snapshots)
		for range maxWriters {
			st.freeWriter()
		}
		synctest.Wait()
		s := must.Get(second())(t)
		must.Equal(t, s.Stats().Snapshots, 1, "snapshots")
		must.Do(t, s.Close())
	})
}

// lockRecorder is the lock of a folder in memory.
type lockRecorder struct{ unlocked atomic.Bool }

func (l *lockRecorder) Close() error {
	l.unlocked.Store(true)
	return nil
}

// A DELETE that is still deleting a file after Grace keeps the folder locked. Later ones change
// nothing in the folder, which another service may use.
func TestFolderIsLockedDuringDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, lock := memfs.New(), &lockRecorder{}
		in := startService(t, toneModel(t, 0), func(o *Options) { o.Snapshots, o.files = storageFolder, f })
		in.interrupt("mine")
		st := in.server.streams.store
		st.lock = lock
		removed, proceed := atomic.Bool{}, make(chan bool)
		f.After = func(_ int, operation string) {
			if operation == "Remove" {
				removed.Store(true)
				<-proceed
			}
		}
		status := make(chan int, 1)
		go func() {
			code, _ := in.request("DELETE", "/v1/streams/mine", nil)
			status <- code
		}()
		synctest.Wait()
		must.Equal(t, removed.Load(), true, "the file is being deleted")
		must.Do(t, in.server.Close())
		must.Equal(t, lock.unlocked.Load(), false, "unlocked during the deletion")
		close(proceed)
		must.Equal(t, <-status, 204, "status of DELETE")
		synctest.Wait()
		must.Equal(t, lock.unlocked.Load(), true, "unlocked after the deletion")

		st.obsolete = append(st.obsolete, entry{file: filepath.Join(storageFolder, strings.Repeat("A", 26)+suffix)})
		before := f.Operations()
		code, body := in.request("DELETE", "/v1/streams/other", nil)
		checkError(t, "DELETE after the shutdown", code, body, 503, "shutdown")
		must.Equal(t, f.Operations(), before, "file operations")
	})
}
