package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
)

// fileSeconds is the shortest length of a file of sentences.
const fileSeconds = 60

// sentences speaks sentences of a text. Each file has one voice, and no sentence is spoken twice.
func sentences(ctx context.Context, o options, w io.Writer) error {
	if err := o.findVoices(ctx); err != nil {
		return err
	}
	texts, err := o.readText(ctx)
	if err != nil {
		return err
	}
	without := excluded(o.without)
	var pool []string
	for _, t := range texts {
		pool = append(pool, splitText(t, without)...)
	}
	order := o.dice(ofOrder, 0).stream.Perm(len(pool))
	files := int(math.Ceil(o.minutes * 60 / fileSeconds))
	err = o.parallel(ctx, files, func(ctx context.Context, i int) error {
		d := o.dice(ofFile, i)
		v := o.voice(d, 120, 210)
		path := filepath.Join(o.out, v.name(), fmt.Sprintf("%d.wav", i))
		return o.make(path, func() (x []float32, err error) {
			speed := v.speed
			for k := i; len(x) < fileSeconds*o.rate; k += files {
				if k >= len(order) {
					return nil, fmt.Errorf("%s: %d sentences, expected more for %v minutes", o.text, len(pool), o.minutes)
				}
				v.speed = int(float64(speed) * d.between(0.9, 1.1))
				said, err := v.speak(ctx, pool[order[k]], o.rate)
				if err != nil {
					return nil, err
				}
				x = append(append(x, said...), make([]float32, int(d.between(0.1, 0.8)*float64(o.rate)))...)
			}
			return x, nil
		})
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d files of at least %d s from %d sentences in %s\n", files, fileSeconds, len(pool), o.out)
	return err
}
