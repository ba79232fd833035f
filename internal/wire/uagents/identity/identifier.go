package identity

import (
	"errors"
	"fmt"
	"strings"
)

// ErrIdentifier means that a string is not an identifier of an agent.
var ErrIdentifier = errors.New("not an identifier of an agent: want [agent://|test-agent://][name/]address, or a name")

const (
	scheme  = "://"
	maxName = 128
)

// A Network is the network of an identifier. It is not part of the address: the same address is valid on both networks.
type Network string

// The networks. An identifier without a network is valid on both.
const (
	Mainnet Network = "agent"
	Testnet Network = "test-agent"
)

// An Identifier names an agent outside envelopes, for example in a registry or in settings. An envelope contains only the address.
type Identifier struct {
	Network Network // empty means either
	Name    string  // empty means none
	Address Address // the address of an agent; empty if only the name is known
}

// ParseIdentifier parses an address, name/address or a name, each optionally after agent:// or test-agent://. A name is 1 to 128 visible
// ASCII characters without / and ://, and does not look like an address. The error wraps ErrIdentifier, ErrBech32 or ErrPrefix.
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
		return Identifier{}, fmt.Errorf("%w: the address is that of a user", ErrIdentifier)
	}
	return i, nil
}

func validName(s string) bool {
	if s == "" || len(s) > maxName || strings.HasPrefix(s, prefixAgent+"1") || strings.Contains(s, scheme) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// String returns the identifier in the form that ParseIdentifier parses.
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
