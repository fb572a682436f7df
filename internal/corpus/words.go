package corpus

import (
	"context"
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/par"
)

// moods are punctuation marks that change the melody of a word.
var moods = []string{"", ".", "?", "!", ","}

// otherShare is the share of the clips that voices other than espeak-ng's speak, if there are any.
const otherShare = 0.3

// Words writes clips of each word in random voices: Out/WORD/VOICE_nohash_N.wav.
func Words(ctx context.Context, o Options, words []string, clips int) error {
	if err := installed(); err != nil {
		return err
	}
	others, err := o.others()
	if err != nil {
		return err
	}
	return par.Each(ctx, 0, len(words)*clips, func(ctx context.Context, i int) error {
		word, clip := words[i/clips], i%clips
		s := o.draws(word, clip)
		v := o.voice(s, 90, 240)
		mood := moods[s.Below(len(moods))]
		if len(others) > 0 && s.Chance(otherShare) {
			v.other = others[s.Below(len(others))]
		}
		return o.write(func() ([]float32, error) { return v.speak(ctx, word+mood) },
			word, fmt.Sprintf("%s_nohash_%d.wav", v.name(), clip))
	})
}
