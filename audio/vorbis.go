package audio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/jfreymuth/vorbis"
)

// The packets are decoded by the decoder of github.com/jfreymuth/oggvorbis. The Ogg pages are read
// here, because that module's own reader keeps packets of any size, recurses once per page and does
// not report a missing end.

const (
	maxVorbisChannels = 8
	maxVorbisBlock    = 1 << 13 // samples, by the specification
	maxPageSamples    = 1 << 22 // decoded from the packets of one page, in all channels
)

// vorbisStream decodes an Ogg Vorbis stream, one page at a time.
type vorbisStream struct {
	pages    oggPages
	decoder  vorbis.Decoder
	block    []float32 // output of one packet
	decoded  []float32
	channels int64
	position int64 // samples per channel, decoded and not trimmed
	reading  bool  // the page of the setup header has been decoded to its end
	started  bool  // the first page of audio has been decoded
}

// openOgg reads the three headers of Vorbis: identification, comments, setup.
func (r *Reader) openOgg(in *bufio.Reader) error {
	s := &vorbisStream{pages: oggPages{in: in}}
	id, err := s.pages.header()
	if err != nil {
		return err
	}
	if err := s.identify(id); err != nil {
		return err
	}
	s.pages.skip = true // comments may contain large pictures
	if _, err := s.pages.header(); err != nil {
		return err
	}
	setup, err := s.pages.header()
	if err != nil {
		return err
	}
	if err := checkVorbisSetup(setup); err != nil {
		return err
	}
	if err := s.decoder.ReadHeader(setup); err != nil {
		return fmt.Errorf("audio: the setup header of Vorbis: %w", err)
	}
	s.block = make([]float32, s.decoder.BufferSize())
	s.channels = int64(s.decoder.Channels())
	r.Format = Format{SampleRate: s.decoder.SampleRate(), Channels: s.decoder.Channels()}
	r.in = &blocks{name: "Ogg Vorbis", next: s.next}
	return nil
}

const vorbisID = "\x01vorbis"

// identify reads the identification header: 1, "vorbis", version (32 bits), channels (8), rate
// (32), three bit rates (32 each), the logarithms of the two block sizes (4 each), 1.
func (s *vorbisStream) identify(b []byte) error {
	if len(b) != 30 || string(b[:7]) != vorbisID {
		for _, c := range []struct{ magic, name string }{{"OpusHead", "Opus"}, {"\x7fFLAC", "FLAC"}, {"Speex", "Speex"}, {"\x80theora", "Theora"}, {"fishead", "Skeleton"}} {
			if bytes.HasPrefix(b, []byte(c.magic)) {
				return &UnsupportedError{Format: c.name + " in Ogg", demuxer: "ogg"}
			}
		}
		return fmt.Errorf("audio: Ogg with a codec that starts with %q, expected Vorbis", b[:min(len(b), 8)])
	}
	channels, rate := b[11], binary.LittleEndian.Uint32(b[12:])
	short, long := 1<<(b[28]&15), 1<<(b[28]>>4)
	if channels < 1 || channels > maxVorbisChannels || rate < 1 || rate > 1<<31-1 {
		return fmt.Errorf("audio: Ogg Vorbis of %d channels at %d Hz, expected 1 to %d channels and 1 to %d Hz", channels, rate, maxVorbisChannels, 1<<31-1)
	}
	if short < 64 || short > long || long > maxVorbisBlock {
		return fmt.Errorf("audio: Ogg Vorbis with blocks of %d and %d samples, expected 64 to %d in this order", short, long, maxVorbisBlock)
	}
	if err := s.decoder.ReadHeader(b); err != nil {
		return fmt.Errorf("audio: the identification header of Vorbis: %w", err)
	}
	return nil
}

// next reads a page and decodes the packets that end on it. The granule position of a page is the
// number of samples up to the last packet that ends on it. If it is smaller than the number of
// decoded samples, next drops the difference: at the start on the first page of audio, and at the
// end on the last page (Vorbis I specification, appendix A.2).
func (s *vorbisStream) next(int) ([]float32, error) {
	if s.reading { // the first page is that of the setup header
		if err := s.pages.page(); err != nil {
			return nil, err
		}
	}
	s.reading = true
	out, err := s.decodePage()
	decoded := int64(len(out)) / s.channels
	s.position += decoded
	if excess := min(s.position-s.pages.granule, decoded); err == nil && s.pages.granule >= 0 && excess > 0 {
		if s.pages.flags&oggLast != 0 {
			out = out[:(decoded-excess)*s.channels]
		} else if !s.started {
			out = out[excess*s.channels:]
			s.position -= excess
		}
	}
	s.started = s.started || decoded > 0
	return out, err
}

// decodePage decodes the packets that end on the page.
func (s *vorbisStream) decodePage() ([]float32, error) {
	s.decoded = s.decoded[:0]
	for {
		p, err := s.pages.packet()
		if p == nil || err != nil {
			return s.decoded, err
		}
		x, err := s.decoder.DecodeInto(p, s.block)
		if err != nil {
			return s.decoded, fmt.Errorf("audio: Ogg: page %d: %w", s.pages.read, err)
		}
		if len(s.decoded)+len(x) > maxPageSamples {
			return s.decoded, fmt.Errorf("audio: Ogg: page %d has more than %d samples", s.pages.read, maxPageSamples)
		}
		s.decoded = append(s.decoded, x...)
	}
}
