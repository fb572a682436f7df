//go:build !unix

package main

import "math"

// maxConnections returns how many connections the system allows.
func maxConnections() int { return math.MaxInt32 }
