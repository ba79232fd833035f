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
	// signerTime is how long a signer may take. It leaves time for a person to confirm the payment.
	signerTime = 2 * time.Minute
	// signerEnds is how long the client waits for the output of a signer after it has stopped the signer.
	signerEnds = time.Second
)

// A signer returns a payment under one of the given terms.
type signer func(ctx context.Context, terms []byte) ([]byte, error)

// A payer is a function for agent.Options.Pay.
type payer func(ctx context.Context, d agent.Demand) ([]byte, error)

// payWith returns a signer that runs a command. The command reads the terms from stdin, and writes the signed payment to stdout. Its stderr
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

// A boundedBuffer is a buffer with a maximum size. left is the number of bytes that it still accepts.
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

// pays sets the options for the payment of one call from the flags --pay-with and --pay-at-most.
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

// payAtMost returns Options.Pay for one call: it pays at most the given amount.
func payAtMost(most money.Amount, sign signer) payer {
	return func(ctx context.Context, d agent.Demand) ([]byte, error) {
		if d.Amount.Currency != most.Currency || d.Amount.Nano > most.Nano {
			return nil, fmt.Errorf("the service asks for %s, and --pay-at-most is %s", d.Amount, most)
		}
		return sign(ctx, d.Terms)
	}
}

// payWithin returns Options.Pay for a bridge: it pays at most the rest of the budget that the calls in progress do not need. The budget
// counts the costs of calls and not the payments.
func payWithin(b *budget.Book, sign signer) payer {
	return func(ctx context.Context, d agent.Demand) (payment []byte, err error) {
		if d.Amount.Currency == "" {
			return nil, errors.New("the service does not state its price in a currency")
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
