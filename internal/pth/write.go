package pth

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
)

// Write writes a checkpoint that torch.load reads: a zip file with a pickled OrderedDict (protocol
// 2) and one file of values per tensor: float32, int64 for a Count.
func Write(w io.Writer, tensors []Tensor) error {
	z := zip.NewWriter(w)
	add := func(name string, data []byte) {
		if f, err := z.CreateHeader(&zip.FileHeader{Name: "archive/" + name, Method: zip.Store}); err == nil {
			f.Write(data) // Close returns the error of every write
		}
	}
	p := pickler{'\x80', 2}
	p.class("collections", "OrderedDict")
	p.op(")R(")
	for i, t := range tensors {
		if t.Count && !(t.Data[0] >= 0 && t.Data[0] < 1<<24) {
			return fmt.Errorf("tensor %q: %v, expected a count below 2²⁴", t.Name, t.Data)
		}
		p.text(t.Name)
		p.tensor(t, i)
	}
	p.op("u.")
	add("data.pkl", p)
	add("byteorder", []byte("little"))
	for i, t := range tensors {
		data, _ := binary.Append(nil, binary.LittleEndian, t.Data)
		if t.Count {
			data = binary.LittleEndian.AppendUint64(nil, uint64(t.Data[0]))
		}
		add(fmt.Sprintf("data/%d", i), data)
	}
	add("version", []byte("3\n"))
	return z.Close()
}

// pickler is a pickle under construction.
type pickler []byte

func (p *pickler) op(s string) { *p = append(*p, s...) }

// class pushes a global name.
func (p *pickler) class(module, name string) { p.op("c" + module + "\n" + name + "\n") }

func (p *pickler) text(s string) {
	p.op("X")
	*p = binary.LittleEndian.AppendUint32(*p, uint32(len(s)))
	p.op(s)
}

func (p *pickler) number(n int) {
	p.op("J")
	*p = binary.LittleEndian.AppendUint32(*p, uint32(n))
}

// tensor pushes _rebuild_tensor_v2(storage, offset, size, stride, requires grad, hooks), where
// storage is the persistent ("storage", type, key, device, count).
func (p *pickler) tensor(t Tensor, key int) {
	p.class("torch._utils", "_rebuild_tensor_v2")
	p.op("((")
	p.text("storage")
	if t.Count {
		p.class("torch", "LongStorage")
	} else {
		p.class("torch", "FloatStorage")
	}
	p.text(fmt.Sprint(key))
	p.text("cpu")
	p.number(len(t.Data))
	p.op("tQ")
	p.number(0)
	p.op("(")
	for _, n := range t.Shape {
		p.number(n)
	}
	p.op("t(")
	for _, n := range strides(t.Shape) {
		p.number(n)
	}
	p.op("t\x89")
	p.class("collections", "OrderedDict")
	p.op(")RtR")
}
