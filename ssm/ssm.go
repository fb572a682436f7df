// Package ssm holds the diagonal state space model in float64: initialisation, discretisation, the
// kernel by its definition, and the chain rule from the kernel back to the parameters. It also
// analyses trained models, with frequency responses, coverage of the angles and H∞ scores, and
// removes modes. For S4, diagonal plus rank one, it has the initialisation, the recurrence and the
// chain rule.
//
// Parameters are slices. Discretize returns log-poles log λ̄ and weights W = C·B̄, from which
// fftkernel (convolution mode) and recurrent (recurrent mode) build the fast paths. A configured
// DState = N means M = N/2 stored complex modes and y = 2·Re Σ C h + D x (docs/maths.md §1.1; S4D,
// arXiv 2206.11893).
package ssm

import (
	"cmp"
	"slices"
)

// Init names an initialisation scheme of the poles (docs/maths.md §2).
type Init string

// The schemes. Those of the second group place angles on the unit circle, with ξ in place of Δ.
// Imported marks parameters that came from a file; New rejects it.
const (
	Lin  Init = "lin"  // S4D-Lin:  Im A_n = πn
	Inv  Init = "inv"  // S4D-Inv:  Im A_n = (N/π)(N/(2n+1) − 1)
	Inv2 Init = "inv2" // Im A_n = (N/π)(N/(n+1) − 1)
	Quad Init = "quad" // Im A_n = (2n+1)²/π
	LegS Init = "legs" // S4D-LegS: eigenvalues of HiPPO-LegS, largest first, with its B
	Real Init = "real" // S4D-Real: A_n = −(n+1)
	Rand Init = "rand" // Im A_n = exp(N(0,1))

	FouT  Init = "fout"  // S4: HiPPO-FouT, Im A_n = π(N/2−1−n)
	Hippo Init = "hippo" // S4: the first half of the copies LegS, the second FouT

	DFouT       Init = "dfout"        // S4D-DFouT: one uniform grid over all SSMs of a layer
	DFouTSingle Init = "dfout-single" // S4D-DFouT of a single SSM, the same in all: 2πn/N
	DFouTHalf   Init = "dfout-half"   // dfout with one more pole per SSM: the paper's N⁺ = N/2 + 1

	Ring Init = "ring" // LRU: a ring around 0 in the plane of λ̄

	Imported Init = "imported"
)

// Param selects the trained quantities of the poles (docs/maths.md §2.4 item 2).
type Param string

// The parametrisations. a is the exponent of a mode.
const (
	// S4D's Δ and A, a = Δ·A, with Δ = ξ and Im A = θ/ξ at the start of a scheme on the unit
	// circle. B̄/B = Δ(e^a − 1)/a (default).
	ParamContinuous Param = "continuous"
	// Trained ξ, ρ and θ of a scheme on the unit circle, a = −ρξ + iθ. B̄/B = ξ(e^a − 1)/a.
	ParamDiscrete Param = "discrete"
)

// RateRule selects C̃ of S4 at another sampling rate (docs/maths.md §17.1).
type RateRule string

// The rules.
const (
	// C̃ belongs to the training rate and is replaced by that of the new rate (default).
	RateExact RateRule = "exact"
	// C̃ stays as it is, as in the official code. The kernel then approximates the one at
	// the new rate.
	RateKeep RateRule = "keep"
)

// Disc names a discretisation (docs/maths.md §1.3).
type Disc string

// The discretisations.
const (
	ZOH      Disc = "zoh"
	Bilinear Disc = "bilinear"
)

// Layer names the kind of a layer's SSMs.
type Layer string

// The layers.
const (
	LayerS4D Layer = "s4d" // diagonal, one input and output each (default; arXiv 2206.11893)
	LayerDSS Layer = "dss" // the same with weights normalised over the kernel (arXiv 2203.14343)
	LayerS4  Layer = "s4"  // diagonal plus rank one, bilinear (arXiv 2111.00396)
	LayerS5  Layer = "s5"  // one diagonal SSM for all channels (arXiv 2208.04933)
	LayerLRU Layer = "lru" // Linear Recurrent Unit, likewise (arXiv 2303.06349)
)

// Config describes the H SSMs of one layer.
type Config struct {
	Layer Layer `toml:"layer" json:"layer,omitempty"` // "" means s4d

	DModel int   `toml:"-" json:"-"`                   // H, set by the owner of the layer
	DState int   `toml:"d_state" json:"d_state"`       // N, even; M = N/2 modes are stored
	Init   Init  `toml:"init" json:"init"`             // scheme of the poles
	Disc   Disc  `toml:"disc" json:"disc"`             // zoh or bilinear
	Param  Param `toml:"param" json:"param,omitempty"` // of the poles; "" means continuous

	// Δ is log-uniform in [DtMin, DtMax]; ξ, of schemes on the unit circle, in [XiMin, XiMax].
	DtMin float64 `toml:"dt_min" json:"dt_min"`
	DtMax float64 `toml:"dt_max" json:"dt_max"`
	XiMin float64 `toml:"xi_min" json:"xi_min"`
	XiMax float64 `toml:"xi_max" json:"xi_max"`

	AReal  float64 `toml:"a_real" json:"a_real"`   // initial −Re A or ρ; 0: on the unit circle
	NSSM   int     `toml:"n_ssm" json:"n_ssm"`     // S, independent copies of the poles; 0 means H
	TrainB bool    `toml:"train_b" json:"train_b"` // B is trained; else 1, or LegS's, folded into C

	RateRule RateRule `toml:"-" json:"rate_rule,omitempty"` // of S4; "" means exact

	// Of S5 (docs/maths.md §19): copies of HiPPO-LegS, 0 means 1; initial C, "" means
	// trunc_standard_normal; Re Λ is at most −1e-4.
	Blocks   int   `toml:"blocks" json:"blocks,omitempty"`
	CInit    CInit `toml:"c_init" json:"c_init,omitempty"`
	ClipEigs bool  `toml:"-" json:"clip_eigs,omitempty"`

	// Of the LRU: initial |λ̄| are in [RMin, RMax], initial angles in (0, MaxPhase). 0 means 1 for
	// RMax and 6.28 for MaxPhase.
	RMin     float64 `toml:"r_min" json:"r_min,omitempty"`
	RMax     float64 `toml:"r_max" json:"r_max,omitempty"`
	MaxPhase float64 `toml:"max_phase" json:"max_phase,omitempty"`

	// Modes that turn by Bandlimit·π or more per sample of the input are silent; 0: none is
	// (docs/maths.md §15).
	Bandlimit float64 `toml:"-" json:"bandlimit,omitempty"`

	// A second kernel reads the future (docs/maths.md §1.5).
	Bidirectional bool `toml:"bidirectional" json:"bidirectional"`
	LMax          int  `toml:"l_max" json:"l_max"` // taps of a truncated kernel; 0: not truncated

	// LKernel is the number of taps of the kernels that the parameters of a layer with FixedLength
	// define: the length of the longest training sequence. It is 0 until that is known; C of S4 is
	// then not yet C̃ (docs/maths.md §17.1).
	LKernel int `toml:"l_kernel" json:"l_kernel,omitempty"`
}

// Diagonal reports whether the modes of a channel do not depend on one another, as Discretize
// requires.
func (c Config) Diagonal() bool { return c.Layer != LayerS4 && !c.MIMO() }

// FixedLength reports whether the layer's parameters define kernels of one length, LKernel.
func (c Config) FixedLength() bool { return c.Layer == LayerDSS || c.Layer == LayerS4 }

// MIMO reports whether the layer has one SSM for all channels: S5 and the LRU (docs/maths.md §19).
func (c Config) MIMO() bool { return c.Layer == LayerS5 || c.Layer == LayerLRU }

// StoresB reports whether B is a parameter.
func (c Config) StoresB() bool { return c.TrainB || c.Layer == LayerS4 || c.MIMO() }

// Angles reports whether the scheme places angles on the unit circle, with a damping ξ.
func (c Config) Angles() bool {
	return slices.Contains([]Init{DFouT, DFouTSingle, DFouTHalf}, c.Init)
}

// Discrete reports whether the poles are parameterised in the discrete domain, a = −ρξ + iθ
// (docs/maths.md §2.4 item 2), rather than as a = Δ·A.
func (c Config) Discrete() bool { return c.Param == ParamDiscrete }

// Modes returns M, the number of stored complex modes per SSM.
func (c Config) Modes() int {
	switch {
	case c.Layer == LayerLRU:
		return c.DState
	case c.Init == DFouTHalf:
		return c.DState/2 + 1
	}
	return c.DState / 2
}

// Copies returns S, the number of independent pole sets.
func (c Config) Copies() int { return cmp.Or(c.NSSM, c.DModel) }

// Directions returns 2 for bidirectional layers, else 1.
func (c Config) Directions() int {
	if c.Bidirectional {
		return 2
	}
	return 1
}

// Params are the trained quantities of a layer, in float64, or their gradients. A kind of layer has
// those that its formulas name; the slices of all others are nil.
//
// S4D, DSS and S4 have one SSM per channel: channel h has the step Step[h] and the poles and B of
// copy h mod S. S5 and the LRU have one SSM for all channels (docs/maths.md §19.1), with P modes.
//
// Decay and Freq determine the real and the imaginary part of a mode's pole. With a = log λ̄ for
// zero-order hold and Δ = e^Step, or ξ = e^Step in place of Δ:
//
//	layer           Decay         Freq    pole
//	S4D             log(−Re A)    Im A    a = Δ·A
//	S4D, discrete   log ρ         θ       a = −ρξ + iθ
//	DSS             −Re A         Im A    a = Δ·A
//	S4              log(−Re Λ)    Im Λ    those of Δ·(diag(Λ) − P·P*)
//	S5              Re Λ          Im Λ    a = Δ·Λ, where each mode has its own Δ
//	LRU             ν             θ       a = −e^ν + i·e^θ; B̄ = e^Gamma⊙B
//
// A logarithm of −Inf in Decay is a pole on the unit circle. Its gradient is 0.
type Params struct {
	Config
	Step  []float64    // [H]; S5: [P]; LRU: nil
	Gamma []float64    // [P] of an LRU
	Decay []float64    // [S][M]; S5, LRU: [P]
	Freq  []float64    // [S][M]; S5, LRU: [P]
	B     []complex128 // [S][M], ones unless LegS with TrainB or S4; S5, LRU: [P][H]
	P     []complex128 // [S][M] of S4, A = diag(Λ) − P·P*
	C     []complex128 // [directions][H][M]; of S4 with LKernel > 0: C̃; S5, LRU: [directions][H][P]
	D     []float64    // [H]
}

// Discrete is a layer after discretisation: everything that convolution and recurrent mode need.
type Discrete struct {
	H, M, Directions int
	Taps             int          // DSS: a growing mode's W is its weight at tap Taps − 1
	LogLambda        []complex128 // [H][M] log λ̄; Im is the angle in radians per sample
	BBar             []complex128 // [H][M]
	W                []complex128 // [directions][H][M] W = C·B̄
	modes            []mode       // [H][M] what BackwardChannels needs; nil unless KeepModes
}
