package audio

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// UnsupportedError is the error of a recording in a known format that this package does not decode.
type UnsupportedError struct {
	Format  string
	demuxer string // of ffmpeg
	seek    bool   // ffmpeg cannot read the format from a pipe
	missing bool   // ffmpeg was looked for and is not there
}

func (e *UnsupportedError) Error() string {
	why := "is read only through ffmpeg"
	if e.missing {
		why += ", which is not installed (not on the PATH)"
	}
	return fmt.Sprintf("audio: %s %s; convert it elsewhere: ffmpeg -i FILE -f wav -", e.Format, why)
}

// Sniff returns the name of the format of a file by its first 12 bytes, or "" if they may be
// samples without a header.
func Sniff(b []byte) string {
	u := (*UnsupportedError)(nil)
	switch err := foreign(b); {
	case errors.As(err, &u) && b[0] != 0xff:
		return u.Format
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WAVE":
		return "WAV"
	case len(b) >= 4 && string(b[:4]) == "fLaC":
		return "FLAC"
	case len(b) >= 5 && string(b[:5]) == "OggS\x00":
		return "Ogg"
	}
	return ""
}

// foreign returns the error of a format that this package does not decode, by the first bytes.
func foreign(b []byte) error {
	for _, f := range []struct {
		at            int
		magic         string
		name, demuxer string
		seek          bool
	}{
		{4, "ftyp", "MP4 or M4A", "mov", true},
		{0, "\x1a\x45\xdf\xa3", "WebM or Matroska", "matroska", false},
		{8, "AIFF", "AIFF", "aiff", false},
		{8, "AIFC", "AIFF-C", "aiff", false},
		{8, "AVI ", "AVI", "avi", false},
		{0, "#!AMR", "AMR", "amr", false},
		{0, "caff", "CAF", "caf", true},
		{0, ".snd", "AU", "au", false},
		{0, "riff", "Wave64", "w64", false},
		{0, "wvpk", "WavPack", "wv", false},
		{0, "MAC ", "Monkey's Audio", "ape", true},
		{0, "TTA1", "True Audio", "tta", false},
		{0, "DSD ", "DSF", "dsf", true},
		{0, "FLV\x01", "Flash video", "flv", false},
		{0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11", "Windows Media", "asf", true},
	} {
		if len(b) >= f.at+len(f.magic) && string(b[f.at:f.at+len(f.magic)]) == f.magic {
			return &UnsupportedError{Format: f.name, demuxer: f.demuxer, seek: f.seek}
		}
	}
	switch {
	case len(b) >= 4 && b[0] == 0xff && b[1]&0xf6 == 0xf0 && b[2]>>2&15 < 13:
		return &UnsupportedError{Format: "AAC", demuxer: "aac"}
	case len(b) >= 4 && b[0] == 0xff && b[1]&0xf4 == 0xf4 && b[2]&0xf0 != 0xf0 && b[2]&0xf0 != 0 && b[2]&0x0c != 0x0c:
		return &UnsupportedError{Format: "MPEG audio of layer I or II", demuxer: "mp3"}
	}
	return nil
}

// Limits of a process of ffmpeg. The samples are bounded by who reads them.
const (
	ffmpegStall  = time.Minute // without input to wait for, and without output
	ffmpegMemory = "268435456" // bytes of an allocation
	ffmpegFile   = 1 << 30     // bytes of a temporary file
)

// ffmpegStream reads the output of a process of ffmpeg.
type ffmpegStream struct {
	name    string
	command *exec.Cmd
	out     io.ReadCloser
	wav     *Reader
	input   *childInput
	stderr  firstBytes
	stall   time.Duration
	stalled atomic.Bool
	file    *os.File // temporary copy of the input; nil: the input is a pipe
	end     func() error
}

// openFFmpeg starts ffmpeg, without a shell, with the demuxer of the format that was recognised, so
// that it follows no reference to other files or hosts.
func (o Options) openFFmpeg(in io.Reader, u *UnsupportedError) (*Reader, error) {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		u.missing = true
		return nil, u
	}
	s := &ffmpegStream{name: u.Format, input: &childInput{in: in}, stall: stall}
	url := "pipe:0"
	if u.seek {
		if url, err = s.spool(in); err != nil {
			return nil, err
		}
	}
	s.command = exec.Command(path, "-hide_banner", "-nostdin", "-loglevel", "error", "-threads", "1", "-max_alloc", ffmpegMemory,
		"-protocol_whitelist", "pipe,file", "-probesize", "65536", "-f", u.demuxer, "-i", url,
		"-map", "0:a:0", "-vn", "-c:a", "pcm_f32le", "-bitexact", "-f", "wav", "pipe:1")
	s.command.WaitDelay = time.Second
	s.command.Stderr = &s.stderr
	if !u.seek {
		s.command.Stdin = s.input
	}
	s.end = sync.OnceValue(s.finish)
	if s.out, err = s.command.StdoutPipe(); err == nil {
		err = s.command.Start()
	}
	if err != nil {
		s.removeFile()
		return nil, fmt.Errorf("audio: %s: ffmpeg: %w", u.Format, err)
	}
	s.wav, err = OpenWAV(watched{s})
	if err != nil {
		return nil, cmp.Or(s.end(), err)
	}
	s.wav.bytes = nil // nothing is joined to it
	return &Reader{Format: s.wav.Format, Container: FFmpeg, in: s, opt: o}, nil
}

// spool copies the input to a temporary file and returns its address for ffmpeg.
func (s *ffmpegStream) spool(in io.Reader) (url string, err error) {
	if s.file, err = os.CreateTemp("", "s4d-fast-*"); err != nil {
		return "", fmt.Errorf("audio: %w", err)
	}
	n, err := io.Copy(s.file, io.LimitReader(in, ffmpegFile+1))
	if err == nil && n > ffmpegFile {
		err = fmt.Errorf("more than %d bytes", ffmpegFile)
	}
	if err != nil {
		s.removeFile()
		return "", fmt.Errorf("audio: %s: %w", s.name, err)
	}
	return "file:" + s.file.Name(), nil
}

func (s *ffmpegStream) removeFile() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}

// Read implements frameSource.
func (s *ffmpegStream) Read(dst []float32) (int, error) {
	n, err := s.wav.Read(dst)
	if err == io.EOF || errors.Is(err, ErrTruncated) {
		err = cmp.Or(s.end(), err)
	}
	return n, err
}

// Close implements io.Closer.
func (s *ffmpegStream) Close() error {
	s.kill()
	s.end()
	return nil
}

func (s *ffmpegStream) kill() {
	s.command.Process.Kill()
	s.out.Close() // a process that it has started may still hold the other end
}

// finish waits for the process and returns its error, or that of the input.
func (s *ffmpegStream) finish() error {
	err := s.command.Wait()
	s.removeFile()
	text := strings.TrimSpace(string(bytes.ToValidUTF8(s.stderr.b, []byte("?"))))
	text = text[strings.LastIndexByte(text, '\n')+1:]
	switch in := s.input.failure(); {
	case in != nil:
		return fmt.Errorf("audio: %w", in)
	case s.stalled.Load():
		return fmt.Errorf("audio: %s: ffmpeg has given no audio for %v", s.name, s.stall)
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case text == "":
		return fmt.Errorf("audio: %s: ffmpeg: %w", s.name, err)
	}
	return fmt.Errorf("audio: %s: ffmpeg: %.200q", s.name, text)
}

// watched reads the output of a process, which it kills if there is none for too long though the
// process has input.
type watched struct{ *ffmpegStream }

func (w watched) Read(b []byte) (int, error) {
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(w.stall):
				if !w.input.waiting.Load() {
					w.stalled.Store(true)
					w.kill()
					return
				}
			}
		}
	}()
	return w.out.Read(b)
}

// stall is ffmpegStall, or less in tests.
var stall = ffmpegStall

// childInput is the input of a process.
type childInput struct {
	in      io.Reader
	waiting atomic.Bool // for input
	mutex   sync.Mutex
	err     error // of in, other than io.EOF
}

func (c *childInput) Read(b []byte) (int, error) {
	c.waiting.Store(true)
	n, err := c.in.Read(b)
	c.waiting.Store(false)
	if err != nil && err != io.EOF {
		c.mutex.Lock()
		c.err = err
		c.mutex.Unlock()
		err = io.EOF // for the process
	}
	return n, err
}

func (c *childInput) failure() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.err
}

// firstBytes keeps the first bytes that are written.
type firstBytes struct{ b []byte }

func (f *firstBytes) Write(b []byte) (int, error) {
	f.b = append(f.b, b[:min(len(b), 1<<12-len(f.b))]...)
	return len(b), nil
}
