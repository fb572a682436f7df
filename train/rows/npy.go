package rows

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/pth"
)

// array is a NumPy array, in C order.
type array struct {
	shape   []int
	numbers []float64 // nil if it holds text
	text    []string
}

// shapeCheck returns an error if an array is not the expected one. text: its elements are text.
type shapeCheck func(shape []int, text bool) error

// readArray reads an NPY file. size is its size in bytes. It calls check before it reads the
// elements. Memory grows with the data that has been read.
func readArray(in io.Reader, size int64, check shapeCheck) (*array, error) {
	r := bufio.NewReaderSize(in, 1<<16)
	h, err := readNPYHeader(r)
	if err != nil {
		return nil, err
	}
	if want, got := int64(h.elements)*int64(h.width), size-h.bytes; got != want {
		return nil, fmt.Errorf("shape %v of %s requires %d bytes, the file has %d", h.shape, h.dtype, want, got)
	}
	if err := check(h.shape, h.number == nil); err != nil {
		return nil, err
	}
	a := &array{shape: h.shape}
	for element := make([]byte, h.width); len(a.numbers)+len(a.text) < h.elements; {
		if _, err := io.ReadFull(r, element); err != nil {
			return nil, err
		}
		if h.number != nil {
			a.numbers = append(a.numbers, h.number(h.bits(element)))
			continue
		}
		text, err := h.text(element)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", len(a.text), err)
		}
		a.text = append(a.text, text)
	}
	// Reading a member of a zip file to its end verifies its checksum.
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("after the array: %d bytes, error %w", n, err)
	}
	if h.fortran {
		a.numbers, a.text = toCOrder(a.numbers, a.shape), toCOrder(a.text, a.shape)
	}
	return a, nil
}

// maxNPYHeader bounds the header in bytes; records, which have longer ones, are not read.
const maxNPYHeader = 1 << 16

type npyHeader struct {
	bytes    int64 // with magic string and version
	dtype    string
	fortran  bool // the first index changes fastest
	shape    []int
	elements int

	width  int                       // bytes per element
	big    bool                      // big endian
	number func(bits uint64) float64 // decodes an element; nil: it is text
}

// npyFields match the parts of the description of an array, a Python dictionary in any order.
var npyFields = [3]*regexp.Regexp{
	regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([<>|=]?[a-zA-Z][0-9]{1,4})['"]`),
	regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(False|True|0|1)`),
	regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9, L]*)\)`),
}

// readNPYHeader reads magic string, version and description.
func readNPYHeader(in io.Reader) (*npyHeader, error) {
	head := make([]byte, 12)
	if _, err := io.ReadFull(in, head[:10]); err != nil || string(head[:6]) != "\x93NUMPY" {
		return nil, errors.New("not an NPY file")
	}
	if head[6] < 1 || head[6] > 3 {
		return nil, fmt.Errorf("version %d.%d of the format, expected 1.0 to 3.0", head[6], head[7])
	}
	size := 10 + 2*min(int64(head[6]-1), 1)
	_, err := io.ReadFull(in, head[10:size])
	n := int64(binary.LittleEndian.Uint32(append(head[8:size:size], 0, 0)))
	if n > maxNPYHeader {
		return nil, fmt.Errorf("a header of %d bytes, expected at most %d", n, maxNPYHeader)
	}
	text := make([]byte, n)
	if err == nil {
		_, err = io.ReadFull(in, text)
	}
	if err != nil {
		return nil, fmt.Errorf("header: %w", io.ErrUnexpectedEOF)
	}
	var fields [3]string
	for i, field := range npyFields {
		m := field.FindSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("header %.120q: expected a type of numbers or text and a shape, as NumPy writes them", text)
		}
		fields[i] = string(m[1])
	}
	h := &npyHeader{bytes: size + n, dtype: fields[0], big: fields[0][0] == '>', fortran: fields[1] == "True" || fields[1] == "1", elements: 1}
	if err := h.parseShape(strings.ReplaceAll(fields[2], "L", "")); err != nil {
		return nil, err
	}
	return h, h.parseType()
}

// parseShape sets the shape and the number of elements.
func (h *npyHeader) parseShape(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		d, err := strconv.Atoi(part)
		if err != nil || d < 0 || d > maxSeriesValues {
			return fmt.Errorf("shape (%.80s): expected dimensions up to %d", text, maxSeriesValues)
		}
		h.shape = append(h.shape, d)
		if h.elements *= d; h.elements > maxSeriesValues || len(h.shape) > 32 {
			return fmt.Errorf("shape (%.80s): more than %d elements", text, maxSeriesValues)
		}
	}
	return nil
}

// npyNumbers decode the types of numbers.
var npyNumbers = map[string]func(bits uint64) float64{
	"b1": func(b uint64) float64 { return float64(min(b, 1)) },
	"u1": unsigned, "u2": unsigned, "u4": unsigned, "u8": unsigned,
	"i1": func(b uint64) float64 { return float64(int8(b)) },
	"i2": func(b uint64) float64 { return float64(int16(b)) },
	"i4": func(b uint64) float64 { return float64(int32(b)) },
	"i8": func(b uint64) float64 { return float64(int64(b)) },
	"f2": half,
	"f4": func(b uint64) float64 { return float64(math.Float32frombits(uint32(b))) },
	"f8": math.Float64frombits,
}

func unsigned(b uint64) float64 { return float64(b) }

// parseType sets the size of an element and its decoder.
func (h *npyHeader) parseType() error {
	kind := strings.TrimLeft(h.dtype, "<>|=")
	h.width, _ = strconv.Atoi(kind[1:])
	h.number = npyNumbers[kind]
	if h.number == nil && kind[0] != 'U' && kind[0] != 'S' || h.width == 0 {
		return fmt.Errorf("type %q: expected float32, float64, integers, truth values or text", h.dtype)
	}
	if kind[0] == 'U' {
		h.width *= 4
	}
	return nil
}

// bits returns the bits of an element, or of a character, of at most 8 bytes.
func (h *npyHeader) bits(b []byte) (bits uint64) {
	for i := range b {
		if h.big {
			bits = bits<<8 | uint64(b[i])
		} else {
			bits |= uint64(b[i]) << (8 * i)
		}
	}
	return bits
}

// half returns the number in a float16.
func half(b uint64) float64 {
	return float64(pth.Half(binary.LittleEndian.AppendUint16(nil, uint16(b))))
}

// text returns an element of text, of UTF-32 (U) or of bytes (S), padded with zeros.
func (h *npyHeader) text(element []byte) (string, error) {
	if !strings.Contains(h.dtype, "U") {
		return strings.TrimSpace(string(bytes.TrimRight(element, "\x00"))), nil
	}
	var s []byte
	for i := 0; i < len(element); i += 4 {
		c := h.bits(element[i : i+4])
		if !utf8.ValidRune(rune(c)) {
			return "", fmt.Errorf("character %#x", c)
		}
		if c != 0 {
			s = utf8.AppendRune(s, rune(c))
		}
	}
	return strings.TrimSpace(string(s)), nil
}

// toCOrder converts elements from Fortran order, in which the first index changes fastest, to C
// order, in which the last one does.
func toCOrder[T any](elements []T, shape []int) []T {
	if len(shape) < 2 || elements == nil {
		return elements
	}
	ordered, index := make([]T, len(elements)), make([]int, len(shape))
	for i := range ordered {
		at := 0
		for d := len(index) - 1; d >= 0; d-- {
			at = at*shape[d] + index[d]
		}
		ordered[i] = elements[at]
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < shape[d] {
				break
			}
			index[d] = 0
		}
	}
	return ordered
}
