// Package natsurl checks the addresses of NATS servers.
package natsurl

import (
	"fmt"
	"net/url"
	"strings"
)

// Check returns an error for a list of URLs, separated by commas, if a user or password in it has a
// character that must be escaped: a client would take a part of the password for the server's name,
// look it up and log it. The error shows no part of the URLs.
func Check(urls string) error {
	for i, text := range strings.Split(urls, ",") {
		if _, rest, ok := strings.Cut(text, "://"); ok {
			text = rest
		}
		at := strings.LastIndexByte(text, '@')
		if at < 0 {
			continue
		}
		if _, err := url.PathUnescape(text[:at]); err != nil || strings.ContainsAny(text[:at], "/?#@ ") {
			return fmt.Errorf("NATS URL %d: the user or password has a character that must be escaped: write / as %%2F, ? as %%3F, # as %%23, @ as %%40 and %% as %%25", i+1)
		}
	}
	return nil
}
