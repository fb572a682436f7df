package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// SetFrom prepares the configuration of a run that starts from a model (Options.From). It sets From
// and the network to those of the model. It clears the encoder, the inputs and the outputs, which
// the data determine.
func (c *Config) SetFrom(m *model.Model) {
	c.From = fmt.Sprintf("%x", m.Hash())
	c.setNetwork(m.Config)
}

func (c *Config) setNetwork(m model.Config) {
	c.Model, c.SSM, c.Ablate.Layers = m, m.SSM, m.SSMLayers
	c.Model.Encoder, c.Model.DInput, c.Model.DOutput = "", 0, 0
	c.Model.Pairs, c.Model.SSMLayers, c.Model.SSM = false, 0, ssm.Config{}
	c.SSM.DModel = 0
}

// recordFrom sets c.From to the hash of the model that the run starts from.
func (c *Config) recordFrom(opt Options) error {
	switch hash := ""; {
	case opt.From != nil:
		if hash = fmt.Sprintf("%x", opt.From.Hash()); c.From != "" && c.From != hash {
			return configErrorf("from: the model has the hash %.12s…, expected %.12s… as in the configuration", hash, c.From)
		}
		c.From = hash
	case c.From != "" && !opt.Resume:
		return configErrorf("from: the configuration names trained weights (hash %.12s…): that model is required (--from MODEL)", c.From)
	}
	return nil
}

// firstModel returns the network with which a run starts, without Meta: with initial weights or,
// with from, with those of the model. If a run that started from a model is resumed, the weights
// are 0, because the checkpoint has them.
func (t *Trainer) firstModel(c model.Config, from *model.Model) (*model.Model, error) {
	switch {
	case from == nil && t.cfg.From != "":
		return &model.Model{Config: c, Weights: model.NewWeights(c)}, nil
	case from == nil:
		m, err := model.New(c, t.cfg.Seed)
		if err != nil {
			return nil, ConfigError(err)
		}
		return m, nil
	}
	if err := t.checkFrom(c, from); err != nil {
		return nil, err
	}
	t.fromOutputs = matchOutputs(&from.Meta, from.Config.DOutput, t.data.Info)
	if n := t.newOutputs(); n > 0 && slices.Contains(t.cfg.Optim.Freeze, "decoder") {
		return nil, configErrorf("optim.freeze: the decoder has %s that the model does not have, which must learn", count(n, "output"))
	}
	m, err := from.WithOutputs(t.fromOutputs, t.cfg.Seed)
	if err != nil {
		return nil, ConfigError(err)
	}
	first := &model.Model{Config: c, Weights: model.NewWeights(c)} // dropout may differ
	copy(first.Weights.Flat(), m.Weights.Flat())
	first.ExtendKernels(from.Config.SSM.LKernel)
	return first, nil
}

// checkFrom returns an error that lists every difference between the network and the input of a
// model and those of the run.
func (t *Trainer) checkFrom(c model.Config, from *model.Model) error {
	other := t.cfg
	other.setNetwork(from.Config)
	other.Model.Dropout = t.cfg.Model.Dropout
	if s := from.Config.SSM; s.Layer == ssm.LayerS4 && s.KernelLength(c.SSM.LKernel) == c.SSM.LKernel {
		other.SSM.LKernel = t.cfg.SSM.LKernel // firstModel extends C̃
	}
	var list []string
	add := func(what string, there, here any) {
		list = append(list, fmt.Sprintf("%s is %v in the model, %v in this run", what, there, here))
	}
	for _, key := range t.cfg.Differences(&other) {
		add(key, other.values()[key], t.cfg.values()[key])
	}
	there, here := from.Config, c
	for _, v := range []struct {
		what        string
		there, here any
	}{
		{"encoder", there.Encoder, here.Encoder}, {"d_input", there.DInput, here.DInput},
		{"norm_eps", there.NormEps, here.NormEps}, {"norm_biased", there.NormBiased, here.NormBiased},
		{"clip_eigs", there.SSM.ClipEigs, here.SSM.ClipEigs}, {"rate_rule", there.SSM.RateRule, here.SSM.RateRule},
		{"bandlimit", there.SSM.Bandlimit, here.SSM.Bandlimit},
	} {
		if v.there != v.here {
			add(v.what, v.there, v.here)
		}
	}
	a, b := &from.Meta, t.data.Info
	if from.Config.Pairs != c.Pairs {
		add("a comparison of pairs", from.Config.Pairs, c.Pairs)
	}
	if a.SampleRate != b.SampleRate && a.SampleRate != 0 && b.SampleRate != 0 {
		add("the sampling rate", fmt.Sprint(a.SampleRate, " Hz"), fmt.Sprint(b.SampleRate, " Hz"))
	}
	switch {
	case (a.Filterbank == nil) != (b.Filterbank == nil):
		add("a filter bank", a.Filterbank != nil, b.Filterbank != nil)
	case a.Filterbank != nil && *a.Filterbank != *b.Filterbank:
		add("the filter bank", fmt.Sprintf("%+v", *a.Filterbank), fmt.Sprintf("%+v", *b.Filterbank))
	}
	if a.Series != nil && b.Series != nil && !slices.Equal(a.Series.Columns, b.Series.Columns) {
		there, here := suggest.Difference(a.Series.Columns, b.Series.Columns)
		add("the list of columns", there, here)
	}
	if len(list) > 0 {
		return configErrorf("from: %s", strings.Join(list, "; "))
	}
	return nil
}

// matchOutputs returns, for every output of the data, the index of the model's output with the same
// label or target, or −1. If the outputs have no names and the model has as many, they correspond
// in their order.
func matchOutputs(m *model.Meta, outputs int, info dataset.Info) []int {
	match := make([]int, info.Outputs)
	there, here := outputNames(m.Labels, m.Series), outputNames(info.Labels, info.Series)
	for o := range match {
		switch {
		case there != nil && here != nil:
			match[o] = slices.Index(there, here[o])
		case outputs == info.Outputs && len(m.Labels) == 0:
			match[o] = o
		default:
			match[o] = -1
		}
	}
	return match
}

// outputNames returns the names of a network's outputs, or nil.
func outputNames(labels []string, s *model.Series) []string {
	if len(labels) == 0 && s != nil {
		return s.Targets
	}
	return labels
}

// newOutputs returns the number of outputs that the model does not have.
func (t *Trainer) newOutputs() (n int) {
	for _, row := range t.fromOutputs {
		if row < 0 {
			n++
		}
	}
	return n
}

// describeFrom returns the part of Describe that says which weights are those of a model.
func (t *Trainer) describeFrom() string {
	if t.fromOutputs == nil {
		return ""
	}
	fresh := t.newOutputs()
	if fresh == 0 {
		return " of a trained model"
	}
	return fmt.Sprintf(" of a trained model except for %d of %s", fresh, count(len(t.fromOutputs), "output"))
}

// setMoments sets the normalisation of a run that starts from a model to that of the model: of the
// input, and of the targets of outputs that the model has too.
func (t *Trainer) setMoments(from *model.Meta) {
	to := &t.model.Meta
	to.InputMean, to.InputStd = from.InputMean, from.InputStd
	if to.Series != nil && len(from.InputMean) > 0 { // means are relative to offsets, which may differ
		to.InputMean = slices.Clone(from.InputMean)
		for c := range to.InputMean {
			to.InputMean[c] = float32(float64(from.InputMean[c]) + from.Series.Offset(c) - to.Series.Offset(c))
		}
	}
	if len(from.TargetMean)+len(to.TargetMean) > 0 {
		mean, std := make([]float32, len(t.fromOutputs)), make([]float32, len(t.fromOutputs))
		for o, row := range t.fromOutputs {
			if row < 0 {
				std[o], mean[o] = to.OutputScale(o)
			} else {
				std[o], mean[o] = from.OutputScale(row)
			}
		}
		to.TargetMean, to.TargetStd = mean, std
	}
	t.state.From = &model.Meta{InputMean: to.InputMean, InputStd: to.InputStd, TargetMean: to.TargetMean, TargetStd: to.TargetStd}
}
