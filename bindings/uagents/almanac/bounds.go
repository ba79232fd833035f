package almanac

import (
	"net/netip"

	"github.com/uimgate/uimgate/store"
)

// The maximum numbers of agents that may be registered for a service, in total and by one client. A client is an IPv4 address or an IPv6
// /64. A customer with a larger network has many /64 networks. Therefore a /56 may register only twice as many agents as a /64, and a /48
// four times as many; the same holds for requests and connections. Filling the registry takes 25 networks of the largest size that
// customers get.
const (
	mostOfAll    = 10_000
	mostOfSource = 100
)

// boundsOf returns the bounds for a client, and the name of the client in the store. The name of a /64 has all of its digits, so that all
// /64 networks in a larger network share a prefix.
func boundsOf(source string) (kept string, b store.RegistrationBounds) {
	b = store.RegistrationBounds{All: mostOfAll, Source: mostOfSource}
	network, err := netip.ParsePrefix(source)
	if err != nil || !network.Addr().Is6() || network.Bits() != 64 {
		return source, b
	}
	const digits64, digits56, digits48 = len("2001:0db8:0000:0000"), len("2001:0db8:0000:00"), len("2001:0db8:0000:")
	digits := network.Masked().Addr().StringExpanded()
	b.Wider = []store.SourcesBound{
		{Prefix: digits[:digits56], Most: 2 * mostOfSource}, {Prefix: digits[:digits48], Most: 4 * mostOfSource},
	}
	return digits[:digits64] + "::/64", b
}
