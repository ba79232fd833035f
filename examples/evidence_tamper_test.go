package examples_test

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/evidence"
)

// The entries of newBook by their positions: two keys, a top-up, and then these.
const (
	heldA, heldB, capturedA, unresolvedB, heldC, releasedC, capturedB, reversal, carry, restored = 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
)

// An alteration changes a book before or after it is signed.
type alteration struct {
	before func(b *book)
	after  edit
	want   []string // names of the problems, in order
}

// An edit changes the lines of a bundle.
type edit func(t *testing.T, b *book)

var alterations = map[string]alteration{
	// Receipts.
	"a signature is changed": {want: []string{"SIGNATURE"}, after: jwsOf(capturedA, func(_ *book, parts []string) {
		parts[2] = b64.EncodeToString(make([]byte, 64))
	})},
	"a payload is changed after it was signed": {want: []string{"LOG", "RECEIPT_NOT_LOGGED", "SIGNATURE"}, after: all(
		jwsOf(restored+1, func(_ *book, parts []string) {
			payload, _ := b64.DecodeString(parts[1])
			parts[1] = b64.EncodeToString(bytes.Replace(payload, []byte(`"2.00"`), []byte(`"3.00"`), 1))
		}), removed("statement", 0), removed("invoice", 0))},
	"an algorithm is none": {want: []string{"SIGNATURE"}, after: jwsOf(capturedA, func(b *book, parts []string) {
		kid := string(b.receiptKey.public.Thumbprint())
		parts[0] = b64.EncodeToString([]byte(`{"alg":"none","kid":"` + kid + `","typ":"uim-receipt+jwt"}`))
	})},
	"a member occurs twice": {want: []string{"SIGNATURE"}, before: func(b *book) {
		e := b.entries[restored+1]
		e.K, e.Prev = 9, evidence.LeafHash([]byte("x"))
		e.bytes = bytes.Replace(e.Append(nil), []byte(`"by":"operator"`), []byte(`"by":"operator","by":"operator"`), 1)
	}, after: all(removed("tlog-proof", restored+1), removed("statement", 0), removed("invoice", 0))},
	"a member is unknown": {want: []string{"SIGNATURE"}, before: func(b *book) {
		e := b.entries[restored+1]
		e.K, e.Prev = 9, evidence.LeafHash([]byte("x"))
		e.bytes = bytes.Replace(e.Append(nil), []byte(`{"account"`), []byte(`{"aaa":1,"account"`), 1)
	}, after: all(removed("tlog-proof", restored+1), removed("statement", 0), removed("invoice", 0))},
	"a key of checkpoints signs a receipt": {want: []string{"KEY"}, before: func(b *book) {
		b.signer = func(*bookEntry) bookKey { return b.logKey }
		b.entries[0].By = string(b.logKey.public.Thumbprint())
	}},
	"the keys are those of another service": {
		want: []string{"KEY", "LOG"}, after: member("keys", 0, "jwks", map[string]any{"keys": []any{}}),
	},

	// The chain.
	"an entry is removed": {
		want: []string{"GAP", "INVOICE", "STATEMENT"}, after: all(removed("tlog-proof", releasedC), removed("entry", releasedC)),
	},
	"the end of a call is removed": {
		want: []string{"GAP", "INVOICE", "STATE", "STATEMENT"}, after: all(removed("tlog-proof", unresolvedB), removed("entry", unresolvedB)),
	},
	"an entry occurs twice": {want: []string{"DUPLICATE"}, after: func(t *testing.T, b *book) {
		t.Helper()
		b.lines = append(b.lines, b.lines[b.find(t, "entry", carry)])
	}},
	"entries are in another order": {want: []string{"ORDER"}, after: swapped("entry", capturedA, "jws")},
	"two entries have one number": {
		want: []string{"FORK"}, before: func(b *book) { b.entries[carry].K = 7 }, after: all(removed("statement", 0), removed("invoice", 0)),
	},
	"an entry follows another one": {
		want: []string{"FORK"}, before: func(b *book) { b.entries[heldC].Prev = evidence.LeafHash([]byte("x")) },
	},
	"a carry has other sums": {want: []string{"AMOUNT"}, before: func(b *book) { b.entries[carry].Sums.Captured = euros(1) }},
	"the epoch decreases": {
		want: []string{"EPOCH"}, before: func(b *book) { b.entries[capturedB].Epoch = 1 }, after: onlyChain,
	},
	"the issuer changes": {
		want: []string{"EPOCH"}, before: func(b *book) { b.entries[reversal].Issuer = "other.example" }, after: onlyChain,
	},
	"the bundle is of another service": {
		want: []string{"AGREEMENT", "INVOICE", "STATEMENT"}, after: member("uim-evidence", 0, "issuer", "other.example"),
	},
	"the bundle is of another agent": {
		want: []string{"AGREEMENT", "INVOICE", "STATEMENT"}, after: member("uim-evidence", 0, "agent", "other"),
	},

	// Charges.
	"an amount is not that of the policy": {
		want: []string{"AMOUNT"}, before: charges("exec-a", func(e *bookEntry) { e.Amount = euros(60_000_000) }),
		after: all(removed("statement", 0), removed("invoice", 0)),
	},
	"an amount changes during a call": {
		want: []string{"AMOUNT"}, before: func(b *book) { b.entries[capturedA].Amount = euros(60_000_000) },
		after: all(removed("statement", 0), removed("invoice", 0)),
	},
	"a call is captured twice": {want: []string{"STATE"}, before: func(b *book) {
		at := b.entries[releasedC].At
		b.entries[releasedC].Entry = b.entries[capturedA].Entry
		b.entries[releasedC].At = at
	}, after: all(removed("statement", 0), removed("invoice", 0))},
	"the operator charges for another request": {
		want: []string{"REQUEST"}, before: charges("exec-b", func(e *bookEntry) { e.Request = callDigest("other") }),
	},
	"a released charge has an answer": {
		want: []string{"ANSWER"}, before: func(b *book) { b.entries[releasedC].Answer = evidence.Digest(nil) },
	},

	// Policies, agreements, proofs and decisions.
	"the policy is another": {want: []string{"POLICY"}, after: member("policy", 0, "document",
		base64.StdEncoding.EncodeToString([]byte(strings.Replace(bookPolicy, "0.050", "0.01", 1))))},
	"the rule is not in the policy": {
		want: []string{"POLICY"}, before: charges("exec-c", func(e *bookEntry) { e.Rule = "/permission/7" }),
		after: all(removed("statement", 0), removed("invoice", 0)),
	},
	"the rule is free": {
		want: []string{"AMOUNT"}, before: charges("exec-c", func(e *bookEntry) { e.Rule = "/permission/0" }),
		after: all(removed("statement", 0), removed("invoice", 0)),
	},
	"the agreement is missing": {want: []string{"AGREEMENT"}, after: removed("agreement", 0)},
	"another key signed the agreement": {want: []string{"AGREEMENT"}, after: func(t *testing.T, b *book) {
		t.Helper()
		other := newBookKey("other").public
		agreement, _ := b.lines[b.find(t, "agreement", 0)]["agreement"].(map[string]any)
		agreement["agent_public_key"], agreement["jkt"] = b64.EncodeToString(other.SPKI()), other.Thumbprint()
	}},
	"a proof is of another call":     {want: []string{"PROOF"}, after: swapped("proof", 0, "jws")},
	"a proof is missing":             {want: []string{"PROOF"}, after: removed("proof", 1)},
	"a proof is for another service": {want: []string{"PROOF"}, before: proofOf(bookIssuer, "other.example"), after: changedProof},
	"a proof is of another day":      {want: []string{"PROOF"}, before: proofOf(`"iat":17`, `"iat":16`), after: changedProof},
	"a proof is for another PAT":     {want: []string{"PROOF"}, before: proofOf("jti-1", "jti-2"), after: changedProof},
	"one proof pays for two calls": {want: []string{"DUPLICATE"}, before: func(b *book) {
		charges("exec-b", func(e *bookEntry) { e.Proof = b.entries[heldA].Proof })(b)
	}, after: all(removed("proof", 1), member("uim-evidence", 0, "proofs", false))},
	"a proof is of an unknown call": {want: []string{"UNKNOWN_EXECUTION"}, after: func(_ *testing.T, b *book) {
		b.lines = append(b.lines, bookLine{"type": "proof", "execution": "exec-z", "jws": b.proof("z", callDigest("z"))})
	}},
	"a question is changed": {
		want: []string{"DECISION"}, after: member("decision", 0, "asked", `{"request":{"target":"shop.example:place-order:v1"}}`),
	},
	"a question is missing": {want: []string{"DECISION"}, after: removed("decision", 2)},

	// The log.
	"the restored state lacks entries": {
		want: []string{"EPOCH"}, before: func(b *book) { b.lost = 1 }, after: all(removed("statement", 0), removed("invoice", 0)),
	},
	// The times of a log are those of a clock that can be set; only proofs count.
	"a checkpoint is from the future": {before: func(b *book) { b.ahead = 5 * 365 * 24 * time.Hour }},
	"an entry is not in the log":      {want: []string{"RECEIPT_NOT_LOGGED"}, after: removed("tlog-proof", heldB)},
	"a proof of inclusion is changed": {want: []string{"LOG", "RECEIPT_NOT_LOGGED"}, after: swapped("tlog-proof", capturedA, "text")},
	"a checkpoint is not signed": {want: []string{"LOG"}, after: member("checkpoint", 0, "text",
		"shop.example/uim-ledger/0\n1\n"+strings.Repeat("A", 43)+"=\n\n— shop.example/uim-ledger/0 AAAAAAAA\n")},
	"the log is not consistent":    {want: []string{"FORK"}, after: member("consistency", 0, "hashes", []string{strings.Repeat("A", 43) + "="})},
	"the consistency is not shown": {want: []string{"LOG"}, after: removed("consistency", 0)},
	"two logs have one size": {want: []string{"FORK"}, after: func(_ *testing.T, b *book) {
		kept := b.entries[carry].leaf
		b.entries[carry].leaf = evidence.LeafHash([]byte("x"))
		b.lines = append(b.lines, bookLine{"type": "checkpoint", "text": b.checkpoint(0, 12)})
		b.entries[carry].leaf = kept
	}},

	// Statements and invoices.
	"a statement has another balance": {
		want: []string{"STATEMENT"}, after: resigned("statement", `"captured":"0.10"`, `"captured":"0.20"`),
	},
	"a statement leaves out entries":  {want: []string{"STATEMENT"}, after: resigned("statement", `"to_k":10`, `"to_k":9`)},
	"a statement has another line":    {want: []string{"STATEMENT"}, after: resigned("statement", `"calls":2`, `"calls":3`)},
	"an invoice has another total":    {want: []string{"INVOICE"}, after: resigned("invoice", `"amount":"0.10"`, `"amount":"0.15"`)},
	"an invoice is of another agent":  {want: []string{"INVOICE"}, after: resigned("invoice", `"agent_id":"my-agent"`, `"agent_id":"other"`)},
	"an invoice has another evidence": {want: []string{"INVOICE"}, after: resigned("invoice", `"signature_digest":"sha-256:`, `"signature_digest":"`)},
	"another key signs a statement": {want: []string{"KEY"}, after: func(t *testing.T, b *book) {
		t.Helper()
		b.lines[b.find(t, "statement", 0)]["jws"] = newBookKey("other").compact("uim-statement+jwt", []byte("{}"))
	}},

	// The file.
	"a line is not JSON": {want: []string{"FILE"}, after: func(_ *testing.T, b *book) {
		b.lines = append(b.lines, bookLine{"cut": true})
	}},
	"a line is too long":       {want: []string{"FILE"}, after: member("statement", 0, "more", strings.Repeat("x", 1<<20))},
	"a bundle of another kind": {want: []string{"FILE"}, after: member("uim-evidence", 0, "version", "2")},
}

// find returns the place of the nth line of a type.
func (b *book) find(t *testing.T, kind string, n int) int {
	t.Helper()
	for i, line := range b.lines {
		if line["type"] == kind {
			if n == 0 {
				return i
			}
			n--
		}
	}
	t.Fatalf("there is no line %s", kind)
	return 0
}

// all combines several edits.
func all(edits ...edit) edit {
	return func(t *testing.T, b *book) {
		t.Helper()
		for _, e := range edits {
			e(t, b)
		}
	}
}

// removed removes the nth line of a type.
func removed(kind string, n int) edit {
	return func(t *testing.T, b *book) {
		t.Helper()
		i := b.find(t, kind, n)
		b.lines = slices.Delete(b.lines, i, i+1)
	}
}

// member sets a member of the nth line of a type.
func member(kind string, n int, name string, value any) edit {
	return func(t *testing.T, b *book) {
		t.Helper()
		b.lines[b.find(t, kind, n)][name] = value
	}
}

// swapped exchanges a member of the nth line of a type and the next one.
func swapped(kind string, n int, name string) edit {
	return func(t *testing.T, b *book) {
		t.Helper()
		x, y := b.lines[b.find(t, kind, n)], b.lines[b.find(t, kind, n+1)]
		x[name], y[name] = y[name], x[name]
	}
}

// jwsOf changes the parts of the nth receipt.
func jwsOf(n int, change func(b *book, parts []string)) edit {
	return func(t *testing.T, b *book) {
		t.Helper()
		line := b.lines[b.find(t, "entry", n)]
		jws, _ := line["jws"].(string)
		parts := strings.Split(jws, ".")
		change(b, parts)
		line["jws"] = strings.Join(parts, ".")
	}
}

// resigned replaces a text in the payload of a statement or an invoice, and signs it again.
func resigned(kind, from, to string) edit {
	return func(t *testing.T, b *book) {
		t.Helper()
		line := b.lines[b.find(t, kind, 0)]
		jws, _ := line["jws"].(string)
		payload, err := b64.DecodeString(strings.Split(jws, ".")[1])
		if err != nil || !strings.Contains(string(payload), from) {
			t.Fatalf("the payload lacks %s: %s", from, payload)
		}
		line["jws"] = b.receiptKey.compact("uim-"+kind+"+jwt", []byte(strings.Replace(string(payload), from, to, 1)))
	}
}

// onlyChain removes the lines about the log and the sums.
func onlyChain(_ *testing.T, b *book) {
	b.lines = slices.DeleteFunc(b.lines, func(l bookLine) bool {
		return slices.Contains([]any{"tlog-proof", "checkpoint", "consistency", "statement", "invoice"}, l["type"])
	})
}

// charges applies a change to each entry of an execution.
func charges(id string, change func(e *bookEntry)) func(*book) {
	return func(b *book) {
		for _, e := range b.entries {
			if e.ID == id {
				change(e)
			}
		}
	}
}

// proofOf replaces a text in the proof of the first call, whose digest the entries then have.
func proofOf(from, to string) func(*book) {
	return func(b *book) {
		payload, err := b64.DecodeString(strings.Split(b.proof("a", callDigest("a")), ".")[1])
		if err != nil {
			panic(err)
		}
		b.changed = b.agentKey.compact("uim-proof+jwt", bytes.Replace(payload, []byte(from), []byte(to), 1))
		charges("exec-a", func(e *bookEntry) { e.Proof = evidence.Digest([]byte(b.changed)) })(b)
	}
}

func changedProof(t *testing.T, b *book) {
	t.Helper()
	b.lines[b.find(t, "proof", 0)]["jws"] = b.changed
}

// TestVerifiersFindTamperings changes one thing at a time. Both verifiers must report the same problems.
func TestVerifiersFindTamperings(t *testing.T) {
	t.Parallel()
	verify := verifiersOfOneProcess(t)
	for name, tt := range alterations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			if tt.before != nil {
				tt.before(b)
			}
			b.bundle(t)
			if tt.after != nil {
				tt.after(t, b)
			}
			text := bytes.Replace(b.text(t), []byte(`{"cut":true}`), []byte(`{"type":`), 1)
			r := verify(t, writeBundle(t, "bundle.jsonl", text))
			var found []string
			for _, p := range r.Problems {
				found = append(found, p.Name)
			}
			if diff := cmp.Diff(tt.want, slices.Compact(found)); diff != "" {
				t.Errorf("(-want +found):\n%s%+v", diff, r.Problems)
			}
		})
	}
}
