package task

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/train"
)

// A method is another published layer with the settings of its networks (docs/maths.md §20.6), as
// arguments of --set, separated by spaces.
type method struct {
	common string            // of all tasks
	tasks  map[string]string // by the names of tasks
}

const (
	s5Network = `ssm.layer=s5 ssm.init=legs ssm.bidirectional=true
		model.norm=batch model.norm_momentum=0.05 model.prenorm=true model.activation=gelu-tanh model.mixing=half-glu1
		optim.recipe=minimal optim.schedule=cosine-s5`
	lruNetwork = `ssm.layer=lru ssm.init=ring ssm.bidirectional=false
		model.norm=batch model.prenorm=true model.activation=gelu-tanh
		optim.recipe=minimal optim.schedule=cosine-s5 optim.warmup=0 optim.weight_decay=0.05`
	s4Network = `ssm.layer=s4 ssm.disc=bilinear ssm.d_state=64 ssm.bidirectional=true
		optim.recipe=v3 optim.lr=0.01 optim.weight_decay=0.05 optim.warmup=1000`
	dssNetwork = `ssm.layer=dss ssm.init=legs ssm.d_state=128 ssm.n_ssm=1 ssm.bidirectional=false
		model.norm=batch model.prenorm=true model.final_norm=true model.mixing=linear
		optim.recipe=noBCdecay optim.ssm_lr=0.001 optim.weight_decay=0 optim.warmup=0`
)

// s4Tasks are the settings of version 3 of the official code.
var s4Tasks = map[string]string{
	"listops": `model.n_layers=8 model.d_model=128 model.norm=batch train.batch=50 train.epochs=40`,
	"text":    `model.n_layers=6 model.d_model=256 model.norm=batch model.prenorm=true model.final_norm=true train.batch=16 train.epochs=32`,
	"retrieval": `model.n_layers=6 model.d_model=256 model.norm=batch model.prenorm=true model.final_norm=true optim.warmup=2500
		train.batch=64 train.epochs=20`,
	"image":  `model.n_layers=6 model.d_model=512 model.dropout=0.1 ssm.n_ssm=2 train.batch=50 train.epochs=200`,
	"scifar": scifarS4, "pscifar": scifarS4,
	"pathfinder": `model.n_layers=6 model.d_model=256 model.norm=batch model.prenorm=true model.final_norm=true model.pool=last
		optim.lr=0.004 optim.step_lr=0.001 optim.weight_decay=0.03 optim.warmup=2500 train.batch=64 train.epochs=200`,
	"pathx128": `model.n_layers=6 model.d_model=256 model.norm=batch model.prenorm=true model.final_norm=true ssm.dt_min=0.0001
		optim.lr=0.0005 optim.ssm_lr=0.0005 optim.step_lr=0.0005 optim.warmup=10000 train.batch=16 train.epochs=50`,
	"speech-commands": `model.n_layers=6 model.d_model=128 model.norm=batch model.prenorm=true model.final_norm=true ssm.n_ssm=2
		optim.step_lr=0.001 train.batch=16 train.epochs=40`,
	"bidmc-hr": bidmcS4, "bidmc-rr": bidmcS4, "bidmc-spo2": bidmcS4,
}

const (
	scifarS4 = `model.n_layers=6 model.d_model=512 model.dropout=0.1 ssm.n_ssm=2 optim.step_lr=0.001 train.batch=50 train.epochs=200`
	bidmcS4  = `model.n_layers=6 model.d_model=128 model.prenorm=true model.final_norm=true ssm.d_state=256 optim.step_lr=0.001
	optim.schedule=multistep optim.milestones=[100,200,300,400,500] train.batch=32 train.epochs=500`
)

// methods are the networks that the paper compares with S4D-DFouT.
var methods = map[string]method{
	"s4-legs": {s4Network + " ssm.init=legs", s4Tasks},
	"s4-fout": {s4Network + " ssm.init=fout", s4Tasks},
	"dss": {dssNetwork, map[string]string{
		"listops": `model.n_layers=6 model.d_model=128 model.prenorm=false model.final_norm=false optim.lr=0.01 optim.step_lr=0.02 optim.weight_decay=0.01
			train.batch=50 train.epochs=50`,
		"text":      `model.n_layers=4 model.d_model=128 optim.lr=0.01 optim.step_lr=0.02 train.batch=50 train.epochs=40`,
		"retrieval": `model.n_layers=6 model.d_model=256 optim.lr=0.002 train.batch=64 train.epochs=25`,
		"image": `model.n_layers=6 model.d_model=512 model.prenorm=false model.final_norm=false model.dropout=0.2 optim.lr=0.004 optim.weight_decay=0.01
			train.batch=50 train.epochs=200`,
		"pathfinder": `model.n_layers=6 model.d_model=256 model.dropout=0.1 model.pool=last optim.lr=0.004 train.batch=100 train.epochs=200`,
		"pathx128": `model.n_layers=6 model.d_model=256 ssm.dt_min=0.0001 ssm.dt_max=0.01 optim.lr=0.0005 optim.step_lr=0.0001
			train.batch=16 train.epochs=35`,
	}},
	"s5": {s5Network, map[string]string{
		"listops": `model.n_layers=8 model.d_model=128 ssm.d_state=16 ssm.blocks=8 model.mixing=half-glu2 ssm.c_init=lecun_normal
			optim.ssm_lr=0.001 optim.lr=0.003 optim.weight_decay=0.04 optim.recipe=BfastandCdecay optim.warmup=0.025
			train.batch=50 train.epochs=40`,
		"text": `model.n_layers=6 model.d_model=256 ssm.d_state=192 ssm.blocks=12 model.mixing=half-glu2 model.dropout=0.1 ssm.c_init=lecun_normal
			optim.ssm_lr=0.001 optim.lr=0.004 optim.weight_decay=0.07 optim.recipe=dt-global optim.warmup=0
			train.batch=50 train.epochs=35`,
		"retrieval": `model.n_layers=6 model.d_model=128 ssm.d_state=256 ssm.blocks=16
			optim.ssm_lr=0.001 optim.lr=0.002 optim.weight_decay=0.05 optim.recipe=dt-global optim.warmup=0.05
			train.batch=32 train.epochs=20`,
		"image": `model.n_layers=6 model.d_model=512 ssm.d_state=384 ssm.blocks=3 model.dropout=0.1 ssm.c_init=lecun_normal
			optim.ssm_lr=0.001 optim.lr=0.0045 optim.weight_decay=0.07 optim.recipe=BfastandCdecay optim.warmup=0.004
			train.batch=50 train.epochs=250`,
		"pathfinder": `model.n_layers=6 model.d_model=192 ssm.d_state=256 ssm.blocks=8 model.dropout=0.05 model.norm_momentum=0.1
			optim.ssm_lr=0.0009 optim.lr=0.0045 optim.weight_decay=0.03 optim.warmup=0.005
			train.batch=64 train.epochs=200`,
		"pathx128": `model.n_layers=6 model.d_model=128 ssm.d_state=256 ssm.blocks=16 model.norm_momentum=0.1 ssm.c_init=complex_normal
			ssm.dt_min=0.0001 optim.ssm_lr=0.0006 optim.lr=0.0018 optim.weight_decay=0.06 optim.recipe=BandCdecay optim.warmup=0.0133333333
			train.batch=32 train.epochs=75`,
		"speech-commands": `model.n_layers=6 model.d_model=96 ssm.d_state=128 ssm.blocks=16 model.dropout=0.1 ssm.c_init=lecun_normal
			optim.ssm_lr=0.002 optim.lr=0.008 optim.weight_decay=0.04 optim.recipe=noBCdecay optim.warmup=0.025
			train.batch=16 train.epochs=40`,
	}},
	"lru": {lruNetwork, map[string]string{
		"listops": `model.n_layers=6 model.d_model=128 ssm.d_state=256 ssm.r_max=0.9 optim.lr=0.003 optim.ssm_lr=0.0015
			train.batch=32 train.epochs=30 train.max_steps=90000`,
		"retrieval": `model.n_layers=6 model.d_model=128 ssm.d_state=256 ssm.r_min=0.5 ssm.r_max=0.9 model.dropout=0.1
			optim.lr=0.002 optim.ssm_lr=0.001 train.batch=64 train.epochs=44 train.max_steps=100000`,
		"image": `model.n_layers=6 model.d_model=512 ssm.d_state=384 ssm.r_min=0.9 ssm.r_max=0.999 model.dropout=0.1
			optim.lr=0.005 optim.ssm_lr=0.00125 train.batch=50 train.epochs=200 train.max_steps=180000`,
		"pathfinder": `model.n_layers=6 model.d_model=192 ssm.d_state=256 ssm.r_min=0.9 ssm.r_max=0.999
			optim.lr=0.004 optim.ssm_lr=0.001 train.batch=64 train.epochs=200 train.max_steps=500000`,
		"pathx128": `model.n_layers=6 model.d_model=128 ssm.d_state=256 ssm.r_min=0.999 ssm.r_max=0.9999 ssm.max_phase=0.3141592653589793
			optim.lr=0.002 optim.ssm_lr=0.0005 train.batch=32 train.epochs=50 train.max_steps=250000`,
	}},
}

// Methods returns the names of the methods, sorted.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// Tasks returns the names of the tasks for which a method has settings, sorted.
func Tasks(method string) []string { return slices.Sorted(maps.Keys(methods[method].tasks)) }

// MethodPreset returns the configuration with the published settings of another method for the
// task. Values that these do not give are the default ones, not those of Preset. An unknown method
// is a train.ErrConfig, and so is a method without settings for the task.
func (t *Task) MethodPreset(name string) (train.Config, error) {
	c := t.bare()
	m, ok := methods[name]
	if !ok {
		return c, train.ConfigError(fmt.Errorf("preset %q: expected one of %s%s", name, strings.Join(Methods(), ", "), suggest.Hint(name, Methods())))
	}
	own, ok := m.tasks[t.name]
	if !ok {
		return c, train.ConfigError(fmt.Errorf("preset %q: no settings for task %q, only for %s", name, t.name, strings.Join(Tasks(name), ", ")))
	}
	for _, set := range slices.Concat(strings.Fields(m.common), strings.Fields(own)) {
		if err := c.Set(set); err != nil {
			panic(err) // a test sets every preset
		}
	}
	return c, nil
}
