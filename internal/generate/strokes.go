package generate

import (
	"image"
	"math"
)

// coverageSamples is the number of sample points across a pixel that measure its coverage.
const coverageSamples = 8

// point is a point of an image in pixels, x to the right and y down. Pixel (i, j) is [i, i+1) × [j,
// j+1).
type point struct{ x, y float64 }

func (p point) add(q point, scale float64) point { return point{p.x + scale*q.x, p.y + scale*q.y} }
func (p point) sub(q point) point                { return point{p.x - q.x, p.y - q.y} }
func (p point) dot(q point) float64              { return p.x*q.x + p.y*q.y }
func (p point) cross(q point) float64            { return p.x*q.y - p.y*q.x }
func (p point) distance(q point) float64         { return math.Sqrt(p.sub(q).dot(p.sub(q))) }

// direction returns the point at distance 1 from the origin.
func direction(angle float64) point {
	sin, cos := math.Sincos(angle)
	return point{cos, sin}
}

// stroke is the set of points within a radius of a segment: a paddle with round ends, or a disc if
// the segment is a point.
type stroke struct {
	from, to point
	radius   float64
}

// space returns the distance between two strokes. It is at most 0 if they touch.
func (s stroke) space(o stroke) float64 {
	return segmentDistance(s.from, s.to, o.from, o.to) - s.radius - o.radius
}

// segmentDistance returns the distance between the segments a b and c d.
func segmentDistance(a, b, c, d point) float64 {
	ab, cd := b.sub(a), d.sub(c)
	if ab.cross(c.sub(a))*ab.cross(d.sub(a)) < 0 && cd.cross(a.sub(c))*cd.cross(b.sub(c)) < 0 {
		return 0 // the line of each separates the ends of the other
	}
	return min(pointDistance(a, c, d), pointDistance(b, c, d), pointDistance(c, a, b), pointDistance(d, a, b))
}

// pointDistance returns the distance of p from the segment a b, which may be a point.
func pointDistance(p, a, b point) float64 {
	ab := b.sub(a)
	t := 0.0
	if n := ab.dot(ab); n > 0 {
		t = min(max(p.sub(a).dot(ab)/n, 0), 1)
	}
	return p.distance(a.add(ab, t))
}

// fill brightens the pixels around a stroke in proportion to their coverage.
func fill(img *image.Gray, around stroke, contrast float64, inside func(point) bool) {
	a, b, r := around.from, around.to, around.radius
	for y := int(min(a.y, b.y) - r); y <= int(max(a.y, b.y)+r); y++ {
		for x := int(min(a.x, b.x) - r); x <= int(max(a.x, b.x)+r); x++ {
			n := 0
			for i := range coverageSamples * coverageSamples {
				u, v := float64(i%coverageSamples)+0.5, float64(i/coverageSamples)+0.5
				if inside(point{float64(x) + u/coverageSamples, float64(y) + v/coverageSamples}) {
					n++
				}
			}
			covered := contrast * float64(n) / (coverageSamples * coverageSamples)
			at := img.PixOffset(x, y)
			img.Pix[at] = max(img.Pix[at], byte(math.Round(255*min(covered, 1))))
		}
	}
}
