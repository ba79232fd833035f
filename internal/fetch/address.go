package fetch

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// ErrRefused means that a URL or an address is not permitted. Nothing was sent to it.
var ErrRefused = errors.New("refused")

// specialPurpose lists the addresses that are not on the public internet: the complete IANA special-purpose registries (RFC 6890) as of
// 2026, and the ranges that only embed other addresses. IPv6 ranges outside of globalUnicast are omitted.
var specialPurpose = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "2620:4f:8000::/48",
)

var (
	// cloudServices are public addresses at which a cloud provider serves metadata, credentials or health checks to its own machines. Other
	// addresses for this purpose, such as 169.254.169.254, fd00:ec2::254 and 100.100.100.200, are special-purpose.
	cloudServices = prefixes("168.63.129.16/32") // Azure

	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the last 32 bits are an IPv4 address
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// Public reports whether an address belongs to the public internet. An IPv4 address embedded in IPv6 (mapped, or behind NAT64) counts as
// the IPv4 address. An address with a zone is never public.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.Is6() && !globalUnicast.Contains(a) {
		return false
	}
	contains := func(p netip.Prefix) bool { return p.Contains(a) }
	return !slices.ContainsFunc(specialPurpose, contains) && !slices.ContainsFunc(cloudServices, contains)
}

// LoopbackHost reports whether the host of a URL is the local machine: localhost (RFC 6761 6.3) or a loopback address.
func LoopbackHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.Zone() == "" && a.Unmap().IsLoopback()
}

// Check returns nil if u may be fetched; otherwise the error wraps ErrRefused. from is the URL of the document or response that named u;
// nil means that the caller named it. A document may refer to a loopback address only if it was itself fetched from one. http is permitted
// only for loopback addresses or with Options.AllowHTTP. Options.AllowInsecure lifts these restrictions, and permits private addresses. In
// any case, u must be an http or https URL that has a host in ASCII, and neither a user name nor a password.
func (c *Client) Check(u, from *url.URL) error {
	host := u.Hostname()
	switch {
	case u.Scheme != "https" && u.Scheme != "http", u.Opaque != "":
		return fmt.Errorf("%w: only http and https URLs are supported", ErrRefused)
	case host == "":
		return fmt.Errorf("%w: the URL has no host", ErrRefused)
	case strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return fmt.Errorf("%w: the host is not in ASCII: use its xn-- form", ErrRefused)
	case u.User != nil:
		return fmt.Errorf("%w: the URL contains a user name or password", ErrRefused)
	case c.insecure:
		return nil
	case LoopbackHost(host):
		if from != nil && !LoopbackHost(from.Hostname()) {
			return fmt.Errorf("%w: %s refers to the loopback address", ErrRefused, from.Host)
		}
		return nil
	case u.Scheme != "https" && !c.plain:
		return fmt.Errorf("%w: %s is not https", ErrRefused, Origin(u))
	}
	if a, err := netip.ParseAddr(host); err == nil && !Public(a) {
		return fmt.Errorf("%w: %s is not an address of the public internet", ErrRefused, host)
	}
	return nil
}

// Origin returns the scheme, host and port of a URL, without the default port (RFC 6454 6.2).
func Origin(u *url.URL) string {
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" || scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		return scheme + "://" + host
	}
	return scheme + "://" + host + ":" + port
}
