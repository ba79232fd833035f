package examples_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
)

var update = flag.Bool("update", false, "write the files that the tests compare with")

// compareFile compares a file of this directory with what the product computes, or writes it with -update.
func compareFile(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(name); err != nil || string(have) != string(want) {
		t.Errorf("%s differs from what the product computes, %v: run the test with -update", name, err)
	}
}

// vectors returns the vectors of docs/evidence.md: the input and the result of each format.
func (b *book) vectors() map[string]any {
	var known []any
	for _, k := range []bookKey{b.receiptKey, b.logKey, b.agentKey, b.witness} {
		known = append(known, map[string]any{
			"name": k.name, "seed_hex": hex.EncodeToString(k.private.Seed()), "public": b64.EncodeToString(k.raw()), "thumbprint": k.public.Thumbprint(),
		})
	}
	var entries []any
	for _, e := range b.entries {
		entries = append(entries, map[string]any{
			"kind": e.Kind, "entry": string(e.Append(nil)), "leaf": e.leaf.String(), "receipt": e.receipt, "signed_by": b.signer(e).name,
		})
	}
	leaves := b.leaves(0)
	var roots, inclusion, consistency []any
	for size := 1; size <= len(leaves); size++ {
		roots = append(roots, merkle(leaves[:size]))
		path := hashTexts(consistencyPath(size, leaves, true))
		consistency = append(consistency, map[string]any{"old": size, "new": len(leaves), "hashes": path})
	}
	for index := range leaves {
		inclusion = append(inclusion, map[string]any{"index": index, "size": len(leaves), "hashes": hashTexts(auditPath(index, leaves))})
	}
	return map[string]any{
		"keys": known, "entries": entries, "log": map[string]any{
			"roots": roots, "inclusion": inclusion, "consistency": consistency, "checkpoint": b.checkpoint(0, len(leaves)), "proof": b.logProof(b.entries[0]),
		},
		"policy":     map[string]any{"document": b.policy, "digest": policyDigest(b.policy)},
		"succession": successions(b.policy),
		"call": map[string]any{
			"canonical": `{"intent_uid":"` + bookIntent + `","parameters":{"article":"a"}}`, "req": callDigest("a"), "proof": b.proof("a", callDigest("a")),
			"asked": string(question("a")), "dec": evidence.Digest(question("a")), "output": `{"order":"a"}`, "ans": evidence.Digest([]byte(`{"order":"a"}`)),
		},
	}
}

// successions returns policies that can succeed another one, and whether the terms of the intent stay the same.
func successions(agreed string) (list []any) {
	for _, policy := range []string{
		agreed,
		edited(`"type"`, `"title": "Terms of 2027", "type"`),
		edited(`{"target": "shop.example:search:v1", "action": "execute"},`, ""),
		edited(`{"target": "shop.example:place-order:v1"`, `{"uid": "order", "target": ["shop.example:place-order:v1", "shop.example:return:v1"]`),
		edited(`"0.050"`, `"0.060"`),
		edited("policy/1", "policy/2"),
		edited(`"permission"`, `"prohibition": {"action": "execute"}, "permission"`),
	} {
		list = append(list, map[string]any{
			"document": policy, "digest": policyDigest(policy), "intent": bookIntent,
			"same": evidence.SameTerms([]byte(agreed), []byte(policy), bookIntent),
		})
	}
	return list
}

// openWithLog checks the vectors of the log with package log.
func (b *book) openWithLog(t *testing.T) {
	t.Helper()
	leaves := b.leaves(0)
	vkey, _ := b.logKey.verifier(bookIssuer+"/uim-ledger/0", 1)
	witness, _ := b.witness.verifier("witness.example", 4)
	key, err := log.ParseVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	cosigner, err := log.ParseCosigner(witness)
	if err != nil {
		t.Fatal(err)
	}
	open := func(text string) log.Checkpoint {
		c, err := log.OpenCheckpoint([]byte(text), key, cosigner)
		if err != nil || len(c.Signers) != 2 {
			t.Fatalf("got %+v, %v, want two signatures", c, err)
		}
		return c.Checkpoint
	}
	newest := open(b.checkpoint(0, len(leaves)))
	for size := 1; size <= len(leaves); size++ {
		if err := log.CheckConsistency(open(b.checkpoint(0, size)), newest, consistencyPath(size, leaves, true)); err != nil {
			t.Errorf("size %d: %v", size, err)
		}
	}
	for _, e := range b.entries[:len(leaves)] {
		p, err := log.ParseProof([]byte(b.logProof(e)))
		if err == nil {
			err = p.Verify(newest, e.leaf)
		}
		if err != nil {
			t.Errorf("%s %d: %v", e.Kind, e.K, err)
		}
	}
}

// TestEvidenceVectors checks that the product makes the published vectors byte for byte, and that both verifiers accept them.
func TestEvidenceVectors(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.bundle(t)
	text, err := json.MarshalIndent(b.vectors(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, "evidence/vectors.json", append(text, '\n'))
	compareFile(t, "evidence/bundle.jsonl", b.text(t))
	compareFile(t, "evidence/tlog-policy", []byte(b.tlogPolicy()))
	denied := newBookUnder(strings.Replace(bookPolicy, `"duty"`, `"constraint": {"leftOperand": "dateTime", "operator": "lt", "rightOperand":
    {"@value": "2026-01-01", "@type": "xsd:date"}}, "duty"`, 1))
	denied.later(bookPolicy)
	denied.bundle(t)
	denied.offer(t, bookPolicy)
	compareFile(t, "testdata/denied.jsonl", denied.text(t)) // cmd/uimgate decides it again
	succeeded, next := newBook(), edited(`"duty"`, `"constraint": {"leftOperand": "dateTime", "operator": "gt", "rightOperand":
    {"@value": "2026-01-01", "@type": "xsd:date"}}, "duty"`)
	succeeded.later(next)
	succeeded.bundle(t)
	succeeded.offer(t, next)
	compareFile(t, "testdata/succeeded.jsonl", succeeded.text(t)) // cmd/uimgate decides it again
	b.openWithLog(t)
	for _, e := range b.entries {
		parsed, err := evidence.ParseReceipt(e.receipt)
		if err != nil || parsed.Leaf != e.leaf || string(parsed.Entry.Append(nil)) != string(e.Append(nil)) {
			t.Errorf("%s %d: parsed as %+v, %v", e.Kind, e.K, parsed.Entry, err)
		}
	}
	node, python := newVerifiers(t)
	if r := verifyBoth(t, node, python, "evidence/bundle.jsonl", "--policy", "evidence/tlog-policy"); !r.OK || r.Entries != len(b.entries) {
		t.Errorf("got %+v", r)
	}
}
