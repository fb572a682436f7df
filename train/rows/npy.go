package rows

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sbinet/npyio/npy"
)

// array is a NumPy array, in C order.
type array struct {
	shape   []int
	numbers []float32 // nil if it holds text
	text    []string
}

// npyHeader matches the header of an NPY file in the form that NumPy writes, on which package npy
// relies.
var npyHeader = regexp.MustCompile(`^\{'descr': '([<>|]?[a-zA-Z][0-9]{1,4})', 'fortran_order': (False|True), 'shape': \(([0-9, ]*)\), \}[ \n]*\n$`)

const (
	maxNPYHeader = 1 << 16 // bytes
	maxNPYText   = 1 << 28 // characters of all elements
	npyChunk     = 1 << 12 // elements that are read at once
)

// shapeCheck returns an error if an array is not the expected one. text: its elements are text.
type shapeCheck func(shape []int, text bool) error

// readArray reads an NPY file. size is its size in bytes. It calls check before it reads the
// elements. Memory grows with the data that has been read.
func readArray(ctx context.Context, in io.Reader, size int64, check shapeCheck) (*array, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	head, fields, err := readNPYHeader(buffered)
	if err != nil {
		return nil, err
	}
	a := &array{}
	n, err := a.parseShape(fields[3])
	if err != nil {
		return nil, err
	}
	data := fullReader{buffered}
	r, err := npy.NewReader(io.MultiReader(bytes.NewReader(head), data))
	if err != nil {
		return nil, err
	}
	dtype := fields[1]
	wanted, err := elementBytes(dtype)
	if err != nil {
		return nil, err
	}
	if got := size - int64(len(head)); got != int64(n)*int64(wanted) {
		return nil, fmt.Errorf("shape %v of %s requires %d bytes, the file has %d", a.shape, dtype, int64(n)*int64(wanted), got)
	}
	kind := strings.TrimLeft(dtype, "<>|")[0]
	text := kind == 'U' || kind == 'S'
	if err := check(a.shape, text); err != nil {
		return nil, err
	}
	if text {
		if int64(n)*int64(wanted) > 4*maxNPYText {
			return nil, fmt.Errorf("%d elements of type %s, expected at most %d characters", n, dtype, maxNPYText)
		}
		err = a.readText(data, n, dtype, wanted)
	} else {
		err = a.readNumbers(ctx, r, n, dtype)
	}
	if err != nil {
		return nil, err
	}
	// Reading a member of a zip file to its end verifies its checksum.
	if n, err := buffered.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("after the array: %d bytes, error %w", n, err)
	}
	if fields[2] == "True" {
		a.numbers, a.text = toCOrder(a.numbers, a.shape), toCOrder(a.text, a.shape)
	}
	return a, nil
}

// readNPYHeader reads magic string, version and header, and returns them with the fields of the
// header: type, order and shape.
func readNPYHeader(in io.Reader) (head []byte, fields []string, err error) {
	head = make([]byte, 12)
	if _, err := io.ReadFull(in, head[:10]); err != nil || string(head[:6]) != string(npy.Magic[:]) {
		return nil, nil, errors.New("not an NPY file")
	}
	n := int(binary.LittleEndian.Uint16(head[8:]))
	switch head[6] {
	case 1:
		head = head[:10]
	case 2:
		if _, err := io.ReadFull(in, head[10:]); err != nil {
			return nil, nil, fmt.Errorf("header: %w", io.ErrUnexpectedEOF)
		}
		n = int(min(binary.LittleEndian.Uint32(head[8:]), maxNPYHeader+1))
	default:
		return nil, nil, fmt.Errorf("version %d.%d of the format, expected 1.0 or 2.0", head[6], head[7])
	}
	if n > maxNPYHeader {
		return nil, nil, fmt.Errorf("a header of more than %d bytes", maxNPYHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(in, text); err != nil {
		return nil, nil, fmt.Errorf("header: %w", io.ErrUnexpectedEOF)
	}
	if fields = npyHeader.FindStringSubmatch(string(text)); fields == nil {
		return nil, nil, fmt.Errorf("header %.120q: expected a type of numbers or text and a shape, as NumPy writes them", text)
	}
	return append(head, text...), fields, nil
}

// parseShape sets the shape and returns the number of elements.
func (a *array) parseShape(text string) (n int, err error) {
	n = 1
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		d, err := strconv.Atoi(part)
		if err != nil || d < 0 || d > maxSeriesValues {
			return 0, fmt.Errorf("shape (%.80s): expected dimensions up to %d", text, maxSeriesValues)
		}
		a.shape = append(a.shape, d)
		if n *= d; n > maxSeriesValues || len(a.shape) > 32 {
			return 0, fmt.Errorf("shape (%.80s): more than %d elements", text, maxSeriesValues)
		}
	}
	return n, nil
}

// elementBytes returns the size of an element.
func elementBytes(dtype string) (int, error) {
	kind := strings.TrimLeft(dtype, "<>|")
	width, err := strconv.Atoi(kind[1:])
	switch {
	case err != nil:
	case kind[0] == 'U' && width > 0:
		return 4 * width, nil
	case kind[0] == 'S' && width > 0, kind[0] == 'b' && width == 1:
		return width, nil
	case kind[0] == 'f' && (width == 4 || width == 8), (kind[0] == 'i' || kind[0] == 'u') && (width == 1 || width == 2 || width == 4 || width == 8):
		return width, nil
	}
	return 0, fmt.Errorf("type %q: expected float32, float64, integers, truth values or text", dtype)
}

// readNumbers reads n numbers.
func (a *array) readNumbers(ctx context.Context, r *npy.Reader, n int, dtype string) error {
	read := map[string]func(context.Context, *npy.Reader, int) ([]float32, error){
		"f4": numbers[float32], "f8": numbers[float64],
		"i1": numbers[int8], "i2": numbers[int16], "i4": numbers[int32], "i8": numbers[int64],
		"u1": numbers[uint8], "u2": numbers[uint16], "u4": numbers[uint32], "u8": numbers[uint64],
		"b1": truthValues,
	}[strings.TrimLeft(dtype, "<>|")]
	var err error
	a.numbers, err = read(ctx, r, n)
	return err
}

// numbers reads n numbers of a type.
func numbers[T float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](ctx context.Context, r *npy.Reader, n int) ([]float32, error) {
	values, chunk := []float32{}, make([]T, min(n, npyChunk))
	for n > 0 {
		part := chunk[:min(n, npyChunk)]
		if err := r.Read(&part); err != nil {
			return nil, err
		}
		for _, v := range part {
			values = append(values, float32(v))
		}
		n -= len(part)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return values, nil
}

func truthValues(_ context.Context, r *npy.Reader, n int) ([]float32, error) {
	values, chunk := []float32{}, make([]bool, min(n, npyChunk))
	for n > 0 {
		part := chunk[:min(n, npyChunk)]
		clear(part)
		if err := r.Read(&part); err != nil {
			return nil, err
		}
		for _, v := range part {
			if v {
				values = append(values, 1)
			} else {
				values = append(values, 0)
			}
		}
		n -= len(part)
	}
	return values, nil
}

// readText reads n elements of text, of UTF-32 (U) or of bytes (S), padded with zeros. Package npy
// reads U as UTF-8.
func (a *array) readText(in io.Reader, n int, dtype string, width int) error {
	order := binary.ByteOrder(binary.LittleEndian)
	if dtype[0] == '>' {
		order = binary.BigEndian
	}
	a.text = make([]string, 0, n) // a check has accepted n
	element := make([]byte, width)
	for range n {
		if _, err := in.Read(element); err != nil {
			return err
		}
		s := bytes.TrimRight(element, "\x00")
		if strings.Contains(dtype, "U") {
			s = nil
			for i := 0; i < width; i += 4 {
				if c := order.Uint32(element[i:]); c != 0 {
					if !utf8.ValidRune(rune(c)) {
						return fmt.Errorf("element %d: character %#x", len(a.text), c)
					}
					s = utf8.AppendRune(s, rune(c))
				}
			}
		}
		a.text = append(a.text, strings.TrimSpace(string(s)))
	}
	return nil
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

// fullReader fills every slice or returns an error, because package npy treats a short read as a
// complete one.
type fullReader struct{ r io.Reader }

func (f fullReader) Read(b []byte) (int, error) {
	n, err := io.ReadFull(f.r, b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
