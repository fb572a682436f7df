package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// decoded returns an input as text, by its first two bytes: it expands gzip, converts UTF-16 to
// UTF-8, and makes every line end in a line feed. It waits for no more than these bytes.
func decoded(r io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	head, _ := in.Peek(2) // the next Read returns the error
	if bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(z, 1<<16)
		head, _ = in.Peek(2)
	}
	text := io.Reader(in)
	if len(head) == 2 {
		switch a, b := head[0], head[1]; {
		case a == 0xff && b == 0xfe, a == 0xfe && b == 0xff:
			text = unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder().Reader(in)
		case a != 0 && b == 0:
			text = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder().Reader(in)
		case a == 0 && b != 0:
			text = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder().Reader(in)
		}
	}
	return &lineEnds{in: text}, nil
}

// lineEnds converts carriage returns, alone or before a line feed, to line feeds.
type lineEnds struct {
	in     io.Reader
	before byte
}

func (l *lineEnds) Read(p []byte) (int, error) {
	for {
		n, err := l.in.Read(p)
		kept := 0
		for _, c := range p[:n] {
			switch {
			case c == '\n' && l.before == '\r': // its line has ended
			case c == '\r':
				p[kept] = '\n'
				kept++
			default:
				p[kept] = c
				kept++
			}
			l.before = c
		}
		if kept > 0 || n == 0 || err != nil {
			return kept, err
		}
	}
}
