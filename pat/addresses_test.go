package pat_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/pat"
)

// TestAddressesBelongToTheirKeys claims an address of each protocol with another key, in each form of agreement that contains an agent id.
func TestAddressesBelongToTheirKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	relay := newEd()
	address := wire.KeyOf(relay).String()
	lax := address[:len(address)-1] + string(address[len(address)-1]+1) // another encoding of the same bits
	if lax == address || base64Of(t, lax) != base64Of(t, address) {
		t.Fatalf("%s and %s encode different keys", address, lax)
	}
	for name, id := range map[string]string{
		"uAgents": string(seeded(t, "carol recovery password").Address()),
		"AEA":     aeaKey(t, publishedKey).Public(identity.Fetchai).Address(),
		"consent": "mcp.0123456789abcdef",
		"MRP":     address, "MRP, in another spelling": lax,
	} {
		squatter := newEd()
		for form, r := range map[string]pat.IssueRequest{"fresh": w.fresh(t, id, squatter), "static": w.static(t, id, squatter)} {
			if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, pat.ErrAgentIDTaken) {
				t.Errorf("%s, %s: %v, want %v", name, form, err, pat.ErrAgentIDTaken)
			}
		}
	}
	w.issue(t, w.fresh(t, address, relay))
	own := newEd()
	w.issue(t, w.fresh(t, string(keyOf(t, own).Thumbprint()), own)) // a thumbprint looks like a key, but belongs to the key that it identifies
}

// TestOperatorAssignsAddressToKey tries both ways of assigning an address.
func TestOperatorAssignsAddressToKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second, listed := newEd(), newEd(), newEd()
	address := wire.KeyOf(first).String()
	w.issue(t, w.fresh(t, address, first))
	if err := w.issuer.AddKey(t.Context(), pat.AgentID(address), keyOf(t, second).Thumbprint()); err != nil {
		t.Fatal(err)
	}
	w.issue(t, w.fresh(t, address, second))
	other := wire.KeyOf(newEd()).String()
	w.rules.Parties = []pat.Known{{AgentID: pat.AgentID(other), KeyID: keyOf(t, listed).Thumbprint()}}
	w.reissue(t)
	w.issue(t, w.fresh(t, other, listed))
}

func base64Of(t *testing.T, text string) [ed25519.PublicKeySize]byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != ed25519.PublicKeySize {
		t.Fatal(err)
	}
	return [ed25519.PublicKeySize]byte(b)
}
