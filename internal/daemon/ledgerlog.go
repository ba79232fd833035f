package daemon

import (
	"context"
	"crypto/ed25519"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/gateway/ledgerlog"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat/keys"
)

// ledgerLogs appends to and reads the logs of the ledger, if evidence.log is set.
type ledgerLogs struct {
	keys      *keys.Keyring
	sequencer *ledgerlog.Sequencer
	watch     *ledgerlog.Watch
}

// openLogs opens the key of checkpoints and the logs.
func (p *process) openLogs(ctx context.Context) error {
	if !p.config.Evidence.Log {
		return nil
	}
	ring, err := p.keys.For(ctx, keys.ForLogs, keys.EdDSA, p.data.KeysFor(string(keys.ForLogs), keys.EdDSA))
	if err != nil {
		return err
	}
	ring.ExtendOverlap(p.config.Billing.Retain) // checkpoints are verified for as long as the ledger is kept
	watch, err := ledgerlog.NewWatch(ctx, p.store.Logs(), p.Now)
	if err != nil {
		return err
	}
	p.logs = &ledgerLogs{keys: ring, watch: watch}
	p.receipts.Await(p.store.Logs(), p.Now)
	p.logs.sequencer = ledgerlog.New(ledgerlog.Options{
		Store: p.store.Logs(), Keys: ring, Introduced: map[keys.Purpose]*keys.Keyring{keys.ForReceipts: p.receiptKeys},
		Settings: func() config.Evidence { return p.live.Load().evidence }, Process: p.data.Process(),
		Sole: p.config.Store.Engine == config.SQLite, Log: p.Log, Now: p.Now,
	})
	return nil
}

// logKey returns the key that signed the newest checkpoint of a service or, before the first one, the key of this process. It returns "" if
// there is no log.
func (p *process) logKey(d *service.Definition) string {
	if p.logs == nil {
		return ""
	}
	id, epoch := p.logs.keys.Current(), int64(0)
	if head, ok := p.logs.watch.Last().Heads[d.ID]; ok {
		id, epoch = head.KeyID, head.Epoch
	}
	for _, k := range p.logs.keys.Keys(p.Now()) {
		if k.ID != id {
			continue
		}
		if key, err := keys.ParseJWK(k.JWK); err == nil {
			if public, ok := key.Public().(ed25519.PublicKey); ok {
				return log.VerifierKey(log.Origin(d.Issuer, epoch), public)
			}
		}
	}
	return ""
}

// publish returns who may read the logs.
func (p *process) publish() config.Publish {
	if p.logs == nil {
		return config.PublishOff
	}
	return p.live.Load().evidence.Publish
}

// logFigures returns the state of the logs for the metrics; nil if there are none, or if they cannot be read.
func (p *process) logFigures(ctx context.Context) *ledgerlog.State {
	if p.logs == nil {
		return nil
	}
	state, err := p.logs.watch.State(ctx)
	if err != nil {
		return nil
	}
	return &state
}

// logStatus returns the state of the logs for the operator; nil if there are none.
func (p *process) logStatus(ctx context.Context) (*status.LogStatus, error) {
	if p.logs == nil {
		return nil, nil //nolint:nilnil // there is no log
	}
	state, err := ledgerlog.ReadState(ctx, p.store.Logs())
	if err != nil {
		return nil, err
	}
	out := &status.LogStatus{LagLines: state.Waiting, LagSeconds: state.Lag(p.Now()).Seconds(), Services: map[string]status.LogHead{}}
	for id, h := range state.Heads {
		head := status.LogHead{Epoch: h.Epoch, Size: h.Size, At: h.At.UTC(), KeyID: h.KeyID}
		if !h.CosignedAt.IsZero() {
			at := h.CosignedAt.UTC()
			head.CosignedAt = &at
		}
		out.Services[id] = head
	}
	return out, nil
}

// logTrouble describes what is wrong with the checkpoints, or returns "".
func (p *process) logTrouble() string {
	if p.logs == nil || p.live.Load() == nil || !p.live.Load().evidence.WitnessesRequired {
		return ""
	}
	if uncosigned(p.logs.watch.Last(), p.live.Load().evidence, p.Now()) {
		return "no witness has signed the newest checkpoint of a log: see the log and evidence.witnesses"
	}
	return ""
}

// cosignedWithin is how long the checkpoints of a log may lack cosignatures.
const cosignedWithin = 30 * time.Second

// uncosigned reports whether the newest checkpoints of a log have lacked cosignatures for longer than cosignedWithin.
func uncosigned(state ledgerlog.State, evidence config.Evidence, now time.Time) bool {
	for _, h := range state.Heads {
		cosigned := false
		for _, w := range evidence.Witnesses {
			if v, err := log.ParseCosigner(string(w.Key)); err == nil {
				_, err = log.OpenCheckpoint(h.Checkpoint, v)
				cosigned = cosigned || err == nil
			}
		}
		if !cosigned && now.Sub(h.CosignedAt) > cosignedWithin {
			return true
		}
	}
	return false
}

// adminLogs returns the logs for the operator's evidence, or nil if there are none.
func (p *process) adminLogs() billing.Logs {
	if !p.config.Evidence.Log {
		return nil
	}
	return p.store.Logs()
}
