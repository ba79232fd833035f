package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/bridge/outbox"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// A toolCall is one tools/call. Unless the call is safe and free, or the host supplied its key, the outbox stores the call before it is
// sent, and keeps it until the host has received the outcome.
type toolCall struct {
	b        *Bridge
	host     context.Context //nolint:containedctx // see Bridge.waiting
	t        tool
	key      string // supplied by the host; may be empty
	keeps    bool   // the outbox must store the call
	unkeyed  bool   // sent without a key
	asks     bool   // the service can return the outcome that is stored under the key
	found    bool   // the call requests the outcome of an earlier call
	placed   bool   // the call counts towards maxCalls
	reserved *budget.Reservation

	mu     sync.Mutex
	call   outbox.Call
	stored bool // the outbox has the call
	left   bool // the host no longer waits
}

// enter waits until fewer than maxCalls calls are in progress, and then counts this call among them. The errors are those of take.
func (m *toolCall) enter() error {
	err := m.take(m.b.places)
	m.placed = err == nil
	return err
}

// take waits for a free slot in places and occupies it. It returns an error if the host no longer waits for the call.
func (m *toolCall) take(places chan<- struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-m.host.Done():
		return context.Cause(m.host)
	}
}

func (m *toolCall) exit() {
	if m.placed {
		m.placed = false
		<-m.b.places
	}
}

// prepare looks in the outbox for an earlier call to the same tool with the same arguments whose outcome is unknown. If there is
// one, this call is sent under its key; if the service cannot return the outcome that way, the error is an *unknownError.
func (m *toolCall) prepare(ctx context.Context, s agent.Session, arguments strictjson.Object, o *agent.ExecuteOptions, p price) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.key = o.IdempotencyKey
	m.unkeyed = m.key == "" && strictjson.Exact(arguments) != nil
	m.asks = m.key != "" || s.Form.Fresh() && !m.unkeyed
	m.keeps = m.key == "" && (!m.t.intent.Safe || !p.known || !p.most.IsZero())
	if !m.keeps {
		return nil
	}
	uid := m.t.intent.UID.String()
	m.call = m.b.outbox.New(s.FileName(), digestOf(uid, arguments), uid)
	earlier, found, err := m.b.outbox.Find(ctx, m.call.Service, m.call.Digest)
	if err != nil || !found {
		return err
	}
	m.call, m.stored, m.found, o.IdempotencyKey = earlier, true, true, earlier.Key
	if !m.asks || earlier.Key == "" {
		return m.unknown(nil)
	}
	return nil
}

// digestOf returns the digest of an intent and its arguments: the digest that idempotency uses or, if a number is inexact, a digest
// of the arguments as JSON.
func digestOf(uid string, arguments strictjson.Object) string {
	if digest, err := pat.ExecuteDigest(uid, arguments); err == nil {
		return digest
	}
	text, _ := json.Marshal(arguments) // the arguments were decoded from JSON
	sum := sha256.Sum256(append([]byte(uid+"\n"), text...))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// reserve reserves the maximum price of the call. A call whose price is unknown also needs a budget: its charge is counted when the service
// reports it. The price of an earlier call is already reserved; if the price has risen, the budget must suffice for the difference.
func (m *toolCall) reserve(ctx context.Context, p price) error {
	switch {
	case m.found && m.call.Reserved != nil:
		if p.exceeds(&m.call) {
			if _, err := m.b.o.Budget.Fits(ctx, p.more(&m.call)); err != nil {
				return err
			}
		}
		m.reserved = m.b.o.Budget.Redeem(*m.call.Reserved)
		return nil
	case m.found, p.known && p.most.IsZero():
		m.reserved = m.b.o.Budget.Nothing()
	default:
		var err error
		if m.reserved, err = m.b.o.Budget.Reserve(ctx, p.most); err != nil {
			return err
		}
	}
	if !m.found {
		receipt := m.reserved.Receipt()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.call.Reserved = &receipt
	}
	return nil
}

// sends stores a call with its key before the call is sent. It returns an error if the host no longer waits or the call cannot be
// stored.
func (m *toolCall) sends(ctx context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.left:
		return context.Canceled
	case !m.keeps, m.stored && m.call.Key == key:
		return nil
	}
	next := m.call
	next.Key = key
	if err := m.b.outbox.Put(ctx, next); err != nil {
		return err
	}
	m.call, m.stored = next, true
	return nil
}

// leave keeps the call for the next call to the same tool with the same arguments, because the host did not receive the outcome.
func (m *toolCall) leave(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = true
	if m.call.ID == "" || !m.keeps {
		return
	}
	var err error
	switch {
	case m.stored:
		err = m.b.outbox.Leave(ctx, m.call.ID)
	case m.call.Key != "": // the call has just ended
		again := m.call
		again.Owner, again.Reserved = "", nil
		err = m.b.outbox.Put(ctx, again)
	}
	if err != nil {
		m.b.o.Log(oneLine(err.Error(), maxNote))
	}
}

// settle replaces the reservation with the charge, once for all calls under one key. It removes the call from the outbox if the host
// receives the outcome.
func (m *toolCall) settle(ctx context.Context, r agent.Result, err error, charged money.Amount, reported bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.stored {
		if reported {
			return m.reserved.Settle(ctx, charged)
		}
		return nil
	}
	_, unknown := errors.AsType[*unknownError](err)
	if unknown && (!reported || charged == m.reserved.Amount()) {
		return m.b.outbox.Leave(ctx, m.call.ID)
	}
	stays := unknown || m.left
	receipt, endErr := m.b.outbox.End(ctx, m.call.ID, stays)
	if endErr != nil {
		return endErr
	}
	m.stored = stays
	switch {
	case receipt != nil && reported:
		return m.b.o.Budget.Redeem(*receipt).Settle(ctx, charged)
	case receipt == nil && reported && !unknown && m.found && !replayed(r, err): // the call was made again
		return m.b.o.Budget.Nothing().Settle(ctx, charged)
	}
	return nil
}

// earlier adds a note to a result that belongs to an earlier call.
func (m *toolCall) earlier(r agent.Result, result *mcp.CallToolResult) *mcp.CallToolResult {
	if m.found && r.Replayed {
		result.Content = append(result.Content, &mcp.TextContent{Text: fmt.Sprintf(
			"This is the outcome of the call with these arguments that was made at %s. The call was not executed again.",
			m.call.Since.UTC().Format(time.RFC3339))})
	}
	return result
}
