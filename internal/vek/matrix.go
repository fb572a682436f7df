package vek

import (
	"fmt"
	"unsafe"
)

// Matrix is a row-major view: element (i, j) is Data[i*Stride+j].
type Matrix struct {
	Data               []float32
	Rows, Cols, Stride int
}

// MatrixOf views the first rows·cols elements of data as a matrix without gaps between its rows.
func MatrixOf(data []float32, rows, cols int) Matrix {
	return Matrix{Data: data[:rows*cols], Rows: rows, Cols: cols, Stride: cols}
}

// Columns views columns [lo, hi).
func (m Matrix) Columns(lo, hi int) Matrix {
	return Matrix{Data: m.Data[min(lo, len(m.Data)):], Rows: m.Rows, Cols: hi - lo, Stride: m.Stride}
}

// RowRange views rows [lo, hi) of a matrix that has columns.
func (m Matrix) RowRange(lo, hi int) Matrix {
	return Matrix{Data: m.Data[lo*m.Stride:], Rows: hi - lo, Cols: m.Cols, Stride: m.Stride}
}

// Row returns row i.
func (m Matrix) Row(i int) []float32 { return m.Data[i*m.Stride : i*m.Stride+m.Cols] }

func (m Matrix) check(name string) {
	if m.Rows < 0 || m.Cols < 0 || m.Stride < m.Cols || (m.Rows > 0 && (m.Rows-1)*m.Stride+m.Cols > len(m.Data)) {
		panic(fmt.Sprintf("vek: %s: %d×%d with stride %d in %d floats", name, m.Rows, m.Cols, m.Stride, len(m.Data)))
	}
}

// cacheLine is the size of a cache line, in floats.
const cacheLine = 16

// Aligned returns n zeros that start on a cache line, which is also the alignment of the widest
// vectors.
func Aligned(n int) []float32 {
	buf := make([]float32, n+cacheLine-1)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(buf)))/4) % cacheLine
	return buf[skip : skip+n : skip+n]
}
