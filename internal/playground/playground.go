// Package playground makes calls as the test agent of a service, for operators who want to see what agents receive. It sends the requests
// of an ordinary agent to the handler of the public listener in this process.
//
//	p := playground.New(playground.Options{API: server.Handler(), Key: data.PrivateKey, Doors: modules, Now: time.Now})
//	operator := admin.New(admin.Config{Playground: p, …})
package playground

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/admin/testcalls"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// Name is the first part of the names of the files with the keys, and of the ids of the agents.
const Name = "playground"

// Options configure a Playground. All fields are required.
type Options struct {
	API http.Handler // the handler of the public listener
	// Key returns the key of a test agent as 64 hexadecimal digits, and creates it if there is none: see config.DataDir.PrivateKey.
	Key   func(name, service string) (config.Secret, error)
	Doors []door.Module
	Now   func() time.Time
}

// A Playground implements testcalls.Playground.
type Playground struct {
	Options

	mu     sync.Mutex
	agents map[string]*identity // by service
}

var _ testcalls.Playground = (*Playground)(nil)

// New returns a Playground.
func New(o Options) *Playground { return &Playground{Options: o, agents: map[string]*identity{}} }

// An identity is the test agent of one service, with its PAT. The PAT exists only in memory.
type identity struct {
	id     pat.AgentID
	secret ed25519.PrivateKey
	key    keys.Key

	agreement pat.AgreementID // empty: it has not agreed
	digest    string          // of the policy that it agreed to
	token     string          // empty: the agreement is pending
	tokenID   pat.TokenID
	until     time.Time
}

// identity returns a copy of the test agent of a service. create makes its key if it has none yet.
func (p *Playground) identity(service string, create bool) (identity, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.agents[service]; known != nil {
		return *known, nil
	}
	if !create {
		return identity{}, nil
	}
	text, err := p.Key(Name, service)
	if err != nil {
		return identity{}, err
	}
	seed, err := hex.DecodeString(text.Reveal())
	if err != nil || len(seed) != ed25519.SeedSize {
		return identity{}, errors.New("the key of the test agent does not have 32 bytes")
	}
	made := &identity{secret: ed25519.NewKeyFromSeed(seed)}
	if made.key, err = keys.New(made.secret.Public()); err != nil {
		return identity{}, err
	}
	made.id = pat.AgentID(Name + "-" + string(made.key.Thumbprint()[:8]))
	p.agents[service] = made
	return *made, nil
}

func (p *Playground) keep(service string, i identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agents[service] = &i
}

// Agent implements testcalls.Playground.
func (p *Playground) Agent(s *service.Service) testcalls.TestAgent {
	i, _ := p.identity(s.ID, false) // cannot fail, because nothing is created
	offer := s.Offer()
	out := testcalls.TestAgent{
		State: testcalls.TestUnsigned, AgentID: i.id, AgreementID: i.agreement, Agreed: i.digest, Doors: p.doors(s),
		Policy: policies.Policy{UID: offer.UID, Digest: offer.Digest, Offered: true, From: s.From, Until: s.Until()},
	}
	if i.id != "" {
		out.KeyID = i.key.Thumbprint()
	}
	if i.token != "" {
		out.Until = i.until.UTC()
	}
	switch {
	case i.agreement == "":
	case i.token == "":
		out.State = testcalls.TestPending
	case !p.Now().Before(i.until):
		out.State = testcalls.TestExpired
	case i.digest != offer.Digest:
		out.State = testcalls.TestOutdated
	default:
		out.State = testcalls.TestAgreed
	}
	return out
}

// doors returns the protocols through which a test agent can call a service.
func (p *Playground) doors(s *service.Service) []string {
	out := []string{testcalls.TestUIM}
	for _, status := range door.Statuses(p.Doors, s) {
		if slices.Contains(testcalls.TestDoors, status.Door) {
			out = append(out, status.Door)
		}
	}
	return out
}

const issuePath = "/api/pat/issue"

// Agree implements testcalls.Playground.
func (p *Playground) Agree(ctx context.Context, s *service.Service) (testcalls.TestAgreement, error) {
	i, err := p.identity(s.ID, true)
	if err != nil {
		return testcalls.TestAgreement{}, err
	}
	offer := s.Offer()
	signed, err := pat.SignAgreement(i.secret, pat.AgreementClaims{
		AgentID: i.id, Audience: s.Issuer, URL: s.At(issuePath), IssuedAt: p.Now(), PolicyUID: offer.UID, PolicyDigest: offer.Digest,
	})
	if err != nil {
		return testcalls.TestAgreement{}, err
	}
	body, err := json.Marshal(map[string]string{
		"agent_id": string(i.id), "agent_public_key": base64.StdEncoding.EncodeToString(i.key.SPKI()), "signed_policy": signed,
	})
	if err != nil {
		return testcalls.TestAgreement{}, err
	}
	sent := via.Message{URL: s.At(issuePath), Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
	answer, err := p.send(ctx, s, sent)
	if err != nil {
		return testcalls.TestAgreement{}, err
	}
	var issued struct {
		Token     string          `json:"uim-pat"`
		Until     time.Time       `json:"expires_at"`
		Agreement pat.AgreementID `json:"agreement_id"`
	}
	if answer.Status/100 == 2 && json.Unmarshal(answer.Body, &issued) == nil && issued.Agreement != "" {
		i.agreement, i.digest, i.token, i.until = issued.Agreement, offer.Digest, issued.Token, issued.Until
		i.tokenID = tokenID(issued.Token)
		p.keep(s.ID, i)
	}
	out := testcalls.TestAgreement{Exchange: exchange(sent, answer, map[string]string{issued.Token: shownPAT, signed: shownSignature})}
	out.Agent = p.Agent(s)
	return out, nil
}

// tokenID returns the jti of a PAT, without verifying the PAT, or an empty id.
func tokenID(token string) pat.TokenID {
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
		return ""
	}
	return pat.TokenID(claims.ID)
}

// address returns the URL of a door of a service, or nil if the door is closed.
func (p *Playground) address(s *service.Service, name string) *url.URL {
	for _, status := range door.Statuses(p.Doors, s) {
		if status.Door == name {
			if u, err := url.Parse(status.Addresses["url"]); err == nil {
				return u
			}
		}
	}
	return nil
}
