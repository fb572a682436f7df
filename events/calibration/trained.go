package calibration

import (
	"context"
	"io"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
)

// Trained returns the files of the streams that trained the model, whatever their names and
// formats (model.Meta.Recordings). There are none if the model does not store them. Trained reads
// all files whole, and leaves out those that cannot be read. workers is the number of files that
// are read at the same time; 0: one per processor.
func Trained(ctx context.Context, m *model.Model, streams []Stream, workers int) (trained []string, err error) {
	if len(m.Meta.Recordings) == 0 {
		return nil, nil
	}
	var files []string
	for _, s := range streams {
		files = append(files, s.Files...)
	}
	found := make([]bool, len(files))
	err = par.Each(ctx, workers, len(files), func(ctx context.Context, i int) error {
		in, print, buf := &tape{files: files[i : i+1], rate: m.Meta.SampleRate}, audio.NewFingerprint(), make([]float32, blockLen)
		defer in.Close()
		for err := error(nil); err == nil && ctx.Err() == nil; {
			var n int
			n, err = in.Read(buf)
			print.Add(buf[:n])
			found[i] = err == io.EOF && m.Meta.Recordings.Has(print.Sum())
		}
		return nil
	})
	for i, path := range files {
		if found[i] {
			trained = append(trained, path)
		}
	}
	return trained, err
}
