// Package facilitatortest implements an x402 facilitator for tests, with its own chain. It checks signatures, nonces, amounts and times
// as the contract of a token does, records the payments that it made, and can fail in the ways in which real facilitators fail.
package facilitatortest

import (
	"encoding/json"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The token of the facilitator, on the test chain of Base.
const (
	Network = "eip155:84532"
	Asset   = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
	PayTo   = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	Token   = "token-of-the-facilitator"
)

// A Fault is a way in which /settle fails.
type Fault string

// The faults.
const (
	None         Fault = ""
	Broken       Fault = "500 and nothing moved"
	MovedBroken  Fault = "500 after the money moved"
	MovedCut     Fault = "no answer after the money moved"
	MovedPending Fault = "settlement_pending after the money moved"
	MovedGarbage Fault = "an answer that is not JSON after the money moved"
	Refused      Fault = "insufficient_funds"
	Lying        Fault = "success of another payment"
	Hanging      Fault = "no answer until released"
	MovedHanging Fault = "no answer until released after the money moved"
	HangingFirst Fault = "no answer to /verify until released"
)

// A Transfer is a payment that moved money.
type Transfer struct {
	From, Nonce string // in lower case
	Value       *big.Int
	Transaction string
}

// A Facilitator is an x402 facilitator. It is safe for concurrent use.
type Facilitator struct {
	URL string
	Now func() time.Time

	mu        sync.Mutex
	server    *httptest.Server
	fault     Fault
	down      bool // /verify fails
	keepsBook bool // answers a repeated settlement with the transaction
	hold      chan struct{}
	moved     []Transfer
	requests  map[string]int // by path
	verified  bool           // whether the authorization header of each request was right
}

// New starts a Facilitator, and stops it when the test ends. now is the time of its chain.
func New(tb testing.TB, now func() time.Time) *Facilitator {
	tb.Helper()
	f := &Facilitator{Now: now, requests: map[string]int{}, hold: make(chan struct{}), verified: true}
	f.server = httptest.NewServer(f)
	f.URL = f.server.URL
	tb.Cleanup(func() {
		f.Release()
		f.Stop()
	})
	return f
}

// Stop makes the facilitator unreachable.
func (f *Facilitator) Stop() {
	f.server.CloseClientConnections()
	f.server.Close()
}

// Restart makes the facilitator reachable again, at the same address and with the same records.
func (f *Facilitator) Restart(tb testing.TB) {
	tb.Helper()
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		tb.Fatal(err)
	}
	s := httptest.NewUnstartedServer(f)
	_ = s.Listener.Close()
	s.Listener = ln
	s.Start()
	f.server = s
}

// Fail makes /settle fail until the next call to Fail.
func (f *Facilitator) Fail(how Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = how
}

// FailToVerify sets whether /verify fails with status 500.
func (f *Facilitator) FailToVerify(is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = is
}

// Remember makes the facilitator answer a repeated settlement with the first transaction, instead of invalid_exact_evm_nonce_already_used.
func (f *Facilitator) Remember() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keepsBook = true
}

// Release ends the fault Hanging once, for all requests that hang.
func (f *Facilitator) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.hold:
	default:
		close(f.hold)
	}
}

// Moved returns the payments that moved money, in order.
func (f *Facilitator) Moved() []Transfer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Transfer(nil), f.moved...)
}

// Requests returns how often a path was requested.
func (f *Facilitator) Requests(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[path]
}

// Authorized reports whether each request had the token Token.
func (f *Facilitator) Authorized() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.verified
}

// ServeHTTP implements http.Handler.
func (f *Facilitator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests[r.URL.Path]++
	f.verified = f.verified && r.Header.Get("Authorization") == "Bearer "+Token
	down := f.down
	f.mu.Unlock()
	if r.URL.Path == "/supported" {
		answer(w, http.StatusOK, map[string]any{
			"kinds":      []any{map[string]any{"x402Version": 2, "scheme": "exact", "network": Network}},
			"extensions": []string{}, "signers": map[string]any{},
		})
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var o order
	if err != nil || json.Unmarshal(body, &o) != nil {
		answer(w, http.StatusBadRequest, map[string]any{"error": "unreadable"})
		return
	}
	switch r.URL.Path {
	case "/verify":
		if down {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		f.mu.Lock()
		hangs := f.fault == HangingFirst
		f.mu.Unlock()
		if hangs {
			f.await(r)
		}
		f.verify(w, &o)
	case "/settle":
		f.settle(w, r, &o)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (f *Facilitator) verify(w http.ResponseWriter, o *order) {
	f.mu.Lock()
	why := f.check(o)
	f.mu.Unlock()
	if why != "" {
		answer(w, http.StatusOK, map[string]any{"isValid": false, "invalidReason": why, "payer": o.authorization().From})
		return
	}
	answer(w, http.StatusOK, map[string]any{"isValid": true, "payer": o.authorization().From})
}

func (f *Facilitator) settle(w http.ResponseWriter, r *http.Request, o *order) {
	f.mu.Lock()
	fault := f.fault
	f.mu.Unlock()
	switch fault {
	case Broken:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case Refused:
		f.failed(w, o, "insufficient_funds", "")
		return
	case Lying:
		answer(w, http.StatusOK, map[string]any{
			"success": true, "transaction": "0x1", "network": "eip155:1", "payer": "0x0000000000000000000000000000000000000001",
		})
		return
	case Hanging:
		f.await(r)
	default:
	}
	tx, why := f.move(o)
	if fault == MovedHanging {
		f.await(r)
	}
	switch {
	case why != "":
		f.failed(w, o, why, tx)
	case fault == MovedBroken:
		w.WriteHeader(http.StatusBadGateway)
	case fault == MovedCut:
		panic(http.ErrAbortHandler)
	case fault == MovedPending:
		f.failed(w, o, "settlement_pending", tx)
	case fault == MovedGarbage:
		_, _ = io.WriteString(w, "<html>settled</html>")
	default:
		answer(w, http.StatusOK, map[string]any{
			"success": true, "transaction": tx, "network": Network, "payer": o.authorization().From,
		})
	}
}

// await returns after Release, or when the client has disconnected.
func (f *Facilitator) await(r *http.Request) {
	select {
	case <-f.hold:
	case <-r.Context().Done():
	}
}

// move moves the money of an order, or returns the reason why it cannot.
func (f *Facilitator) move(o *order) (tx, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := o.authorization()
	if t, used := f.used(a); used && f.keepsBook {
		return t.Transaction, ""
	}
	if why := f.check(o); why != "" {
		return "", why
	}
	value, _ := new(big.Int).SetString(a.Value, 10)
	tx = "0x" + strings.Repeat("0", 60) + strconv.FormatInt(int64(0x1000+len(f.moved)), 16)
	f.moved = append(f.moved, Transfer{strings.ToLower(a.From), strings.ToLower(a.Nonce), value, tx})
	return tx, ""
}

func (f *Facilitator) used(a authorization) (Transfer, bool) {
	for _, t := range f.moved {
		if t.From == strings.ToLower(a.From) && t.Nonce == strings.ToLower(a.Nonce) {
			return t, true
		}
	}
	return Transfer{}, false
}

func (f *Facilitator) failed(w http.ResponseWriter, o *order, why, tx string) {
	answer(w, http.StatusOK, map[string]any{
		"success": false, "errorReason": why, "transaction": tx, "network": Network, "payer": o.authorization().From,
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Settings returns the setting payments.x402 of a gateway, in flow style, with the token of the facilitator as the only one.
func Settings(address, currency string) string {
	return "x402: {facilitator: '" + address + "', auth: " + Token + ", pay_to: '" + PayTo + "', timeout: 2s, accepts: [{network: '" + Network +
		"', asset: '" + Asset + "', currency: " + currency + ", name: USDC}]}"
}
