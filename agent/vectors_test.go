package agent_test

import (
	"bytes"
	"crypto"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
)

const vectorsFile = "../docs/protocols/vectors.json"

var updateVectors = flag.Bool("update", false, "write the vectors of the protocol")

// An object is a JSON object of the vectors.
type object = map[string]any

// vectorTime is the time at which all vectors were made.
var vectorTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestVectors checks that the product makes the published vectors byte for byte. docs/protocols/vectors.md describes them.
func TestVectors(t *testing.T) {
	t.Parallel()
	signers := vectorKeys(t)
	document := object{
		"time": vectorTime.Unix(), "keys": keyVectors(t), "canonical": canonicalVectors(t), "policies": policyVectors(t), "calls": callVectors(t),
		"agreements": agreementVectors(t, signers), "proofs": proofVectors(t, signers), "renewals": renewalVectors(t, signers),
		"tokens": tokenVectors(t, signers["ed25519"]), "results": resultVectors(t), "errors": errorVectors(), "charges": chargeVectors(),
		"limits": limitVectors(), "receipts": receiptVectors(t), "prices": priceVectors(t), "targets": targetVectors(),
		"budgets": budgetVectors(t),
	}
	text, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *updateVectors {
		if err := os.WriteFile(vectorsFile, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(vectorsFile); err != nil || !bytes.Equal(have, text) {
		t.Errorf("%s differs from what the product makes, %v: run the test with -update", vectorsFile, err)
	}
}

// canonical returns the RFC 8785 form of a value.
func canonical(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := strictjson.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := strictjson.Canonical(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A vectorKey is a private key of the vectors.
type vectorKey struct {
	crypto.Signer

	name, thumbprint string
	public           string // PEM
	// repeatable reports whether the key makes the same signature each time.
	repeatable bool
}

// sortBy sorts objects by a member that is a text.
func sortBy(list []object, name string) {
	slices.SortFunc(list, func(a, b object) int { return strings.Compare(a[name].(string), b[name].(string)) })
}
