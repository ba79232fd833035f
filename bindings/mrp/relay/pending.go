package relay

import (
	"container/list"
	"errors"
	"sync"

	"github.com/uimgate/uimgate/internal/membudget"
)

// pendingBodies are the bodies of unauthenticated requests that are being received. A slow sender occupies memory for a long time.
// Therefore, when the memory is exhausted, the oldest bodies are cut off.
type pendingBodies struct {
	mu   sync.Mutex
	list list.List // of *pendingBody
}

// A pendingBody is a body that is being received.
type pendingBody struct {
	share *membudget.Share
	cut   func() error // stops the reading of the body without blocking
	place *list.Element
	ended chan struct{} // closed once the body is complete, or has released its memory
}

// join registers a body.
func (c *pendingBodies) join(share *membudget.Share, cut func() error) *pendingBody {
	a := &pendingBody{share: share, cut: cut, ended: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.place = c.list.PushBack(a)
	return a
}

// leave removes a body. If the body is not whole, leave releases its memory.
func (c *pendingBodies) leave(a *pendingBody, whole bool) {
	c.mu.Lock()
	c.list.Remove(a.place)
	c.mu.Unlock()
	if !whole {
		a.share.Close()
	}
	close(a.ended)
}

// take is like membudget.Share.Take, but cuts off older bodies one after another to free memory. A body waits only for bodies that are
// older and already cut off, so it does not wait for long.
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

// first cuts off the oldest body and returns it, unless the parameter but is that body. It returns nil if there is no
// body, if but is the oldest one, or if the oldest one cannot be cut off.
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
