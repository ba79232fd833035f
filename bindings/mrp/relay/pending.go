package relay

import (
	"container/list"
	"errors"
	"sync"

	"github.com/uimgate/uimgate/internal/membudget"
)

// pendingBodies are requests of unknown senders whose bodies are being received. They hold memory for as long as their senders like, within
// bounds: when it runs out, the oldest make room, because slow senders are among them.
type pendingBodies struct {
	mu   sync.Mutex
	list list.List // of *arrival
}

// A pendingBody is a body that is being received.
type pendingBody struct {
	share *membudget.Share
	cut   func() error // ends the reading of the body; it does not wait
	place *list.Element
	ended chan struct{} // closed once it holds nothing
}

// join has a body come.
func (c *pendingBodies) join(share *membudget.Share, cut func() error) *pendingBody {
	a := &pendingBody{share: share, cut: cut, ended: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.place = c.list.PushBack(a)
	return a
}

// leave ends the coming of a body; where it was in vain, what it took is given back.
func (c *pendingBodies) leave(a *pendingBody, whole bool) {
	c.mu.Lock()
	c.list.Remove(a.place)
	c.mu.Unlock()
	if !whole {
		a.share.Close()
	}
	close(a.ended)
}

// take is membudget.Share.Take; older bodies make room, one after another. Each waits for older ones alone, so that none waits for long.
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

// first cuts off the body that came first, and returns it; nil where that is this one, or cannot be cut off.
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
