package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/pat"
)

// uidOf returns the uid of the intent whose response has this many products. kind is "passed" for responses that are passed on unchanged,
// and "declared" for responses that are checked against declared outputs.
func uidOf(kind string, products int) string {
	return fmt.Sprintf("bench.example:%s-%d:v1", kind, products)
}

// callOf returns the body of a call to the intent with the uid that uidOf returns.
func callOf(kind string, products int) string {
	return `{"intent_uid":"` + uidOf(kind, products) + `","parameters":{"query":"lamp","category":"home","max_price":99.5,"page":2}}`
}

// An agent is an agent that has agreed to the policy of the gateway.
type agent struct {
	name  string
	token string // the PAT
	id    pat.TokenID
	key   ed25519.PrivateKey
	// envelopes encodes the agent's calls for the uAgents protocol, for which the agent has a separate PAT.
	envelopes      via.UAgents
	envelopesToken string
	// negotiating is the agent's key for the AEA framework. negotiated has the PAT for each negotiated intent, by uid.
	negotiating identity.Key
	negotiated  map[string]string
}

// proof returns a proof of the agent's key for one call.
func (a *agent) proof(body string) (string, error) {
	call, err := strictjson.DecodeObject([]byte(body))
	if err != nil {
		return "", err
	}
	uid, _ := call["intent_uid"].(string)
	digest, err := pat.ExecuteDigest(uid, call.Object("parameters"))
	if err != nil {
		return "", err
	}
	return pat.SignProof(a.key, pat.ProofBinding{Audience: issuer, TokenID: a.id, Digest: digest}, time.Now())
}

// load makes calls over the given number of connections, and returns how long each call took.
func load(ctx context.Context, t target, agents []agent, connections, calls int) ([]time.Duration, error) {
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections,
		DisableCompression: true,
	}}
	defer client.CloseIdleConnections()
	times := make([]time.Duration, calls)
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for worker := range connections {
		by := &agents[worker%len(agents)]
		group.Go(func() error {
			send := func(proof string) error { return post(ctx, client, t, by.token, proof) }
			if t.way != nil {
				one, stop, err := t.way(ctx, by, t, client)
				if err != nil {
					return err
				}
				defer stop()
				send = func(string) error { return one() }
			}
			for {
				i := next.Add(1) - 1
				if i >= int64(calls) {
					return nil
				}
				proof := ""
				if t.proved {
					var err error
					if proof, err = by.proof(t.body); err != nil {
						return err
					}
				}
				began := time.Now()
				err := send(proof)
				for errors.Is(err, io.ErrUnexpectedEOF) && t.mayBreak && ctx.Err() == nil {
					err = send(proof)
				}
				if err != nil {
					return err
				}
				times[i] = time.Since(began)
			}
		})
	}
	return times, group.Wait()
}

func post(ctx context.Context, client *http.Client, t target, token, proof string) error {
	body := t.body
	if t.keyed {
		body = strings.Replace(body, `"KEY"`, `"`+rand.Text()+`"`, 1)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	if t.keyed && body == t.body {
		r.Header.Set("Idempotency-Key", rand.Text())
	}
	for name, value := range t.header {
		r.Header.Set(name, value)
	}
	if proof != "" {
		r.Header.Set("UIM-Proof", proof)
	}
	return done(client.Do(r))
}

// done reads a response to its end, and returns an error if its status is not 200.
func done(answer *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// issuer is the name of the service.
const issuer = "bench.example"

// agree creates n agents that agree to the policy of the gateway.
func agree(ctx context.Context, gateway string, n int) ([]agent, error) {
	policy, err := fetch(ctx, http.MethodGet, gateway+"/api/policy", nil)
	if err != nil {
		return nil, err
	}
	digest, err := pat.PolicyDigest(policy)
	if err != nil {
		return nil, err
	}
	agents := make([]agent, n)
	for i := range agents {
		public, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		id := fmt.Sprintf("agent-%d", i)
		signed, err := pat.SignAgreement(private, pat.AgreementClaims{
			AgentID: pat.AgentID(id), Audience: issuer, URL: gateway + "/api/pat/issue", IssuedAt: time.Now(),
			PolicyUID: "https://bench.example/policy", PolicyDigest: digest,
		})
		if err != nil {
			return nil, err
		}
		request, err := json.Marshal(map[string]string{
			"agent_id": id, "signed_policy": signed, "agent_public_key": base64.RawURLEncoding.EncodeToString(public),
		})
		if err != nil {
			return nil, err
		}
		answer, err := fetch(ctx, http.MethodPost, gateway+"/api/pat/issue", request)
		if err != nil {
			return nil, err
		}
		var issued struct {
			PAT string `json:"uim-pat"`
		}
		if err := json.Unmarshal(answer, &issued); err != nil {
			return nil, err
		}
		var claims jwt.RegisteredClaims
		if _, _, err := jwt.NewParser().ParseUnverified(issued.PAT, &claims); err != nil {
			return nil, err
		}
		agents[i] = agent{name: id, token: issued.PAT, id: pat.TokenID(claims.ID), key: private}
	}
	return agents, nil
}

func fetch(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	return fetchWith(ctx, method, url, http.Header{"Content-Type": {"application/json"}}, body)
}

func fetchWith(ctx context.Context, method, url string, header http.Header, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s: %.300s", method, url, answer.Status, text)
	}
	return text, nil
}
