package ssm_test

import (
	"fmt"
	"log"
	"math"

	"github.com/s4d-fast/s4d-fast/ssm"
)

// A layer of 128 DFouT systems covers [0, π) with one uniform grid of angles: no two systems share
// a resonance, and the widest gap is 2π/(NH).
func Example() {
	p, err := ssm.New(ssm.Config{DModel: 128, DState: 64, Init: ssm.DFouT, Disc: ssm.ZOH, XiMin: 1e-3, XiMax: 0.1, AReal: 0.5}, 1, 0)
	if err != nil {
		log.Fatal(err)
	}
	d := p.Discretize(ssm.ZOH, 1)
	angle := func(i int) float64 { return imag(d.LogLambda[i]) }
	fmt.Printf("angles of system 0: %.4f %.4f … %.4f\n", angle(0), angle(1), angle(31))
	fmt.Printf("system 1 is shifted by %.2e = 2π/(NH) = %.2e\n", angle(32)-angle(0), 2*math.Pi/(64*128))

	k := d.Kernel(1024)
	fmt.Println("kernels:", len(k), "of", len(k[0]), "taps")
	// Output:
	// angles of system 0: 0.0000 0.0982 … 3.0434
	// system 1 is shifted by 7.67e-04 = 2π/(NH) = 7.67e-04
	// kernels: 128 of 1024 taps
}
