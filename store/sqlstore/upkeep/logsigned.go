package upkeep

import (
	"context"

	"golang.org/x/mod/sumdb/note"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const (
	selectLogEntries  = "SELECT service, epoch, purpose, kid, receipt, leaf FROM log_entries ORDER BY seq"
	selectCheckpoints = "SELECT service, epoch, size, root, checkpoint, kid FROM log_heads WHERE size > 0"
)

// A logEntry is an entry of a log that belongs to no account.
type logEntry struct {
	service string
	receipt evidence.Receipt
}

// checkSigned checks what the keys of logs have signed: the entries that belong to no account, and the checkpoints. The keys are those that
// the entries introduce.
func checkSigned(ctx context.Context, reader *engine.Reader, issuers epochIssuers) error {
	introduced := map[string]*evidence.KeySet{} // by service
	entries, err := readLogEntries(ctx, reader, issuers, introduced)
	if err != nil {
		return err
	}
	for _, e := range entries {
		purpose := evidence.PurposeLog
		if e.receipt.Entry.Key != nil {
			purpose = e.receipt.Entry.Key.Purpose
		}
		if err := e.receipt.VerifyFor(*keysOf(introduced, e.service), purpose); err != nil {
			return alteredText(e.service, "an entry of the log that belongs to no account: %v", err)
		}
	}
	for row := range reader.Query(ctx, selectCheckpoints) {
		if err := checkCheckpoint(row, issuers, introduced); err != nil {
			return err
		}
	}
	return nil
}

func keysOf(introduced map[string]*evidence.KeySet, service string) *evidence.KeySet {
	if introduced[service] == nil {
		introduced[service] = &evidence.KeySet{}
	}
	return introduced[service]
}

// readLogEntries reads the entries of logs that belong to no account, and adds the keys that they introduce.
func readLogEntries(ctx context.Context, reader *engine.Reader, issuers epochIssuers, introduced map[string]*evidence.KeySet) (
	list []logEntry, err error,
) {
	for row := range reader.Query(ctx, selectLogEntries) {
		var service, purpose, kid, text string
		var epoch int64
		var leaf []byte
		row(&service, &epoch, &purpose, &kid, &text, &leaf)
		r, err := evidence.ParseReceipt(text)
		if err != nil || r.Leaf != evidence.HashOf(leaf) {
			return nil, alteredText(service, "an entry of the log that belongs to no account has another hash")
		}
		issuer, recorded := issuers[epochKey{service, epoch}]
		var k evidence.Key
		if r.Entry.Key != nil {
			k = *r.Entry.Key
		}
		if r.Entry.Epoch != epoch || recorded && r.Entry.Issuer != issuer || k.Purpose != purpose || k.ID != kid {
			return nil, alteredText(service, "an entry of the log that belongs to no account is recorded as another one")
		}
		if r.Entry.Key != nil {
			key, err := keys.ParseJWK(k.JWK)
			if err != nil || string(key.Thumbprint()) != k.ID {
				return nil, alteredText(service, "an entry of the log introduces a key other than the one that it names")
			}
			keysOf(introduced, service).Add(k.Purpose, key)
		}
		list = append(list, logEntry{service, r})
	}
	return list, nil
}

func checkCheckpoint(row engine.Row, issuers epochIssuers, introduced map[string]*evidence.KeySet) error {
	var service, text, kid string
	var epoch, size int64
	var root []byte
	row(&service, &epoch, &size, &root, &text, &kid)
	origin := log.Origin(issuers.of(service, epoch), epoch)
	signer, err := checkpointKey(*keysOf(introduced, service), origin, keys.ID(kid))
	if err != nil {
		return alteredText(service, "the checkpoint of epoch %d: %v", epoch, err)
	}
	c, err := log.OpenCheckpoint([]byte(text), signer)
	if err != nil {
		return alteredText(service, "the checkpoint of epoch %d: %v", epoch, err)
	}
	if c.Origin != origin || c.Size != size || c.Root != evidence.HashOf(root) {
		return alteredText(service, "the checkpoint of epoch %d is for another origin, size or root than the log", epoch)
	}
	return nil
}

// checkpointKey returns the key with which a log signs checkpoints.
func checkpointKey(set evidence.KeySet, origin string, id keys.ID) (note.Verifier, error) {
	key, ok := set.Key(evidence.PurposeLog, id)
	if !ok {
		return nil, evidence.ErrKey
	}
	return log.KeyVerifier(origin, key)
}
