package bench_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/bench"
)

// Run reports a row for each size of an operation and each level.
func ExampleRun() {
	o := bench.Options{Ops: []string{"conv"}, Levels: []string{"generic"}, Time: time.Millisecond}
	err := bench.Run(context.Background(), o, func(r bench.Row) error {
		fmt.Println(r.Op, r.Sizes, r.Level, r.NS > 0)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// conv L=256 generic true
	// conv L=512 generic true
	// conv L=1024 generic true
	// conv L=2048 generic true
	// conv L=4096 generic true
	// conv L=8192 generic true
	// conv L=16384 generic true
}
