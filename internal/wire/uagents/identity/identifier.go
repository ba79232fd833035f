package identity

import (
	"errors"
	"fmt"
	"strings"
)

// ErrIdentifier means that a text is not an identifier.
var ErrIdentifier = errors.New("no identifier of an agent: want [agent://|test-agent://][name/]address, or a name")

const (
	scheme  = "://"
	maxName = 128
)

// A Network is the network of an identifier. It is not part of the address: a key is valid on both.
type Network string

// The networks. An identifier without one fits either.
const (
	Mainnet Network = "agent"
	Testnet Network = "test-agent"
)

// An Identifier names an agent outside of envelopes: in a registry, in settings. An envelope has the bare address.
type Identifier struct {
	Network Network // empty: either
	Name    string  // empty: none
	Address Address // of an agent; empty: known by name alone
}

// ParseIdentifier parses [agent://|test-agent://][name/]address, or a name instead of both. A name is 1 to 128 visible ASCII characters
// without a slash, and does not look like an address. The error is of kind ErrIdentifier, ErrBech32 or ErrPrefix.
func ParseIdentifier(text string) (Identifier, error) {
	var i Identifier
	if network, rest, ok := strings.Cut(text, scheme); ok {
		if i.Network = Network(network); i.Network != Mainnet && i.Network != Testnet {
			return Identifier{}, ErrIdentifier
		}
		text = rest
	}
	name, address, named := strings.Cut(text, "/")
	switch {
	case named:
		i.Name = name
	case strings.HasPrefix(text, prefixAgent+"1"):
		address = text
	default:
		i.Name = text
	}
	if (named || i.Name != "") && !validName(i.Name) {
		return Identifier{}, ErrIdentifier
	}
	if address == "" {
		if named || i.Name == "" {
			return Identifier{}, ErrIdentifier
		}
		return i, nil
	}
	var err error
	if i.Address, err = ParseAddress(address); err != nil {
		return Identifier{}, err
	}
	if !i.Address.Agent() {
		return Identifier{}, fmt.Errorf("%w: a user has none", ErrIdentifier)
	}
	return i, nil
}

func validName(s string) bool {
	if s == "" || len(s) > maxName || strings.HasPrefix(s, prefixAgent+"1") || strings.Contains(s, scheme) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// String returns the identifier as ParseIdentifier reads it.
func (i Identifier) String() string {
	parts := make([]string, 0, 2)
	for _, part := range []string{i.Name, string(i.Address)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, "/")
	if i.Network != "" {
		return string(i.Network) + scheme + text
	}
	return text
}
