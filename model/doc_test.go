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
	number := regexp.MustCompile(`^layers\.\d+\.`)
	seen := 0
	for _, layer := range []ssm.Config{
		{Init: ssm.Lin}, {Init: ssm.DFouT}, {Init: ssm.DFouT, Param: ssm.ParamDiscrete}, {Init: ssm.LegS, Layer: ssm.LayerDSS},
		{Init: ssm.LegS, Layer: ssm.LayerS4}, {Init: ssm.LegS, Layer: ssm.LayerS5}, {Init: ssm.Ring, Layer: ssm.LayerLRU},
	} {
		for _, encoder := range []Encoder{EncoderLinear, EncoderEmbedding} {
			c := Default()
			c.DModel, c.NLayers, c.Encoder, c.Norm, c.FinalNorm, c.Pairs = 4, 1, encoder, NormBatch, true, true
			c.SSM = layer
			c.SSM.DState, c.SSM.TrainB, c.SSM.Bidirectional = 4, true, true
			for _, tensor := range NewWeights(c).Tensors() {
				name := number.ReplaceAllString(tensor.Name, "layers.i.")
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
	if seen < 200 {
		t.Errorf("%d tensors looked for", seen)
	}
}
