package main

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
)

func TestMain(m *testing.M) { clustertest.Main(m) }
