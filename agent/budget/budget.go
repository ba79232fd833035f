// Package budget keeps the spending of an agent within the limits of its owner. It reserves the price of a call before the call is
// made, and replaces the reservation with the charge that the service reports. If the outcome of a call is unknown, its price stays
// reserved. Several processes can share the file, which stays consistent after a crash.
//
//	book := budget.New(path, []budget.Limit{limit}, time.Now)
//	r, err := book.Reserve(ctx, price) // an *ExceededError or *CurrencyError: do not call
//	…                                  // the call
//	err = r.Settle(ctx, charged)       // only if the charge is known
package budget

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/privatefile"
)

// lockWait limits the wait for the lock, which another process holds during one write.
const lockWait = 10 * time.Second

// A Book holds the amounts spent and the limits. It is safe for concurrent use, even by several processes that share the file.
type Book struct {
	path   string
	limits []Limit
	now    func() time.Time
}

// New returns the book in the file at path. The first reservation creates the file, with a lock file beside it. Without limits,
// nothing may be spent.
func New(path string, limits []Limit, now func() time.Time) *Book {
	return &Book{path: path, limits: slices.Clone(limits), now: now}
}

// Limits returns the limits. If there are none, nothing may be spent.
func (b *Book) Limits() []Limit { return slices.Clone(b.limits) }

// An ExceededError means that a reservation would exceed a limit. Nothing was reserved.
type ExceededError struct {
	Limit     Limit
	Spent     money.Amount // in the current period, including reservations
	Requested money.Amount // zero if the price is unknown
	Until     time.Time    // end of the period
}

func (e *ExceededError) Error() string {
	request := "the price is unknown, and "
	if !e.Requested.IsZero() {
		request = "the call costs up to " + e.Requested.String() + ", and "
	}
	return fmt.Sprintf("%s%s of the budget of %s is spent or reserved; the period ends at %s",
		request, e.Spent, e.Limit, e.Until.Format(time.RFC3339))
}

// A CurrencyError means that no limit is in the currency of a price.
type CurrencyError struct{ Requested money.Amount }

func (e *CurrencyError) Error() string {
	if e.Requested.IsZero() {
		return "no budget is set"
	}
	return "the call costs up to " + e.Requested.String() + ", but no budget is set in " + e.Requested.Currency
}

// A Reservation is the amount set aside for one call.
type Reservation struct {
	book   *Book
	amount money.Amount
	from   map[Period]time.Time // the periods in which the amount is counted; nil if nothing is reserved
}

// Amount returns the reserved amount. It is zero if nothing is reserved or the price is unknown.
func (r *Reservation) Amount() money.Amount { return r.amount }

// A Receipt is the stored form of a Reservation, with which this or another process can settle it later.
type Receipt struct {
	Amount money.Amount         `json:"amount"`
	From   map[Period]time.Time `json:"from,omitempty"`
}

// Receipt returns the stored form of the reservation.
func (r *Reservation) Receipt() Receipt { return Receipt{r.amount, maps.Clone(r.from)} }

// Redeem returns the Reservation of a Receipt of this book. Like any other Reservation, it can be settled once.
func (b *Book) Redeem(r Receipt) *Reservation {
	return &Reservation{book: b, amount: r.Amount, from: maps.Clone(r.From)}
}

// A Spent is a limit, with the amount that is spent or reserved in its current period.
type Spent struct {
	Limit  Limit
	Amount money.Amount
}

// String describes s, such as "1 EUR of 5 EUR/day".
func (s Spent) String() string { return s.Amount.String() + " of " + s.Limit.String() }

// Fits returns the limits that apply to a price, and the error with which Reserve would fail now. It reserves nothing. The zero Amount
// means that the price is unknown.
func (b *Book) Fits(ctx context.Context, price money.Amount) ([]Spent, error) {
	applies, err := b.applies(price)
	if err != nil {
		return nil, err
	}
	var list []Spent
	err = b.locked(ctx, func(a *accounts) error {
		now := b.now()
		for _, l := range applies {
			list = append(list, Spent{l, money.Amount{Nano: a.window(l.Currency, l.Period, now).Nano, Currency: l.Currency}})
		}
		return a.fits(applies, price, now)
	})
	return list, err
}

// applies returns the limits that apply to a price. The error is a *CurrencyError.
func (b *Book) applies(price money.Amount) ([]Limit, error) {
	unknown := price == (money.Amount{})
	applies := slices.DeleteFunc(b.Limits(), func(l Limit) bool { return !unknown && l.Currency != price.Currency })
	if len(applies) == 0 {
		return nil, &CurrencyError{price}
	}
	return applies, nil
}

// Reserve durably reserves a price within all limits of its currency, or reserves nothing. The zero Amount means that the price is
// unknown: Reserve then succeeds if no limit is used up, and reserves nothing. Errors: *ExceededError, *CurrencyError, and errors
// of reading or writing the file.
func (b *Book) Reserve(ctx context.Context, price money.Amount) (*Reservation, error) {
	applies, err := b.applies(price)
	if err != nil {
		return nil, err
	}
	r := &Reservation{book: b, amount: price}
	err = b.change(ctx, func(a *accounts) error {
		now := b.now()
		if err := a.fits(applies, price, now); err != nil {
			return err
		}
		if price != (money.Amount{}) {
			r.from = a.add(price, now)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Nothing returns a reservation of no amount, for a call that should be free. If the service charges the call nevertheless, Settle records
// the charge.
func (b *Book) Nothing() *Reservation { return &Reservation{book: b} }

// Settle replaces the reserved amount with the charge; the zero Amount releases the whole reservation. If the charge is in another
// currency, the reserved amount remains counted too, because a service could otherwise evade the limits. Settle must be called at most
// once. If the charge is unknown, do not call Settle: the reservation then counts until its periods end.
func (r *Reservation) Settle(ctx context.Context, charged money.Amount) error {
	if charged == r.amount || r.from == nil && charged.IsZero() {
		return nil
	}
	return r.book.change(ctx, func(a *accounts) error {
		now := r.book.now()
		same := charged.IsZero() || charged.Currency == r.amount.Currency
		for p, from := range r.from {
			if w := a.window(r.amount.Currency, p, now); w.From.Equal(from) && same {
				w.Nano = max(0, w.Nano-r.amount.Nano)
			}
		}
		if !charged.IsZero() {
			a.addWithin(charged, r.from, now)
		}
		return nil
	})
}

// change applies f to the accounts in the file while it holds the lock. If f returns an error, change writes nothing.
func (b *Book) change(ctx context.Context, f func(*accounts) error) error {
	return b.locked(ctx, func(a *accounts) error {
		if err := f(a); err != nil {
			return err
		}
		return a.write(b.path, b.now())
	})
}

// locked calls f with the accounts in the file while it holds the lock.
func (b *Book) locked(ctx context.Context, f func(*accounts) error) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := privatefile.Lock(ctx, b.path+".lock")
	if err != nil {
		return fmt.Errorf("locking the budget: %w", err)
	}
	defer unlock()
	a, err := readAccounts(b.path)
	if err != nil {
		return err
	}
	return f(a)
}

// plus returns a + b, or math.MaxInt64 if the sum would overflow.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
