package model

// Kind says what a tensor is; optimiser groups and weight decay follow from it (docs/maths.md §4.2).
type Kind int

// The kinds of tensors.
const (
	KindStep      Kind = iota // log Δ, log ξ
	KindDecay                 // log(−Re A), log ρ
	KindFreq                  // Im A
	KindAngle                 // θ of DFouT
	KindB                     // B of the SSM
	KindC                     // C of the SSM
	KindD                     // D of the SSM
	KindWeight                // matrices of linear layers
	KindBias                  // biases of linear layers
	KindNorm                  // scale and shift of norms
	KindEmbedding             // token embedding
	KindBuffer                // running statistics: stored, never trained
)

// Part says where in the network a tensor lives.
type Part int

// The parts of a network.
const (
	PartEncoder Part = iota
	PartBackbone
	PartDecoder
)

// Tensor is one named array of a network; Data is a view into the network's weights, row-major.
type Tensor struct {
	Name  string
	Shape []int
	Kind  Kind
	Part  Part
	Data  []float32
}

// Layer is one block's weights; a slice is nil where the configuration has no such tensor. M is the number of
// complex modes, S that of pole copies.
type Layer struct {
	LogStep                 []float32 // [H]       "log_dt",     DFouT "log_xi"
	LogDecay                []float32 // [S][M]    "log_A_real", DFouT "log_rho"
	Freq                    []float32 // [S][M]    "A_imag",     DFouT "theta"
	B                       []float32 // [S][M][2] "B", with ssm.Config.TrainB
	C                       []float32 // [H][M][2] "C"; [2][H][M][2] when bidirectional
	D                       []float32 // [H]       "D"
	MixWeight, MixBias      []float32 // [2H][H], [2H] "mix.weight", "mix.bias" (glu); [H][H], [H] (linear)
	NormWeight, NormBias    []float32 // [H]       "norm.weight", "norm.bias"
	RunningMean, RunningVar []float32 // [H]       "norm.running_mean", "norm.running_var" (batch norm)
}

// Weights are all arrays of a network. The same type holds gradients.
type Weights struct {
	EncoderWeight []float32 // [H][d_input] "encoder.weight"; embedding: [d_input][H]
	EncoderBias   []float32 // [H]          "encoder.bias"; nil for an embedding
	Layers        []Layer   //              "layers.I.…"
	NormWeight    []float32 // [H]          "norm.weight": the final norm
	NormBias      []float32
	RunningMean   []float32 // [H]          "norm.running_mean": the final norm, batch norm
	RunningVar    []float32
	CompareWeight []float32 // [H][4H]      "compare.weight", of pairs
	CompareBias   []float32 // [H]          "compare.bias"
	DecoderWeight []float32 // [d_output][H] "decoder.weight"
	DecoderBias   []float32 // [d_output]    "decoder.bias"

	config  Config
	tensors []Tensor
	flat    []float32
}

// Tensors lists every tensor in a fixed order; the Data of each aliases the fields.
func (w *Weights) Tensors() []Tensor { return w.tensors }

// Flat returns the backing array: all tensors in their order, each on a 64-byte border, zeros between them.
func (w *Weights) Flat() []float32 { return w.flat }

// Zero sets every element to 0.
func (w *Weights) Zero() { clear(w.flat) }

// CopyFrom copies the values of weights of the same configuration.
func (w *Weights) CopyFrom(src *Weights) {
	if w.config != src.config {
		panic("model: CopyFrom: weights of another configuration")
	}
	copy(w.flat, src.flat)
}

// Clone returns a copy with memory of its own.
func (w *Weights) Clone() *Weights {
	out := NewWeights(w.config)
	copy(out.flat, w.flat)
	return out
}

// Model is a network: configuration, weights and metadata. Once built it is not changed, except by its
// trainer, and may be shared between goroutines.
type Model struct {
	Config  Config
	Meta    Meta
	Weights *Weights
}
