package golden

import (
	"encoding/json"
	"math"
)

// KernelLayer is one case of the golden file of a DSS or S4 layer alone.
type KernelLayer struct {
	Config struct {
		H, N, L, Batch int
		Copies         int    `json:"n_ssm"`
		LMax           int    `json:"l_max"`        // 0: none
		DtTransform    string `json:"dt_transform"` // exp or softplus
		Bidirectional  bool
	}
	Parameters, Gradients map[string]Nested // by the official code's tensor names
	Kernel, Y             Nested            // [directions][H][L], [batch][H][L]
}

// DSS is the golden file "layer-dss" of DSS layers.
type DSS struct {
	Negative KernelLayer `json:"negative_real_parts"`
	Positive KernelLayer `json:"positive_real_parts"` // of some poles
	Tied     KernelLayer `json:"tied_softplus_bidirectional"`
	// Kernels of Negative's parameters at other lengths and step scales.
	Lengths struct{ Cases []KernelCall } `json:"lengths_and_rates"`
}

// KernelCall is a kernel for an input of length L, and the output for the first sequence of
// LayerInput.
type KernelCall struct {
	Name      string
	L         int
	Length    int     `json:"l_kernel_after"` // of S4
	StepScale float64 `json:"rate"`
	Kernel, Y Nested  // some cases have no Y
}

// S4Layer is one case of the golden file of an S4 layer. Its parameter C is C̃.
type S4Layer struct {
	KernelLayer
	C       Nested `json:"C_before_first_forward"`
	LKernel int    `json:"l_kernel"`
}

// S4 is the golden file "layer-s4-legs" or "layer-s4-fout" of S4 layers.
type S4 struct {
	Untied   S4Layer  `json:"untied_exp"`
	Tied     *S4Layer `json:"tied_softplus"`   // of FouT
	Defaults *S4Layer `json:"config_defaults"` // of LegS: tied, softplus, two directions
	// Kernels with Untied's C at other lengths and step scales.
	Lengths struct {
		Cases []struct {
			Name   string
			LMax   int          `json:"l_max"` // 0: none
			CTilde Nested       `json:"C_tilde_after"`
			Calls  []KernelCall // one after another
		}
	} `json:"lengths_and_rates"`
}

// LayerInput returns the input of the golden layers and the cotangent g, both
// [batch][channels][length]. The golden gradients are those of Σ g·y.
func LayerInput(batch, channels, length int) (u, g []float64) {
	for i := range batch {
		for h := range channels {
			for l := range length {
				b, c, s := float64(i), float64(h), float64(l)
				u = append(u, math.Sin(0.05*(b+1)*(c+1)*s+0.3*b)+0.5*math.Cos(0.37*(b+1)*s+c))
				g = append(g, math.Cos(0.11*s+0.7*c+0.2*b))
			}
		}
	}
	return u, g
}

// Nested holds the numbers of nested JSON arrays, row-major.
type Nested []float64

// UnmarshalJSON reads a number, or an array of such values.
func (n *Nested) UnmarshalJSON(text []byte) error {
	var rows []Nested
	if json.Unmarshal(text, &rows) == nil {
		for _, row := range rows {
			*n = append(*n, row...)
		}
		return nil
	}
	var x float64
	err := json.Unmarshal(text, &x)
	*n = append(*n, x)
	return err
}

// Complex returns the numbers of an array of pairs.
func (n Nested) Complex() []complex128 {
	z := make([]complex128, len(n)/2)
	for i := range z {
		z[i] = complex(n[2*i], n[2*i+1])
	}
	return z
}
