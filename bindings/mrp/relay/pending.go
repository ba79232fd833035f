package relay

import (
	"container/list"
	"errors"
	"sync"

	"github.com/uimgate/uimgate/internal/membudget"
)

// pendingBodies are bodies of unauthenticated requests that are being received. Senders decide how long they take, so their memory is
// bounded: when it runs out, the oldest are cut off, because slow senders are among them.
type pendingBodies struct {
	mu   sync.Mutex
	list list.List // of *arrival
}

// A pendingBody is a body that is being received.
type pendingBody struct {
	share *membudget.Share
	cut   func() error // ends the reading of the body; it does not block
	place *list.Element
	ended chan struct{} // closed once it holds nothing
}

// join registers a body.
func (c *pendingBodies) join(share *membudget.Share, cut func() error) *pendingBody {
	a := &pendingBody{share: share, cut: cut, ended: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.place = c.list.PushBack(a)
	return a
}

// leave removes a body; if the request failed, it releases the memory.
func (c *pendingBodies) leave(a *pendingBody, whole bool) {
	c.mu.Lock()
	c.list.Remove(a.place)
	c.mu.Unlock()
	if !whole {
		a.share.Close()
	}
	close(a.ended)
}

// take is membudget.Share.Take, but cuts off older bodies one after another to make space. Each waits only for older ones, so that none
// waits for long.
func (c *pendingBodies) take(a *pendingBody, n int64) error {
	for {
		err := a.share.Take(n)
		if !errors.Is(err, membudget.ErrExhausted) {
			return err
		}
		oldest := c.first(a)
		if oldest == nil {
			return err
		}
		<-oldest.ended
	}
}

// first cuts off the oldest body and returns it; nil if that is this one, or cannot be cut off.
func (c *pendingBodies) first(but *pendingBody) *pendingBody {
	c.mu.Lock()
	defer c.mu.Unlock()
	if front := c.list.Front(); front != nil {
		if a, is := front.Value.(*pendingBody); is && a != but && a.cut() == nil {
			return a
		}
	}
	return nil
}
