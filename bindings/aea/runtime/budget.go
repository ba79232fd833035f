package runtime

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"

	"github.com/uimgate/uimgate/internal/money"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// Errors of budgets.
var (
	errState  = errors.New("the state was initialized before, or is not initialized, or would be negative")
	errBudget = errors.New("the budget of the skill is too small for this transaction")
	errWorth  = errors.New("the transaction costs more than it is worth to the skill")
)

// A Price is what a transaction buys, and what it costs at most. The zero Amount means free of charge.
type Price struct {
	Good   string
	Amount money.Amount
}

// A Budget is the state of a skill: the amounts that it may spend, and the calls that it has bought. It is in the state of the
// DecisionMaker.
type Budget struct {
	Left       map[string]string `json:"left"`       // decimal amounts by currency
	Quantities map[string]int64  `json:"quantities"` // by good
}

// An account is the state of one skill.
type account struct {
	nano       map[string]int64 // billionths by currency
	quantities map[string]int64
	exchange   map[string]float64 // the value of one minor unit by currency
	utility    map[string]float64 // by good
}

// budgets holds the state that skills have proposed with the protocol state_update. A skill without a state may spend all that the agent
// may. It is safe for concurrent use.
type budgets struct {
	mu sync.Mutex
	of map[wire.PublicID]*account
}

// update changes the state of a skill. It returns errState, and changes nothing, if the message does not fit the state.
func (b *budgets) update(skill wire.PublicID, m protocol.StateUpdateMessage) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.of[skill]
	if (old != nil) == (m.Performative == protocol.StateUpdateInitialize) {
		return errState
	}
	next := account{nano: map[string]int64{}, quantities: map[string]int64{}, exchange: m.Exchange, utility: m.Utility}
	if old != nil {
		next = account{nano: maps.Clone(old.nano), quantities: maps.Clone(old.quantities), exchange: old.exchange, utility: old.utility}
	}
	for currency, units := range m.Amounts {
		amount, ok := money.OfMinor(units, currency)
		sum := next.nano[currency] + amount.Nano
		if _, known := next.nano[currency]; !ok || old != nil && !known || sum < 0 || sum > money.MaxUnits*money.Unit {
			return errState
		}
		next.nano[currency] = sum
	}
	for good, n := range m.Quantities {
		sum := next.quantities[good] + n
		if _, known := next.quantities[good]; old != nil && !known || n > math.MaxInt32 || n < math.MinInt32 || sum < 0 || sum > math.MaxInt32 {
			return errState
		}
		next.quantities[good] = sum
	}
	switch {
	case old != nil:
		*old = next // a running spend may refer to old
	case b.of == nil:
		b.of = map[wire.PublicID]*account{skill: &next}
	default:
		b.of[skill] = &next
	}
	return nil
}

// has reports whether a skill has a state.
func (b *budgets) has(skill wire.PublicID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[skill] != nil
}

// spend takes the price of a transaction out of the budget of a skill. If the transaction is then not made, the caller must call back,
// which restores the budget. The error is errBudget or errWorth. If the skill has no state, spend does nothing.
func (b *budgets) spend(skill wire.PublicID, p Price) (back func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.of[skill]
	if h == nil {
		return func() {}, nil
	}
	n, knows := h.quantities[p.Good]
	left, has := h.nano[p.Amount.Currency]
	if !knows || n == math.MaxInt32 || p.Amount.Nano > 0 && (!has || left < p.Amount.Nano) {
		return nil, errBudget
	}
	if len(h.utility) > 0 && h.gain(p.Good, n) < h.exchange[p.Amount.Currency]*p.Amount.InMinor() {
		return nil, errWorth
	}
	h.change(p, 1)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		h.change(p, -1)
	}, nil
}

// shift is added to quantities before the logarithm, as the framework does, so that the first one is not worth infinitely much.
const shift = 100

// gain returns by how much one more unit raises the utility of n units of a good. The utility is the weight of the good
// times the logarithm of the shifted quantity.
func (h *account) gain(good string, n int64) float64 {
	return h.utility[good] * (math.Log(float64(n+1+shift)) - math.Log(float64(n+shift)))
}

func (h *account) change(p Price, n int64) {
	h.quantities[p.Good] += n
	if p.Amount.Nano > 0 {
		h.nano[p.Amount.Currency] -= n * p.Amount.Nano
	}
}

// forget removes the state of a skill.
func (b *budgets) forget(skill wire.PublicID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.of, skill)
}

// status returns the state of all skills that have one, by their ids.
func (b *budgets) status() map[string]Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]Budget{}
	for skill, h := range b.of {
		one := Budget{Left: map[string]string{}, Quantities: maps.Clone(h.quantities)}
		for currency, nano := range h.nano {
			one.Left[currency] = money.Amount{Nano: nano, Currency: currency}.Decimal()
		}
		all[skill.String()] = one
	}
	return all
}

// uncertain wraps the error of a transaction that may have been charged.
type uncertain struct{ error }

func (u uncertain) Unwrap() error { return u.error }

// Uncertain marks an error of Treasury.Transact: the transaction may have been charged, so the budget of the skill stays spent.
func Uncertain(err error) error {
	return uncertain{fmt.Errorf("%w; the transaction may have been charged", err)}
}
