package gatetest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// An Agent is an agent with a key and a PAT.
type Agent struct {
	ID    pat.AgentID
	Key   ed25519.PrivateKey
	KeyID keys.ID // RFC 7638 thumbprint of Key
	// PublicKey is the public key of Key as in an agreement: DER SubjectPublicKeyInfo in base64.
	PublicKey string
	Token     string // the PAT; empty: none
}

// TokenID reads the jti of an agent's PAT.
func (g *Gate) TokenID(a *Agent) pat.TokenID {
	g.Helper()
	var claims struct {
		ID pat.TokenID `json:"jti"`
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(a.Token, ".")[1])
	g.Must(err)
	g.Must(json.Unmarshal(text, &claims))
	return claims.ID
}

// Unapproved returns an agent that has not agreed yet.
func (g *Gate) Unapproved(id string) *Agent {
	g.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	g.Must(err)
	key, err := keys.New(public)
	g.Must(err)
	return &Agent{
		ID: pat.AgentID(id), Key: private, KeyID: key.Thumbprint(), PublicKey: base64.StdEncoding.EncodeToString(key.SPKI()),
	}
}

// Agree makes a new agent agree to the offered policy, and returns the status of the response.
func (g *Gate) Agree(id string) (*Agent, int) {
	g.Helper()
	a := g.Unapproved(id)
	return a, g.AgreeAgain(a)
}

// AgreeAgain makes an agent agree to the offered policy, and returns the status of the response.
func (g *Gate) AgreeAgain(a *Agent) int {
	g.Helper()
	return g.agree(a, nil)
}

// AgreedTo returns a new agent that has agreed to use only some intents.
func (g *Gate) AgreedTo(id string, intents ...string) *Agent {
	g.Helper()
	a := g.Unapproved(id)
	if status := g.agree(a, intents); status != http.StatusOK {
		g.Fatalf("%s agrees: %d, want %d", id, status, http.StatusOK)
	}
	return a
}

// Narrowed returns an agent with another PAT, for only some intents.
func (g *Gate) Narrowed(a *Agent, intents ...string) *Agent {
	g.Helper()
	narrow := *a
	if status := g.agree(&narrow, intents); status != http.StatusOK {
		g.Fatalf("%s agrees: %d, want %d", a.ID, status, http.StatusOK)
	}
	return &narrow
}

func (g *Gate) agree(a *Agent, intents []string) int {
	g.Helper()
	answer := g.Call("/api/pat/issue", "", g.Agreement(a, intents...))
	var body struct {
		PAT string `json:"uim-pat"`
	}
	_ = json.Unmarshal(answer.Body, &body)
	if answer.Status == http.StatusOK && body.PAT == "" {
		g.Fatalf("no PAT in %s", answer.Body)
	}
	a.Token = body.PAT
	return answer.Status
}

// Agreement returns the request body with which an agent agrees to the offered policy, for some intents or, if none are given, for all.
func (g *Gate) Agreement(a *Agent, intents ...string) map[string]any {
	g.Helper()
	var scope []string
	for _, uid := range intents {
		scope = append(scope, uid+":execute")
	}
	service := g.Directory.Current().Service("default")
	offer := service.Offer()
	signed, err := pat.SignAgreement(a.Key, pat.AgreementClaims{
		AgentID: a.ID, Audience: service.Issuer, URL: service.At("/api/pat/issue"), IssuedAt: g.Now(), Nonce: rand.Text(),
		PolicyUID: offer.UID, PolicyDigest: offer.Digest, Scope: scope,
	})
	g.Must(err)
	return map[string]any{"agent_id": a.ID, "agent_public_key": a.PublicKey, "signed_policy": signed}
}

// Agreed returns a new agent that has agreed to the offered policy.
func (g *Gate) Agreed(id string) *Agent {
	g.Helper()
	a, status := g.Agree(id)
	if status != http.StatusOK {
		g.Fatalf("%s agrees: %d, want %d", id, status, http.StatusOK)
	}
	return a
}
