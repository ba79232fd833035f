package policies

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// FactOf returns the value of a fact that a person has written as JSON. Text that is not JSON counts as a string.
func FactOf(text string) any {
	v, err := strictjson.Decode([]byte(text))
	if err != nil {
		return text
	}
	return v
}

// maxFactValues is the maximum number of values of one fact.
const maxFactValues = 64

// addFacts overwrites facts with others. known are the operands that the policy reads.
func addFacts(facts, others map[string]any, known []string) error {
	for _, operand := range slices.Sorted(maps.Keys(others)) {
		value := others[operand]
		if !slices.Contains(known, operand) {
			f := reason.MalformedRequest.Refusal("The policy does not read this fact.").
				With("pointer", "/facts/"+strictjson.Escape(operand)).With("known", known)
			if near := suggest.Name(operand, known); near != "" {
				f.Message = "The policy does not read this fact. Did you mean " + near + "?"
			}
			return f
		}
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		for _, v := range list {
			if _, scalar := strictjson.ScalarText(v); !scalar && (v != nil || isList) || len(list) > maxFactValues {
				return reason.MalformedRequest.Refusal(fmt.Sprintf(
					"A fact must be a string, a number, true, false, or a list of at most %d of these.", maxFactValues)).
					With("pointer", "/facts/"+strictjson.Escape(operand))
			}
		}
		if value == nil {
			delete(facts, operand)
			continue
		}
		facts[operand] = value
	}
	return nil
}

// addKeys sets the keys of the agent: those of the given agreement or, if none is given, of the agent's newest agreement.
func (o *Operations) addKeys(ctx context.Context, service string, q *odrl.Request, agreement pat.AgreementID, proof bool) error {
	key, id, err := o.agreedKey(ctx, service, pat.AgentID(q.AgentID), agreement)
	if err != nil {
		return err
	}
	q.KeyID = string(id)
	if !proof {
		return nil
	}
	if len(key) == 0 {
		return api.WrongMember("proof", "must not be true, because the agent has no agreement with a key")
	}
	q.AgentKey, q.ProofKey = key, key
	return nil
}

// agreedKey returns the key of an agreement, as DER, and its id. It returns no key if the agreement does not exist, or is a consent.
func (o *Operations) agreedKey(ctx context.Context, service string, agent pat.AgentID, id pat.AgreementID) ([]byte, keys.ID, error) {
	if id == "" {
		list, err := o.c.Store.Agreements(ctx, store.AgreementFilter{Service: service, AgentID: agent, State: pat.AgreementActive, Limit: 1})
		if err != nil {
			return nil, "", err
		}
		if len(list) == 0 {
			return nil, "", nil
		}
		id = list[0].ID
	}
	a, err := o.c.Store.Agreement(ctx, service, id)
	switch {
	case errors.Is(err, pat.ErrNotFound):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	case a.KeyID == "":
		return nil, "", nil
	}
	return a.PublicKey, a.KeyID, nil
}
