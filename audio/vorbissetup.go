package audio

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// The bounds on the code books of Vorbis. Those of the reference encoder have at most 6561 entries
// of at most 8 values.
const (
	maxBookEntries    = 1 << 14
	maxBookDimensions = 64
	maxBookValues     = 1 << 20 // of all books
)

// checkVorbisSetup checks the code books and the residues in the setup header (Vorbis I
// specification, sections 3.2.1 and 8.6.1). The decoder allocates the sizes that they state, and
// does not return for a book without codes, so it must get only small and complete books. For a
// residue that ends before it begins, it would allocate gigabytes.
func checkVorbisSetup(setup []byte) error {
	if len(setup) < 8 || string(setup[:7]) != "\x05vorbis" {
		return fmt.Errorf("audio: the setup header of Vorbis starts with %q", setup[:min(len(setup), 7)])
	}
	r := &lsbReader{data: setup[7:]}
	books := int(r.uint(8)) + 1
	values := 0
	for book := range books {
		n, err := r.codeBook()
		if err == nil && r.left() < 0 {
			err = errors.New("the header ends inside it")
		}
		if values += n; err == nil && values > maxBookValues {
			err = fmt.Errorf("the books up to it have more than %d values", maxBookValues)
		}
		if err != nil {
			return fmt.Errorf("audio: code book %d of %d of Vorbis: %w", book+1, books, err)
		}
	}
	for range r.uint(6) + 1 { // time domain transforms
		r.uint(16)
	}
	floors := int(r.uint(6)) + 1
	for floor := range floors {
		if err := r.floor(); err != nil {
			return fmt.Errorf("audio: floor %d of %d of Vorbis: %w", floor+1, floors, err)
		}
	}
	residues := int(r.uint(6)) + 1
	for residue := range residues {
		if begin, end := r.residue(); begin > end {
			return fmt.Errorf("audio: residue %d of %d of Vorbis: it ends at %d and begins at %d", residue+1, residues, end, begin)
		}
	}
	return nil
}

// floor reads the configuration of a floor. The decoder reads one class of floor 1 if there is no
// partition.
func (r *lsbReader) floor() error {
	switch kind := r.uint(16); kind {
	case 0:
		r.uint(8 + 16 + 16 + 6 + 8)
		r.uint(8 * (uint(r.uint(4)) + 1))
	case 1:
		partitions := make([]uint64, r.uint(5))
		classes := uint64(1)
		for i := range partitions {
			partitions[i] = r.uint(4)
			classes = max(classes, partitions[i]+1)
		}
		dimensions := make([]uint, classes)
		for i := range dimensions {
			dimensions[i] = uint(r.uint(3)) + 1
			subclass := uint(r.uint(2))
			if subclass > 0 {
				r.uint(8)
			}
			r.uint(8 << subclass)
		}
		r.uint(2)
		width := uint(r.uint(4))
		for _, class := range partitions {
			r.uint(dimensions[class] * width)
		}
	default:
		return fmt.Errorf("type %d, expected 0 or 1", kind)
	}
	return nil
}

// residue reads the configuration of a residue, and returns where its values begin and end.
func (r *lsbReader) residue() (begin, end uint64) {
	r.uint(16)
	begin, end = r.uint(24), r.uint(24)
	r.uint(24)
	classes := r.uint(6) + 1
	r.uint(8)
	books := uint(0)
	for range classes {
		cascade := r.uint(3)
		if r.uint(1) == 1 {
			cascade |= r.uint(5) << 3
		}
		books += uint(bits.OnesCount64(cascade))
	}
	r.uint(8 * books)
	return begin, end
}

// codeBook reads a code book and returns the number of its values: 0x564342 (24 bits), dimensions
// (16), entries (24), the lengths of the codes, and the values.
func (r *lsbReader) codeBook() (values int, err error) {
	sync, dimensions, entries := r.uint(24), int(r.uint(16)), int(r.uint(24))
	if sync != 0x564342 {
		return 0, fmt.Errorf("it starts with %#x, expected 0x564342", sync)
	}
	if dimensions < 1 || dimensions > maxBookDimensions || entries < 2 || entries > maxBookEntries {
		return 0, fmt.Errorf("%d entries of %d values, expected 2 to %d of 1 to %d", entries, dimensions, maxBookEntries, maxBookDimensions)
	}
	used, sum, err := r.codeLengths(entries)
	if err != nil {
		return 0, err
	}
	if complete := sum == 1<<32; used == 0 || used > 1 && !complete {
		return 0, fmt.Errorf("its %d codes are not a complete prefix code", used)
	}
	lookup := r.uint(4)
	if lookup > 2 {
		return 0, fmt.Errorf("lookup type %d, expected 0 to 2", lookup)
	}
	if lookup == 0 {
		return 0, nil
	}
	r.uint(32)
	r.uint(32)
	width := int(r.uint(4)) + 1
	r.uint(1)
	count := entries * dimensions
	if lookup == 1 { // as the decoder takes the root
		count = int(math.Floor(math.Pow(float64(entries), 1/float64(dimensions))))
	}
	r.pos += width * count
	return entries * dimensions, nil
}

// codeLengths reads the lengths of the codes and returns their number and Σ 2^(32−length), which is
// 2³² for a complete code. Either the lengths ascend and there is a count for each, or there is a
// length of 5 bits for each entry, which may be preceded by a bit that says whether it is used.
func (r *lsbReader) codeLengths(entries int) (used int, sum uint64, err error) {
	if r.uint(1) == 1 {
		length := uint(r.uint(5)) + 1
		for used < entries {
			n := int(r.uint(uint(bits.Len(uint(entries - used)))))
			if used+n > entries || length > 32 || r.left() < 0 {
				return 0, 0, fmt.Errorf("%d codes up to %d bits, expected %d of at most 32", used+n, length, entries)
			}
			used += n
			sum += uint64(n) << (32 - length)
			length++
		}
		return used, sum, nil
	}
	sparse := r.uint(1) == 1
	for range entries {
		if !sparse || r.uint(1) == 1 {
			used++
			sum += 1 << (31 - r.uint(5))
		}
	}
	return used, sum, nil
}

// lsbReader reads bits, the least significant of a byte first. Bits after the end are 0.
type lsbReader struct {
	data []byte
	pos  int // in bits
}

// left returns the number of bits that have not been read; it is negative after reading too many.
func (r *lsbReader) left() int { return 8*len(r.data) - r.pos }

// uint returns the next n bits.
func (r *lsbReader) uint(n uint) (v uint64) {
	for i := range n {
		if at := r.pos >> 3; at < len(r.data) {
			v |= uint64(r.data[at]>>(r.pos&7)&1) << i
		}
		r.pos++
	}
	return v
}
