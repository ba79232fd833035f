package pat

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

// TypeBudget is the typ of the record of a changed budget.
const TypeBudget = "uim-budget+jwt"

// A BudgetChange is a new budget with which a person replaces the budget of a consent, and what the gateway observed about the person.
type BudgetChange struct {
	Agreement Agreement // the consent
	Budget    Budget
	Address   string // the network of the person's browser
	UserAgent string // the User-Agent of the browser, shortened
}

// A BudgetRecord is the payload of the record of a changed budget, which the gateway signs with a key of its PATs. Its typ is TypeBudget.
type BudgetRecord struct {
	Issuer    string       `json:"iss"`
	ID        string       `json:"jti"` // 32 hex digits
	IssuedAt  int64        `json:"iat"`
	AgentID   AgentID      `json:"sub"`
	Agreement AgreementID  `json:"agr"`
	Previous  string       `json:"previous"` // digest of the record that it replaces: of the consent, or of an earlier change
	Budget    *budgetClaim `json:"budget"`
	Address   string       `json:"address"`
	UserAgent string       `json:"user_agent"`
}

// A SignedBudget is the record of a changed budget as the gateway signed it.
type SignedBudget struct {
	Record    string // compact JWS: see BudgetRecord
	PublicKey []byte // the key that signed it, DER SubjectPublicKeyInfo; nil: it is not known
}

// KeyID returns the id of the key that signed the record, as its header names it. It returns an empty string if the record is malformed.
func (b SignedBudget) KeyID() keys.ID {
	_, j, err := readBudgetRecord(b.Record)
	if err != nil {
		return ""
	}
	return keys.ID(j.KeyID)
}

// ChangeBudget signs the record of a changed budget. The error is of kind ErrBadBudget if the budget is not valid.
func (i *Issuer) ChangeBudget(ctx context.Context, c BudgetChange) (SignedBudget, error) {
	if err := c.Budget.Check(); err != nil {
		return SignedBudget{}, err
	}
	key, err := i.keys.PrivateKey(ctx)
	if err != nil {
		return SignedBudget{}, err
	}
	public, err := keys.New(key.Private.Public())
	if err != nil {
		return SignedBudget{}, err
	}
	previous := c.Agreement.Signature
	if c.Agreement.NewBudget != "" {
		previous = []byte(c.Agreement.NewBudget)
	}
	record, err := keys.SignJWS(key.Private, map[string]any{"typ": TypeBudget, "kid": key.ID}, BudgetRecord{
		Issuer: i.rules.Issuer, ID: consentID("", ""), IssuedAt: i.now().Unix(), AgentID: c.Agreement.AgentID, Agreement: c.Agreement.ID,
		Previous: DigestOf(previous), Budget: c.Budget.claim(), Address: c.Address, UserAgent: c.UserAgent,
	})
	return SignedBudget{record, public.SPKI()}, err
}

// ChangedBudget returns the budget that a person set last for the consent of a PAT, from the newest record of a change. It verifies that
// the gateway signed the record for that consent. The gateway keeps a key for as long as the PATs that it signed are valid. If it no longer
// has the key of the record, the PAT is newer than the record, and ChangedBudget returns the budget of the PAT. The error is of kind
// ErrBadBudget.
func (v *Verifier) ChangedBudget(ctx context.Context, record string, c *Claims, now time.Time) (*Budget, error) {
	r, j, err := readBudgetRecord(record)
	if err != nil {
		return nil, err
	}
	if r.Issuer != c.Issuer || r.AgentID != c.Subject || r.Agreement != c.Agreement {
		return nil, errOtherBudget
	}
	key, known := v.c.Keys.Lookup(ctx, keys.ID(j.KeyID), now)
	switch {
	case !known && r.IssuedAt <= c.IssuedAt.Unix():
		return c.Budget, nil
	case !known || j.Alg != key.Algorithm || !j.SignedBy(key.Key):
		return nil, fmt.Errorf("%w: the gateway did not sign its record", ErrBadBudget)
	}
	return r.Budget.budget()
}

var errOtherBudget = fmt.Errorf("%w: its record belongs to another consent", ErrBadBudget)

// changedBudget returns the budget in NewBudget. It does not verify the signature. The error is of kind ErrBadBudget.
func (a Agreement) changedBudget() (*Budget, error) {
	r, _, err := readBudgetRecord(a.NewBudget)
	if err != nil {
		return nil, err
	}
	if r.Issuer != a.Issuer || r.AgentID != a.AgentID || r.Agreement != a.ID {
		return nil, errOtherBudget
	}
	return r.Budget.budget()
}

// readBudgetRecord reads a record, but does not verify its signature. The error is of kind ErrBadBudget.
func readBudgetRecord(record string) (r BudgetRecord, j keys.JWS, err error) {
	j, err = keys.ParseJWS(record, maxSigned)
	if err != nil || j.Typ != TypeBudget {
		return r, j, fmt.Errorf("%w: its record is malformed", ErrBadBudget)
	}
	if _, err := strictjson.DecodeObject(j.Payload); err != nil || json.Unmarshal(j.Payload, &r) != nil || r.Budget == nil {
		return r, j, fmt.Errorf("%w: its record is malformed", ErrBadBudget)
	}
	return r, j, nil
}
