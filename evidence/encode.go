package evidence

import (
	"encoding/base64"
	"strconv"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// TimeFormat is the format of times in entries: RFC 3339 in UTC with nine decimal places.
const TimeFormat = "2006-01-02T15:04:05.000000000Z"

// Append appends the RFC 8785 form of the entry to out. Members without a value are omitted.
func (e *Entry) Append(out []byte) []byte {
	w := encoder{out: append(out, '{')}
	if e.Account != (Account{}) {
		w.name("account")
		w.out = append(w.out, `{"agent":`...)
		w.string(e.Account.Agent)
		w.out = append(w.out, `,"currency":`...)
		w.string(e.Account.Currency)
		w.out = append(w.out, '}')
	}
	w.text("agr", e.Agreement)
	if e.Kind == KindCharge || e.Kind == KindTopUp || e.Kind == KindReversal {
		w.text("amount", e.Amount.Decimal())
	}
	w.text("ans", e.Answer)
	w.text("ans_form", e.AnswerForm)
	w.name("at")
	w.out = append(e.At.UTC().AppendFormat(append(w.out, '"'), TimeFormat), '"')
	w.text("by", e.By)
	w.text("dec", e.Decision)
	w.int("epoch", e.Epoch)
	w.text("from", e.From)
	w.text("id", e.ID)
	w.text("intent", e.Intent)
	w.text("iss", e.Issuer)
	w.text("jkt", e.KeyID)
	if e.Key != nil {
		w.raw("jwk", e.Key.JWK)
	}
	if e.chained() {
		w.int("k", e.K)
	}
	if e.Key != nil {
		w.text("kid", e.Key.ID)
	}
	w.text("kind", string(e.Kind))
	if l := e.Last; l != nil {
		w.name("last")
		w.out = strconv.AppendInt(append(w.out, `{"epoch":`...), l.Epoch, 10)
		w.out = append(append(append(w.out, `,"root":"`...), l.Root.String()...), `","size":`...)
		w.out = append(strconv.AppendInt(w.out, l.Size, 10), '}')
	}
	w.text("outcome", e.Outcome)
	w.text("pat", e.Token)
	w.text("pol", e.Policy)
	if !e.Prev.IsZero() {
		w.hash("prev", e.Prev)
	}
	w.text("proof", e.Proof)
	if e.Key != nil {
		w.text("purpose", e.Key.Purpose)
	}
	w.text("ref", e.Reference)
	w.text("req", e.Request)
	w.text("rule", e.Rule)
	if len(e.Salt) > 0 {
		w.text("salt", base64.RawURLEncoding.EncodeToString(e.Salt))
	}
	if s := e.Sums; s != nil {
		w.name("sums")
		w.out = append(append(w.out, `{"captured":"`...), s.Captured.Decimal()...)
		w.out = append(append(w.out, `","held":"`...), s.Held.Decimal()...)
		w.out = append(append(w.out, `","topped_up":"`...), s.ToppedUp.Decimal()...)
		w.out = append(append(append(w.out, `","unresolved":"`...), s.Unresolved.Decimal()...), `"}`...)
	}
	if t := e.Through; t != nil {
		w.name("through")
		w.out = append(append(append(w.out, `{"hash":"`...), t.Hash.String()...), `","k":`...)
		w.out = append(strconv.AppendInt(w.out, t.K, 10), '}')
	}
	w.text("to", e.To)
	w.text("v", Version)
	if e.Key != nil {
		w.text("vkey", e.Key.Verifier)
	}
	return append(w.out, '}')
}

// chained reports whether the entry is part of the chain of an account.
func (e *Entry) chained() bool { return e.Kind != KindKey && e.Kind != KindRestored }

// An encoder appends members to an object, which must be added in the order of RFC 8785.
type encoder struct {
	out   []byte
	named bool
}

func (w *encoder) name(name string) {
	if w.named {
		w.out = append(w.out, ',')
	}
	w.named = true
	w.out = append(append(append(w.out, '"'), name...), `":`...)
}

// text adds a member, unless s is empty.
func (w *encoder) text(name, s string) {
	if s != "" {
		w.name(name)
		w.string(s)
	}
}

// string appends a string in the form of RFC 8785.
func (w *encoder) string(s string) { w.out = strictjson.AppendCanonicalText(w.out, s) }

func (w *encoder) int(name string, n int64) {
	w.name(name)
	w.out = strconv.AppendInt(w.out, n, 10)
}

func (w *encoder) hash(name string, h Hash) {
	w.name(name)
	w.out = append(base64.RawURLEncoding.AppendEncode(append(w.out, '"'), h[:]), '"')
}

func (w *encoder) raw(name string, value []byte) {
	w.name(name)
	w.out = append(w.out, value...)
}
