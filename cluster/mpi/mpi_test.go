package mpi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/cluster/mpi"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// program is the environment variable that makes this test binary one of the programs below.
const program = "S4D_MPI_TEST"

func TestMain(m *testing.M) {
	if name := os.Getenv(program); name != "" {
		world, err := mpi.Init(time.Minute)
		if err == nil {
			err = programs[name](world)
		}
		if err == nil {
			err = world.Finalize()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			mpi.Abort(1)
		}
		return
	}
	os.Exit(m.Run())
}

var programs = map[string]func(*mpi.World) error{
	"train": func(w *mpi.World) error { return trainAll(w, networks) },
	"first": func(w *mpi.World) error { return trainAll(w, networks[:1]) },
	"calls": calls,
	"lost":  lost,
}

// start runs a program on some ranks and returns its output.
func start(t *testing.T, ranks int, name string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip("mpirun is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", fmt.Sprint(ranks), os.Args[0])
	cmd.Env = append(os.Environ(), program+"="+name)
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w\n%s", err, failed.String())
	}
	return out.String(), nil
}

// network is a small network that is trained for 50 steps.
type network struct {
	name   string
	change func(c *train.Config)
}

// The networks have each kind of norm and each family of layers.
var networks = []network{
	{"batch norm, S4D", func(c *train.Config) {
		c.Model.Norm, c.Model.PreNorm, c.Model.FinalNorm, c.SSM.Bidirectional = model.NormBatch, true, true, true
	}},
	{"layer norm, S5", func(c *train.Config) {
		c.SSM = ssm.Config{Layer: ssm.LayerS5, DState: 8, Init: ssm.LegS, Disc: ssm.ZOH, DtMin: 0.001, DtMax: 0.1, Bidirectional: true}
	}},
	{"no norm, S4", func(c *train.Config) {
		c.Model.Norm = model.NormNone
		c.SSM = ssm.Config{Layer: ssm.LayerS4, DState: 8, Init: ssm.LegS, Disc: ssm.Bilinear, DtMin: 0.001, DtMax: 0.1}
	}},
}

const (
	steps  = 50
	length = 24
)

// examples returns sequences of different lengths in two classes.
func examples(seed uint64, n int) (list []dataset.Example) {
	for i := range n {
		e := dataset.Example{Len: length - i%5, Label: i % 2}
		draw := random.New(seed, random.Signal, i, 0)
		for l := range e.Len {
			e.X = append(e.X, float32(draw.Float64(uint64(l)))*float32(1+e.Label))
		}
		list = append(list, e)
	}
	return list
}

// fit trains a network and returns the hash of the model after 50 steps.
func fit(ctx context.Context, n network, exchange train.Exchange) (string, error) {
	c := train.Default()
	c.SSM.DState, c.Model.DModel, c.Model.NLayers, c.Model.Dropout, c.Workers = 8, 6, 2, 0.1, 1
	c.Train.Epochs, c.Train.Batch, c.Train.Shards = 1, 8, 4
	n.change(&c)
	data, err := dataset.FromSlices(dataset.Info{Name: "noise", Channels: 1, Outputs: 2, MaxLen: length}, examples(1, 8*steps), examples(2, 7), nil)
	if err != nil {
		return "", err
	}
	t, err := train.New(ctx, c, data, train.Options{Exchange: exchange})
	if err != nil {
		return "", err
	}
	defer t.Close()
	if err := t.Fit(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d steps, %x", t.Step(), sha256.Sum256(fmt.Append(nil, t.Best().Hash(), *t.BestEpoch().ValAccuracy, t.BestEpoch().ValLoss, t.BestEpoch().TrainLoss))), nil
}

// trainAll trains networks. The ranks compare their models, and rank 0 prints the hashes.
func trainAll(world *mpi.World, networks []network) error {
	for _, n := range networks {
		hash, err := fit(context.Background(), n, world)
		if err != nil {
			return err
		}
		first, err := world.Broadcast([]byte(hash))
		if err == nil && string(first) != hash {
			err = fmt.Errorf("%s: rank 0 has %s, rank %d has %s", n.name, first, world.Rank(), hash)
		}
		if err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Printf("%s: %s\n", n.name, hash)
		}
	}
	return nil
}

// After 50 steps the bits are those of one process, on any number of ranks.
func TestTrain(t *testing.T) {
	want := ""
	for _, n := range networks {
		want += fmt.Sprintf("%s: %s\n", n.name, must.Get(fit(t.Context(), n, nil))(t))
	}
	for _, ranks := range []int{1, 2, 4} {
		must.Equal(t, must.Get(start(t, ranks, "train"))(t), want, "%d ranks", ranks)
	}
}

// calls checks the methods of a World with numbers that show the order of additions.
func calls(world *mpi.World) error {
	rank, ranks := world.Rank(), world.Ranks()
	value := func(rank, i int) float64 { return 1 / float64(1+rank*7919+i) }
	for _, size := range []int{0, 1, 17, 1 << 18, 1<<18 + 3, 1 << 19} { // several messages
		gradients, statistics := make([]float32, size), make([]float64, size)
		for i := range size {
			gradients[i], statistics[i] = float32(value(rank, i)), value(rank, i)
		}
		if err := errors.Join(world.SumGradients(gradients), world.SumStatistics(statistics)); err != nil {
			return err
		}
		for i := range size {
			x := make([]float32, ranks)
			y := make([]float64, ranks)
			for r := range ranks {
				x[r], y[r] = float32(value(r, i)), value(r, i)
			}
			for n := ranks; n > 1; n /= 2 { // neighbours first
				for r := range n / 2 {
					x[r], y[r] = x[2*r]+x[2*r+1], y[2*r]+y[2*r+1]
				}
			}
			if gradients[i] != x[0] || statistics[i] != y[0] {
				return fmt.Errorf("sums %d of %d: %v and %v, expected %v and %v", i, size, gradients[i], statistics[i], x[0], y[0])
			}
		}
	}
	for _, size := range []int{0, 1, 3<<20 + 5} {
		want := bytes.Repeat([]byte{7}, size)
		data := want
		if rank > 0 {
			data = []byte("ignored")
		}
		if got, err := world.Broadcast(data); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("Broadcast of %d bytes: %d bytes, error %v", size, len(got), err)
		}
	}
	return nil
}

func TestCalls(t *testing.T) {
	for _, ranks := range []int{1, 2, 8} {
		must.Get(start(t, ranks, "calls"))(t)
	}
}

func TestNumberOfRanks(t *testing.T) {
	_, err := start(t, 3, "calls")
	must.Fail(t, err, "mpi: 3 ranks, expected a power of two")
}

// lost leaves rank 1 behind, so that the other waits for it in vain.
func lost(world *mpi.World) error {
	if world.Rank() == 1 {
		select {}
	}
	world.SetPatience(100 * time.Millisecond)
	err := world.SumGradients([]float32{1, 2, 3})
	again := world.SumStatistics([]float64{1})
	if err == nil || again == nil || err.Error() != again.Error() || world.Finalize() == nil {
		return fmt.Errorf("errors %v and %v, expected the same", err, again)
	}
	return err
}

// A call that waits for a lost rank ends with an error.
func TestPatience(t *testing.T) {
	_, err := start(t, 2, "lost")
	must.Fail(t, err, "mpi: rank 0 has waited ", "s for rank 1: a rank is lost or does not respond") // longer on a busy machine
	must.Equal(t, strings.Contains(err.Error(), "waited 0s"), false, "rank 0 did not wait")
}
