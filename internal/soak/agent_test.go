package soak

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/pat"
)

// An agent has a key and several PATs.
type agent struct {
	w   *world
	id  string
	key ed25519.PrivateKey

	mu     sync.Mutex
	tokens []token
}

type token struct{ id, text string }

// patience is the timeout of a request.
const patience = 20 * time.Second

// agentNamed creates an agent with the given number of agreements, each made on any gateway.
func (w *world) agentNamed(id string, tokens int) *agent {
	w.t.Helper()
	a, err := w.newAgent(id, tokens)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) newAgent(id string, tokens int) (*agent, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &agent{w: w, id: id, key: key}
	for range tokens {
		if err := w.retry(a.agree); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
	}
	return a, nil
}

// agree makes a new agreement on a gateway, and keeps the PAT.
func (a *agent) agree(g *gateway) error {
	digest, err := a.w.policyDigest(g)
	if err != nil {
		return err
	}
	signed, err := pat.SignAgreement(a.key, pat.AgreementClaims{
		AgentID: pat.AgentID(a.id), Audience: issuer, URL: publicURL + "/api/pat/issue", IssuedAt: time.Now(),
		PolicyUID: "https://shop.example/policy/1", PolicyDigest: digest,
	})
	if err != nil {
		return err
	}
	return a.take(a.w.do(http.MethodPost, g.url()+"/api/pat/issue", mustJSON(map[string]string{
		"agent_id": a.id, "signed_policy": signed, "agent_public_key": a.publicKey(),
	}), nil))
}

// publicKey returns the key as an agreement has it.
func (a *agent) publicKey() string {
	public, _ := a.key.Public().(ed25519.PublicKey)
	return base64.RawURLEncoding.EncodeToString(public)
}

func (w *world) policyDigest(g *gateway) (string, error) {
	status, _, body, err := w.do(http.MethodGet, g.url()+"/api/policy", nil, nil)
	if err != nil || status != http.StatusOK {
		return "", fmt.Errorf("policy: %d %.200s %w", status, body, err)
	}
	return pat.PolicyDigest(body)
}

// renew renews the newest PAT.
func (a *agent) renew(g *gateway) error {
	a.mu.Lock()
	old := a.tokens[len(a.tokens)-1]
	a.mu.Unlock()
	digest, err := pat.RenewDigest(pat.TokenID(old.id))
	if err != nil {
		return err
	}
	proof, err := pat.SignProof(a.key, pat.ProofBinding{Audience: issuer, TokenID: pat.TokenID(old.id), Digest: digest}, time.Now())
	if err != nil {
		return err
	}
	err = a.take(a.w.do(http.MethodPost, g.url()+"/api/pat/renew", mustJSON(map[string]string{"proof": proof}),
		map[string]string{"Authorization": "Bearer " + old.text}))
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens = slices.DeleteFunc(a.tokens, func(t token) bool { return t.id == old.id })
	return nil
}

// tokensKept is the maximum number of PATs that an agent uses.
const tokensKept = 3

func (a *agent) take(status int, _ http.Header, body []byte, err error) error {
	var issued struct {
		PAT string `json:"uim-pat"`
	}
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("no PAT: %d %.300s %w", status, body, err)
	}
	if err := json.Unmarshal(body, &issued); err != nil {
		return err
	}
	id, err := tokenID(issued.PAT)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens = append(a.tokens, token{id, issued.PAT})
	a.tokens = a.tokens[max(0, len(a.tokens)-tokensKept):]
	return nil
}

func tokenID(text string) (string, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return "", errors.New("the PAT is not a JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", err
	}
	var claims struct{ JTI string }
	return claims.JTI, json.Unmarshal(payload, &claims)
}

// token returns one of the agent's PATs at random.
func (a *agent) token() token {
	a.mu.Lock()
	defer a.mu.Unlock()
	return pick(a.tokens)
}

// A call is a call of an agent. Any gateway can serve it.
type call struct {
	agent  *agent
	token  token
	intent string
	ref    string
	key    string // Idempotency-Key
	proof  string
	by     way // how it is sent; nil means over HTTP
}

// prove adds a proof of key.
func (c *call) prove() error {
	digest, err := pat.ExecuteDigest(c.intent, map[string]any{"ref": c.ref})
	if err != nil {
		return err
	}
	c.proof, err = pat.SignProof(c.agent.key, pat.ProofBinding{Audience: issuer, TokenID: pat.TokenID(c.token.id), Digest: digest}, time.Now())
	return err
}

// at sends the call to a gateway once and records the attempt.
func (c call) at(g *gateway) attempt {
	w := c.agent.w
	if c.by == nil {
		c.by = overHTTP{}
	}
	a := attempt{
		Ref: c.ref, Key: c.key, Proof: c.proof, Way: c.by.name(), Gateway: g.name, Agent: c.agent.id, Token: c.token.id, Intent: c.intent,
	}
	a.Sent = w.clock.now()
	status, h, answer, err := c.by.send(c, g)
	a.Answered = w.clock.now()
	a.Status, a.Lost, a.Taken = status, err != nil, errors.Is(err, errTaken)
	if err == nil {
		a.read(h, answer)
	}
	w.mu.Lock()
	w.attempts = append(w.attempts, a)
	w.mu.Unlock()
	if a.Status == http.StatusServiceUnavailable {
		pause(w.over, refusedRest)
	}
	return a
}

// A way is a protocol over which calls are sent to a gateway.
type way interface {
	name() string
	// send sends a call, and returns the response in the form of the execute endpoint.
	send(c call, g *gateway) (status int, h http.Header, body []byte, err error)
}

type overHTTP struct{}

func (overHTTP) name() string { return "HTTP" }

func (overHTTP) send(c call, g *gateway) (int, http.Header, []byte, error) {
	header := map[string]string{"Authorization": "Bearer " + c.token.text}
	if c.key != "" {
		header["Idempotency-Key"] = c.key
	}
	if c.proof != "" {
		header["UIM-Proof"] = c.proof
	}
	return c.agent.w.do(http.MethodPost, g.url()+"/api/intents/execute", c.body(), header)
}

func (c call) body() []byte {
	return mustJSON(map[string]any{"intent_uid": c.intent, "parameters": map[string]string{"ref": c.ref}})
}

// read sets the fields that depend on the response. Some ways have no header, so read also uses the copies of header fields in the body of
// a refusal.
func (a *attempt) read(h http.Header, body []byte) {
	var answer struct {
		Serial int
		Error  struct {
			Details struct {
				Reason, Outcome string
				Charge          struct{ ID, State string }
				RetryAfter      json.Number `json:"retry_after"`
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		a.Reason = fmt.Sprintf("not JSON: %.100q", body)
		return
	}
	a.Serial, a.Reason, a.Outcome = answer.Serial, answer.Error.Details.Reason, answer.Error.Details.Outcome
	details := &answer.Error.Details
	a.RetryAfter, a.Replayed = cmp.Or(h.Get("Retry-After"), details.RetryAfter.String()), h.Get("Idempotency-Replayed") == "true"
	a.Execution, a.Charge, a.Receipt = details.Charge.ID, details.Charge.State, h.Get("UIM-Receipt")
	for part := range strings.SplitSeq(h.Get("UIM-Charge"), "; ") {
		if v, is := strings.CutPrefix(part, "id="); is {
			a.Execution = v
		}
		if v, is := strings.CutPrefix(part, "state="); is {
			a.Charge = v
		}
	}
}

// final reports whether the result would stay the same if the call were repeated.
func (a attempt) final() bool {
	return !a.Lost && a.Status != http.StatusServiceUnavailable && a.Reason != "IDEMPOTENCY_IN_PROGRESS" && !a.usedUp()
}

// usedUp reports whether the call must be repeated in a new envelope, because its envelope cannot be used again and the call was not
// executed.
func (a *attempt) usedUp() bool { return a.enveloped() && a.Reason == "PROOF_REPLAYED" }

// do sends one request and reads the complete response. The end of the load does not cancel it.
func (w *world) do(method, url string, body []byte, header map[string]string) (int, http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, text, err
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func pick[T any](list []T) T {
	var b [2]byte
	_, _ = rand.Read(b[:])
	return list[(int(b[0])<<8|int(b[1]))%len(list)]
}
