package storetest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// workers is the number of operations that may be in progress when a process is killed.
const workers = 8

const deepCredit = 1_000_000_000

var (
	crashCredit = money.Amount{Nano: money.MaxUnits * money.Unit, Currency: "USD"}
	crashLimits = []store.Reservation{
		{Principal: agent, Limit: limit.Limit{ID: "crash", Rate: limit.Rate{Max: deepCredit, Period: limit.Lifetime}}},
		{Principal: agent, Limit: limit.Limit{ID: "crash", Rate: limit.Rate{Max: deepCredit, Period: limit.Week}}},
	}
)

// Work uses an engine until the process is killed or an operation fails. For each acknowledged operation it writes a line to out, with
// the kind and an id that starts with life.
func Work(ctx context.Context, e Engine, life string, out io.Writer) error {
	var mu sync.Mutex
	ack := func(what, id string) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := fmt.Fprintf(out, "%s %s\n", what, id)
		return err
	}
	failed := make(chan error, workers)
	for w := range workers {
		go func() {
			who := fmt.Sprintf("%s-%d", life, w)
			a := pat.Agreement{
				ID: pat.AgreementID(who), Service: service, AgentID: pat.AgentID(who), KeyID: keys.ID(who), PublicKey: []byte{1}, PolicyDigest: "d",
				Assurance: pat.Fresh,
				Nonce:     who, Signature: []byte{2}, State: pat.AgreementActive, CreatedAt: time.Now(),
			}
			_, err := e.Agree(ctx, pat.NewAgreement{
				Agreement: a, Policy: pat.PolicyDocument{Service: service, Digest: "d", Bytes: []byte("p")},
				NonceUntil: time.Now().Add(time.Hour),
			})
			if err == nil {
				err = ack("agreed", who)
			}
			for i := 0; err == nil; i++ {
				err = workOnce(ctx, e, a, fmt.Sprintf("%s-%d", who, i), i, ack)
			}
			failed <- err
		}()
	}
	return <-failed
}

func workOnce(ctx context.Context, e Engine, a pat.Agreement, id string, i int, ack func(what, id string) error) error {
	r := store.BeginRequest{
		Execution:  store.Execution{ID: id, Service: service, AgentID: agent, AgreementID: a.ID},
		Limits:     crashLimits,
		Candidates: []store.Candidate{{Rule: "rule", Charge: money.Amount{Nano: int64(1 + i%7), Currency: "USD"}}},
		Billing:    store.Billing{Credit: crashCredit},
		Hold:       time.Hour, KeyFor: 24 * time.Hour,
	}
	if i%32 == 16 {
		return payAndMove(ctx, e, a.AgentID, id, ack)
	}
	switch i % 4 {
	case 0:
		r.Candidates[0].Charge = money.Amount{}
		_, err := e.Begin(ctx, r)
		if err != nil {
			return err
		}
		return ack("begun", id)
	case 1, 2:
		r.Execution.IdempotencyKey = id
		r.Nonce = &store.Nonce{KeyID: a.KeyID, ID: id, Until: time.Now().Add(time.Hour)}
		admission, err := e.Begin(ctx, r)
		if err != nil {
			return err
		}
		if err := ack("held", id); err != nil || i%4 == 2 {
			return err
		}
		if _, err := e.Settle(ctx, admission, store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{}}); err != nil {
			return err
		}
		return ack("captured", id)
	default:
		now := time.Now()
		if err := e.Issue(ctx, pat.Token{
			ID: pat.TokenID(id), Service: service, AgreementID: a.ID, AgentID: a.AgentID, IssuedAt: now,
			ExpiresAt: now.Add(time.Hour),
		}); err != nil {
			return err
		}
		if err := ack("issued", id); err != nil {
			return err
		}
		if err := e.Revoke(ctx, pat.Revocation{
			Service: service, Kind: pat.RevokedToken, Subject: id, At: now,
			Until: now.Add(time.Hour),
		}); err != nil {
			return err
		}
		return ack("revoked", id)
	}
}

// collector is the agent to which the workers move what they pay in.
const collector pat.AgentID = "collector"

// payAndMove pays in for the agent of a worker, and moves that to the collector.
func payAndMove(ctx context.Context, e Engine, who pat.AgentID, id string, ack func(what, id string) error) error {
	if _, err := e.TopUp(ctx, store.TopUp{Service: service, AgentID: who, Amount: usd(7), Reference: id}); err != nil {
		return err
	}
	if err := ack("paid", id); err != nil {
		return err
	}
	_, _, err := e.MoveCredit(ctx, store.CreditMove{Service: service, From: who, To: collector, Amount: usd(7), Reference: id, Reason: "work"})
	if err != nil {
		return err
	}
	return ack("moved", id)
}

// checkMoves checks that acknowledged moves were made, and that no move was made in part.
func checkMoves(ctx context.Context, e Engine, acks map[string][]string, lives int) error {
	for _, id := range acks["moved"] {
		who := pat.AgentID(id[:strings.LastIndexByte(id, '-')])
		_, repeated, err := e.MoveCredit(ctx, store.CreditMove{Service: service, From: who, To: collector, Amount: usd(7), Reference: id})
		if err != nil || !repeated {
			return fmt.Errorf("the acknowledged move %s again: repeated %v, %w", id, repeated, cmp.Or(err, errUsedAgain))
		}
	}
	accounts, err := e.Accounts(ctx, store.Filter{Service: service, Limit: 1000})
	if err != nil {
		return err
	}
	var paid int64
	for _, a := range accounts {
		if a.AgentID == agent {
			continue
		}
		if a.AgentID != collector && a.ToppedUp != usd(0) && a.ToppedUp != usd(7) || a.ToppedUp.Nano%7 != 0 {
			return fmt.Errorf("a move was made in part: %+v", a)
		}
		paid += a.ToppedUp.Nano / 7
	}
	if n := int64(len(acks["paid"])); paid < n || paid > n+int64(lives*workers) {
		return fmt.Errorf("%d payments were acknowledged, the accounts have %d", n, paid)
	}
	return nil
}

// Crash starts processes, one after another, that run Work on the state at one place, and kills each (SIGKILL) in the middle. Each process
// gets another life, the prefix of its ids. After each kill, Crash opens the state and compares it with all acknowledged operations.
func Crash(t *testing.T, open Opener, lives int, process func(place, life string) *exec.Cmd) {
	t.Helper()
	place := t.TempDir()
	acks := map[string][]string{} // kind → ids
	for n := range lives {
		before := len(acks["begun"]) + len(acks["held"])
		live(t, process(place, fmt.Sprintf("life%d", n)), 50+rand.IntN(800), acks)
		if len(acks["begun"])+len(acks["held"]) == before {
			t.Fatalf("life %d acknowledged no call", n)
		}
		e := open(t, place, time.Now)
		if err := checkAcks(t.Context(), e, acks, n+1); err != nil {
			t.Errorf("after life %d: %v", n, err)
		}
		if err := checkLedger(t.Context(), e); err != nil {
			t.Errorf("after life %d: %v", n, err)
		}
		if err := e.Close(); err != nil {
			t.Errorf("after life %d: %v", n, err)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d lives: %d begun, %d held, %d captured, %d issued, %d revoked", lives,
		len(acks["begun"]), len(acks["held"]), len(acks["captured"]), len(acks["issued"]), len(acks["revoked"]))
}

// live runs a process until it has acknowledged some operations, kills it, and reads the rest of its output.
func live(t *testing.T, cmd *exec.Cmd, until int, acks map[string][]string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	output := 0
	for lines.Scan() {
		what, id, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.Count(id, "-") < 1 {
			continue
		}
		acks[what] = append(acks[what], id)
		if output++; output == until {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if output < until {
		t.Fatalf("the process ended by itself after %d acknowledgements: %s; want at least %v", output, stderr.String(), until)
	}
}

// checkAcks compares the state with the acknowledged operations.
func checkAcks(ctx context.Context, e Engine, acks map[string][]string, lives int) error {
	if err := checkCounters(ctx, e, int64(len(acks["begun"])+len(acks["held"])), lives); err != nil {
		return err
	}
	captured := map[string]bool{}
	for _, id := range acks["captured"] {
		captured[id] = true
	}
	for _, id := range acks["held"] {
		x, err := e.Execution(ctx, service, id)
		if err != nil {
			return fmt.Errorf("acknowledged charge %s: %w", id, err)
		}
		if x.State != store.Captured && (captured[id] || x.State != store.Held) {
			return fmt.Errorf("acknowledged charge %s (captured: %v) is %s", id, captured[id], x.State)
		}
	}
	if err := checkMoves(ctx, e, acks, lives); err != nil {
		return err
	}
	if err := checkNonces(ctx, e, acks["held"]); err != nil {
		return err
	}
	for _, id := range acks["agreed"] {
		if _, err := e.Agreement(ctx, service, pat.AgreementID(id)); err != nil {
			return fmt.Errorf("acknowledged agreement %s: %w", id, err)
		}
	}
	for _, id := range acks["issued"] {
		if _, err := e.Token(ctx, service, pat.TokenID(id)); err != nil {
			return fmt.Errorf("acknowledged token %s: %w", id, err)
		}
	}
	changes, _, err := e.Changes(ctx, 0)
	if err != nil {
		return err
	}
	revoked := map[string]bool{}
	for _, c := range changes {
		if c.Revocation != nil {
			revoked[c.Revocation.Subject] = true
		}
	}
	for _, id := range acks["revoked"] {
		if !revoked[id] {
			return fmt.Errorf("the acknowledged revocation of %s is missing", id)
		}
	}
	return nil
}

// checkNonces checks that the nonces of the last acknowledged charges are used.
func checkNonces(ctx context.Context, e Engine, charges []string) error {
	for _, id := range charges[max(0, len(charges)-50):] {
		key := id[:strings.LastIndexByte(id, '-')]
		_, err := e.Begin(ctx, store.BeginRequest{
			Execution: store.Execution{Service: service, AgentID: agent}, Candidates: []store.Candidate{{}}, Hold: time.Hour,
			Nonce: &store.Nonce{KeyID: keys.ID(key), ID: id, Until: time.Now().Add(time.Hour)},
		})
		if !errors.Is(err, store.ErrNonceUsed) {
			return fmt.Errorf("the nonce of the acknowledged charge %s again: %w", id, cmp.Or(err, errUsedAgain))
		}
	}
	return nil
}

var errUsedAgain = errors.New("it was taken")

// checkCounters checks that the counters include every acknowledged call and, besides those, at most the calls that were in progress when a
// process was killed.
func checkCounters(ctx context.Context, e Engine, acknowledged int64, lives int) error {
	probe := store.BeginRequest{
		Execution: store.Execution{Service: service, AgentID: agent}, Limits: crashLimits, Candidates: []store.Candidate{{}},
		Hold: time.Hour,
	}
	admission, err := e.Begin(ctx, probe)
	if err != nil {
		return err
	}
	for _, s := range admission.Standing {
		counted := deepCredit - s.Left - 1
		if counted < acknowledged || counted > acknowledged+int64(lives*workers) {
			return fmt.Errorf("%d calls were acknowledged, %d count against %s", acknowledged, counted, s.Rate)
		}
	}
	_, err = e.Settle(ctx, admission, store.Settlement{State: store.Released, Outcome: store.NotSent}) // the probe does not count as a call
	return err
}
