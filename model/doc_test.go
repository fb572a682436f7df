package model

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// docs/model-file.md names every tensor that a model file can hold.
func TestModelFileDocumented(t *testing.T) {
	page := must.Get(os.ReadFile("../docs/model-file.md"))(t)
	layer := regexp.MustCompile(`^layers\.\d+\.`)
	seen := 0
	for _, init := range []ssm.Init{ssm.Lin, ssm.DFouT} {
		for _, encoder := range []Encoder{EncoderLinear, EncoderEmbedding} {
			c := Default()
			c.DModel, c.NLayers, c.Encoder, c.Norm, c.FinalNorm, c.Pairs = 4, 1, encoder, NormBatch, true, true
			c.SSM.Init, c.SSM.TrainB, c.SSM.Bidirectional = init, true, true
			for _, tensor := range NewWeights(c).Tensors() {
				name := layer.ReplaceAllString(tensor.Name, "layers.i.")
				if rest, ok := strings.CutPrefix(name, "norm."); ok && rest != "weight" {
					name = "layers.i." + name // "the others as in a layer"
				}
				if !strings.Contains(string(page), "`"+name+"`") {
					t.Errorf("docs/model-file.md does not name %s", name)
				}
				seen++
			}
		}
	}
	if seen < 60 {
		t.Errorf("%d tensors looked for", seen)
	}
}
