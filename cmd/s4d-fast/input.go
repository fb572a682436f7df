package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/s4d-fast/s4d-fast/pretrained"
)

// openInput opens a file, or standard input for -. It returns a name for messages.
func openInput(ctx context.Context, std *streams, path string) (io.ReadCloser, string, error) {
	if path != "-" {
		f, err := orInterrupt(ctx, func() (*os.File, error) { return os.Open(path) })
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			err = fmt.Errorf("%s is a folder, expected a file", path)
		}
		return f, path, badInput(pretrained.Explain(path, err))
	}
	if std.inTTY {
		return nil, "", usageError(errors.New("standard input is a terminal; pipe the input into it or pass a file"))
	}
	return io.NopCloser(std.in), "standard input", nil
}

// untilStopped returns the bytes of in. When ctx is cancelled, the bytes end after those already
// read, even while a read of in is blocked.
func untilStopped(ctx context.Context, in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	writing := make(chan struct{}, 1) // full while bytes are passed on
	context.AfterFunc(ctx, func() {
		writing <- struct{}{}
		w.Close()
		<-writing
	})
	go func() {
		buf := make([]byte, 1<<15)
		for ctx.Err() == nil {
			n, err := in.Read(buf)
			if n > 0 {
				writing <- struct{}{}
				_, closed := w.Write(buf[:n])
				<-writing
				err = cmp.Or(err, closed)
			}
			if err != nil {
				w.CloseWithError(err)
				return
			}
		}
	}()
	return r
}
