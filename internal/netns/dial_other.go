//go:build !linux

package netns

import (
	"errors"
	"net"
)

func dial(_, _, _ string) (net.Conn, error) { return nil, errors.ErrUnsupported }
