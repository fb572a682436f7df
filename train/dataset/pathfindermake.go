package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// Images are made after the description of Linsley et al. ("Learning long-range spatial dependencies with horizontal
// gated recurrent units", 2018) and Tay et al. ("Long Range Arena", 2021): two long dashed contours, two filled
// circles at two of their four ends, and short contours that distract.

// pathfinderShape gives sizes in pixels: those that LRA's builders name (lra_benchmarks/data/pathfinder.py), or else leave as
// they are by default.
type pathfinderShape struct {
	paddle      float64   // length of a paddle, a dash
	gaps        []float64 // between the paddles of a contour: one of them an image
	thickness   float64   // of a paddle
	marker      float64   // radius of a circle
	apart       float64   // least distance between two of the four ends
	distractors int
	contrast    float64 // brightness of a paddle, before it is clipped to white
}

var pathfinderShapes = map[int]pathfinderShape{
	32:  {paddle: 2, gaps: []float64{1}, thickness: 0.5, marker: 1.5, apart: 7, distractors: 5, contrast: 1.5},
	128: {paddle: 5, gaps: []float64{2, 3}, thickness: 1.5, marker: 3, apart: 20, distractors: 8, contrast: 0.9},
	256: {paddle: 5, gaps: []float64{3}, thickness: 2, marker: 5, apart: 27, distractors: 7, contrast: 1},
}

// What all sizes share.
const (
	pathfinderTarget       = 14                   // paddles of a contour that may end in circles
	pathfinderDistractor   = pathfinderTarget / 3 // paddles of one that does not
	pathfinderBend         = 35 * math.Pi / 180   // a turn from paddle to paddle is half the one before, and up to so much
	pathfinderClear        = 2                    // gaps between contours: the neighbours of a paddle are nearer than any other
	pathfinderAlike        = 0.1                  // share by which the distance of circles may differ between labels
	pathfinderBorder       = 1                    // pixels that stay clear at the edges
	pathfinderPaddleTries  = 20                   // draws of a paddle's turn
	pathfinderContourTries = 500                  // draws of a contour
	pathfinderBatch        = 1000                 // images of a metadata file
)

// contour is a row of paddles.
type contour []stroke

// ends returns where a contour begins and where it ends.
func (c contour) ends() [2]point { return [2]point{c[0].from, c[len(c)-1].to} }

// across returns an end of each of two contours, those whose distance differs least from that of the first one's ends, and
// this difference as a share of it.
func across(first, second contour) (pair [2]point, off float64) {
	ends := first.ends()
	own := ends[0].distance(ends[1])
	off = math.Inf(1)
	for _, p := range ends {
		for _, q := range second.ends() {
			if o := math.Abs(p.distance(q)/own - 1); o < off {
				pair, off = [2]point{p, q}, o
			}
		}
	}
	return pair, off
}

// scene is what an image shows.
type scene struct {
	side        int
	shape       pathfinderShape
	gap         float64
	targets     [2]contour
	distractors []contour
	markers     [2]point
}

// pathfinderScene returns image index of a seed and its label, a function of these and the size alone. Images of even
// index have label 0, the others 1. The contours do not depend on the label: it says but which of their ends are marked,
// those of the first target or two that are about as far apart.
func pathfinderScene(seed uint64, index, side int) (s *scene, label int) {
	d := pathfinderDraw{draws: draws{stream: random.New(seed, random.Signal, index, side)}}
	for !d.contours(side) { // once or twice
	}
	label = index % 2
	if label == 1 {
		d.markers = d.targets[0].ends()
	} else {
		d.markers, _ = across(d.targets[0], d.targets[1])
	}
	return &d.scene, label
}

// pathfinderDraw draws a scene.
type pathfinderDraw struct {
	draws
	scene
	placed []stroke // the contours so far, and a circle at each end of a target
	ends   []point  // of the targets so far
}

// contours draws all contours; ok is false where one found no place.
func (d *pathfinderDraw) contours(side int) (ok bool) {
	shape := pathfinderShapes[side]
	d.scene = scene{side: side, shape: shape, gap: shape.gaps[d.below(len(shape.gaps))], distractors: make([]contour, shape.distractors)}
	d.placed, d.ends = d.placed[:0], d.ends[:0]
	for i := range d.targets {
		if d.targets[i], ok = d.contour(pathfinderTarget, true); !ok {
			return false
		}
	}
	for i := range d.distractors {
		if d.distractors[i], ok = d.contour(pathfinderDistractor, false); !ok {
			return false
		}
	}
	return true
}

// contour places a contour of n paddles; ok is false where it finds no place.
func (d *pathfinderDraw) contour(n int, target bool) (c contour, ok bool) {
	for range pathfinderContourTries {
		if c, ok = d.walk(n); ok && (!target || d.mark(c)) {
			d.placed = append(d.placed, c...)
			return c, true
		}
	}
	return nil, false
}

// walk draws a contour of n paddles from a random place in a random direction; ok is false where it gets stuck.
func (d *pathfinderDraw) walk(n int) (c contour, ok bool) {
	at := point{float64(d.side) * d.uniform(), float64(d.side) * d.uniform()}
	angle, turn := 2*math.Pi*d.uniform(), 0.0
	for range n {
		ok = false
		for range pathfinderPaddleTries {
			next := turn/2 + pathfinderBend*(2*d.uniform()-1)
			p := d.paddle(at, angle, next, len(c) == 0)
			if ok = d.free(p, c[:max(len(c)-1, 0)]); ok {
				c, at, angle, turn = append(c, p), p.to, angle+next, next
				break
			}
		}
		if !ok {
			return nil, false
		}
	}
	return c, true
}

// paddle returns a paddle that follows a place and a direction after a turn, half of which comes before the gap.
func (d *pathfinderDraw) paddle(at point, angle, turn float64, first bool) stroke {
	if !first {
		at = at.add(direction(angle+turn/2), d.gap)
	}
	return stroke{at, at.add(direction(angle+turn), d.shape.paddle), d.shape.thickness / 2}
}

// mark places a circle at each end of a contour, to be drawn or not; ok is false where there is no room for them.
func (d *pathfinderDraw) mark(c contour) (ok bool) {
	ends, r := c.ends(), d.shape.marker
	first, last := stroke{ends[0], ends[0], r}, stroke{ends[1], ends[1], r}
	if !d.free(first, c[2:]) || !d.free(last, c[:len(c)-2]) || ends[0].distance(ends[1]) < d.shape.apart {
		return false
	}
	for _, p := range d.ends {
		if min(p.distance(ends[0]), p.distance(ends[1])) < d.shape.apart {
			return false
		}
	}
	if len(d.ends) > 0 { // of the first target
		if _, off := across(d.targets[0], c); off > pathfinderAlike {
			return false
		}
	}
	d.placed, d.ends = append(d.placed, first, last), append(d.ends, ends[:]...)
	return true
}

// free reports whether a stroke keeps away from the edges, from what is placed, and from others.
func (d *pathfinderDraw) free(s stroke, others []stroke) bool {
	least, most := s.radius+pathfinderBorder, float64(d.side)-s.radius-pathfinderBorder
	for _, p := range []point{s.from, s.to} {
		if min(p.x, p.y) < least || max(p.x, p.y) > most {
			return false
		}
	}
	apart := pathfinderClear * d.gap
	far := apart + 2*d.shape.paddle // strokes that begin so far from each other are never near
	near := func(o stroke) bool {
		return s.from.distance(o.from)-s.radius-o.radius < far && s.space(o) < apart
	}
	return !slices.ContainsFunc(d.placed, near) && !slices.ContainsFunc(others, near)
}

// draw returns the picture, white on black.
func (s *scene) draw() *image.Gray {
	img := image.NewGray(image.Rect(0, 0, s.side, s.side))
	for _, c := range slices.Concat(s.targets[:], s.distractors) {
		for _, p := range c {
			along := p.to.sub(p.from)
			length := math.Hypot(along.x, along.y)
			fill(img, p, s.shape.contrast, func(q point) bool { // the paddle's ends are straight
				t := q.sub(p.from)
				return math.Abs(along.cross(t)) <= length*p.radius && math.Abs(along.dot(t)-length*length/2) <= length*length/2
			})
		}
	}
	for _, m := range s.markers {
		fill(img, stroke{m, m, s.shape.marker}, 1, func(q point) bool { return q.distance(m) <= s.shape.marker })
	}
	return img
}

// WritePathfinder writes n images of side × side pixels (32, 128 or 256) in LRA's layout into dir/pathfinderSIDE, a
// thousand to a metadata file, and reports each of those to wrote. Every image is a function of (side, seed, its number):
// more images of the same seed begin with the same. A folder that holds other ones is refused with an os.ErrExist. The end
// of ctx is an error, its cause.
func WritePathfinder(ctx context.Context, dir string, side, n int, seed uint64, wrote func(path string, images int)) error {
	if _, ok := pathfinderShapes[side]; !ok || n < 1 {
		return fmt.Errorf("dataset: %d images of %d×%[2]d pixels: want at least 1 of 32, 128 or 256", n, side)
	}
	folder := filepath.Join(dir, pathfinderName(side))
	level := filepath.Join(folder, pathfinderLevel)
	if other, err := pathfinderFolder(dir, side); err == nil && other != level { // one of the two would be read
		return fmt.Errorf("dataset: %s: %w: want another folder than %s", other, os.ErrExist, dir)
	}
	if err := claim(folder, fmt.Sprintf("s4d-fast data pathfinder --size %d --n %d --seed %d", side, n, seed), pathfinderLevel); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(level, "metadata"), 0o777); err != nil {
		return err
	}
	for b := range (n + pathfinderBatch - 1) / pathfinderBatch {
		images := min(pathfinderBatch, n-b*pathfinderBatch)
		path := filepath.Join(level, "metadata", fmt.Sprintf("%d.npy", b))
		if err := os.MkdirAll(filepath.Join(level, "imgs", fmt.Sprint(b)), 0o777); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // until its images are whole again
			return err
		}
		if err := atomicfile.Write(path, func(w io.Writer) error { return writePathfinderBatch(ctx, w, level, side, b, images, seed) }); err != nil {
			return err
		}
		wrote(path, images)
	}
	return nil
}

// writePathfinderBatch writes the images of a batch, and to w a line for each: folder, file, number, label. The images are
// not synced one by one, which would take most of the time. An image counts once the batch's metadata file exists; one that
// a power cut has truncated is an error when it is read, and the same command makes it again.
func writePathfinderBatch(ctx context.Context, w io.Writer, level string, side, batch, images int, seed uint64) error {
	for i := range images {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s, label := pathfinderScene(seed, batch*pathfinderBatch+i, side)
		folder, name := fmt.Sprintf("imgs/%d", batch), fmt.Sprintf("sample_%d.png", i)
		path := filepath.Join(level, filepath.FromSlash(folder), name)
		var image bytes.Buffer
		if err := png.Encode(&image, s.draw()); err != nil {
			return err
		}
		if err := os.WriteFile(path, image.Bytes(), 0o666); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w, folder, name, i, label); err != nil {
			return err
		}
	}
	return nil
}
