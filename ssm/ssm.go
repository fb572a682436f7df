// Package ssm holds the diagonal state space model in float64: initialisation, discretisation, the kernel
// by its definition, and the chain rule from the kernel back to the parameters.
//
// Parameters go in as slices; log-poles log λ̄ and weights W = C·B̄ come out as slices, from which
// fftkernel (convolution mode) and recurrent (recurrent mode) build the fast paths. A configured DState = N
// means M = N/2 stored complex modes and y = 2·Re Σ C h + D x (spec §1.1).
package ssm

// Init names an initialisation scheme of the poles (spec §2).
type Init string

// The schemes. Imported marks parameters that came from a file; New refuses it.
const (
	Lin      Init = "lin"   // S4D-Lin:  Im A_n = πn
	Inv      Init = "inv"   // S4D-Inv:  Im A_n = (N/π)(N/(2n+1) − 1)
	LegS     Init = "legs"  // S4D-LegS: eigenvalues of HiPPO-LegS, largest first, with its B
	DFouT    Init = "dfout" // S4D-DFouT layer-wise: a uniform grid of angles over all SSMs of a layer
	Imported Init = "imported"
)

// Disc names a discretisation (spec §1.3).
type Disc string

// The discretisations.
const (
	ZOH      Disc = "zoh"
	Bilinear Disc = "bilinear"
)

// Config describes the H SSMs of one layer.
type Config struct {
	DModel        int     `toml:"-" json:"-"`                         // H, set by the owner of the layer
	DState        int     `toml:"d_state" json:"d_state"`             // N, even; M = N/2 complex modes are stored
	Init          Init    `toml:"init" json:"init"`                   // scheme of the poles
	Disc          Disc    `toml:"disc" json:"disc"`                   // zoh or bilinear (DFouT: zoh only)
	DtMin         float64 `toml:"dt_min" json:"dt_min"`               // Δ log-uniform in [DtMin, DtMax]
	DtMax         float64 `toml:"dt_max" json:"dt_max"`               //
	XiMin         float64 `toml:"xi_min" json:"xi_min"`               // ξ log-uniform in [XiMin, XiMax] (DFouT)
	XiMax         float64 `toml:"xi_max" json:"xi_max"`               //
	AReal         float64 `toml:"a_real" json:"a_real"`               // initial −Re A (or ρ); 0 pins the poles to the unit circle
	NSSM          int     `toml:"n_ssm" json:"n_ssm"`                 // S, independent copies of the poles; 0 means H
	TrainB        bool    `toml:"train_b" json:"train_b"`             // B is stored and trained; else B = 1 (LegS: its fixed B is folded into C)
	Bidirectional bool    `toml:"bidirectional" json:"bidirectional"` // a second kernel reads the future (spec §1.5)
	LMax          int     `toml:"l_max" json:"l_max"`                 // kernel truncated to this many taps; 0 means none
}

// Discrete reports whether the poles are parameterised in the discrete domain, a = −ρξ + iθ (DFouT, spec
// §2.6 P2), rather than as a = Δ·A.
func (c Config) Discrete() bool { return c.Init == DFouT }

// Modes returns M, the number of stored complex modes per SSM.
func (c Config) Modes() int { return c.DState / 2 }

// Copies returns S, the number of independent pole sets.
func (c Config) Copies() int {
	if c.NSSM == 0 {
		return c.DModel
	}
	return c.NSSM
}

// Directions returns 2 for bidirectional layers, else 1.
func (c Config) Directions() int {
	if c.Bidirectional {
		return 2
	}
	return 1
}

// Params are the trainable quantities of a layer in float64; channel h uses pole copy h mod S.
//
//	S4D:   a = Δ·A, A = −exp(LogDecay) + i·Freq, Δ = exp(LogStep)
//	DFouT: a = −ρξ + iθ, ρ = exp(LogDecay), ξ = exp(LogStep), θ = Freq
//
// LogDecay = −Inf is allowed: a pole on the unit circle, whose decay has gradient 0.
type Params struct {
	Config
	LogStep  []float64    // [H]
	LogDecay []float64    // [S][M]
	Freq     []float64    // [S][M]
	B        []complex128 // [S][M]; ones unless the scheme or TrainB says otherwise
	C        []complex128 // [directions][H][M]
	D        []float64    // [H]
}

// Discrete is the layer after discretisation: everything that both modes of running need.
type Discrete struct {
	H, M, Directions int
	LogLambda        []complex128 // [H][M] log λ̄; its imaginary part is the angle per sample in radians
	BBar             []complex128 // [H][M]
	W                []complex128 // [directions][H][M] W = C·B̄
	D                []float64    // [H]
}
