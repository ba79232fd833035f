package wire

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/uimgate/uimgate/internal/reason"
)

// Bearer takes the token out of the Authorization header; empty where there is none. RFC 6750 2.1.
func Bearer(h http.Header) (string, error) {
	value := h.Get("Authorization")
	if value == "" {
		return "", nil
	}
	scheme, token, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", reason.InvalidToken.Refusal("The Authorization header must be: Bearer <PAT>.")
	}
	return strings.TrimSpace(token), nil
}

// RepeatedHeader names a header whose repetition would leave open which one counts.
func RepeatedHeader(h http.Header) string {
	for _, name := range []string{"Authorization", "Idempotency-Key", "Uim-Proof", "Content-Type"} {
		if len(h[name]) > 1 {
			return name
		}
	}
	return ""
}

// Peer is the address at the other end of a connection; the zero address where it cannot be read.
func Peer(remote string) netip.Addr {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap()
}
