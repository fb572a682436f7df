package service

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// A panic in the detector ends its stream only. More of them than there are processors leave the
// processors free, and the streams resume from their previous snapshots.
func TestPanickingModel(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples)
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		n := runtime.GOMAXPROCS(0) + 1
		in := startService(t, toneModel(t, 0), func(c *Options) {
			c.Snapshots, c.Log, c.MaxPerClient = t.TempDir(), log.logger(), 2*n
		})
		good := in.server.recognizer
		bad := newRecognizer(t)
		in.server.streams.recognizer = bad
		var all []net.Conn
		for i := range n {
			in.interrupt(fmt.Sprint("socket", i))
			in.interrupt(fmt.Sprint("upload", i))
			socket := in.handshake(fmt.Sprint("/v1/streams/socket", i))
			upload := must.Get(in.listener.Dial(t.Context()))(t)
			fmt.Fprintf(upload, "PUT /v1/streams/upload%d?format=s16le HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", i, len(pcm))
			for _, conn := range []net.Conn{socket, upload} {
				go io.Copy(io.Discard, conn)
			}
			all = append(all, socket, upload)
		}
		synctest.Wait()
		must.Equal(t, in.server.Stats().Streams, 2*n, "connected streams")
		*bad = events.Recognizer{} // its detectors divide by zero when a sound begins
		for i, conn := range all {
			if i%2 == 0 {
				conn.Write(frame(opBinary, pcm[:40_000]))
			} else {
				conn.Write(pcm)
			}
		}
		synctest.Wait()
		must.Equal(t, log.count("integer divide by zero"), 2*n, "panics in the log")
		must.Equal(t, in.server.Stats().Streams, 0, "streams after the panics")
		must.Equal(t, in.server.Stats().SnapshotErrors, int64(2*n), "streams that were not saved")
		must.Equal(t, in.server.processors.busy, 0, "processors in use")
		must.Equal(t, in.server.Stats().Snapshots, 2*n, "snapshots")
		checkDisconnected(t, in.server.streams.store)

		// NewDetector panics, too.
		conn := in.handshake("/v1/streams/socket0")
		go io.Copy(io.Discard, conn)
		synctest.Wait()
		for _, c := range append(all, conn) {
			c.Close()
		}
		must.Equal(t, in.server.Stats().Streams, 0, "streams after a panic at the start")

		in.server.streams.recognizer = good
		for i := range n {
			must.Equal(t, in.position(fmt.Sprint("socket", i)), 800, "resumes at sample")
			must.Equal(t, in.position(fmt.Sprint("upload", i)), 800, "resumes at sample")
		}
		checkServes(t, in, pcm)
	})
}
