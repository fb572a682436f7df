package reference

import "math"

// CrossEntropy returns the mean over the batch of −log softmax(logits)[label], and its gradient.
func CrossEntropy(logits []float64, labels []int) (loss float64, grad []float64) {
	k := len(logits) / len(labels)
	grad = zeros(len(logits))
	for i, label := range labels {
		row := logits[i*k : (i+1)*k]
		sum := 0.0
		for _, v := range row {
			sum += math.Exp(v)
		}
		size := float64(len(labels))
		loss += (math.Log(sum) - row[label]) / size
		for j, v := range row {
			grad[i*k+j] = math.Exp(v) / sum / size
		}
		grad[i*k+label] -= 1 / size
	}
	return loss, grad
}

// SquaredError returns the mean squared error over all elements, and its gradient.
func SquaredError(y, target []float64) (loss float64, grad []float64) {
	grad = zeros(len(y))
	for i, v := range y {
		d := v - target[i]
		loss += d * d / float64(len(y))
		grad[i] = 2 * d / float64(len(y))
	}
	return loss, grad
}

// AdamW is the state of one parameter array (docs/maths.md §4.1).
type AdamW struct {
	M, V []float64
	Step int
}

// Update makes one step with β = (0.9, 0.999) and eps 1e-8.
func (a *AdamW) Update(p, g []float64, lr, weightDecay float64) {
	if a.M == nil {
		a.M, a.V = zeros(len(p)), zeros(len(p))
	}
	a.Step++
	c1, c2 := 1-math.Pow(0.9, float64(a.Step)), 1-math.Pow(0.999, float64(a.Step))
	for i := range p {
		a.M[i] = 0.9*a.M[i] + 0.1*g[i]
		a.V[i] = 0.999*a.V[i] + 0.001*g[i]*g[i]
		p[i] -= lr * weightDecay * p[i]
		p[i] -= lr * (a.M[i] / c1) / (math.Sqrt(a.V[i]/c2) + 1e-8)
	}
}
