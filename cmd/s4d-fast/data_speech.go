package main

import (
	"context"
	"fmt"
	"regexp"

	"github.com/s4d-fast/s4d-fast/internal/corpus"
)

// corpusFlags are the arguments of the commands that generate sounds.
type corpusFlags struct {
	Dir   string `arg:"" help:"Output folder. Existing files are kept, so the same command resumes." type:"path"`
	Split string `help:"Voices and kinds of noise to use: train or test. No voice and no kind is in both." enum:"train,test" default:"train"`
}

// write calls write with the options, and reports the folder.
func (f *corpusFlags) write(std *streams, write func(corpus.Options) error) error {
	if err := write(corpus.Options{Out: f.Dir, Split: f.Split}); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "wrote %s\n", f.Dir)
	return nil
}

type dataSpeakCmd struct {
	corpusFlags
	Words []string `help:"Words or short phrases in English." required:"" placeholder:"WORD"`
	Clips int      `help:"Clips per word." default:"100" range:"1..1000000"`
	Piper string   `help:"Folder with voices of piper (*.onnx) for training clips. The program piper must be installed." type:"path" placeholder:"DIR"`
}

func (c *dataSpeakCmd) Help() string {
	return `Writes DIR/WORD/VOICE_nohash_N.wav. Requires espeak-ng. flite and festival, if
they are installed, and voices of piper speak three of ten training clips.

Example:
  s4d-fast data speak data/spells --words lumos,nox
  s4d-fast train audio --data data/spells`
}

// spoken matches words that espeak-ng can speak and that can name a folder.
var spoken = regexp.MustCompile(`^[A-Za-z]+([ '-][A-Za-z]+)*$`)

func (c *dataSpeakCmd) Run(std *streams, ctx context.Context) error {
	for _, w := range c.Words {
		if !spoken.MatchString(w) {
			return usageError(fmt.Errorf("--words %q: expected ASCII letters, with single spaces, hyphens and apostrophes between them", w))
		}
	}
	return c.write(std, func(o corpus.Options) error {
		o.Piper = c.Piper
		return corpus.Words(ctx, o, c.Words, c.Clips)
	})
}

// minutesFlag is the length of the sounds.
type minutesFlag struct {
	Minutes float64 `help:"Total length." default:"10" range:"0.01..100000"`
}

type dataSentencesCmd struct {
	corpusFlags
	minutesFlag
	Text    string   `help:"Text in English: a file, or a folder of .txt files." required:"" type:"path" placeholder:"PATH"`
	Without []string `help:"Leave out sentences that contain one of these words." placeholder:"WORD"`
}

func (c *dataSentencesCmd) Help() string {
	return "Writes DIR/VOICE/N.wav, about a minute each, with sentences of the text. Requires espeak-ng."
}

func (c *dataSentencesCmd) Run(std *streams, ctx context.Context) error {
	return c.write(std, func(o corpus.Options) error { return corpus.Sentences(ctx, o, c.Text, c.Without, c.Minutes) })
}

type dataNoisesCmd struct {
	corpusFlags
	minutesFlag
}

func (c *dataNoisesCmd) Help() string {
	return "Writes DIR/KIND/N.wav, half a minute each, with computed noises and tones."
}

func (c *dataNoisesCmd) Run(std *streams, ctx context.Context) error {
	return c.write(std, func(o corpus.Options) error { return corpus.Noises(ctx, o, c.Minutes) })
}
