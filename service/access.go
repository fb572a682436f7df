package service

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// check rejects requests for other hosts, requests of other sites' pages, and requests without the
// token.
func (s *Server) check(r *http.Request) error {
	if !s.servesHost(r.Host) {
		return newError(http.StatusMisdirectedRequest, "host", "host %.80q: expected an IP address, localhost or one of the allowed names", r.Host)
	}
	write := *r
	write.Method = http.MethodPost // GET upgrades to WebSocket, which writes too
	if (r.Method != http.MethodGet || r.Header.Get("Upgrade") != "") && s.origins.Check(&write) != nil {
		return newError(http.StatusForbidden, "origin", "Origin %.80q, Sec-Fetch-Site %.20q: expected this server's own pages or an allowed origin",
			r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site"))
	}
	if s.opt.Token == "" || r.URL.Path == "/healthz" { // load balancers ask for the health without a token
		return nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.opt.Token)) != 1 || !strings.EqualFold(scheme, "Bearer") {
		return newError(http.StatusUnauthorized, "token", "expected the header Authorization: Bearer with the token of this server")
	}
	return nil
}

// servesHost reports whether a Host header names this server. With DNS rebinding a page makes the
// browser send the name of the page's own site, so IP addresses are safe.
func (s *Server) servesHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	named := slices.ContainsFunc(s.opt.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
	return named || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
