package bindings_test

import (
	"bufio"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// lineSession is an agent of the door. It agrees, orders twice under one key, and sends invalid messages that the door must refuse.
func lineSession(t *testing.T, g *gatetest.Gate, at string) {
	t.Helper()
	found := regexp.MustCompile(`"uim-line": "([A-Za-z0-9_-]{43})"`).FindStringSubmatch(string(g.Get("/agents.json").Body))
	if found == nil {
		t.Fatal("agents.json does not name the key of the door")
	}
	key, err := base64.RawURLEncoding.DecodeString(found[1])
	g.Must(err)
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
	g.Must(err)
	defer c.Close()
	answers := bufio.NewScanner(c)
	ask := func(q any) string {
		t.Helper()
		line, err := json.Marshal(q)
		g.Must(err)
		_, err = c.Write(append(line, '\n'))
		g.Must(err)
		answers.Scan()
		signature, text, _ := strings.Cut(answers.Text(), " ")
		signed, err := base64.RawURLEncoding.DecodeString(signature)
		g.Must(err)
		if !ed25519.Verify(key, []byte(text), signed) {
			t.Errorf("the service did not sign %s", text)
		}
		return text
	}
	public, private, err := ed25519.GenerateKey(nil)
	g.Must(err)
	spki, err := x509.MarshalPKIXPublicKey(public)
	g.Must(err)
	s := g.Directory.Current().Service("default")
	agreement := func(digest string) map[string]any {
		text := fmt.Appendf(nil, "%s %s nonce %s", s.Issuer, digest, g.Now().Add(time.Minute).Format(time.RFC3339))
		return map[string]any{"Agreement": lineAgreement{spki, text, ed25519.Sign(private, text)}}
	}
	if message := ask(agreement("sha-256:another")); !strings.Contains(message, "Refused") {
		t.Errorf("got %q, want a text that contains %q", message, "Refused")
	}
	var token string
	g.Must(json.Unmarshal([]byte(ask(agreement(s.Offer().Digest))), &token))
	claims, err := s.Verifier.Verify(t.Context(), token, g.Now())
	g.Must(err)
	order := map[string]any{"PAT": token, "Once": "o-1", "Call": map[string]any{
		"intent_uid": gatetest.Ordering, "parameters": map[string]any{"product": "desk"},
	}}
	first, again := ask(order), ask(order)
	if !strings.Contains(first, `"Replayed":false`) ||
		!strings.Contains(again, `"Replayed":true`) || !strings.Contains(first, `"Charge":"0.25 EUR"`) {
		t.Errorf("%s, then %s", first, again)
	}
	order["PAT"] = token + "x"
	if message := ask(order); !strings.Contains(message, "Refused") {
		t.Errorf("got %q, want a text that contains %q", message, "Refused")
	}
	record, err := g.Store.Agreement(t.Context(), "default", claims.Agreement)
	g.Must(err)
	policy, err := g.Store.Policy(t.Context(), "default", record.PolicyDigest)
	g.Must(err)
	bundle, err := pat.Export(record, policy, []pat.Form{(&lineDoor{}).Form()})
	g.Must(err)
	if _, err := pat.VerifyExport(bundle, nil); err == nil {
		t.Error("a bundle in an unknown form was verified")
	}
}
