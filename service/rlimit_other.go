//go:build !unix

package service

import "math"

// maxConnections returns how many connections the system allows.
func maxConnections() int { return math.MaxInt32 }
