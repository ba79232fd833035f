package runtime_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A purse is a Treasury for tests. Each transaction costs 0.25 EUR, and its text states how it ends.
type purse struct{}

func (purse) Holdings() any { return nil }

func (purse) Quote(context.Context, []byte) (runtime.Price, error) {
	return runtime.Price{Good: "lamp", Amount: money.Amount{Nano: money.Unit / 4, Currency: "EUR"}}, nil
}

func (purse) Transact(_ context.Context, transaction []byte) ([]byte, error) {
	switch string(transaction) {
	case "refused":
		return nil, errors.New("refused")
	case "unknown":
		return nil, runtime.Uncertain(errors.New("no reply"))
	default:
		return []byte("ok"), nil
	}
}

// TestTransactionsThatFail checks that the budget of a skill gets back what was not charged, and stays spent if that is unknown. A skill
// without a state is not limited.
func TestTransactionsThatFail(t *testing.T) {
	t.Parallel()
	key, err := identity.NewKey(append(make([]byte, 31), 1))
	if err != nil {
		t.Fatal(err)
	}
	d := runtime.NewDecisionMaker(runtime.DecisionConfig{Key: key, Ledger: identity.Fetchai, Log: zap.NewNop(), Treasury: purse{}})
	answers, states := make(chan protocol.Performative, 1), make(chan protocol.Performative, 1)
	pass := func(to chan<- protocol.Performative) func(context.Context, runtime.Message) error {
		return func(_ context.Context, m runtime.Message) error { to <- m.Content.Kind(); return nil }
	}
	spender := runtime.Skill{ID: askerID, Handlers: []runtime.Handler{
		{Protocol: &protocol.Signing, Handle: pass(answers)}, {Protocol: &protocol.StateUpdate, Handle: pass(states)},
	}}
	r := running(t, runtime.Options{Now: time.Now}, []runtime.Skill{d.Skill(), spender})
	spend := func(text, left string, want protocol.Performative) {
		t.Helper()
		c := protocol.SigningMessage{Performative: protocol.SigningSignTransaction, Payload: []byte(text)}
		if _, err := r.Start(askerID, protocol.Signing.Specs[0], runtime.DecisionMakerID.String(), c); err != nil {
			t.Fatal(err)
		}
		if got := <-answers; got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		if b := d.Status().Budgets[askerID.String()]; b.Left["EUR"] != left {
			t.Errorf("%s: got %+v, want %s left", text, b, left)
		}
	}
	spend("paid", "", protocol.SigningSignedTransaction)
	state := protocol.StateUpdateMessage{
		Performative: protocol.StateUpdateInitialize, Amounts: map[string]int64{"EUR": 75}, Quantities: map[string]int64{"lamp": 0},
	}
	if _, err := r.Start(askerID, protocol.StateUpdate.Specs[0], runtime.DecisionMakerID.String(), state); err != nil {
		t.Fatal(err)
	}
	if got := <-states; got != protocol.StateUpdateApply {
		t.Errorf("got %s, want %s", got, protocol.StateUpdateApply)
	}
	spend("refused", "0.75", protocol.SigningError)
	spend("unknown", "0.50", protocol.SigningError)
	spend("paid", "0.25", protocol.SigningSignedTransaction)
	spend("paid", "0.00", protocol.SigningSignedTransaction)
	spend("paid", "0.00", protocol.SigningError)
	d.Forget(askerID)
	spend("paid", "", protocol.SigningSignedTransaction)
}
