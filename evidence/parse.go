package evidence

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// Maximum sizes of the parsed texts, in bytes.
const (
	MaxEntry   = 16 << 10
	MaxReceipt = 24 << 10 // compact JWS
)

// ErrEntry means that bytes are not an entry.
var ErrEntry = errors.New("not an entry of the ledger")

// ParseEntry parses the bytes of an entry. It accepts only the bytes that Append produces, so that an entry has only one hash. It rejects a
// different order or spelling, duplicates and unknown members. The error wraps ErrEntry.
func ParseEntry(data []byte) (Entry, error) {
	if len(data) > MaxEntry {
		return Entry{}, fmt.Errorf("%w: it has more than %d bytes", ErrEntry, MaxEntry)
	}
	members, err := strictjson.DecodeObject(data)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrEntry, err)
	}
	r := reader{members: members}
	e := r.entry()
	switch {
	case r.err != nil:
		return Entry{}, fmt.Errorf("%w: %w", ErrEntry, r.err)
	case !bytes.Equal(e.Append(nil), data):
		return Entry{}, fmt.Errorf("%w: it has unknown members, or is not in the form of RFC 8785", ErrEntry)
	}
	return e, nil
}

// A reader reads the members of an entry. err is the first error.
type reader struct {
	members strictjson.Object
	err     error
}

func (r *reader) fail(name, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("member %s: %s", name, want)
	}
}

func (r *reader) entry() (e Entry) {
	if r.members.Text("v") != Version {
		r.fail("v", "want "+Version)
	}
	account := r.members.Object("account")
	e = Entry{
		Issuer: r.members.Text("iss"), Epoch: r.int(r.members, "epoch"), Kind: Kind(r.members.Text("kind")),
		Account: Account{account.Text("agent"), account.Text("currency")},
		Prev:    r.hash(r.members, "prev"), At: r.time("at"), ID: r.members.Text("id"), From: r.members.Text("from"),
		To: r.members.Text("to"), By: r.members.Text("by"), Intent: r.members.Text("intent"), Rule: r.members.Text("rule"),
		Policy: r.digest("pol"), Agreement: r.members.Text("agr"), Token: r.members.Text("pat"), KeyID: r.members.Text("jkt"),
		Request: r.digest("req"), Proof: r.digest("proof"), Decision: r.digest("dec"), Outcome: r.members.Text("outcome"),
		Answer: r.digest("ans"), AnswerForm: r.members.Text("ans_form"), Reference: r.members.Text("ref"), Salt: r.bytes("salt"),
	}
	if e.Issuer == "" {
		r.fail("iss", "want a string")
	}
	switch e.Kind {
	case KindCharge, KindTopUp, KindReversal, KindCarry:
		r.chained(&e)
	case KindKey:
		r.key(&e)
	case KindRestored:
		if last := r.members.Object("last"); last != nil {
			e.Last = &Last{Epoch: r.int(last, "epoch"), Size: r.int(last, "size"), Root: r.hash(last, "root")}
		}
	default:
		r.fail("kind", "want charge, top-up, reversal, carry, key or restored")
	}
	return e
}

// chained reads the members of an entry of an account.
func (r *reader) chained(e *Entry) {
	if e.Account.Agent == "" || e.Account.Currency == "" {
		r.fail("account", "want an object with agent and currency")
	}
	if e.K = r.int(r.members, "k"); (e.K == 0) != e.Prev.IsZero() {
		r.fail("prev", "want the hash of the entry before, or none if k is 0")
	}
	switch e.Kind {
	case KindCharge:
		if e.ID == "" || !validState(e.To) || e.From != "" && !validState(e.From) {
			r.fail("to", "want a charge with an execution id and a valid state")
		}
		e.Amount = r.amount(r.members, "amount", e.Account.Currency)
	case KindTopUp, KindReversal:
		e.Amount = r.amount(r.members, "amount", e.Account.Currency)
		if e.Amount.Nano > 0 != (e.Kind == KindTopUp) {
			r.fail("amount", "want an amount above zero for a top-up, or below zero for a reversal")
		}
	case KindCarry:
		r.carry(e)
	case KindKey, KindRestored:
	}
}

func (r *reader) carry(e *Entry) {
	sums := r.members.Object("sums")
	if sums == nil {
		r.fail("sums", "want an object")
		return
	}
	amount := func(name string) money.Amount { return r.decimal(sums, name, e.Account.Currency, money.NewSum) }
	e.Sums = &Sums{ToppedUp: amount("topped_up"), Held: amount("held"), Unresolved: amount("unresolved"), Captured: amount("captured")}
	if through := r.members.Object("through"); through != nil {
		e.Through = &Through{K: r.int(through, "k"), Hash: r.hash(through, "hash")}
	}
}

func (r *reader) key(e *Entry) {
	jwk := r.members.Object("jwk")
	text, err := strictjson.Canonical(jwk)
	if jwk == nil || err != nil {
		r.fail("jwk", "want a public key")
		return
	}
	e.Key = &Key{Purpose: r.members.Text("purpose"), ID: r.members.Text("kid"), JWK: text, Verifier: r.members.Text("vkey")}
	if e.Key.Purpose == "" || e.Key.ID == "" {
		r.fail("kid", "want the purpose and the id of a key")
	}
}

func validState(s string) bool {
	return s == StateHeld || s == StateCaptured || s == StateReleased || s == StateUnresolved
}

// int reads a non-negative number.
func (r *reader) int(members strictjson.Object, name string) int64 {
	n, err := strconv.ParseInt(string(members.Number(name)), 10, 64)
	if err != nil || n < 0 {
		r.fail(name, "want a whole number of 0 or more")
	}
	return n
}

func (r *reader) hash(members strictjson.Object, name string) (h Hash) {
	if s := members.Text(name); s != "" && h.UnmarshalText([]byte(s)) != nil {
		r.fail(name, errHash.Error())
	}
	return h
}

func (r *reader) digest(name string) string {
	s := r.members.Text(name)
	if s != "" && !validDigest(s) {
		r.fail(name, errDigest.Error())
	}
	return s
}

func (r *reader) bytes(name string) []byte {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(r.members.Text(name))
	if err != nil {
		r.fail(name, "want base64url without padding")
	}
	if len(raw) == 0 {
		return nil
	}
	return raw
}

func (r *reader) time(name string) time.Time {
	at, err := time.Parse(TimeFormat, r.members.Text(name))
	if err != nil {
		r.fail(name, "want a time in UTC with nine decimal places")
	}
	return at
}

// amount reads a decimal amount, which may be negative.
func (r *reader) amount(members strictjson.Object, name, currency string) money.Amount {
	return r.decimal(members, name, currency, money.New)
}

func (r *reader) decimal(
	members strictjson.Object, name, currency string, parse func(text, code string) (money.Amount, error),
) money.Amount {
	text := members.Text(name)
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	a, err := parse(text, currency)
	if err != nil {
		r.fail(name, "want an amount such as 0.05")
		return money.Amount{}
	}
	if negative {
		a.Nano = -a.Nano
	}
	return a
}
