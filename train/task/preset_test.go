package task

import (
	"reflect"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
)

func TestPresets(t *testing.T) {
	for _, name := range Names() {
		tk := must.Get(Lookup(name))(t)
		c := tk.Preset()
		if tk.ReadsData() {
			must.Fail(t, tk.Resolve(&c), train.ErrConfig, "requires --data")
			c.SetDir("data")
		}
		if err := tk.Resolve(&c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tk.Name() != name || c.Task != name {
			t.Errorf("%s: name %q, task %q of the preset", name, tk.Name(), c.Task)
		}
	}
	must.Reject(Lookup("juggling"))(t, train.ErrConfig, `"juggling": expected one of`)
}

// Options are checked by the task, whoever set them.
func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name, set string
		want      string // "": no error
	}{
		{"delay", "data.length=2147483648", "data.length 2147483648: expected 4 to"},
		{"delay", "data.delay=4000", "data.delay 4000: expected 1 to 3999"},
		{"delay", "data.length=0", ""},
		{"fsdd", "data.max_len=9999999999", "data.max_len 9999999999"},
		{"fsdd", "data.decimate=2", ""},
		{"fsdd", "ssm.bidirectional=true", ""},
		{"audio", "ssm.bidirectional=true", "train with ssm.bidirectional = false"},
		{"audio", "ssm.l_max=50", "ssm.l_max = 50"},
		{"digits", "ssm.l_max=50", "train with ssm.l_max = 0"},
		{"fsdd", "ssm.l_max=50", ""},
	} {
		tk := must.Get(Lookup(c.name))(t)
		cfg := tk.Preset()
		must.Do(t, cfg.Set(c.set))
		if tk.ReadsData() {
			cfg.SetDir("data")
		}
		err := tk.Resolve(&cfg)
		if c.want == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, train.ErrConfig, c.want, c.name)
		}
	}
	tk := must.Get(Lookup("delay"))(t)
	cfg := tk.Preset()
	must.Fail(t, cfg.Set("data.lenght=3"), train.ErrConfig, `unknown key data.lenght; did you mean "data.length"?`)
	must.Fail(t, cfg.Set("data.dir=x"), train.ErrConfig, "unknown key data.dir")
	must.Fail(t, cfg.Set("data.length=long"), train.ErrConfig, `data.length: "long" is not a valid whole number`)
	must.Fail(t, cfg.Merge([]byte("[data]\nlength = 2.5"), "my.toml"), train.ErrConfig, "my.toml: data.length: 2.5 is not a valid whole number")

	must.Fail(t, cfg.Set("data.length=[1]"), train.ErrConfig, "data.length")
	cfg.Data = model.Settings{"length": 100} // as a Go program may write them
	must.Do(t, tk.Resolve(&cfg))
	must.Equal(t, cfg.Data["length"], any(int64(100)), "data.length")
	must.Equal(t, len(cfg.Data), 4, "options")
	cfg.Data["max_len"] = 5
	must.Fail(t, tk.Resolve(&cfg), train.ErrConfig, "unknown option data.max_len")
	cfg.Data = model.Settings{"length": "long"}
	must.Fail(t, tk.Resolve(&cfg), train.ErrConfig, `data.length: "long" is not a valid whole number`)
	cfg.Data = model.Settings{"dir": "somewhere"}
	must.Fail(t, tk.Resolve(&cfg), train.ErrConfig, "generates its own data: --data somewhere, expected none")
}

// A word detector that starts from a model is trained for fewer epochs, at a lower learning rate.
func TestSetFrom(t *testing.T) {
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 1, 2, 4, 1
	m := must.Get(model.New(c, 1))(t)
	for name, detector := range map[string]bool{"audio": true, "digits": true, "fsdd": false} {
		tk := must.Get(Lookup(name))(t)
		preset, cfg := tk.Preset(), tk.Preset()
		tk.SetFrom(&cfg, m)
		must.Equal(t, cfg.Model.DModel, 4, "%s: channels", name)
		must.Equal(t, cfg.Train.Epochs < preset.Train.Epochs && cfg.Optim.LR < preset.Optim.LR, detector, "%s: %d epochs, learning rate %v", name, cfg.Train.Epochs, cfg.Optim.LR)
	}
}

func TestAtRate(t *testing.T) {
	fsdd := must.Get(Lookup("fsdd"))(t)
	cfg := fsdd.Preset()
	cfg.SetDir("data")
	must.Do(t, fsdd.AtRate(&cfg, 4000))
	must.Equal(t, cfg.Data["decimate"], any(int64(2)), "data.decimate at half the rate")
	must.Equal(t, cfg.Dir(), "data", "folder")
	must.Do(t, fsdd.AtRate(&cfg, 3000))
	must.Equal(t, cfg.Data["decimate"], any(int64(0)), "data.decimate at 3/8 of the rate")
	must.Equal(t, cfg.Data["rate"], any(int64(3000)), "data.rate at 3/8 of the rate")
	must.Fail(t, fsdd.AtRate(&cfg, 3000.5), train.ErrConfig, "rate 3000.5 Hz", "whole number, or 8000 Hz divided by one")
	must.Fail(t, fsdd.AtRate(&cfg, 999983), train.ErrConfig, "8000 Hz to 999983 Hz")
	for _, name := range Names() {
		tk := must.Get(Lookup(name))(t)
		cfg := tk.Preset()
		if rate := tk.SampleRate(); rate > 0 {
			must.Do(t, tk.AtRate(&cfg, rate))
		}
	}
}

// ForModel restores the data settings of the model's run, and those of the preset for other models.
func TestForModel(t *testing.T) {
	fsdd := must.Get(Lookup("fsdd"))(t)
	m := &model.Model{Meta: model.Meta{Task: "fsdd", Data: model.Settings{"seed": int64(7), "data.decimate": int64(2)}}}
	c := must.Get(fsdd.ForModel(m))(t)
	if c.Seed != 7 || c.Data["decimate"] != int64(2) || c.Data["max_len"] != int64(0) {
		t.Errorf("seed %d, data %v; expected 7, and a decimation alone", c.Seed, c.Data)
	}
	for _, other := range []*model.Model{{}, {Meta: model.Meta{Task: "digits", Data: m.Meta.Data}}, {Meta: model.Meta{Task: "fsdd"}}} {
		c := must.Get(fsdd.ForModel(other))(t)
		must.Equal(t, c.Data["max_len"], any(int64(5000)), "max_len of the preset")
	}
	for key, want := range map[string]string{"data.lenght": "unknown option data.lenght", "train.epochs": "train.epochs = 3", "data.decimate": "data.decimate -3"} {
		value := int64(3)
		if key == "data.decimate" {
			value = -3
		}
		m.Meta.Data = model.Settings{key: value}
		must.Reject(fsdd.ForModel(m))(t, train.ErrData, want)
	}
	m.Meta.Data = model.Settings{"seed": "many"}
	must.Reject(fsdd.ForModel(m))(t, train.ErrData, "seed = many")
}

// Models do not record folders of the machine.
func TestLocalOptions(t *testing.T) {
	audio := must.Get(Lookup("audio"))(t)
	got := audio.portable(model.Settings{"rate": int64(8000), "words": []any{"a"}, "other": []any{}, "background": []any{"b"}})
	if len(got) != 1 || got["rate"] != int64(8000) {
		t.Errorf("recorded %v, expected the rate alone", got)
	}
}

// A resolved configuration has the values that are used, not the zeros that stand for them.
func TestResolveSetsDefaults(t *testing.T) {
	for name, expected := range map[string]map[string]any{
		"audio":  {"rate": int64(16000), "bands": int64(40)},
		"digits": {"bands": int64(40)},
		"delay":  {"length": int64(4000), "delay": int64(1000)},
		"series": {"mode": model.SeriesForecast, "horizon": int64(24)},
	} {
		tk := must.Get(Lookup(name))(t)
		cfg := tk.Preset()
		if name == "series" {
			cfg.Data["horizon"] = int64(24)
		}
		if tk.ReadsData() {
			cfg.SetDir("sounds")
		}
		must.Do(t, tk.Resolve(&cfg))
		for key, value := range expected {
			if !reflect.DeepEqual(cfg.Data[key], value) {
				t.Errorf("%s: data.%s %v, expected %v", name, key, cfg.Data[key], value)
			}
		}
	}
}
