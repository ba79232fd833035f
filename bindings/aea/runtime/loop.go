package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// flush limits the time for sending queued envelopes after all tasks have ended. Connected agents poll every two seconds; disconnected
// agents would not fetch their envelopes in any case.
const flush = 3 * time.Second

// loop runs connections, behaviours, handlers and tasks until ctx ends. Then it accepts no envelopes. After at most Limits.Drain it cancels
// the contexts of the work in progress, waits until that work returns, and sends the queued envelopes.
func (r *Runtime) loop(ctx context.Context) {
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	defer disconnect()
	working, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var connections, workers, tasks sync.WaitGroup
	connections.Go(func() { r.multiplexer.run(connected) })
	for range r.limits.Workers {
		workers.Go(func() { r.react(working) })
	}
	for range r.limits.TaskWorkers {
		tasks.Go(func() { r.update(working) })
	}
	r.act(ctx)
	r.tasks.close()

	drained, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.limits.Drain)
	defer cancel()
	defer context.AfterFunc(drained, func() {
		r.multiplexer.box.InBox.drop()
		abandon()
	})()
	r.multiplexer.box.InBox.stop()
	workers.Wait()
	tasks.Wait()
	r.handling.Wait()
	r.tasks.drop()
	r.stopBehaviours(drained)
	flushed, cancel := context.WithTimeout(drained, flush)
	defer cancel()
	r.multiplexer.box.OutBox.drain(flushed)
	disconnect()
	connections.Wait()
	r.errors.perSender.Close()
	r.multiplexer.relay.perSender.Close()
}

// react handles envelopes until the InBox is stopped and empty.
func (r *Runtime) react(ctx context.Context) {
	for {
		e, done, ok := r.multiplexer.box.InBox.take()
		if !ok {
			return
		}
		if err := r.guard(func() error { return r.dispatch(ctx, e) }); err != nil { // Protocol.Parse of a program may panic
			r.errors.handle(e, err)
		}
		done()
	}
}

// dispatch passes an envelope to its handlers. It looks for the handlers before it decodes the envelope. It returns the error to report
// to the sender.
func (r *Runtime) dispatch(ctx context.Context, e Envelope) error {
	p, err := r.resources.protocol(e.Protocol)
	if err != nil {
		return err
	}
	handlers := r.filter.handlers(e.To, p)
	if len(handlers) == 0 {
		return protocol.ErrUnhandled
	}
	dialogues := r.dialogues
	if e.ToComponent() { // exactly one skill has this id
		dialogues = handlers[0].of.dialogues
	}
	turn, err := dialogues.ReceiveIn(p, e.Envelope)
	if err != nil {
		return err
	}
	m := Message{
		Turn: turn, Sender: e.Sender, Connection: e.Context.ConnectionID, Confidential: r.multiplexer.confidential(e.Context.ConnectionID),
		spec: e.Protocol, to: e.To, from: e.Context, in: r,
	}
	var refused error
	busy := 0
	for _, h := range handlers {
		err := r.handle(ctx, h, m)
		if errors.Is(err, errBusy) {
			busy++
		}
		if r.note(h.of, err) {
			refused = err
		}
	}
	if busy == len(handlers) {
		return protocol.ErrUnhandled
	}
	return refused
}

// guard calls a function, and converts a panic into an error.
func (r *Runtime) guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("panic", zap.String("kind", fmt.Sprintf("%T", p)), zap.ByteString("stack", debug.Stack()))
			err = errPanic
		}
	}()
	return do()
}

var errPanic = errors.New("a handler, behaviour or task panicked")

// note counts the result of a handler or behaviour of a skill. It reports whether the handler rejected the message as meaningless.
func (r *Runtime) note(of *skillEntry, err error) (meaningless bool) {
	of.handled.Add(1)
	if err != nil {
		of.failed.Add(1)
	}
	return errors.Is(err, protocol.ErrMessage)
}
