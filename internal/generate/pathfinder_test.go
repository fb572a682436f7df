package generate

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

var pathfinderSides = map[string]int{"pathfinder": 32, "pathx128": 128, "pathx256": 256}

// outline returns points along the paddles of a contour, a tenth of a pixel apart.
func outline(c contour) []point {
	var points []point
	for _, p := range c {
		n := int(math.Ceil(10 * p.from.distance(p.to)))
		for i := range n + 1 {
			t := float64(i) / float64(n)
			points = append(points, point{(1-t)*p.from.x + t*p.to.x, (1-t)*p.from.y + t*p.to.y})
		}
	}
	return points
}

// nearest returns the smallest distance between points of two sets.
func nearest(a, b []point) float64 {
	least := math.Inf(1)
	for _, p := range a {
		for _, q := range b {
			least = min(least, math.Hypot(p.x-q.x, p.y-q.y))
		}
	}
	return least
}

// Measured on points of its contours, a scene has all paddles, of the right length, inside the
// image. Gaps between neighbours on a contour are narrower than the distances of other paddles. A
// marker touches only the end that it marks.
func TestPathfinderContours(t *testing.T) {
	for task, side := range pathfinderSides {
		for index := range 6 {
			s, _ := pathfinderScene(index, side)
			name := fmt.Sprintf("%s, image %d", task, index)
			contours := slices.Concat(s.targets[:], s.distractors)
			if n := 2 + s.shape.distractors; len(contours) != n {
				t.Fatalf("%s: %d contours, expected %d", name, len(contours), n)
			}
			if len(s.targets[1]) != 14 || len(s.distractors[0]) != 4 {
				t.Fatalf("%s: contours of %d, %d … paddles, expected 14, 4", name, len(s.targets[1]), len(s.distractors[0]))
			}
			wide, clear := s.shape.thickness, 2*s.gap
			for i, c := range contours {
				for k, p := range c {
					if length := p.from.distance(p.to); math.Abs(length-s.shape.paddle) > 1e-9 {
						t.Errorf("%s: a paddle of length %v, expected %v", name, length, s.shape.paddle)
					}
					if k > 0 && math.Abs(c[k-1].to.distance(p.from)-s.gap) > 1e-9 {
						t.Errorf("%s: a gap of %v, expected %v", name, c[k-1].to.distance(p.from), s.gap)
					}
					for j := range k - 1 {
						if got := nearest(outline(contour{p}), outline(contour{c[j]})); got < wide+clear-1e-9 {
							t.Errorf("%s: paddles %d and %d of a contour are %v apart", name, j, k, got)
						}
					}
				}
				points := outline(c)
				for _, p := range points {
					if edge := min(p.x, p.y, float64(side)-p.x, float64(side)-p.y); edge < 1+wide/2-1e-9 {
						t.Errorf("%s: a paddle %v from the edge", name, edge)
					}
				}
				for j, o := range contours[:i] {
					if got := nearest(points, outline(o)); got < wide+clear-1e-9 {
						t.Errorf("%s: contours %d and %d are %v apart, expected %v", name, j, i, got, wide+clear)
					}
				}
			}
			checkMarkers(t, name, s, clear)
		}
	}
}

// checkMarkers fails the test unless both markers are inside the image, at ends of targets, and
// away from all paddles but the two nearest.
func checkMarkers(t *testing.T, name string, s *scene, clear float64) {
	t.Helper()
	var ends []point
	for _, c := range s.targets {
		ends = append(ends, c[0].from, c[13].to)
	}
	for i, p := range ends {
		for _, q := range ends[:i] {
			if p.distance(q) < s.shape.apart {
				t.Errorf("%s: two ends are %v apart", name, p.distance(q))
			}
		}
	}
	for _, m := range s.markers {
		if !slices.Contains(ends, m) {
			t.Errorf("%s: a circle at %v, no end", name, m)
		}
	}
	for i, p := range ends { // marked or not
		if edge := min(p.x, p.y, float64(s.side)-p.x, float64(s.side)-p.y); edge < 1+s.shape.marker {
			t.Errorf("%s: the centre of a circle %v from the edge", name, edge)
		}
		own := s.targets[i/2][2:]
		if i%2 == 1 {
			own = s.targets[i/2][:12]
		}
		for _, c := range slices.Concat([]contour{own, s.targets[1-i/2]}, s.distractors) {
			if got := nearest([]point{p}, outline(c)) - s.shape.marker - s.shape.thickness/2; got < clear-1e-9 {
				t.Errorf("%s: a circle %v from a contour, expected %v", name, got, clear)
			}
		}
	}
}

// The label follows from the pixels: steps between bright pixels that cross a gap, but not the
// space between contours, find the contours, and the markers are on one or on two of them.
func TestPathfinderPixels(t *testing.T) {
	for _, side := range []int{128, 256} {
		for index := range 10 {
			s, label := pathfinderScene(index, side)
			img := s.draw()
			parts := bright(img, 1.75*s.gap)
			var circles []int
			for at, part := range parts {
				if part > 0 && white(img, at) && !slices.Contains(circles, part) {
					circles = append(circles, part)
				}
			}
			must.Equal(t, slices.Max(parts), 2+s.shape.distractors, "%d×%[1]d, image %d with label %d: contours", side, index, label)
			must.Equal(t, len(circles), 2-label, "%d×%[1]d, image %d with label %d: contours with circles", side, index, label)
		}
	}
}

// bright numbers the groups of pixels of at least a quarter of white that steps shorter than reach
// connect.
func bright(img *image.Gray, reach float64) (parts []int) {
	side := img.Rect.Dx()
	parts = make([]int, side*side)
	lit := func(at int) bool { return img.Pix[at] >= 64 }
	n := 0
	for start := range parts {
		if !lit(start) || parts[start] > 0 {
			continue
		}
		n++
		parts[start] = n
		for todo := []int{start}; len(todo) > 0; {
			x, y := todo[0]%side, todo[0]/side
			todo = todo[1:]
			r := int(reach)
			for v := max(y-r, 0); v <= min(y+r, side-1); v++ {
				for u := max(x-r, 0); u <= min(x+r, side-1); u++ {
					at := v*side + u
					if lit(at) && parts[at] == 0 && math.Hypot(float64(u-x), float64(v-y)) < reach {
						parts[at] = n
						todo = append(todo, at)
					}
				}
			}
		}
	}
	return parts
}

// white reports whether a pixel and its neighbours are white. No paddle is thick enough for that.
func white(img *image.Gray, at int) bool {
	side := img.Rect.Dx()
	x, y := at%side, at/side
	for _, d := range []image.Point{{0, 0}, {-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}} {
		if img.GrayAt(x+d.X, y+d.Y).Y != 255 {
			return false
		}
	}
	return true
}

// The sum of the drawn pixels is the area of the shapes.
func TestFill(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 32, 32))
	fill(img, stroke{point{10.3, 9.7}, point{10.3, 9.7}, 5}, 1, func(q point) bool { return q.distance(point{10.3, 9.7}) <= 5 })
	sum := 0.0
	for _, v := range img.Pix {
		sum += float64(v) / 255
	}
	if want := math.Pi * 25; math.Abs(sum-want) > 0.01*want {
		t.Errorf("a circle of area %v covers %v", want, sum)
	}
	for _, at := range []image.Point{{15, 9}, {5, 9}, {10, 4}, {10, 14}} { // at its edges
		if v := img.GrayAt(at.X, at.Y).Y; v == 0 || v == 255 {
			t.Errorf("pixel %v is %d, expected a shade", at, v)
		}
	}
	s := scene{side: 32, shape: pathfinderShapes[32], targets: [2]contour{{stroke{point{4, 4}, point{14.3, 8.1}, 0.25}}}}
	s.shape.contrast, s.shape.marker = 1, 0
	sum = 0
	for _, v := range s.draw().Pix {
		sum += float64(v) / 255
	}
	if want := math.Hypot(10.3, 4.1) / 2; math.Abs(sum-want) > 0.05*want {
		t.Errorf("a paddle of area %v covers %v", want, sum)
	}
}

func TestSegmentDistance(t *testing.T) {
	for _, c := range []struct {
		a, b, c, d point
		want       float64
	}{
		{point{0, 0}, point{2, 2}, point{0, 2}, point{2, 0}, 0},    // a cross
		{point{0, 0}, point{4, 0}, point{1, 3}, point{2, 1}, 1},    // an end above
		{point{0, 0}, point{1, 0}, point{4, 4}, point{9, 4}, 5},    // two ends
		{point{0, 0}, point{4, 0}, point{5, -1}, point{5, 1}, 1},   // next to it, where lines cross
		{point{0, 0}, point{0, 0}, point{3, 4}, point{3, 4}, 5},    // points
		{point{0, 0}, point{3, 0}, point{1, 0}, point{2, 0}, 0},    // one in the other
		{point{0, 0}, point{3, 0}, point{1, 2}, point{5, 2}, 2},    // parallel
		{point{0, 0}, point{0, 0}, point{-1, 1}, point{1, 1}, 1},   // a point and a segment
		{point{0, 0}, point{2, 0}, point{1, 0}, point{1, 5}, 0},    // touching
		{point{0, 0}, point{10, 0}, point{12, 0}, point{15, 0}, 2}, // in a row
		{point{0, 0}, point{3, 4}, point{4, -3}, point{8, -6}, 5},  // at a right angle
	} {
		for _, got := range []float64{segmentDistance(c.a, c.b, c.c, c.d), segmentDistance(c.d, c.c, c.a, c.b)} {
			if math.Abs(got-c.want) > 1e-12 {
				t.Errorf("%v %v and %v %v: distance %v, expected %v", c.a, c.b, c.c, c.d, got, c.want)
			}
		}
	}
}

func pathfinderWrite(t *testing.T, dir string, side, n int) {
	t.Helper()
	images := 0
	if err := Pathfinder(t.Context(), dir, side, n, func(_ string, n int) { images += n }); err != nil || images != n {
		t.Fatalf("%d images, %v", images, err)
	}
}

// The images that are written are those that are drawn.
func TestPathfinderFiles(t *testing.T) {
	for _, side := range []int{32, 128, 256} {
		dir := t.TempDir()
		pathfinderWrite(t, dir, side, 4)
		for k := range 4 {
			file := must.Get(os.Open(filepath.Join(dir, fmt.Sprintf("pathfinder%d", side), pathfinderLevel, "imgs", "0", fmt.Sprintf("sample_%d.png", k))))(t)
			img := must.Get(png.Decode(file))(t).(*image.Gray)
			file.Close()
			s, _ := pathfinderScene(k, side)
			must.Equal(t, bytes.Equal(img.Pix, s.draw().Pix), true, "%d×%[1]d pixels: image %d is what was drawn", side, k)
		}
	}
}

// A command can be repeated in its folder. Other images, made or published, are not replaced.
func TestPathfinderAgain(t *testing.T) {
	few, published := t.TempDir(), t.TempDir()
	pathfinderWrite(t, few, 32, 3)
	inner := filepath.Join("pathfinder32", "curv_contour_length_14")
	lines := string(mustRead(t, filepath.Join(few, inner, "metadata", "0.npy")))
	must.Equal(t, lines, "imgs/0 sample_0.png 0 0\nimgs/0 sample_1.png 1 1\nimgs/0 sample_2.png 2 0\n", "metadata")
	pathfinderWrite(t, few, 32, 3)
	must.Do(t, os.MkdirAll(filepath.Join(published, inner, "metadata"), 0o777))
	for want, dir := range map[string]string{
		"`s4d-fast data pathfinder --size 32 --n 3`, expected that of `s4d-fast data pathfinder --size 32 --n 1000`": few,
		filepath.Join(published, inner): published,
	} {
		must.Fail(t, Pathfinder(t.Context(), dir, 32, 1000, func(string, int) {}), os.ErrExist, want)
	}
}

// Images are written in place: a temporary file, a sync and a rename per image would take most of
// the time. While a batch is rewritten, its metadata file, which lists its images, does not exist.
func TestPathfinderInPlace(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, Pathfinder(t.Context(), dir, 32, 3, func(string, int) {}))
	level := filepath.Join(dir, "pathfinder32", pathfinderLevel)
	image := filepath.Join(level, "imgs", "0", "sample_0.png")
	before := must.Get(os.Stat(image))(t)
	original := mustRead(t, image)
	testfiles.Write(t, image, "truncated by a power cut")
	must.Do(t, Pathfinder(t.Context(), dir, 32, 3, func(string, int) {}))
	if after, err := os.Stat(image); err != nil || !os.SameFile(before, after) {
		t.Errorf("the image was replaced, not written in place; error %v", err)
	}
	if !bytes.Equal(mustRead(t, image), original) {
		t.Error("the image differs from the one made first")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	must.Fail(t, Pathfinder(ended, dir, 32, 3, func(string, int) {}), context.Canceled)
	must.Reject(os.Stat(filepath.Join(level, "metadata", "0.npy")))(t, os.ErrNotExist)
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}
