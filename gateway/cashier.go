package gateway

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/store"
)

// A CashierConfig configures the cashier of a gateway. All fields are required.
type CashierConfig struct {
	Book interface {
		payments.Book
		TopUpEntry(ctx context.Context, service string, agent pat.AgentID, reference string) (store.LedgerEntry, error)
	}
	// Receipts signs entries of the ledger. It returns "" if answers have no receipts.
	Receipts interface {
		Sign(ctx context.Context, entry []byte) (string, error)
	}
	Directory *service.Directory
	Metrics   *record.Metrics
	Log       *zap.Logger
	Now       func() time.Time
}

// NewCashier returns the cashier of a gateway. Its Run must run alongside the server.
func NewCashier(c CashierConfig) *payments.Cashier {
	return payments.NewCashier(payments.Config{
		Book: c.Book, Now: c.Now, Log: c.Log, Count: c.Metrics.Payment,
		Offer: func(id string) *payments.Offer {
			if s := c.Directory.Current().Service(id); s != nil {
				return &s.Payments
			}
			return nil
		},
		Receipt: func(ctx context.Context, service string, agent pat.AgentID, reference string) string {
			entry, err := c.Book.TopUpEntry(ctx, service, agent, reference)
			if err != nil { // the payment is entered nevertheless
				c.Log.Warn("payment without a receipt", zap.String("reference", reference), zap.Error(err))
				return ""
			}
			text, err := c.Receipts.Sign(ctx, entry.Bytes)
			if err != nil {
				c.Log.Warn("payment without a receipt", zap.String("reference", reference), zap.Error(err))
			}
			return text
		},
	})
}
