package receipts

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
)

// A loggedProof is the proof that an entry is in the log of the given size.
type loggedProof struct {
	text string // the proof without its checkpoint
	size int64
}

// A knownCheckpoint is a checkpoint with a verified signature.
type knownCheckpoint struct {
	log.Checkpoint

	epoch  int64
	text   string
	old    int64           // the size of the previous checkpoint of the same log; 0 if there is none
	hashes []evidence.Hash // the proof that the log is consistent with the previous checkpoint
}

// openCheckpoint verifies a checkpoint with trusted keys.
func openCheckpoint(trusted evidence.KeySet, text string) (*knownCheckpoint, error) {
	c, err := log.ReadCheckpoint([]byte(text))
	if err != nil {
		return nil, err
	}
	epoch, err := strconv.ParseInt(c.Origin[strings.LastIndexByte(c.Origin, '/')+1:], 10, 64)
	if err != nil || epoch < 0 {
		return nil, fmt.Errorf("%w: its origin names no epoch", log.ErrCheckpoint)
	}
	var verifiers []note.Verifier
	for _, key := range trusted.All(evidence.PurposeLog) {
		if v, err := log.KeyVerifier(c.Origin, key); err == nil {
			verifiers = append(verifiers, v)
		}
	}
	opened, err := log.OpenCheckpoint([]byte(text), verifiers...)
	if err != nil {
		return nil, err
	}
	return &knownCheckpoint{Checkpoint: opened.Checkpoint, epoch: epoch, text: text}, nil
}

// openLog verifies the checkpoints of the book. It reports those that do not verify.
func (a *audit) openLog(records []Record) {
	for _, r := range records {
		c, err := openCheckpoint(a.keys, r.Checkpoint)
		if err != nil {
			a.found(evidence.Problem{Name: evidence.ProblemLog, Detail: fmt.Sprintf("a stored checkpoint does not verify: %v", err)})
			continue
		}
		c.old, c.hashes = r.Old, r.Hashes
		a.log = append(a.log, c)
	}
}

// at returns the checkpoint of a log at a size, or nil if the book does not have it.
func (a *audit) at(origin string, size int64) *knownCheckpoint {
	for _, c := range a.log {
		if c.Origin == origin && c.Size == size {
			return c
		}
	}
	return nil
}

// last returns the newest checkpoint of an epoch or, if epoch is negative, of the newest epoch. It returns nil if there is none.
func (a *audit) last(epoch int64) (newest *knownCheckpoint) {
	for _, c := range a.log {
		if epoch >= 0 && c.epoch != epoch {
			continue
		}
		if newest == nil || c.epoch > newest.epoch || c.epoch == newest.epoch && c.Size >= newest.Size {
			newest = c
		}
	}
	return newest
}

// proofOf returns the whole proof that an entry is in the log, or an empty string if the book does not have it. If the proof is wrong,
// proofOf reports that.
func (a *audit) proofOf(r *evidence.Receipt) string {
	logged, known := a.logged[r.Leaf.String()]
	if !known {
		return ""
	}
	c := a.at(log.Origin(r.Entry.Issuer, r.Entry.Epoch), logged.size)
	if c == nil {
		return "" // the oldest file was deleted
	}
	p, err := log.ParseProof([]byte(logged.text))
	if err == nil {
		err = p.Verify(c.Checkpoint, r.Leaf)
	}
	if err != nil {
		a.found(evidence.Problem{
			Name: evidence.ProblemLog, Where: evidence.NewChain(r.Entry.Account).Where(r.Entry.K),
			Detail: fmt.Sprintf("the stored proof does not show that the log contains the entry: %v", err),
		})
		return ""
	}
	p.Checkpoint = []byte(c.text)
	return string(p.Text())
}
