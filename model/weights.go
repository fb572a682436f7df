package model

import "slices"

// Kind is the role of a tensor, which determines its optimiser group and weight decay
// (docs/maths.md §4.2).
type Kind int

// The kinds of tensors.
const (
	KindStep      Kind = iota // log Δ, log ξ
	KindDecay                 // log(−Re A), log ρ; Re Λ of S5; ν and γ of the LRU
	KindFreq                  // Im A; Im Λ of S5; θ of DFouT and of the LRU
	KindB                     // B of the SSM
	KindP                     // P of S4
	KindC                     // C of the SSM
	KindD                     // D of the SSM
	KindWeight                // matrices of linear layers
	KindBias                  // biases of linear layers
	KindNorm                  // scale and shift of norms
	KindEmbedding             // token embedding
	KindBuffer                // running statistics: stored, never trained
)

// Part is the part of the network that a tensor belongs to.
type Part int

// The parts of a network.
const (
	PartEncoder Part = iota
	PartBackbone
	PartDecoder
)

// Tensor is a named array of a network. Data is a view of the network's weights, row-major.
type Tensor struct {
	Name  string
	Shape []int
	Kind  Kind
	Part  Part
	Data  []float32
}

// Layer holds the weights of one block. A slice is nil if the configuration has no such tensor. M
// is the number of complex modes, S the number of pole copies.
//
// ssm.Params has the meaning of Step, Decay and Freq in each kind of layer. In S5 their names are
// "log_step", "Lambda_re" and "Lambda_im", in the LRU those of Decay and Freq are "nu_log" and
// "theta_log". There they are [M], and B is [M][H][2].
type Layer struct {
	Step                    []float32 // [H]       "log_dt",     discrete "log_xi"
	Gamma                   []float32 // [M]       "gamma_log" of an LRU
	Decay                   []float32 // [S][M]    "log_A_real", discrete "log_rho", DSS "A_real"
	Freq                    []float32 // [S][M]    "A_imag",     discrete "theta"
	B                       []float32 // [S][M][2] "B", with ssm.Config.StoresB
	P                       []float32 // [S][M][2] "P", S4
	C                       []float32 // [H][M][2] "C"; [2][H][M][2] if bidirectional; S4: C̃
	D                       []float32 // [H]       "D"
	MixWeight, MixBias      []float32 // "mix.weight" [2H][H], "mix.bias" [2H]; with other mixing layers H
	NormWeight, NormBias    []float32 // [H]       "norm.weight", "norm.bias"
	RunningMean, RunningVar []float32 // [H]       "norm.running_mean", "norm.running_var"
}

// Weights holds all arrays of a network. The same type holds gradients.
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

// Tensors returns every tensor in a fixed order. Their Data are the memory of the fields.
func (w *Weights) Tensors() []Tensor { return w.tensors }

// Flat returns the backing array: all tensors in order, each aligned to 64 bytes, with zeros
// between them.
func (w *Weights) Flat() []float32 { return w.flat }

// Zero sets every element to 0.
func (w *Weights) Zero() { clear(w.flat) }

// copyShared copies the tensors that both have by name and shape.
func (w *Weights) copyShared(src *Weights) {
	from := map[string]Tensor{}
	for _, t := range src.tensors {
		from[t.Name] = t
	}
	for _, t := range w.tensors {
		if slices.Equal(from[t.Name].Shape, t.Shape) {
			copy(t.Data, from[t.Name].Data)
		}
	}
}

// Clone returns a deep copy.
func (w *Weights) Clone() *Weights {
	out := NewWeights(w.config)
	copy(out.flat, w.flat)
	return out
}

// Model is a network: configuration, weights and metadata. Only a trainer changes it after it is
// built. Otherwise it may be shared between goroutines.
type Model struct {
	Config  Config
	Meta    Meta
	Weights *Weights
}
