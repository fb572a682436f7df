package rows_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/rows"
)

// A table with one row per machine and hour classifies the machines.
func ExampleTable() {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "machines.csv")
	text := `machine,hour,current,vibration,state,part
m1,0,3.1,0.02,good,train
m1,1,3.2,NA,good,train
m2,0,2.9,0.11,worn,train
m3,0,2.8,0.12,worn,val
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		log.Fatal(err)
	}
	d, err := rows.Table(context.Background(), path, rows.TableOptions{
		ID: "machine", Time: "hour", Split: "part",
		Options: rows.Options{Targets: []string{"state"}, Missing: model.MissingPrevious},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Train.Len(), "machines with", d.ChannelNames, "are", d.Labels)
	// Output: 2 machines with [current vibration] are [good worn]
}

// A series in memory is forecast three rows ahead.
func ExampleFromSeries() {
	values := make([]float32, 1000)
	for i := range values {
		values[i] = float32(i % 24)
	}
	d, err := rows.FromSeries([]rows.Series{{Values: [][]float32{values}}}, []string{"load"},
		rows.Options{Horizon: 3, Season: 24, Validation: 0.2})
	if err != nil {
		log.Fatal(err)
	}
	var e dataset.Example
	if err := d.Val.Example(&e, 0, 0); err != nil {
		log.Fatal(err)
	}
	last := e.Len - 1
	fmt.Printf("the value is %g, and %g three rows later\n", e.X[last], e.Target[last])
	// Output: the value is 12, and 15 three rows later
}
