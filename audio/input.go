package audio

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// InputFormats are the values of Input.Format.
var InputFormats = []string{AnyFile, string(WAV), string(FLAC), string(MP3), string(Ogg), string(S16LE), string(S16BE), string(F32LE), string(U8)}

// AnyFile is the Input.Format of a file whose first bytes tell its format.
const AnyFile = "auto"

// Input selects how audio is read that somebody sends to a program: a file, or samples of one
// channel without a header.
type Input struct {
	Options
	Format   string  // one of InputFormats
	Rate     float64 // Hz, of samples without a header, or that the header must have; 0: it may have any
	Fallback float64 // Hz, of samples without a header if Rate is 0
	Mix      bool    // read the mean of several channels also if Channel is nil
	Choose   string  // how the sender selects or mixes channels, for the error of several ones
	Flag     string  // what precedes the names format and rate in errors, such as --

	// Check finds the first sample that is not valid, as events.Check does.
	Check func(x []float32) (valid int, err error)

	// Sniffed is called if samples without a header begin as a file of a format does. Its error
	// ends the input.
	Sniffed func(format string) error
}

// InputReader is the Source of an Input.
type InputReader struct {
	Rate    float64 // Hz
	Format  string  // as in Input, or ffmpeg; never AnyFile
	Samples int64   // that Read has returned

	source Source
	file   *Reader // nil: no header
	check  func([]float32) (int, error)
}

// Open reads the header of an input and checks it. The caller calls Close, also after an error.
func (in Input) Open(r io.Reader) (out *InputReader, err error) {
	out = &InputReader{Rate: cmp.Or(in.Rate, in.Fallback), Format: in.Format, check: in.Check}
	if slices.Contains([]Encoding{S16LE, S16BE, F32LE, U8}, Encoding(in.Format)) {
		if out.Rate <= 0 {
			return out, fmt.Errorf("audio: samples without a header: expected their rate (%srate)", in.Flag)
		}
		out.source, err = NewRawReader(&sniffer{in: r, found: in.Sniffed}, Encoding(in.Format))
		return out, err
	}
	if out.file, err = in.Options.Open(r); errors.Is(err, errFormat) {
		err = fmt.Errorf("%w; raw samples need %[2]sformat and %[2]srate", err, in.Flag)
	}
	if err != nil {
		return out, err
	}
	f := out.file.Format
	out.source, out.Rate, out.Format = Mono(out.file), float64(f.SampleRate), string(out.file.Container)
	switch {
	case in.Format != AnyFile && in.Format != out.Format:
		err = fmt.Errorf("audio: the format is %s, expected %s (%sformat)", out.Format, in.Format, in.Flag)
	case f.Channels > 1 && !in.Mix && in.Channel == nil:
		err = fmt.Errorf("audio: %d channels, expected 1; %s", f.Channels, in.Choose)
	case in.Rate != 0 && in.Rate != out.Rate:
		err = fmt.Errorf("audio: rate %g Hz in the header, expected %g Hz (%srate)", out.Rate, in.Rate, in.Flag)
	}
	return out, err
}

// Read implements Source. It returns an error at the first sample that is not valid.
func (r *InputReader) Read(dst []float32) (int, error) {
	n, err := r.source.Read(dst)
	if valid, invalid := r.check(dst[:n]); invalid != nil {
		n, err = valid, invalid
	}
	r.Samples += int64(n)
	return n, err
}

// Close is that of Reader.
func (r *InputReader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
