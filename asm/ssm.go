package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ssm generates the step of diagonal systems. The states of the modes stay in registers for a block
// of samples; then the modes are summed for a vector of samples at a time.
func ssm(f *file) {
	f.part("ssmModes", "func(sums *float32, x *float32, xStride, samples, channels, modes int, "+
		"hRe, hIm, lamRe, lamIm, cRe, cIm *float32)", ssmModes)
	f.part("ssmModeSteps", "func(sums *float32, x *float32, xStride, samples, channels, modes int, "+
		"states *[]float32, at, im int, lamRe, lamIm, cRe, cIm *float32)", ssmModeSteps)
	f.part("sumLanes", "func(dst, rows *float32, n int)", sumLanes)
	f.part("ssmOutput", "func(y *float32, yStride int, x *float32, xStride int, sums, d *float32, channels, samples int)", ssmOutput)
}

// ssmStates says which states a kernel advances.
type ssmStates int

const (
	oneState   ssmStates = iota // hRe and hIm, which stay in registers for all samples
	manyStates                  // one per sample, read and written at each one
)

// ssmSums says what a strip of modes does with its part of the sums.
type ssmSums int

const (
	setSums ssmSums = iota // of a pair's first strip
	addSums
)

// ssmModes: h = λ·h + x[t] for the states of [channels][modes], and sums[channel][t] is a vector
// whose lanes add up to Re Σ c·h. It takes two channels and two vectors of modes at a time: four
// chains hide the latency of the products. If the number of channels is odd, the rows of one more
// are written. Denormal results are 0.
func ssmModes(g *gen) {
	first := g.GP64()
	g.XORQ(first, first)
	g.ssmPairs(first, oneState)
}

// ssmModeSteps is ssmModes for one sample of each of several states [re, im][H][M]. Column i of x
// belongs to state i. at is the index of the first channel's first mode. im is the number of bytes
// from a state's real parts to its imaginary parts.
func ssmModeSteps(g *gen) { g.ssmPairs(g.arg("at"), manyStates) }

// ssmPairs processes the channels in pairs. first is the index of the first channel's first mode.
func (g *gen) ssmPairs(first reg.Register, states ssmStates) {
	saved := g.flushDenormals()
	p := ssmPair{gen: g, states: states}
	if !g.manyRegisters() {
		p.kept = g.alignedLocal(4 * 2 * 2 * 4 * g.lanes)
	}
	left := g.arg("channels")
	sums, x := g.arg("sums"), g.arg("x")
	g.while("channels", left, func() {
		// An odd last channel is paired with itself.
		second, x1 := g.GP64(), g.GP64()
		g.MOVQ(first, second)
		g.MOVQ(x, x1)
		alone := g.label("alone")
		g.CMPQ(left, operand.Imm(1))
		g.JE(operand.LabelRef(alone))
		modes, stride := g.arg("modes"), g.stride("xStride")
		g.ADDQ(modes, second)
		g.ADDQ(stride, x1)
		g.Label(alone)
		p.sums, p.x = sums, [2]reg.Register{x, x1}
		p.strips([2]reg.Register{first, second})

		rows := g.arg("samples")
		g.IMUL3Q(operand.U32(8*g.lanes), rows, rows)
		g.ADDQ(rows, sums)
		stride = g.stride("xStride")
		g.LEAQ(operand.Mem{Base: x, Index: stride, Scale: 2}, x)
		g.LEAQ(operand.Mem{Base: first, Index: g.arg("modes"), Scale: 2}, first)
		g.SUBQ(operand.Imm(2), left)
	})
	g.LDMXCSR(saved)
}

// flushDenormals makes the processor flush denormal numbers to 0. It returns where the previous
// settings are saved.
func (g *gen) flushDenormals() (saved operand.Mem) {
	const flushToZero, denormalsAreZero = 1 << 15, 1 << 6
	bits := flushToZero | denormalsAreZero
	if g.neon() {
		bits = 1 << 24 // both
	}
	frame, r := g.AllocLocal(8), g.GP32()
	g.STMXCSR(frame)
	g.MOVL(frame, r)
	g.ORL(operand.U32(bits), r)
	g.MOVL(r, frame.Offset(4))
	g.LDMXCSR(frame.Offset(4))
	return frame
}

// ssmPair generates the code for two channels.
type ssmPair struct {
	*gen
	states ssmStates
	sums   reg.Register    // rows of the first channel; those of the second follow
	x      [2]reg.Register // the channels' inputs
	index  [2]reg.Register // of the first mode of the current strip
	kept   operand.Mem     // memory for the constants of a strip; levels with many registers need none
}

// strips runs the pair over the samples, two vectors of modes at a time. first has the indices of
// the channels' first modes.
func (p ssmPair) strips(first [2]reg.Register) {
	n := p.arg("modes")
	p.index = [2]reg.Register{p.GP64(), p.GP64()}
	for c := range p.index {
		p.MOVQ(first[c], p.index[c])
	}
	p.anyStrip(n, setSums)
	next, end := p.label("strips"), p.label("end")
	p.Label(next)
	p.SUBQ(operand.Imm(uint64(2*p.lanes)), n)
	p.JLE(operand.LabelRef(end))
	for _, i := range p.index {
		p.ADDQ(operand.Imm(uint64(2*p.lanes)), i)
	}
	p.anyStrip(n, addSums)
	p.JMP(operand.LabelRef(next))
	p.Label(end)
}

// anyStrip chooses the loop for the n > 0 remaining modes: two full vectors, or one or two under
// masks. AVX-512 always has masks, since they cost nothing there. In AVX2 a masked store takes as
// long as a dozen others on some processors.
func (p ssmPair) anyStrip(n reg.Register, sums ssmSums) {
	partial, narrow, end := p.label("partial"), p.label("narrow"), p.label("stripEnd")
	if !p.wide() {
		p.CMPQ(n, operand.Imm(uint64(2*p.lanes)))
		p.JL(operand.LabelRef(partial))
		p.strip(nil, 2, sums)
		p.JMP(operand.LabelRef(end))
		p.Label(partial)
	}
	p.CMPQ(n, operand.Imm(uint64(p.lanes)))
	p.JLE(operand.LabelRef(narrow))
	p.strip(n, 2, sums)
	p.JMP(operand.LabelRef(end))
	p.Label(narrow)
	p.strip(n, 1, sums)
	p.Label(end)
}

// constant is a strip's vector of one parameter, in registers, or on the stack if there are too
// few. Modes past the last are 0.
type constant struct{ re, im operand.Op }

// ssmStrip generates the loop over the samples for a few vectors of modes.
type ssmStrip struct {
	ssmPair
	runs        []*run           // one per vector
	lam, weight [2][2]constant   // [channel][vector]
	h           [2][2]complexVec // the states
}

// strip runs vecs vectors of modes over the samples, h ← λ·h + x and s = Σ Re(c·h). n is the number
// of remaining modes, or nil if all vectors are full.
func (p ssmPair) strip(n reg.Register, vecs int, sums ssmSums) {
	s := &ssmStrip{ssmPair: p, runs: p.modeRuns(n, vecs)}
	s.constants("lamRe", func(c, v int) *operand.Op { return &s.lam[c][v].re })
	s.constants("lamIm", func(c, v int) *operand.Op { return &s.lam[c][v].im })
	s.constants("cRe", func(c, v int) *operand.Op { return &s.weight[c][v].re })
	s.constants("cIm", func(c, v int) *operand.Op { return &s.weight[c][v].im })
	if s.states == oneState {
		s.loadRe(s.arg("hRe"))
		s.loadIm(s.arg("hIm"))
	}
	rows, apart := s.GP64(), s.arg("samples") // apart: bytes between the rows of the channels
	s.MOVQ(s.sums, rows)
	s.IMUL3Q(operand.U32(4*s.lanes), apart, apart)
	var table, state reg.Register
	if s.states == manyStates {
		table, state = s.arg("states"), s.GP64()
	}
	loop := s.label("samples")
	s.Label(loop)
	if s.states == manyStates {
		s.MOVQ(operand.Mem{Base: table}, state)
		s.loadRe(state)
		s.ADDQ(s.arg("im"), state)
		s.loadIm(state)
	}
	s.sample(rows, apart, sums)
	if s.states == manyStates {
		s.store(1, state)
		s.SUBQ(s.arg("im"), state)
		s.store(0, state)
		s.ADDQ(operand.Imm(24), table) // the size of a slice header
	}
	s.nextSample(rows, apart, loop)
	if s.states == oneState {
		s.runs = s.modeRuns(n, vecs) // again: the loop needs the registers of masks
		s.store(0, s.arg("hRe"))
		s.store(1, s.arg("hIm"))
	}
}

// modeRuns returns the accesses of a strip's vectors: under masks for n modes, or whole if n is
// nil.
func (g *gen) modeRuns(n reg.Register, vecs int) []*run {
	if n == nil {
		return g.whole(vecs)
	}
	rest := g.GP64()
	g.MOVQ(n, rest)
	return g.partial(rest, vecs)
}

// eachVector calls body for each vector of the strip in the array p, with its address.
func (s *ssmStrip) eachVector(p reg.Register, body func(r *run, at operand.Mem, c, v int)) {
	for c := range 2 {
		for v, r := range s.runs {
			body(r, operand.Mem{Base: p, Index: s.index[c], Scale: 4, Disp: 4 * s.lanes * v}, c, v)
		}
	}
}

// constants loads the vectors of a parameter. They stay in registers, or in kept.
func (s *ssmStrip) constants(name string, to func(c, v int) *operand.Op) {
	s.eachVector(s.arg(name), func(r *run, at operand.Mem, c, v int) {
		x := r.fetch(at)
		*to(c, v) = x
		if !s.manyRegisters() {
			*to(c, v) = s.kept
			s.VMOVUPS(x, s.kept)
			s.kept = s.kept.Offset(4 * s.lanes)
		}
	})
}

// loadRe and loadIm load the parts of the states from the array p.
func (s *ssmStrip) loadRe(p reg.Register) {
	s.eachVector(p, func(r *run, at operand.Mem, c, v int) { s.h[c][v].re = r.fetch(at) })
}

func (s *ssmStrip) loadIm(p reg.Register) {
	s.eachVector(p, func(r *run, at operand.Mem, c, v int) { s.h[c][v].im = r.fetch(at) })
}

// store stores a part of the states in the array p.
func (s *ssmStrip) store(part int, p reg.Register) {
	s.eachVector(p, func(r *run, at operand.Mem, c, v int) { r.put(s.h[c][v].parts()[part], at) })
}

// sample advances the states of both channels by one sample, and sets or adds to their vectors of
// sums, at rows and rows + apart.
func (s *ssmStrip) sample(rows, apart reg.Register, sums ssmSums) {
	for c := range 2 {
		u, sum := s.vec(), s.vec()
		s.VBROADCASTSS(operand.Mem{Base: s.x[c]}, u)
		for v := range s.runs {
			s.ssmAdvance(s.h[c][v], s.lam[c][v], u)
			s.ssmSum(sum, s.weight[c][v], s.h[c][v], v == 0)
		}
		row := operand.Mem{Base: rows}
		if c == 1 {
			row.Index, row.Scale = apart, 1
		}
		if sums == addSums {
			s.VADDPS(row, sum, sum)
		}
		s.VMOVUPS(sum, row)
	}
}

// nextSample jumps to loop with the addresses of the next sample. After the last one it moves the
// inputs back to the first.
func (s *ssmStrip) nextSample(rows, apart reg.Register, loop string) {
	s.ADDQ(operand.U32(4*s.lanes), rows)
	s.ADDQ(operand.Imm(4), s.x[0])
	s.ADDQ(operand.Imm(4), s.x[1])
	end := s.GP64()
	s.MOVQ(rows, end)
	s.SUBQ(s.ssmPair.sums, end)
	s.CMPQ(end, apart)
	s.JL(operand.LabelRef(loop))
	back := s.stride("samples")
	s.SUBQ(back, s.x[0])
	s.SUBQ(back, s.x[1])
}

// ssmAdvance sets h = λ·h + u for a real u.
func (g *gen) ssmAdvance(h complexVec, lam constant, u reg.VecVirtual) {
	turned := g.vec()
	g.VMULPS(lam.im, h.re, turned)
	if g.neon() { // the product replaces the summand
		g.VMULPS(lam.re, h.re, h.re)
		g.VFNMADD231PS(lam.im, h.im, h.re)
		g.VADDPS(u, h.re, h.re)
		g.VMULPS(lam.re, h.im, h.im)
		g.VADDPS(turned, h.im, h.im)
		return
	}
	g.VFMADD132PS(lam.re, u, h.re)
	g.VFNMADD231PS(lam.im, h.im, h.re)
	g.VFMADD132PS(lam.re, turned, h.im)
}

// ssmSum adds Re(c·h) to s, or sets s to it if it is the first term.
func (g *gen) ssmSum(s reg.VecVirtual, c constant, h complexVec, first bool) {
	if first {
		g.VMULPS(c.re, h.re, s)
	} else {
		g.VFMADD231PS(c.re, h.re, s)
	}
	g.VFNMADD231PS(c.im, h.im, s)
}
