package pth

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The values of a pickle are those of Go (nil, bool, int, float64, string) and these.
type (
	tuple  []any
	dict   struct{ items []any } // keys and values alternately, in the file's order
	global string                // the name of a function or class, "module.name"
	object struct{}              // a list, or an object beside the state dict: its content is not used
)

// storage is the persistent value ("storage", class, key, device, count).
type storage struct {
	class, key string
	count      int
}

// opcode describes an opcode: the bytes of its argument, and the values that it takes from the
// stack.
type opcode struct{ argument, values int }

const (
	counted = -1 // argument: the first byte, or the first four, are the number of those that follow
	lines   = -2 // argument: two lines
	marked  = -1 // values: all above the last mark

	proto = '\x80'
)

// opcodes are those that a checkpoint consists of.
var opcodes = map[byte]opcode{
	proto:  {1, 0},
	'.':    {0, 1},       // STOP
	'(':    {0, 0},       // MARK
	'c':    {lines, 0},   // GLOBAL
	'N':    {0, 0},       // NONE
	'\x88': {0, 0},       // NEWTRUE
	'\x89': {0, 0},       // NEWFALSE
	'K':    {1, 0},       // BININT1
	'M':    {2, 0},       // BININT2
	'J':    {4, 0},       // BININT
	'\x8a': {counted, 0}, // LONG1
	'G':    {8, 0},       // BINFLOAT
	'X':    {counted, 0}, // BINUNICODE
	'\x8c': {counted, 0}, // SHORT_BINUNICODE
	')':    {0, 0},       // EMPTY_TUPLE
	'\x85': {0, 1},       // TUPLE1
	'\x86': {0, 2},       // TUPLE2
	'\x87': {0, 3},       // TUPLE3
	't':    {0, marked},  // TUPLE
	']':    {0, 0},       // EMPTY_LIST
	'a':    {0, 1},       // APPEND
	'e':    {0, marked},  // APPENDS
	'}':    {0, 0},       // EMPTY_DICT
	's':    {0, 2},       // SETITEM
	'u':    {0, marked},  // SETITEMS
	'b':    {0, 1},       // BUILD
	'R':    {0, 2},       // REDUCE
	'\x81': {0, 2},       // NEWOBJ
	'Q':    {0, 1},       // BINPERSID
	'q':    {1, 0},       // BINPUT
	'r':    {4, 0},       // LONG_BINPUT
	'h':    {1, 0},       // BINGET
	'j':    {4, 0},       // LONG_BINGET
}

// split returns the argument of an opcode at the begin of p.
func (o opcode) split(op byte, p []byte) (argument []byte, ok bool) {
	n := o.argument
	switch {
	case n == lines:
		first := bytes.IndexByte(p, '\n') + 1
		n = first + bytes.IndexByte(p[first:], '\n') + 1
		if first == 0 || n == first {
			return nil, false
		}
	case n == counted && op == 'X' && len(p) >= 4:
		n = 4 + int(binary.LittleEndian.Uint32(p))
	case n == counted && op != 'X' && len(p) >= 1:
		n = 1 + int(p[0])
	}
	if n < 0 || n > len(p) {
		return nil, false
	}
	return p[:n], true
}

// unpickle returns the value of a pickle. An opcode puts at most one value on the stack, and no
// value is copied or compared, so the time is proportional to the length.
func unpickle(p []byte) (any, error) {
	if len(p) > maxPickle {
		return nil, fmt.Errorf("pickle of %d bytes: expected at most %d", len(p), maxPickle)
	}
	m := machine{memo: map[uint32]any{}}
	for at := 0; at < len(p); {
		op := p[at]
		o, known := opcodes[op]
		if !known {
			return nil, fmt.Errorf("pickle opcode %q at byte %d is not one that a state dict needs", op, at)
		}
		argument, ok := o.split(op, p[at+1:])
		if !ok {
			return nil, fmt.Errorf("pickle opcode %q at byte %d: its argument exceeds the pickle", op, at)
		}
		values, ok := m.pop(o.values)
		if !ok {
			return nil, fmt.Errorf("malformed pickle: opcode %q at byte %d lacks its values", op, at)
		}
		if op == '.' {
			return values[0], nil
		}
		if err := m.execute(op, argument, values); err != nil {
			return nil, err
		}
		at += 1 + len(argument)
	}
	return nil, errors.New("the pickle has no end")
}

// machine is the state of a pickle that is read.
type machine struct {
	stack []any
	marks []int // lengths of the stack
	memo  map[uint32]any
}

// pop takes n values from the stack, or all above the last mark.
func (m *machine) pop(n int) (values []any, ok bool) {
	at := len(m.stack) - n
	if n == marked {
		if len(m.marks) == 0 {
			return nil, false
		}
		at = m.marks[len(m.marks)-1]
		m.marks = m.marks[:len(m.marks)-1]
	}
	if at < 0 || len(m.marks) > 0 && at < m.marks[len(m.marks)-1] {
		return nil, false
	}
	values, m.stack = m.stack[at:], m.stack[:at]
	return values, true
}

// top returns the last value of the stack.
func (m *machine) top() any {
	if len(m.stack) == 0 {
		return nil
	}
	return m.stack[len(m.stack)-1]
}

// execute runs an opcode with the values that it took.
func (m *machine) execute(op byte, argument []byte, values []any) (err error) {
	var v any
	switch op {
	case 'N':
	case '\x88', '\x89':
		v = op == '\x88'
	case 'K', 'M':
		v = int(number(argument))
	case 'J':
		v = int(int32(number(argument)))
	case 'G':
		v = math.Float64frombits(binary.BigEndian.Uint64(argument))
	case 'X':
		v = string(argument[4:])
	case '\x8c':
		v = string(argument[1:])
	case 'c':
		v, err = resolve(argument)
	case ')', '\x85', '\x86', '\x87', 't':
		v = tuple(slices.Clone(values))
	case '}':
		v = &dict{}
	case ']', '\x8a': // a long integer is too large for a size
		v = object{}
	case 'R', '\x81':
		v, err = call(values[0], values[1])
	case 'Q':
		v, err = persistent(values[0])
	case 'h', 'j':
		v = m.memo[number(argument)]
	default:
		return m.change(op, argument, values)
	}
	m.stack = append(m.stack, v)
	return err
}

// change runs an opcode that puts no value on the stack.
func (m *machine) change(op byte, argument []byte, values []any) error {
	switch op {
	case '(':
		m.marks = append(m.marks, len(m.stack))
	case 'q', 'r':
		m.memo[number(argument)] = m.top()
	case 's', 'u':
		if d, ok := m.top().(*dict); ok {
			if len(values)%2 != 0 {
				return errors.New("malformed pickle: a key without a value")
			}
			d.items = append(d.items, values...)
		}
	}
	return nil
}

// number returns an unsigned number of one, two or four bytes.
func number(b []byte) uint32 {
	var wide [4]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint32(wide[:])
}

// resolve returns the function or class that "module\nname\n" names, if a checkpoint may contain
// it: what a state dict consists of, or what Lightning stores beside it.
func resolve(names []byte) (any, error) {
	module, name, _ := strings.Cut(strings.TrimSuffix(string(names), "\n"), "\n")
	g := module + "." + name
	switch module {
	case "__builtin__", "builtins":
		if slices.Contains([]string{"dict", "list", "int", "long", "float", "str", "bool"}, name) {
			return global(g), nil
		}
	case "torch":
		if strings.HasSuffix(name, "Storage") {
			return global(g), nil
		}
	}
	switch g {
	case "collections.OrderedDict", "collections.defaultdict", "typing.Any", rebuildTensor, rebuildParameter:
		return global(g), nil
	}
	if strings.HasPrefix(g, "omegaconf.") {
		return global(g), nil
	}
	return nil, fmt.Errorf("pickle contains %.64q, expected only float tensors in plain dictionaries", g)
}

// The functions that make tensors.
const (
	rebuildTensor    = "torch._utils._rebuild_tensor_v2" // (storage, offset, size, stride, requires grad, hooks, …)
	rebuildParameter = "torch._utils._rebuild_parameter" // (tensor, requires grad, hooks)
)

// call returns the result of a function or class.
func call(function, arguments any) (any, error) {
	args, ok := arguments.(tuple)
	if _, isGlobal := function.(global); !ok || !isGlobal {
		return nil, errors.New("malformed pickle: a call of a value that is not a function")
	}
	switch function {
	case global("collections.OrderedDict"):
		return &dict{}, nil
	case global(rebuildTensor):
		return newView(args)
	case global(rebuildParameter):
		if len(args) < 1 {
			return nil, errors.New("a parameter without a tensor")
		}
		if _, ok := args[0].(*view); !ok {
			return nil, errors.New("a parameter must be made of a tensor")
		}
		return args[0], nil
	}
	return object{}, nil
}

// persistent returns the storage that ("storage", class, key, device, count) describes.
func persistent(id any) (any, error) {
	t, _ := id.(tuple)
	if len(t) < 5 || t[0] != "storage" {
		return nil, errors.New("a storage must be described by type, key, device and count")
	}
	class, ok1 := t[1].(global)
	key, ok2 := t[2].(string)
	count, ok3 := t[4].(int)
	if !ok1 || !ok2 || !ok3 {
		return nil, errors.New("a storage must be described by type, key, device and count")
	}
	return storage{strings.TrimPrefix(string(class), "torch."), key, count}, nil
}
