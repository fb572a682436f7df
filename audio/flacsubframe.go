package audio

import (
	"errors"
	"fmt"
)

// maxOrder is the largest number of coefficients of a linear predictor.
const maxOrder = 32

// fixedPredictors are the coefficients of the predictors without coefficients in the stream:
// differences of order 0 to 4 are coded.
var fixedPredictors = [5][]int64{{}, {1}, {2, -1}, {3, -3, 1}, {4, -6, 4, -1}}

// subframe decodes one channel of a frame to dst (RFC 9639, §9.2). Its samples have size bits.
func (b *bitReader) subframe(dst []int64, size uint) error {
	if b.uint(1) != 0 {
		return errors.New("the subframe starts with a one, expected zero")
	}
	kind := b.uint(6)
	wasted := uint(0)
	if b.uint(1) == 1 {
		wasted = uint(b.unary(63)) + 1
	}
	if wasted >= size {
		return fmt.Errorf("%d of the %d bits of a sample are unused", wasted, size)
	}
	size -= wasted
	var err error
	switch {
	case kind == 0:
		v := b.int(size)
		for i := range dst {
			dst[i] = v
		}
	case kind == 1:
		for i := range dst {
			dst[i] = b.int(size)
		}
	case kind >= 8 && kind <= 12:
		order := int(kind - 8)
		if err = b.warmUp(dst, order, size); err == nil {
			err = b.residual(dst, order)
			predict(dst, fixedPredictors[order], 0)
		}
	case kind >= maxOrder:
		err = b.linear(dst, int(kind-maxOrder)+1, size)
	default:
		err = fmt.Errorf("reserved subframe type %d", kind)
	}
	for i := range dst {
		dst[i] <<= wasted
	}
	return err
}

// warmUp reads the samples that precede the first prediction.
func (b *bitReader) warmUp(dst []int64, order int, size uint) error {
	if order > len(dst) {
		return fmt.Errorf("a predictor of %d coefficients for %d samples", order, len(dst))
	}
	for i := range order {
		dst[i] = b.int(size)
	}
	return nil
}

// linear decodes a channel with a linear predictor (§9.2.6): the first samples, the size of a
// coefficient −1 (4 bits), the shift (5 bits, signed), the coefficients and the residual.
func (b *bitReader) linear(dst []int64, order int, size uint) error {
	if err := b.warmUp(dst, order, size); err != nil {
		return err
	}
	precision, shift := uint(b.uint(4))+1, b.int(5)
	if precision == 16 || shift < 0 {
		return fmt.Errorf("coefficients of %d bits and a shift of %d, expected at most 15 bits and no negative shift", precision, shift)
	}
	var coefficients [maxOrder]int64
	for i := range order {
		coefficients[i] = b.int(precision)
	}
	err := b.residual(dst, order)
	predict(dst, coefficients[:order], uint(shift))
	return err
}

// predict adds the prediction Σ c_j x[i−1−j] / 2^shift to each residual.
func predict(x, coefficients []int64, shift uint) {
	for i := len(coefficients); i < len(x); i++ {
		sum := int64(0)
		for j, c := range coefficients {
			sum += c * x[i-1-j]
		}
		x[i] += sum >> shift
	}
}

// residual decodes dst[order:] (§9.2.7): the method (2 bits), the partition order (4), and for each
// of 2^order partitions the Rice parameter (4 or 5 bits by method) and the codes. A parameter of
// all ones is followed by the number of bits (5) of plain integers.
func (b *bitReader) residual(dst []int64, order int) error {
	method, partitions := b.uint(2), 1<<b.uint(4)
	if method > 1 {
		return fmt.Errorf("reserved residual method %d", method)
	}
	width := uint(4 + method)
	part := len(dst) / partitions
	if part*partitions != len(dst) || part < order {
		return fmt.Errorf("%d samples with %d predicted from in %d partitions", len(dst), order, partitions)
	}
	for p := range partitions {
		x := dst[p*part : (p+1)*part]
		if p == 0 {
			x = x[order:]
		}
		parameter := uint(b.uint(width))
		if parameter == 1<<width-1 {
			size := uint(b.uint(5))
			for i := range x {
				x[i] = b.int(size)
			}
			continue
		}
		for i := range x {
			high := b.unary(1 << 32 >> parameter)
			folded := high<<parameter | b.uint(parameter)
			if folded > 1<<32 {
				return errors.New("a residual of more than 32 bits")
			}
			x[i] = int64(folded>>1) ^ -int64(folded&1)
		}
		if b.err != nil {
			return nil // reported by the stream
		}
	}
	return nil
}
