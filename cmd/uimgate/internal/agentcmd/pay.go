package agentcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/payments/x402"
)

const (
	// signerTime bounds how long a signer may take, for a person who confirms the payment.
	signerTime = 2 * time.Minute
	// signerEnds is how long the output of a signer is awaited after it was stopped.
	signerEnds = time.Second
)

// A signer returns a payment by one of the terms.
type signer func(ctx context.Context, terms []byte) ([]byte, error)

// A payer is a value of agent.Options.Pay.
type payer func(ctx context.Context, d agent.Demand) ([]byte, error)

// payWith returns a function that has a command sign a payment: it reads the terms from stdin, and writes the payment to stdout. Its stderr
// goes to the owner.
func payWith(command string, notes io.Writer) signer {
	return func(ctx context.Context, terms []byte) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, signerTime)
		defer cancel()
		out := &boundedBuffer{left: x402.MaxDocument}
		c := exec.CommandContext(ctx, "/bin/sh", "-c", command) //nolint:gosec // the owner's own command
		c.Stdin, c.Stdout, c.Stderr, c.WaitDelay = bytes.NewReader(terms), out, notes, signerEnds
		if err := c.Run(); err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return nil, fmt.Errorf("the command of --pay-with: %w", err)
		}
		return out.Bytes(), nil
	}
}

// A boundedBuffer is a buffer that fails when more than left bytes are written.
type boundedBuffer struct {
	bytes.Buffer
	left int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, fmt.Errorf("its output is longer than %d bytes", x402.MaxDocument)
	}
	return b.Buffer.Write(p)
}

// pays sets the payment of one call from the flags --pay-with and --pay-at-most.
func (s *agentSettings) pays(command, most string, notes io.Writer) error {
	if command == "" && most == "" {
		return nil
	}
	if command == "" || most == "" {
		return errors.New("--pay-with and --pay-at-most go together")
	}
	amount, err := money.Parse(most)
	if err != nil || amount.IsZero() {
		return fmt.Errorf("--pay-at-most %.40q: want an amount above zero, such as \"1 USD\"", most)
	}
	s.pay = payAtMost(amount, payWith(command, notes))
	return nil
}

// payAtMost returns Options.Pay for one call: it pays at most an amount.
func payAtMost(most money.Amount, sign signer) payer {
	return func(ctx context.Context, d agent.Demand) ([]byte, error) {
		if d.Amount.Currency != most.Currency || d.Amount.Nano > most.Nano {
			return nil, fmt.Errorf("the service asks for %s, and --pay-at-most is %s", d.Amount, most)
		}
		return sign(ctx, d.Terms)
	}
}

// payWithin returns Options.Pay for a bridge: it pays at most what the budget has left beside the calls in progress. The payment does not
// use up the budget; what calls cost does.
func payWithin(b *budget.Book, sign signer) payer {
	return func(ctx context.Context, d agent.Demand) (payment []byte, err error) {
		if d.Amount.Currency == "" {
			return nil, errors.New("the service does not state in a currency what it asks for")
		}
		reserved, err := b.Reserve(ctx, d.Amount)
		if err != nil {
			return nil, err
		}
		defer func() {
			err = errors.Join(err, reserved.Settle(context.WithoutCancel(ctx), money.Amount{Currency: d.Amount.Currency}))
		}()
		return sign(ctx, d.Terms)
	}
}
