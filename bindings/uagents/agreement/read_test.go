package agreement_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// signed returns an envelope from another implementation.
func signed(tb testing.TB) []byte {
	tb.Helper()
	raw, err := os.ReadFile("testdata/envelope.json")
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func TestAgreementOfOtherImplementation(t *testing.T) {
	t.Parallel()
	a, err := agreement.Read(signed(t))
	if err != nil || a.Agent != "agent1qf5gfqm48k9acegez3sg82ney2aa6l5fvpwh3n3z0ajh0nam3ssgwnn5me7" ||
		a.Target != "agent1qttckqrmhmpp933avdarr3yquchg385x8gypvt9akk32pm7s94f6cfpn3tf" ||
		a.ID != "cbee03da2c5912647089357c83bf3bfb04f40bd9229a411f6ccb3c42c12f85e0" || !a.Expires.Equal(time.Unix(1893456000, 0)) ||
		a.PolicyDigest != "sha-256:5LLfzFUCKTia0zZdKRg4jGXsJV0dKWZ7umKSAWvehdU" || a.Issuer != "shop.example" || a.Scope != nil {
		t.Errorf("got %+v, %v", a, err)
	}
	key, ok := agreement.Key(a.Agent)
	b64 := base64.RawURLEncoding.EncodeToString
	// The public key that OpenSSL derives from the private key, and its thumbprint.
	const jkt = "SwArAfD6gpE1G1HzN7N_Lr8h18p7g9VUnpbERXzI66E"
	const info = "MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEaISDdT2L3GUZFGCDqnkiu91-iWBdeM4if2V3z7uMIIe0kMcqmBB-7PiijFnL0Tkacae878y2BLd3cOpej7PCwg"
	if !ok || key.Thumbprint() != jkt || b64(key.SPKI()) != info {
		t.Errorf("got %x %s", key.SPKI(), key.Thumbprint())
	}
}

func TestAddressesWithoutKey(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "alice", string(identity.NewUser([32]byte{1})), "agent1", "AGENT1QF5GFQM48K9ACEGEZ3SG82NEY2AA6L5FVPWH3N3Z0AJH0NAM3SSGWNN5ME7",
	} {
		if _, ok := agreement.Key(text); ok || agreement.IsAddress(text) {
			t.Errorf("%s has a key", text)
		}
	}
}

func TestInvalidAgreements(t *testing.T) {
	t.Parallel()
	key, err := identity.FromSeed("alice recovery password", 0)
	if err != nil {
		t.Fatal(err)
	}
	uimAgree, toPlan := protocol.Standard("UIMAgree").Digest, protocol.Standard("UIMAgreeToPlan").Digest
	for name, c := range map[string]struct {
		digest          envelope.ModelDigest
		message, member string // the member that the error names; empty: none is wrong
	}{
		"with a plan":                   {toPlan, `{"policy_digest":"d","issuer":"i","plan":"pro"}`, ""},
		"a plan of null":                {toPlan, `{"policy_digest":"d","issuer":"i","plan":null}`, "plan"},
		"no plan":                       {toPlan, `{"policy_digest":"d","issuer":"i"}`, "plan"},
		"a list of plans":               {toPlan, `{"policy_digest":"d","issuer":"i","plan":["pro"]}`, "plan"},
		"a plan in UIMAgree":            {uimAgree, `{"policy_digest":"d","issuer":"i","plan":"pro"}`, "payload"},
		"a plan in a chat":              {protocol.Standard("ChatMessage").Digest, words(`{"type":"text","text":"agree d plan"}`), "content"},
		"without scope":                 {uimAgree, `{"policy_digest":"d","issuer":"i"}`, ""},
		"scope of null":                 {uimAgree, `{"policy_digest":"d","issuer":"i","scope":null}`, ""},
		"with a scope":                  {uimAgree, `{"policy_digest":"d","issuer":"i","scope":["a","b"]}`, ""},
		"another message":               {protocol.Standard("UIMExecute").Digest, `{"policy_digest":"d","issuer":"i"}`, "schema_digest"},
		"not a chat message":            {protocol.Standard("ChatMessage").Digest, `{"policy_digest":"d","issuer":"i"}`, "payload"},
		"another text":                  {protocol.Standard("ChatMessage").Digest, words(`{"type":"text","text":"I agree d"}`), "content"},
		"a condition":                   {protocol.Standard("ChatMessage").Digest, words(`{"type":"text","text":"agree d if"}`), "content"},
		"text and another item":         {protocol.Standard("ChatMessage").Digest, words(`{"type":"text","text":"agree d"},{"type":"text","text":"not"}`), "content"},
		"text in two items":             {protocol.Standard("ChatMessage").Digest, words(`{"type":"text","text":"agree"},{"type":"text","text":"d"}`), "content"},
		"text and an item without text": {protocol.Standard("ChatMessage").Digest, words(`{"type":"text","text":"agree d"},{"type":"text","text":""}`), "content"},
		"text and a file":               {protocol.Standard("ChatMessage").Digest, words(`{"type":"text","text":"agree d"},{"type":"resource"}`), "content"},
		"not an object":                 {uimAgree, `"agree"`, "payload"},
		"a duplicate member":            {uimAgree, `{"policy_digest":"d","issuer":"i","issuer":"i"}`, "payload"},
		"an additional member":          {uimAgree, `{"policy_digest":"d","issuer":"i","Scope":null}`, "payload"},
		"no policy":                     {uimAgree, `{"issuer":"i"}`, "policy_digest"},
		"a policy of null":              {uimAgree, `{"policy_digest":null,"issuer":"i"}`, "policy_digest"},
		"no issuer":                     {uimAgree, `{"policy_digest":"d","issuer":""}`, "issuer"},
		"a scope of text":               {uimAgree, `{"policy_digest":"d","issuer":"i","scope":"a"}`, "scope"},
		"a scope of numbers":            {uimAgree, `{"policy_digest":"d","issuer":"i","scope":["a",1]}`, "scope"},
		"a scope that is true":          {uimAgree, `{"policy_digest":"d","issuer":"i","scope":true}`, "scope"},
	} {
		e := envelope.Envelope{
			Target: key.Address(), Session: envelope.NewSession(), SchemaDigest: c.digest, Payload: envelope.Pack([]byte(c.message)),
		}
		raw, err := json.Marshal(e.Sign(key))
		if err != nil {
			t.Fatal(err)
		}
		a, err := agreement.Read(raw)
		if c.member == "" {
			if err != nil || a.PolicyDigest != "d" || a.Issuer != "i" || !a.Expires.IsZero() || (a.Plan == "pro") != (name == "with a plan") ||
				(name == "with a scope") != slices.Equal(a.Scope, []string{"a", "b"}) {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
			continue
		}
		if at, ok := errors.AsType[*agreement.MemberError](err); !ok || at.Member != c.member || a.Agent != "" {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	for name, raw := range map[string]string{
		"changed": strings.Replace(string(signed(t)), "1893456000", "1893456001", 1), "empty": "", "too long": strings.Repeat(" ", 17<<10) + string(signed(t)),
	} {
		if a, err := agreement.Read([]byte(raw)); !errors.Is(err, agreement.ErrSignature) || a.Agent != "" {
			t.Errorf("%s: got %+v, %v; want %v and Agent empty", name, a, err, agreement.ErrSignature)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(signed(f))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := agreement.Read(raw)
		if err != nil {
			if a.Agent != "" {
				t.Errorf("got %+v, %v; want Agent empty", a, err)
			}
			return
		}
		if _, ok := agreement.Key(a.Agent); !ok || len(a.ID) != 64 || a.Issuer == "" || a.PolicyDigest == "" {
			t.Errorf("got %+v", a)
		}
	})
}

// words returns a ChatMessage with these items.
func words(items string) string {
	return `{"timestamp":"2026-01-02T03:04:05Z","msg_id":"6b0c1b3e-7d5a-4c6e-9f10-2a3b4c5d6e7f","content":[` + items + `]}`
}
