package skill

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/agreement"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Treasury is the account of the service's agent with the gateway. The agent agrees to the policy of the service like
// any other agent, when a skill proposes the first transaction. A transaction is a call to an intent. The pipeline of
// the gateway decides whether the agent may make it, and begins it only within the limits and the credit of the agent. It implements
// runtime.Treasury.
type Treasury struct {
	Config

	key identity.Key

	mu       sync.Mutex // held while the agent agrees
	token    string     // empty: none
	policy   string     // SHA-256 of the policy of token
	expires  time.Time
	holdings atomic.Pointer[Holdings]
}

// Holdings are what the agent owned after its last transaction, and the policy on whose terms it spends.
type Holdings struct {
	PolicySHA256 string          `json:"policy_sha256"`
	At           time.Time       `json:"at"`
	Balance      json.RawMessage `json:"balance"` // the response of GET /api/balance
}

// NewTreasury returns the Treasury of the agent whose key is given. Of c, it uses Door, ID, Address, Serving, Host, API and Now.
func NewTreasury(c Config, key identity.Key) *Treasury { return &Treasury{Config: c, key: key} }

// Holdings implements runtime.Treasury.
func (t *Treasury) Holdings() any {
	if h := t.holdings.Load(); h != nil {
		return h
	}
	return nil
}

// Transact implements runtime.Treasury. A transaction is a JSON object with intent_uid and parameters, and may have idempotency_key. The
// result is the output in the envelope of draft-uim-protocol-core-01, with the charge. The text of an error is only the reason of the
// refusal, so that logs contain no parameters.
func (t *Treasury) Transact(ctx context.Context, transaction []byte) ([]byte, error) {
	result, err := t.execute(ctx, transaction)
	if err != nil {
		f := refusal.For(err)
		err = errors.New(string(f.Reason))
		if f.Charge != nil && f.Charge.State != chargeReleased {
			err = runtime.Uncertain(err)
		}
		return nil, err
	}
	return result, nil
}

// chargeReleased is the value of reason.Charge.State for a charge that was taken back.
const chargeReleased = "released"

// Quote implements runtime.Treasury. The good is the uid of the intent, and the price is the highest that the policy may charge. A
// transaction whose price may be in several currencies is refused.
func (t *Treasury) Quote(ctx context.Context, transaction []byte) (runtime.Price, error) {
	price, err := t.quote(ctx, transaction)
	if err != nil {
		return runtime.Price{}, errors.New(string(refusal.For(err).Reason))
	}
	return price, nil
}

func (t *Treasury) quote(ctx context.Context, transaction []byte) (p runtime.Price, err error) {
	of := t.Serving()
	if of == nil {
		return p, reason.UnknownHost.Refusal("")
	}
	if int64(len(transaction)) > of.MaxBody {
		return p, reason.BodyTooLarge.Refusal("")
	}
	tree, err := strictjson.DecodeObject(transaction)
	if err != nil {
		return p, reason.MalformedRequest.Refusal("The transaction is not a JSON object.")
	}
	p.Good, _ = tree["intent_uid"].(string)
	prices, err := of.Prices(ctx, pat.AgentID(t.Address), p.Good)
	if err != nil {
		return p, err
	}
	for _, one := range prices {
		switch {
		case one.IsZero():
		case !p.Amount.IsZero() && p.Amount.Currency != one.Currency:
			return p, reason.PolicyViolation.Refusal("The policy may charge in several currencies.")
		case one.Nano > p.Amount.Nano:
			p.Amount = one
		}
	}
	return p, nil
}

// execute carries out a transaction. Errors are of type *reason.Refusal, or of pat.
func (t *Treasury) execute(ctx context.Context, transaction []byte) ([]byte, error) {
	of := t.Serving()
	if of == nil {
		return nil, reason.UnknownHost.Refusal("")
	}
	call, err := readTransaction(transaction, of.MaxBody)
	if err != nil {
		return nil, err
	}
	if call.Token, err = t.agreed(ctx, of); err != nil {
		return nil, err
	}
	origin, began := t.origin(), t.Now()
	origin.Proved = &pat.Proof{
		Nonce: rand.Text(), Until: began.Add(2 * pat.ProofWindow), Key: keys.AddressKey(t.Address, t.key.Public(identity.Fetchai).Point()),
	}
	result, err := t.Host.Execute(ctx, origin, call)
	t.refresh(ctx, call.Token)
	if err != nil {
		f := refusal.For(err)
		if f.Status() == http.StatusUnauthorized || f.Reason == reason.PolicyRequiresAgreement {
			t.forget(call.Token)
		}
		return nil, f
	}
	return door.DraftEnvelope(&result, t.Now().Sub(began))
}

// readTransaction decodes a transaction of at most maxBody bytes.
func readTransaction(text []byte, maxBody int64) (c door.Call, err error) {
	if int64(len(text)) > maxBody {
		return c, reason.BodyTooLarge.Refusal("")
	}
	tree, err := strictjson.DecodeObject(text)
	if err != nil {
		return c, reason.MalformedRequest.Refusal("The transaction is not a JSON object.")
	}
	if key, sent := tree["idempotency_key"]; sent {
		var isText bool
		if c.IdempotencyKey, isText = key.(string); !isText {
			return c, reason.MalformedRequest.Refusal("The member idempotency_key must be a string.")
		}
	}
	delete(tree, "idempotency_key")
	if _, named := tree["pat"]; named {
		return c, reason.MalformedRequest.Refusal("A transaction has no PAT: the agent of the service has its own.")
	}
	if c.Body, err = strictjson.Append(nil, tree); err != nil {
		return c, reason.MalformedRequest.Refusal("The transaction could not be encoded.").Because(err)
	}
	return c, nil
}

func (t *Treasury) origin() door.Origin {
	return door.Origin{
		Door: t.Door, Service: t.ID, RequestID: execute.RequestIDFrom(""), Sender: pat.AgentID(t.Address), Confidential: true,
	}
}

// agreementFor is how long an offer of the agent to itself is valid.
const agreementFor = time.Minute

// errPending means that the operator must approve the agent of the service first.
var errPending = errors.New("the operator has not approved the agent of the service")

// agreed returns a PAT of the agent under the offered policy. It agrees if there is none.
func (t *Treasury) agreed(ctx context.Context, of *service.Service) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	offer := of.Offer()
	now, policy := t.Now(), offer.SHA256()
	if t.token != "" && t.policy == policy && now.Before(t.expires) {
		return t.token, nil
	}
	t.token = ""
	a := identity.Agreement{Gateway: t.Address, Agent: t.Address, PolicySHA256: policy, Nonce: rand.Text() + rand.Text()}
	issued, err := t.Host.Agree(ctx, t.origin(), pat.IssueRequest{Evidence: agreement.Evidence{
		Agreement: a, Until: now.Add(agreementFor), Ledger: string(identity.Fetchai), PublicKey: t.key.Public(identity.Fetchai).String(),
		Signature: t.key.Sign(identity.Fetchai, a.Text()),
	}})
	switch {
	case err != nil:
		return "", err
	case issued.State == pat.AgreementPending:
		return "", reason.PolicyRequiresVerification.Refusal("").Because(errPending)
	}
	t.token, t.policy, t.expires = issued.Token, policy, issued.Claims.ExpiresAt
	return t.token, nil
}

// forget removes a PAT that the gateway no longer accepts, so that the next transaction agrees again.
func (t *Treasury) forget(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}

// maxBalance limits a stored balance, in bytes.
const maxBalance = 64 << 10

// refresh reads the balance of the agent over the API. If that fails, the holdings stay as they were.
func (t *Treasury) refresh(ctx context.Context, token string) {
	origin := t.origin()
	r, err := http.NewRequestWithContext(origin.In(ctx), http.MethodGet, "/", http.NoBody)
	if err != nil {
		return
	}
	r.URL, r.Header = &url.URL{Path: "/api/balance"}, http.Header{"Authorization": {"Bearer " + token}}
	answer := &response{header: http.Header{}}
	t.API.ServeHTTP(answer, r)
	if answer.status != http.StatusOK || answer.body.Len() > maxBalance || !json.Valid(answer.body.Bytes()) {
		return
	}
	t.mu.Lock()
	policy := t.policy
	t.mu.Unlock()
	t.holdings.Store(&Holdings{PolicySHA256: policy, At: t.Now().UTC(), Balance: answer.body.Bytes()})
}
