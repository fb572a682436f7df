package asm

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// level is one instruction set that kernels are generated for.
type level struct {
	suffix string   // of its symbols; in lower case its constant in internal/vek
	arch   string   // the processors that have it, as Go names them
	lanes  int      // float32 lanes of a vector
	regs   int      // vector registers
	isa    []string // the extensions that its kernels may use, as avo names them (MMX+ has the prefetches)
}

var (
	avx2   = level{"AVX2", "amd64", 8, 16, []string{"MMX+", "SSE", "SSE2", "AVX", "AVX2", "FMA3"}}
	avx512 = level{"AVX512", "amd64", 16, 32,
		[]string{"MMX+", "SSE", "SSE2", "AVX", "AVX2", "FMA3", "AVX512F", "AVX512DQ", "AVX512BW", "AVX512VL"}}
	armNEON = level{"NEON", "arm64", 4, lowerVecs, nil} // the instructions that lowering knows

	levels = []level{avx2, avx512, armNEON} // of one architecture, the weakest first
)

// file collects the kernels of a family.
type file struct {
	name    string
	ctx     map[string]*build.Context // by architecture
	kernels []kernel
	levels  map[string]level // by symbol
	consts  map[string]bool
}

// kernel is one function of internal/vek, with one implementation per level.
type kernel struct {
	name, signature string
	cut             bool // long slices are cut, see elementwise
	plain           bool // plain Go exists
}

// kernel generates name+suffix for every level from one description. signature is a Go function
// type with named parameters. The plain Go function is name+"Generic".
func (f *file) kernel(name, signature string, describe func(*gen)) {
	f.part(name, signature, describe)
	f.kernels[len(f.kernels)-1].plain = true
}

// part is kernel for a function without a plain Go version. Its callers make sure that the level is
// not generic, or that it is one of only.
func (f *file) part(name, signature string, describe func(*gen), only ...level) {
	if only == nil {
		only = levels
	}
	for _, l := range only {
		f.symbol(l, name, signature, describe)
	}
	f.kernels = append(f.kernels, kernel{name: name, signature: signature})
}

// elementwise is kernel for slices of one length whose elements are independent. The switch cuts
// them into runs of at most longestRun elements, since Go cannot preempt assembly.
func (f *file) elementwise(name, signature string, describe func(*gen)) {
	f.kernel(name, signature, describe)
	f.kernels[len(f.kernels)-1].cut = true
}

// passStruct is vek.FFTPass as avo prints it. avo does not know the types of internal/vek.
const passStruct = "struct{radix int; q int; count int; tw []float32; turn *float32}"

// symbol generates one function, name+suffix, for one level.
func (f *file) symbol(l level, name, signature string, describe func(*gen)) {
	symbol, ctx := name+l.suffix, f.ctx[l.arch]
	ctx.Function(symbol)
	ctx.Doc(fmt.Sprintf("%s is %s at level %s (asm/%s.go).", symbol, name, strings.ToLower(l.suffix), f.name))
	ctx.Attributes(attr.NOSPLIT)
	ctx.SignatureExpr(strings.ReplaceAll(signature, "FFTPass", passStruct))
	ctx.Pragma("noescape")
	f.levels[symbol] = l
	g := &gen{Context: ctx, level: l, file: f}
	describe(g)
	g.ret()
}

// output returns the text of a family's files, by name.
func (fam family) output() (map[string][]byte, error) {
	f := &file{name: fam.name, ctx: map[string]*build.Context{}, levels: map[string]level{}, consts: map[string]bool{}}
	for arch := range assemblers {
		f.ctx[arch] = build.NewContext()
	}
	f.ctx["amd64"].ConstraintExpr("!purego")
	fam.generate(f)
	out, sources := map[string][]byte{}, map[string]string{"_noasm.go": f.noasm()}
	for arch, assemble := range assemblers {
		text, stubs, err := f.assembly(arch, assemble)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", fam.name, arch, err)
		}
		out[fam.name+"_"+arch+".s"], sources["_"+arch+".go"] = text, stubs
	}
	for suffix, source := range sources {
		if source == "" {
			continue
		}
		text, err := format.Source([]byte(source))
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w\n%s", fam.name, suffix, err, source)
		}
		out[fam.name+suffix] = text
	}
	return out, nil
}

var config = printer.Config{Name: "package asm", Pkg: "vek"}

// assemblers write the assembly of an architecture.
var assemblers = map[string]func(f *file, result *ir.File) ([]byte, error){
	"amd64": func(f *file, result *ir.File) ([]byte, error) {
		if err := pass.Compile.Execute(result); err != nil {
			return nil, err
		}
		for _, fn := range result.Functions() {
			l := f.levels[fn.Name]
			if err := cmp.Or(gate(l, fn.ISA), registers(l, fn)); err != nil {
				return nil, fmt.Errorf("%s: %w", fn.Name, err)
			}
		}
		return printer.NewGoAsm(config).Print(result)
	},
	"arm64": func(f *file, result *ir.File) ([]byte, error) {
		if err := lowerPasses.Execute(result); err != nil {
			return nil, err
		}
		text, err := lowered(result, f.name, config.GeneratedWarning())
		return []byte(text), err
	},
}

func (f *file) assembly(arch string, assemble func(*file, *ir.File) ([]byte, error)) (text []byte, stubs string, err error) {
	result, err := f.ctx[arch].Result()
	if err != nil {
		return nil, "", err
	}
	if text, err = assemble(f, result); err != nil {
		return nil, "", err
	}
	for _, fn := range result.Functions() {
		head := "\n// " + fn.Stub() + "\n"
		text = bytes.Replace(text, []byte(head), []byte("\n// "+strings.Join(fn.Doc, "\n// ")+head), 1)
	}
	stubs = strings.ReplaceAll(f.stubs(arch, result), passStruct, "FFTPass")
	return bytes.ReplaceAll(text, []byte(passStruct), []byte("FFTPass")), stubs, nil
}

// gate rejects an instruction set that a level does not have.
func gate(l level, used []string) error {
	for _, isa := range used {
		if !slices.Contains(l.isa, isa) {
			return fmt.Errorf("uses %s, which level %s does not have", isa, l.suffix)
		}
	}
	return nil
}

// registers rejects vector registers from 16 on outside AVX-512. avo allocates them when the others
// are in use, and counts their instructions as AVX.
func registers(l level, fn *ir.Function) error {
	if l.regs > 16 {
		return nil
	}
	for _, i := range fn.Instructions() {
		for _, r := range i.Registers() {
			if p, ok := r.(reg.Physical); ok && r.Kind() == reg.KindVector && p.PhysicalIndex() >= 16 {
				return fmt.Errorf("needs more than 16 vector registers: %s", i.Opcode)
			}
		}
	}
	return nil
}

// stubs declares an architecture's assembly, and a switch to it for each kernel.
func (f *file) stubs(arch string, result *ir.File) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\n//go:build !purego\n\npackage vek\n", config.GeneratedWarning())
	for _, k := range f.kernels {
		call, returns := k.call()
		fmt.Fprintf(&b, "\nfunc %s%s {\n", k.name, strings.TrimPrefix(k.signature, "func"))
		if k.cut {
			fmt.Fprint(&b, k.cutLoop())
		}
		fmt.Fprint(&b, "switch current() {\n")
		for _, l := range slices.Backward(levels) {
			if _, ok := f.levels[k.name+l.suffix]; ok && l.arch == arch {
				fmt.Fprintf(&b, "case %s:\n%s%s%s%s\n", strings.ToLower(l.suffix), returns, k.name, l.suffix, call)
			}
		}
		if k.plain {
			fmt.Fprintf(&b, "default:\n%s%sGeneric%s\n", returns, k.name, call)
		}
		fmt.Fprint(&b, "}\n}\n")
	}
	for _, fn := range result.Functions() {
		b.WriteString("\n")
		for _, line := range fn.Doc {
			fmt.Fprintf(&b, "// %s\n", line)
		}
		fmt.Fprintf(&b, "//go:noescape\n%s\n", fn.Stub())
	}
	return b.String()
}

// noasm returns the file in which each kernel is the plain Go function.
func (f *file) noasm() string {
	if !slices.ContainsFunc(f.kernels, func(k kernel) bool { return k.plain }) {
		return ""
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\n//go:build (!amd64 && !arm64) || purego\n\npackage vek\n", config.GeneratedWarning())
	for _, k := range f.kernels {
		if !k.plain {
			continue
		}
		call, result := k.call()
		fmt.Fprintf(&b, "\nfunc %s%s { %s%sGeneric%s }\n", k.name, strings.TrimPrefix(k.signature, "func"), result, k.name, call)
	}
	return b.String()
}

// call returns the arguments in parentheses, and "return " if there is a result.
func (k kernel) call() (call, result string) {
	fn := k.function()
	var names []string
	for _, field := range fn.Params.List {
		for _, n := range field.Names {
			names = append(names, n.Name)
		}
	}
	if fn.Results != nil {
		result = "return "
	}
	return "(" + strings.Join(names, ", ") + ")", result
}

// function returns the signature, which avo has accepted.
func (k kernel) function() *ast.FuncType {
	expr, _ := parser.ParseExpr(k.signature)
	return expr.(*ast.FuncType)
}

// cutLoop calls the kernel on the first longestRun elements of every slice while there are more.
func (k kernel) cutLoop() string {
	fn := k.function()
	var args, slices, rest []string
	for _, field := range fn.Params.List {
		for _, n := range field.Names {
			if _, ok := field.Type.(*ast.ArrayType); !ok {
				args = append(args, n.Name)
				continue
			}
			args = append(args, n.Name+"[:longestRun]")
			slices, rest = append(slices, n.Name), append(rest, n.Name+"[longestRun:]")
		}
	}
	return fmt.Sprintf("for len(%s) > longestRun {\n%s(%s)\n%s = %s\n}\n",
		slices[0], k.name, strings.Join(args, ", "), strings.Join(slices, ", "), strings.Join(rest, ", "))
}
