package audio

import (
	"bytes"
	"cmp"
	"encoding/binary"
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

// formats are those that the first bytes of a file tell, without those of MPEG.
var formats = []struct {
	at            int
	magic         string
	name, demuxer string // of ffmpeg; "": this package decodes the format
	seek          bool
}{
	{0, "RIFX", "RIFX", "wav", false},
	{0, "RF64", "RF64", "wav", false}, // of more than 4 GiB
	{0, "BW64", "BW64", "wav", false},
	{8, "WAVE", "WAV", "", false},
	{0, "Creative Voi", "VOC", "voc", false},
	{0, "fLaC", "FLAC", "", false},
	{0, "OggS\x00", "Ogg", "", false},
	{4, "ftyp", "MP4 or M4A", "mov", true},
	{0, "\x1a\x45\xdf\xa3", "WebM or Matroska", "matroska", false},
	{8, "AIFF", "AIFF", "aiff", false},
	{8, "AIFC", "AIFF-C", "aiff", false},
	{8, "AVI ", "AVI", "avi", false},
	{0, "#!AMR", "AMR", "amr", false},
	{0, "caff", "CAF", "caf", true},
	{0, ".snd", "AU", "au", false},
	{0, "riff", "Wave64", "w64", false},
	{0, "wvpk", "WavPack", "wv", true}, // from a pipe, it reports its tags as broken blocks
	{0, "MAC ", "Monkey's Audio", "ape", true},
	{0, "tBaK", "TAK", "tak", true},
	{0, "MP+", "Musepack", "mpc", true},
	{0, "MPCK", "Musepack", "mpc8", true},
	{0, "NIST_1A", "NIST SPHERE", "nistsphere", false},
	{0, "\x64\xa3\x01\x00", "IRCAM", "ircam", false},
	{0, "\x64\xa3\x02\x00", "IRCAM", "ircam", false},
	{0, "\x00\x01\xa3\x64", "IRCAM", "ircam", false},
	{0, "\x00\x02\xa3\x64", "IRCAM", "ircam", false},
	{8, "8SVX", "8SVX", "iff", true},
	{0, "2BIT", "AVR", "avr", false},
	{0, ".SoX", "SoX", "sox", false},
	{0, ".RMF", "RealMedia", "rm", true},
	{0, "\x7f\xfe\x80\x01", "DTS", "dts", false},
	{0, "\x00\x00\x01\xba", "MPEG", "mpeg", true},
	{0, "TTA1", "True Audio", "tta", false},
	{0, "DSD ", "DSF", "dsf", true},
	{0, "FLV\x01", "Flash video", "flv", false},
	{0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11", "Windows Media", "asf", true},
}

// recognise returns the format that the first bytes tell; Format is "" if they tell none.
func recognise(b []byte) UnsupportedError {
	for _, f := range formats {
		if bytes.HasPrefix(b[min(f.at, len(b)):], []byte(f.magic)) {
			return UnsupportedError{Format: f.name, demuxer: f.demuxer, seek: f.seek}
		}
	}
	return UnsupportedError{}
}

// foreign returns the error of a format that this package does not decode, by the first bytes.
func foreign(b []byte) error {
	u := recognise(b)
	switch {
	case u.Format != "" || len(b) < 6:
	case b[0] == 0x0b && b[1] == 0x77 && b[5]>>3 <= 16:
		u = UnsupportedError{Format: "AC-3", demuxer: "ac3"}
	case b[0] != 0xff:
	case b[1]&0xf6 == 0xf0 && b[2]>>2&15 < 13:
		u = UnsupportedError{Format: "AAC", demuxer: "aac"}
	case b[1]&0xf4 == 0xf4 && b[2]&0xf0 != 0xf0 && b[2]&0xf0 != 0 && b[2]&0x0c != 0x0c:
		u = UnsupportedError{Format: "MPEG audio of layer I or II", demuxer: "mp3"}
	}
	if u.demuxer == "" {
		return nil
	}
	return &u
}

// Limits of a process of ffmpeg. The samples are bounded by who reads them.
const (
	ffmpegMemory = "268435456" // bytes of an allocation
	ffmpegFile   = 1 << 30     // bytes of a temporary file
)

// stall is the time without output after which a process that does not wait for input is ended.
// Tests change it.
var stall = time.Minute

// ffmpegStream reads the output of a process of ffmpeg.
type ffmpegStream struct {
	name             string
	opt              Options
	head             [8]byte // of the input
	command          *exec.Cmd
	in               io.Reader
	out              io.ReadCloser
	wav              *Reader
	stderr           firstBytes
	read             atomic.Int64          // bytes of the input
	waiting, stalled atomic.Bool           // for input; killed
	failed           atomic.Pointer[error] // of the input
	file             *os.File              // temporary copy of the input; nil: the input is a pipe
	end              func() error          // finish, once
}

// openFFmpeg starts ffmpeg, without a shell, with the demuxer of the format that was recognised, so
// that it follows no reference to other files or hosts.
func (o Options) openFFmpeg(in io.Reader, head []byte, u *UnsupportedError) (*Reader, error) {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		u.missing = true
		return nil, u
	}
	s := &ffmpegStream{name: u.Format, opt: o, in: in}
	s.end = sync.OnceValue(s.finish)
	copy(s.head[:], head)
	url := "pipe:0"
	if u.seek {
		if err := s.spool(); err != nil {
			return nil, fmt.Errorf("audio: %s: %w", u.Format, err)
		}
		url = "file:" + s.file.Name()
	}
	s.command = exec.Command(path, "-hide_banner", "-nostdin", "-loglevel", "error", "-threads", "1", "-max_alloc", ffmpegMemory,
		"-protocol_whitelist", "pipe,file", "-probesize", "65536", "-f", u.demuxer, "-i", url,
		"-map", "0:a:0", "-vn", "-c:a", "pcm_f32le", "-bitexact", "-f", "wav", "pipe:1")
	s.command.WaitDelay = time.Second
	s.command.Stderr = &s.stderr
	if !u.seek {
		s.command.Stdin = processInput{s}
	}
	if s.out, err = s.command.StdoutPipe(); err == nil {
		err = s.command.Start()
	}
	if err != nil {
		s.removeFile()
		return nil, fmt.Errorf("audio: %s: ffmpeg: %w", u.Format, err)
	}
	if s.wav, err = OpenWAV(processOutput{s}); err != nil {
		return nil, cmp.Or(s.end(), err)
	}
	s.wav.bytes = nil // nothing is joined to it
	return &Reader{Format: s.wav.Format, Container: FFmpeg, in: s, opt: o}, nil
}

// spool copies the input to a temporary file.
func (s *ffmpegStream) spool() (err error) {
	if s.file, err = os.CreateTemp("", "s4d-fast-*"); err != nil {
		return err
	}
	n, err := io.Copy(s.file, io.LimitReader(s.in, ffmpegFile+1))
	if n > ffmpegFile {
		err = fmt.Errorf("more than %d bytes", ffmpegFile)
	}
	if err != nil {
		s.removeFile()
	}
	return err
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
	if err == io.EOF && s.joined() {
		s.opt.note("other bytes follow its end, which ffmpeg does not read; if they are another file, split them")
	}
	if err == io.EOF || errors.Is(err, ErrTruncated) {
		err = cmp.Or(s.end(), err)
	}
	return n, err
}

// joined reports whether more bytes follow the file: after the size in the header of RIFF or AIFF,
// or from a second first box of MP4 on. Other formats are read on.
func (s *ffmpegStream) joined() bool {
	size := int64(binary.LittleEndian.Uint32(s.head[4:]))
	switch string(s.head[:4]) {
	case "FORM":
		size = int64(binary.BigEndian.Uint32(s.head[4:]))
		fallthrough
	case "RIFF":
		return !isPlaceholder(size, 1) && s.read.Load() > size+9 // with the byte after an odd size
	}
	var box [16]byte // size, type, size of 64 bits if the first is 1
	for at := int64(0); s.file != nil; at += size {
		n, _ := s.file.ReadAt(box[:], at)
		if size = int64(binary.BigEndian.Uint32(box[:])); size == 1 {
			size = int64(binary.BigEndian.Uint64(box[8:]))
		}
		if n < len(box) || size < 8 || string(box[4:8]) == "ftyp" && at > 0 {
			return n == len(box) && size >= 8
		}
	}
	return false
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

// finish waits for the process and returns the error of the input, or its own.
func (s *ffmpegStream) finish() error {
	err := s.command.Wait()
	s.removeFile()
	text := strings.TrimSpace(string(bytes.ToValidUTF8(s.stderr.b, []byte("?"))))
	text = text[strings.LastIndexByte(text, '\n')+1:]
	switch failed := s.failed.Load(); {
	case failed != nil: // the process has only seen that its input ended
		return fmt.Errorf("audio: %s: %w", s.name, *failed)
	case s.stalled.Load():
		return fmt.Errorf("audio: %s: ffmpeg has given no audio for %v", s.name, stall)
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		if text != "" {
			s.opt.note("ffmpeg reports %.200q", text)
		}
		return nil
	case text != "":
		return fmt.Errorf("audio: %s: ffmpeg: %.200q", s.name, text)
	}
	return fmt.Errorf("audio: %s: ffmpeg: %w", s.name, err)
}

// processInput is the input of a process.
type processInput struct{ *ffmpegStream }

func (p processInput) Read(b []byte) (int, error) {
	p.waiting.Store(true)
	defer p.waiting.Store(false)
	n, err := p.in.Read(b)
	p.read.Add(int64(n))
	if err != nil && err != io.EOF {
		p.failed.Store(&err)
	}
	return n, err
}

// processOutput is the output of a process, which is killed if there is none for too long though
// the process has input.
type processOutput struct{ *ffmpegStream }

func (p processOutput) Read(b []byte) (int, error) {
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(stall):
				if !p.waiting.Load() {
					p.stalled.Store(true)
					p.kill()
					return
				}
			}
		}
	}()
	return p.out.Read(b)
}

// firstBytes keeps the first bytes that are written.
type firstBytes struct{ b []byte }

func (f *firstBytes) Write(b []byte) (int, error) {
	f.b = append(f.b, b[:min(len(b), 1<<12-len(f.b))]...)
	return len(b), nil
}
