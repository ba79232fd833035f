package agenttest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat/keys"
)

// price is the price of an order.
var price = money.Amount{Nano: money.Unit / 100, Currency: "USD"}

// books holds the accounts of all agents, and the key that signs their entries.
type books struct {
	key        ed25519.PrivateKey
	introduced []any // the members of the key set
	accounts   map[string][]bookEntry
	all        []bookEntry        // the entries of all accounts, in the order in which they were made
	logKey     ed25519.PrivateKey // nil: the service has no log
	tampering  Alteration
	hidden     int // the number of further responses that list keys without the entries that introduce them
	refused    int // the number of further requests for the key set that fail
}

// A bookEntry is an entry with its receipt.
type bookEntry struct {
	entry   evidence.Entry
	leaf    evidence.Hash
	receipt string
}

// An Alteration makes the service dishonest. Functions may be nil.
type Alteration struct {
	Entry   func(*evidence.Entry)   // changes the entry in a receipt before it is signed; the books stay unchanged
	Receipt func(string) []string   // replaces the receipt in a response; an empty list sends none
	Usage   func([]string) []string // replaces the entries in a response with part of the chain
	Refuse  bool                    // the service does not send receipts later

	Leaves func([]evidence.Hash) []evidence.Hash // replaces the leaves of the log
	Epoch  int64                                 // the epoch of the log
	LogKey ed25519.PrivateKey                    // signs checkpoints instead of the key of the log
	Ahead  time.Duration                         // the times of checkpoints are ahead of the clock
}

// GiveReceipts makes the service send receipts.
func (s *Service) GiveReceipts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members["uim-receipts"], s.members["uim-usage"] = s.URL+"/api/receipts/{execution_id}", s.URL+"/api/usage/entries"
	s.members["uim-jwks"] = s.URL + "/.well-known/jwks.json"
	s.books = &books{accounts: map[string][]bookEntry{}}
	s.books.newKey(nil)
}

// Tamper sets how the service is dishonest.
func (s *Service) Tamper(t Alteration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books.tampering = t
}

// RotateReceiptKey creates a new key for receipts. If introduced is false, the previous key does not introduce it.
func (s *Service) RotateReceiptKey(introduced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.books.key
	if !introduced {
		before = nil
	}
	s.books.newKey(before)
}

// HideIntroductions makes the next n responses with the key set introduce no keys, as just after a rotation.
func (s *Service) HideIntroductions(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books.hidden = n
}

// RefuseKeySets makes the next n requests for the key set fail, as if the service were not available.
func (s *Service) RefuseKeySets(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books.refused = n
}

// Receipts returns the receipts of an agent's account, in the order of the chain.
func (s *Service) Receipts(agentID string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, one := range s.books.accounts[agentID] {
		out = append(out, one.receipt)
	}
	return out
}

// newKey creates a new key for receipts. The previous key, before, signs the entry of the new one. If before is nil, newKey writes no
// entry.
func (b *books) newKey(before ed25519.PrivateKey) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return
	}
	b.key = private
	key, err := keys.New(public)
	if err != nil {
		return
	}
	member := map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": string(key.Thumbprint()), "use": "sig", "uim_purpose": "receipt"}
	member["x"] = keyMember(public)
	if before != nil {
		e := evidence.Entry{Issuer: Issuer, Kind: evidence.KindKey, By: thumbprint(before), Salt: []byte("salt"), Key: &evidence.Key{
			Purpose: evidence.PurposeReceipt, ID: string(key.Thumbprint()), JWK: []byte(`{"crv":"Ed25519","kty":"OKP","x":"` + keyMember(public) + `"}`),
		}}
		member["uim_entry"], _ = evidence.SignReceipt(before, keys.ID(thumbprint(before)), e.Append(nil))
	}
	b.introduced = append(b.introduced, member)
}

func thumbprint(private ed25519.PrivateKey) string {
	key, err := keys.New(private.Public())
	if err != nil {
		return ""
	}
	return string(key.Thumbprint())
}

// add adds an entry to the books of its account.
func (b *books) add(e evidence.Entry) bookEntry {
	list := b.accounts[e.Account.Agent]
	if n := len(list); n > 0 {
		e.K, e.Prev = list[n-1].entry.K+1, list[n-1].leaf
	}
	text := e.Append(nil)
	out := bookEntry{entry: e, leaf: evidence.LeafHash(text)}
	out.receipt, _ = evidence.SignReceipt(b.key, keys.ID(thumbprint(b.key)), text)
	b.accounts[e.Account.Agent] = append(list, out)
	b.all = append(b.all, out)
	return out
}

// charge charges an order, and sets the header of the response. The caller must hold s.mu.
func (s *Service) charge(h http.Header, c Call, fingerprint string, output []byte) {
	if s.books == nil {
		h.Set("UIM-Charge", price.String()+"; id=execution-1; state=captured")
		return
	}
	b, t := s.books, s.tokens[c.TokenID]
	id := fmt.Sprintf("execution-%d", len(s.calls))
	e := evidence.Entry{
		Issuer: Issuer, Account: evidence.Account{Agent: t.agentID, Currency: price.Currency}, At: s.Clock.Now(), Kind: evidence.KindCharge,
		ID: id, To: evidence.StateHeld, By: "agent", Amount: price, Intent: c.UID, Policy: t.digest, Agreement: "agreement-1", Token: c.TokenID,
		KeyID: string(t.key.Thumbprint()), Request: evidence.PrefixedDigest(fingerprint),
	}
	b.add(e)
	e.From, e.To, e.Outcome, e.Answer = evidence.StateHeld, evidence.StateCaptured, "done", evidence.Digest(output)
	captured := b.add(e)
	receipt := captured.receipt
	if b.tampering.Entry != nil {
		e := captured.entry
		b.tampering.Entry(&e)
		receipt, _ = evidence.SignReceipt(b.key, keys.ID(thumbprint(b.key)), e.Append(nil))
	}
	list := []string{receipt}
	if b.tampering.Receipt != nil {
		list = b.tampering.Receipt(receipt)
	}
	for _, text := range list {
		h.Add("UIM-Receipt", text)
	}
	h.Set("UIM-Charge", price.String()+"; id="+id+"; state=captured")
}

func (s *Service) keySet(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.books == nil {
		refuse(w, reason.NoSuchPath)
		return
	}
	list := s.books.introduced
	if s.books.refused > 0 {
		s.books.refused--
		http.Error(w, "not available", http.StatusInternalServerError)
		return
	}
	if s.books.hidden > 0 {
		s.books.hidden--
		list = nil
		for _, one := range s.books.introduced {
			if member, ok := one.(map[string]any); ok {
				member = maps.Clone(member)
				delete(member, "uim_entry")
				list = append(list, member)
			}
		}
	}
	write(w, http.StatusOK, map[string]any{"keys": list})
}

func (s *Service) receipt(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, t, refused := s.authenticate(r)
	if s.books == nil || refused != "" || s.books.tampering.Refuse {
		refuse(w, reason.IntentNotFound)
		return
	}
	for _, one := range slices.Backward(s.books.accounts[t.agentID]) {
		if one.entry.ID == r.PathValue("id") {
			w.Header().Set("Content-Type", evidence.MediaTypeReceipt)
			_, _ = w.Write([]byte(one.receipt))
			return
		}
	}
	refuse(w, reason.IntentNotFound)
}

func (s *Service) usage(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, t, refused := s.authenticate(r)
	if s.books == nil || refused != "" {
		refuse(w, reason.IntentNotFound)
		return
	}
	after := int64(-1)
	if text := r.FormValue("after"); text != "" {
		after, _ = strconv.ParseInt(text, 10, 64)
	}
	const page = 3
	list, sent := []string{}, 0
	var head any
	for _, one := range s.books.accounts[t.agentID] {
		head = map[string]any{"k": one.entry.K, "hash": one.leaf}
		if one.entry.K > after && sent < page {
			list = append(list, one.receipt)
			sent++
		}
	}
	if s.books.tampering.Usage != nil {
		list = s.books.tampering.Usage(list)
	}
	write(w, http.StatusOK, map[string]any{"entries": list, "head": head})
}

// keyMember returns the member x of a JWK.
func keyMember(public ed25519.PublicKey) string { return base64.RawURLEncoding.EncodeToString(public) }

// SignReceipt signs any payload with the key for receipts. Only the functions of an Alteration may call it.
func (s *Service) SignReceipt(payload []byte) string {
	text, err := evidence.SignReceipt(s.books.key, keys.ID(thumbprint(s.books.key)), payload)
	if err != nil {
		return ""
	}
	return text
}

// Charge adds to the books a captured charge that no call of the agent caused.
func (s *Service) Charge(agentID, execution string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := evidence.Entry{
		Issuer: Issuer, Account: evidence.Account{Agent: agentID, Currency: price.Currency}, At: s.Clock.Now(), Kind: evidence.KindCharge,
		ID: execution, To: evidence.StateHeld, By: "agent", Amount: price, Intent: Order,
	}
	s.books.add(e)
	e.From, e.To, e.Outcome = evidence.StateHeld, evidence.StateCaptured, "done"
	s.books.add(e)
}
