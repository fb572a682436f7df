package vek

import "fmt"

// Matrix is a row-major view: element (i, j) is Data[i*Stride+j].
type Matrix struct {
	Data               []float32
	Rows, Cols, Stride int
}

// Row returns row i.
func (m Matrix) Row(i int) []float32 { return m.Data[i*m.Stride : i*m.Stride+m.Cols] }

func (m Matrix) check(name string) {
	if m.Rows < 0 || m.Cols < 0 || m.Stride < m.Cols || (m.Rows > 0 && (m.Rows-1)*m.Stride+m.Cols > len(m.Data)) {
		panic(fmt.Sprintf("vek: %s: %d×%d with stride %d in %d floats", name, m.Rows, m.Cols, m.Stride, len(m.Data)))
	}
}
