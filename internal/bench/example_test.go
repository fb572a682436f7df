package bench_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/bench"
)

// Run reports a row per level for each size of an operation.
func ExampleRun() {
	o := bench.Options{Ops: []string{"conv"}, Levels: []string{"generic"}, Time: time.Millisecond}
	err := bench.Run(context.Background(), o, func(rows []bench.Row) error {
		fmt.Println(rows[0].Op, rows[0].Sizes, rows[0].Level, rows[0].NS > 0)
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
