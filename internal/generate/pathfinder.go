package generate

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

// Images follow the description of Linsley et al. ("Learning long-range spatial dependencies with
// horizontal gated recurrent units", 2018) and Tay et al. ("Long Range Arena", 2021). An image has
// two long dashed contours (the targets), filled circles (the markers) at two of their four ends,
// and short contours (the distractors). A dash is a paddle.

// pathfinderShape has the sizes in pixels. They are those of LRA's builders
// (lra_benchmarks/data/pathfinder.py) or, where these give no value, of its generator's defaults.
type pathfinderShape struct {
	paddle      float64   // length of a paddle
	gaps        []float64 // gap between the paddles of a contour; one is selected per image
	thickness   float64   // of a paddle
	marker      float64   // radius of a marker
	apart       float64   // smallest distance between two of the four ends
	distractors int       // number of distractors
	contrast    float64   // brightness of a paddle, before clipping to white
}

var pathfinderShapes = map[int]pathfinderShape{
	32:  {paddle: 2, gaps: []float64{1}, thickness: 0.5, marker: 1.5, apart: 7, distractors: 5, contrast: 1.5},
	128: {paddle: 5, gaps: []float64{2, 3}, thickness: 1.5, marker: 3, apart: 20, distractors: 8, contrast: 0.9},
	256: {paddle: 5, gaps: []float64{3}, thickness: 2, marker: 5, apart: 27, distractors: 7, contrast: 1},
}

// pathfinderLevel is the folder of the hardest images: contours of 14 dashes.
const pathfinderLevel = "curv_contour_length_14"

// Constants of all sizes.
const (
	pathfinderTarget        = 14                   // paddles of a target
	pathfinderDistractor    = pathfinderTarget / 3 // paddles of a distractor
	pathfinderBend          = 35 * math.Pi / 180   // largest bend beyond half the one before
	pathfinderClear         = 2                    // least distance of contours, in gaps
	pathfinderMaxSimilarity = 0.1                  // see crossPair
	pathfinderBorder        = 1                    // empty pixels at the edges
	pathfinderPaddleTries   = 20                   // attempts per paddle
	pathfinderContourTries  = 500                  // attempts per contour
	pathfinderBatch         = 1000                 // images per metadata file
)

// contour is a sequence of paddles.
type contour []stroke

// ends returns the first and the last point of a contour.
func (c contour) ends() [2]point { return [2]point{c[0].from, c[len(c)-1].to} }

// crossPair returns one end of each of two contours: the pair whose distance is closest to that of
// the ends of the first contour. off is the relative difference of the two distances.
func crossPair(first, second contour) (pair [2]point, off float64) {
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

// scene is the content of an image.
type scene struct {
	side        int
	shape       pathfinderShape
	gap         float64
	targets     [2]contour
	distractors []contour
	markers     [2]point
}

// pathfinderScene returns the scene and the label of image index, a function of index and
// side. Images of even index have label 0, the others 1. The contours do not depend on the label.
// It selects the marked ends: both ends of the first target for 1, and for 0 one end of each
// target, at about the same distance.
func pathfinderScene(index, side int) (s *scene, label int) {
	d := sceneSampler{Sampler: random.Sampler{Stream: random.New(1, random.Signal, index, side)}}
	for !d.contours(side) { // mostly once or twice
	}
	label = index % 2
	if label == 1 {
		d.markers = d.targets[0].ends()
	} else {
		d.markers, _ = crossPair(d.targets[0], d.targets[1])
	}
	return &d.scene, label
}

// sceneSampler draws a scene.
type sceneSampler struct {
	random.Sampler
	scene
	placed []stroke // contours so far, and a marker at each end of a target
	ends   []point  // ends of the targets so far
}

// contours draws all contours. If there is no place for one, ok is false.
func (d *sceneSampler) contours(side int) (ok bool) {
	shape := pathfinderShapes[side]
	d.scene = scene{side: side, shape: shape, gap: shape.gaps[d.Below(len(shape.gaps))], distractors: make([]contour, shape.distractors)}
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

// contour places a contour of n paddles. If there is no place, ok is false.
func (d *sceneSampler) contour(n int, target bool) (c contour, ok bool) {
	for range pathfinderContourTries {
		if c, ok = d.walk(n); ok && (!target || d.mark(c)) {
			d.placed = append(d.placed, c...)
			return c, true
		}
	}
	return nil, false
}

// walk draws a contour of n paddles from a random point in a random direction. If a paddle has no
// place, ok is false.
func (d *sceneSampler) walk(n int) (c contour, ok bool) {
	at := point{float64(d.side) * d.Uniform(), float64(d.side) * d.Uniform()}
	angle, turn := 2*math.Pi*d.Uniform(), 0.0
	for range n {
		ok = false
		for range pathfinderPaddleTries {
			next := turn/2 + pathfinderBend*(2*d.Uniform()-1)
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

// paddle returns the paddle after a point and a direction. Half of the turn comes before the gap,
// half after it.
func (d *sceneSampler) paddle(at point, angle, turn float64, first bool) stroke {
	if !first {
		at = at.add(direction(angle+turn/2), d.gap)
	}
	return stroke{at, at.add(direction(angle+turn), d.shape.paddle), d.shape.thickness / 2}
}

// mark reserves a marker at each end of a target. If there is no place, ok is false.
func (d *sceneSampler) mark(c contour) (ok bool) {
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
		if _, off := crossPair(d.targets[0], c); off > pathfinderMaxSimilarity {
			return false
		}
	}
	d.placed, d.ends = append(d.placed, first, last), append(d.ends, ends[:]...)
	return true
}

// free reports whether a stroke is far enough from the edges, from placed strokes and from others.
func (d *sceneSampler) free(s stroke, others []stroke) bool {
	least, most := s.radius+pathfinderBorder, float64(d.side)-s.radius-pathfinderBorder
	for _, p := range []point{s.from, s.to} {
		if min(p.x, p.y) < least || max(p.x, p.y) > most {
			return false
		}
	}
	apart := pathfinderClear * d.gap
	far := apart + 2*d.shape.paddle // strokes whose first points are this far apart are never near
	near := func(o stroke) bool {
		return s.from.distance(o.from)-s.radius-o.radius < far && s.space(o) < apart
	}
	return !slices.ContainsFunc(d.placed, near) && !slices.ContainsFunc(others, near)
}

// draw returns the image, white on black.
func (s *scene) draw() *image.Gray {
	img := image.NewGray(image.Rect(0, 0, s.side, s.side))
	for _, c := range slices.Concat(s.targets[:], s.distractors) {
		for _, p := range c {
			along := p.to.sub(p.from)
			length := math.Hypot(along.x, along.y)
			fill(img, p, s.shape.contrast, func(q point) bool { // the ends of a paddle are straight
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

// Pathfinder writes n images of side × side pixels (32, 128 or 256) to dir/pathfinderSIDE in
// the layout of LRA. It calls wrote after each metadata file of a thousand images. An image is a
// function of side and its number, so a larger n adds images. A folder that contains other
// images is an os.ErrExist. If ctx is cancelled, the error is its cause.
func Pathfinder(ctx context.Context, dir string, side, n int, wrote func(path string, images int)) error {
	folder := filepath.Join(dir, fmt.Sprintf("pathfinder%d", side))
	level := filepath.Join(folder, pathfinderLevel)
	if err := claimFolder(folder, fmt.Sprintf("s4d-fast data pathfinder --size %d --n %d", side, n), pathfinderLevel); err != nil {
		return err
	}
	if err := atomicfile.System().MkdirAll(filepath.Join(level, "metadata"), 0o777); err != nil {
		return err
	}
	for b := range (n + pathfinderBatch - 1) / pathfinderBatch {
		images := min(pathfinderBatch, n-b*pathfinderBatch)
		path := filepath.Join(level, "metadata", fmt.Sprintf("%d.npy", b))
		if err := atomicfile.System().MkdirAll(filepath.Join(level, "imgs", fmt.Sprint(b)), 0o777); err != nil {
			return err
		}
		// An interrupted batch has no metadata file, so none of its images count.
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := atomicfile.Write(path, 0o666, func(w io.Writer) error { return writePathfinderBatch(ctx, w, level, side, b, images) }); err != nil {
			return err
		}
		wrote(path, images)
	}
	return nil
}

// writePathfinderBatch writes the images of a batch, and to w a line for each: folder, file,
// number, label. The images are not synced one by one, which would take most of the time. An image
// counts once the batch's metadata file exists; one that a power cut has truncated is an error when
// it is read, and the same command makes it again.
func writePathfinderBatch(ctx context.Context, w io.Writer, level string, side, batch, images int) error {
	for i := range images {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s, label := pathfinderScene(batch*pathfinderBatch+i, side)
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
