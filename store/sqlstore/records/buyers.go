package records

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// SetBuyer sets the customer to whom the invoices of an agent are made out; nil deletes it. The error is pat.ErrNotFound if the
// agent does not exist.
func (s *Records) SetBuyer(ctx context.Context, service string, id pat.AgentID, b *store.Buyer) error {
	var text []byte
	if b != nil {
		var err error
		if text, err = json.Marshal(b); err != nil {
			return fmt.Errorf("encoding a buyer: %w", err)
		}
	}
	return known(s.db.Run(ctx, "UPDATE agents SET buyer = ? WHERE service = ? AND id = ?", string(text), service, id))
}

// Buyer returns the customer to whom the invoices of an agent are made out, or nil if none is set. The error is pat.ErrNotFound if the
// agent does not exist.
func (s *Records) Buyer(ctx context.Context, service string, id pat.AgentID) (*store.Buyer, error) {
	var text string
	found, err := s.db.One(ctx, "SELECT buyer FROM agents WHERE service = ? AND id = ?", []any{service, id}, &text)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, pat.ErrNotFound
	case text == "":
		return nil, nil //nolint:nilnil // none is set
	}
	b := &store.Buyer{}
	if err := json.Unmarshal([]byte(text), b); err != nil {
		return nil, fmt.Errorf("reading the buyer of an agent: %w", err)
	}
	return b, nil
}
