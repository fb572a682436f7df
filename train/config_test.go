package train

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

func TestSet(t *testing.T) {
	for _, c := range []struct {
		set  string
		want any
		got  func(c *Config) any
	}{
		{"ssm.init=legs", ssm.LegS, func(c *Config) any { return c.SSM.Init }},
		{`ssm.init = "lin"`, ssm.Lin, func(c *Config) any { return c.SSM.Init }},
		{"ssm.bidirectional=true", true, func(c *Config) any { return c.SSM.Bidirectional }},
		{"optim.lr=1e-2", 0.01, func(c *Config) any { return c.Optim.LR }},
		{"optim.lr=1", 1.0, func(c *Config) any { return c.Optim.LR }},
		{"optim.ssm_lr=0.0005", 0.0005, func(c *Config) any { return c.Optim.SSMLR }},
		{"train.epochs=3", 3, func(c *Config) any { return c.Train.Epochs }},
		{"optim.milestones=[10, 20]", []int{10, 20}, func(c *Config) any { return c.Optim.Milestones }},
		{"optim.betas=[0.8,0.99]", [2]float64{0.8, 0.99}, func(c *Config) any { return c.Optim.Betas }},
		{"data.dir=some/folder", "some/folder", func(c *Config) any { return c.Dir() }},
		{"data.dir=2024", "2024", func(c *Config) any { return c.Dir() }},
		{"data.dir=a=b \"c\"", `a=b "c"`, func(c *Config) any { return c.Dir() }},
		{"seed=7", uint64(7), func(c *Config) any { return c.Seed }},
	} {
		cfg := preset(t, "delay")
		if err := cfg.Set(c.set); err != nil {
			t.Errorf("%s: %v", c.set, err)
		} else if got := c.got(&cfg); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v, expected %#v", c.set, got, c.want)
		}
	}
}

func TestSetErrors(t *testing.T) {
	for set, want := range map[string]string{
		"nonsense":                       "expected key=value",
		"ssm.colour=red":                 "unknown key ssm.colour",
		"ssm.innit=lin":                  `unknown key ssm.innit; did you mean "ssm.init"?`,
		"train.epochs=many":              `train.epochs: "many" is not a valid whole number`,
		"threads=9999999999999999999999": "is not a valid whole number",
		"optim.lr=1e400":                 `optim.lr: "1e400" is not a valid number`,
		"ssm.bidirectional=3":            `ssm.bidirectional: "3" is not a valid truth value (true or false)`,
		"optim.milestones=soon":          `optim.milestones: "soon" is not a list, expected one such as ["soon"]`,
		"ssm=3":                          "ssm is a section",
		`"seed"=3`:                       "letters, digits, _ and dots",
	} {
		cfg := preset(t, "delay")
		err := cfg.Set(set)
		if err == nil {
			t.Errorf("%q: no error", set)
			continue
		}
		named := strings.Contains(err.Error(), set) || strings.Contains(err.Error(), strconv.Quote(set))
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) || !named {
			t.Errorf("%s: error %v, expected one that contains %s", set, err, want)
		}
		if strings.Contains(err.Error(), "line 1") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %q mentions the TOML text", set, err)
		}
		if !reflect.DeepEqual(cfg, preset(t, "delay")) {
			t.Errorf("%s: a rejected value changed the configuration", set)
		}
	}
}

func TestMergeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[train]\nepoch = 3":          "unknown key train.epoch",
		"[train]\nepochs = \"three\"": "train.epochs",
		"[train\nepochs = 3":          "my.toml",
		"[trains]\nepochs = 3":        "unknown key trains",
		"[train]\nEpochs = 3":         `unknown key train.Epochs; did you mean "train.epochs"?`,
		"\"train.epochs\" = 3":        `unknown key "train.epochs"`,
		"[optim]\nbetas = [0.9]":      "optim.betas",
	} {
		cfg := preset(t, "delay")
		err := cfg.Merge([]byte(text), "my.toml")
		must.Fail(t, err, ErrConfig, want, "my.toml")
	}
}

func TestValidate(t *testing.T) {
	for set, want := range map[string]string{
		"threads=-1":               "threads -1",
		"threads=1025":             "threads 1025: expected at most 1024",
		"train.epochs=2147483648":  "train.epochs 2147483648: expected at most",
		"train.batch=9999999999":   "train.batch 9999999999: expected at most",
		"ssm.init=legs":            "",
		"ssm.d_state=2000000000":   "d_state 2000000000: expected",
		"ssm.init=imported":        `ssm.init "imported": such parameters come from a file`,
		"ssm.init=hippo":           `init "hippo"`,
		"optim.schedule=linear":    `optim.schedule "linear": expected one of`,
		"train.epochs=0":           "train.epochs 0",
		"seed=9223372036854775807": "",
	} {
		cfg := preset(t, "delay")
		if err := cfg.Set(set); err != nil {
			t.Errorf("%s: %v", set, err)
			continue
		}
		err := cfg.Validate()
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, expected one that contains %q", set, err, want)
		}
	}
}

// config.toml contains the whole configuration.
func TestEncode(t *testing.T) {
	c := preset(t, "speech-commands")
	c.Seed, c.Optim.Milestones = 12345, []int{3, 4}
	c.SetDir(`a "folder"`)
	text := must.Get(c.Encode())(t)
	back := Default()
	must.Do(t, back.Merge(text, "config.toml"))
	if !reflect.DeepEqual(back, c) {
		t.Errorf("read back\n%+v, expected\n%+v", back, c)
	}
	back.SSM.Init, back.Workers, back.Train.Epochs = ssm.Inv, 7, 99
	must.Equal(t, fmt.Sprint(c.Differences(&back)), "[ssm.init]", "differences")
}
