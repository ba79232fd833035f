package examples_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	bookIssuer = "shop.example"
	bookAgent  = "my-agent"
	bookIntent = "shop.example:place-order:v1"
	bookRule   = "/permission/1"
	bookPolicy = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "uid": "https://shop.example/policy/1", "type": "Set", "permission": [
  {"target": "shop.example:search:v1", "action": "execute"},
  {"target": "shop.example:place-order:v1", "action": "execute", "duty": {"action": "pay", "amount": "0.050", "unit": "EUR"}}]}`
)

var bookStart = time.Date(2026, 11, 24, 12, 0, 0, 123456789, time.UTC)

// A bookKey is a key that is derived from a name.
type bookKey struct {
	name    string
	private ed25519.PrivateKey
	public  keys.Key
}

func newBookKey(name string) bookKey {
	seed := sha256.Sum256([]byte("uimgate example key " + name))
	private := ed25519.NewKeyFromSeed(seed[:])
	public, err := keys.New(private.Public())
	if err != nil {
		panic(err)
	}
	return bookKey{name, private, public}
}

func (k bookKey) sign(message string) []byte { return ed25519.Sign(k.private, []byte(message)) }

// compact signs a compact JWS.
func (k bookKey) compact(typ string, payload []byte) string {
	header := `{"alg":"EdDSA","kid":"` + string(k.public.Thumbprint()) + `","typ":"` + typ + `"}`
	input := b64.EncodeToString([]byte(header)) + "." + b64.EncodeToString(payload)
	return input + "." + b64.EncodeToString(k.sign(input))
}

// raw returns the 32 bytes of the public key.
func (k bookKey) raw() []byte { return k.private[32:] }

// verifier returns the key in the form of C2SP signed-note, for a name and a type of signature.
func (k bookKey) verifier(name string, kind byte) (vkey string, id []byte) {
	typed := append([]byte{kind}, k.raw()...)
	sum := sha256.Sum256(append([]byte(name+"\n"), typed...))
	return fmt.Sprintf("%s+%x+%s", name, sum[:4], base64.StdEncoding.EncodeToString(typed)), sum[:4]
}

// A book is the evidence of one agent, from which a bundle is made. Tests change its parts before and after signing.
type book struct {
	receiptKey, logKey, agentKey, witness bookKey

	policy  string
	entries []*bookEntry
	lines   []bookLine
	lost    int           // entries of the log that the restored state lacks
	changed string        // a proof of key that a test changed
	ahead   time.Duration // the times of checkpoints are later by it
	// signer returns the key that signs an entry.
	signer func(e *bookEntry) bookKey
}

type bookEntry struct {
	evidence.Entry

	bytes   []byte // as signed, if not what Append returns
	leaf    evidence.Hash
	receipt string
}

// A bookLine is a line of a bundle. Its members are in the order of their names.
type bookLine map[string]any

func euros(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: "EUR"} }

func newBook() *book { return newBookUnder(bookPolicy) }

func newBookUnder(policy string) *book {
	b := &book{
		policy:     policy,
		receiptKey: newBookKey("receipt"), logKey: newBookKey("log"), agentKey: newBookKey("agent"), witness: newBookKey("witness"),
	}
	b.signer = func(e *bookEntry) bookKey {
		if e.Kind == evidence.KindRestored || e.Key != nil && e.Key.Purpose == evidence.PurposeLog {
			return b.logKey
		}
		return b.receiptKey
	}
	for _, k := range []bookKey{b.receiptKey, b.logKey} {
		introduced := &evidence.Key{Purpose: k.name, ID: string(k.public.Thumbprint()), JWK: canonicalJWK(k)}
		if k.name == evidence.PurposeLog {
			introduced.Verifier, _ = k.verifier(bookIssuer+"/uim-ledger/0", 1)
		}
		b.add(evidence.Entry{Kind: evidence.KindKey, By: string(k.public.Thumbprint()), Key: introduced})
	}
	b.add(evidence.Entry{Kind: evidence.KindTopUp, By: "operator", Amount: euros(5_000_000_000), Reference: "invoice-117"})
	b.charge("a", "", "held", "agent", "")
	b.charge("b", "", "held", "agent", "")
	b.charge("a", "held", "captured", "agent", "done")
	b.charge("b", "held", "unresolved", "sweeper", "unknown")
	b.charge("c", "", "held", "agent", "")
	b.charge("c", "held", "released", "agent", "failed")
	b.charge("b", "unresolved", "captured", "reconcile", "done")
	b.add(evidence.Entry{Kind: evidence.KindReversal, By: "operator", Amount: euros(-1_000_000_000), Reference: "refund-9"})
	b.add(evidence.Entry{
		Kind: evidence.KindCarry, By: "operator", Through: &evidence.Through{}, // of entry 0; chain sets its hash
		Sums: &evidence.Sums{ToppedUp: euros(5_000_000_000), Held: euros(0), Unresolved: euros(0), Captured: euros(0)},
	})
	b.add(evidence.Entry{Epoch: 1, Kind: evidence.KindRestored, By: "operator"})
	b.add(evidence.Entry{Epoch: 1, Kind: evidence.KindTopUp, By: "operator", Amount: euros(2_000_000_000)})
	return b
}

func canonicalJWK(k bookKey) []byte {
	return []byte(`{"crv":"Ed25519","kty":"OKP","x":"` + b64.EncodeToString(k.raw()) + `"}`)
}

func (b *book) add(e evidence.Entry) {
	n := len(b.entries)
	e.Issuer, e.At = bookIssuer, bookStart.Add(time.Duration(n)*time.Second)
	if e.Kind != evidence.KindCharge {
		salt := sha256.Sum256(fmt.Appendf(nil, "salt %d", n))
		e.Salt = salt[:16]
	}
	if e.Kind != evidence.KindKey && e.Kind != evidence.KindRestored {
		e.Account = evidence.Account{Agent: bookAgent, Currency: "EUR"}
	}
	b.entries = append(b.entries, &bookEntry{Entry: e})
}

func (b *book) charge(id, from, to, by, outcome string) {
	proof := b.proof(id, callDigest(id))
	e := evidence.Entry{
		Kind: evidence.KindCharge, ID: "exec-" + id, From: from, To: to, By: by, Amount: euros(50_000_000), Intent: bookIntent,
		Rule: bookRule, Policy: policyDigest(b.policy), Agreement: "agreement-1", Token: "jti-1", KeyID: string(b.agentKey.public.Thumbprint()),
		Request: callDigest(id), Decision: evidence.Digest(question(id)), Outcome: outcome, Proof: evidence.Digest([]byte(proof)),
	}
	if to == evidence.StateCaptured {
		e.Answer = evidence.Digest([]byte(`{"order":"` + id + `"}`))
	}
	b.add(e)
}

func policyDigest(document string) string {
	digest, err := pat.PolicyDigest([]byte(document))
	if err != nil {
		panic(err)
	}
	return digest
}

func callDigest(id string) string {
	sum, err := pat.ExecuteDigest(bookIntent, map[string]any{"article": id})
	if err != nil {
		panic(err)
	}
	return evidence.PrefixedDigest(sum)
}

// question returns the question that the policy decided, in the form of the audit stream.
func question(id string) []byte {
	return []byte(`{"request":{"party":"` + bookAgent + `","action":"execute","target":"` + bookIntent +
		`","context":{}},"world":{"currentTime":"2026-11-24T12:00:00Z","partOf":[{"member":"` + id +
		`","collection":"https://shop.example/api/intents"}]},"dutyMode":"notViolated"}`)
}

func (b *book) proof(id, request string) string {
	payload := fmt.Sprintf(`{"iat":%d,"jti":"nonce-0123456789-%s","aud":"%s","pat":"jti-1","digest":"%s"}`,
		bookStart.Unix(), id, bookIssuer, strings.TrimPrefix(request, "sha-256:"))
	return b.agentKey.compact("uim-proof+jwt", []byte(payload))
}

// chain sets the members that depend on earlier entries, and signs all entries.
func (b *book) chain(t *testing.T) {
	t.Helper()
	var last *bookEntry
	k := int64(0)
	for i, e := range b.entries {
		if e.Kind == evidence.KindRestored {
			kept := b.leaves(0)[:i-b.lost]
			e.Last = &evidence.Last{Epoch: 0, Size: int64(len(kept)), Root: merkle(kept)}
		}
		if e.Account != (evidence.Account{}) {
			if e.K == 0 {
				e.K = k
			}
			if e.K > 0 && e.Prev.IsZero() {
				e.Prev = last.leaf
			}
			if e.Through != nil {
				e.Through.Hash = b.entries[2].leaf
			}
			k = e.K + 1
			last = e
		}
		text := e.bytes
		if text == nil {
			text = e.Append(nil)
		}
		e.leaf = evidence.LeafHash(text)
		key := b.signer(e)
		var err error
		if e.receipt, err = evidence.SignReceipt(key.private, key.public.Thumbprint(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// leaves returns the leaf hashes of the log of an epoch.
func (b *book) leaves(epoch int64) (list []evidence.Hash) {
	for _, e := range b.entries {
		if e.Epoch == epoch && !e.leaf.IsZero() {
			list = append(list, e.leaf)
		}
	}
	return list
}

func hashNode(a, b evidence.Hash) evidence.Hash {
	return sha256.Sum256(append(append([]byte{1}, a[:]...), b[:]...))
}

// split returns the largest power of two below n.
func split(n int) int { return 1 << (bits.Len(uint(n-1)) - 1) }

// merkle returns the root of a tree: RFC 6962 section 2.1, as it is written there.
func merkle(leaves []evidence.Hash) evidence.Hash {
	switch n := len(leaves); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaves[0]
	default:
		return hashNode(merkle(leaves[:split(n)]), merkle(leaves[split(n):]))
	}
}

// auditPath returns the proof of inclusion of leaf m: RFC 6962 section 2.1.1.
func auditPath(m int, leaves []evidence.Hash) []evidence.Hash {
	n := len(leaves)
	if n == 1 {
		return nil
	}
	k := split(n)
	if m < k {
		return append(auditPath(m, leaves[:k]), merkle(leaves[k:]))
	}
	return append(auditPath(m-k, leaves[k:]), merkle(leaves[:k]))
}

// consistencyPath returns the proof that a tree contains that of its first m leaves: RFC 6962 section 2.1.2.
func consistencyPath(m int, leaves []evidence.Hash, whole bool) []evidence.Hash {
	n := len(leaves)
	if m == n {
		if whole {
			return nil
		}
		return []evidence.Hash{merkle(leaves)}
	}
	k := split(n)
	if m <= k {
		return append(consistencyPath(m, leaves[:k], whole), merkle(leaves[k:]))
	}
	return append(consistencyPath(m-k, leaves[k:], false), merkle(leaves[:k]))
}

func hashTexts(list []evidence.Hash) []string {
	out := make([]string, len(list))
	for i, h := range list {
		out[i] = base64.StdEncoding.EncodeToString(h[:])
	}
	return out
}

// checkpoint returns a signed and cosigned checkpoint over the first size leaves of the log of an epoch.
func (b *book) checkpoint(epoch int64, size int) string {
	origin := fmt.Sprintf("%s/uim-ledger/%d", bookIssuer, epoch)
	at := bookStart.Add(time.Hour + b.ahead).Unix()
	text := fmt.Sprintf("%s\n%d\n%s\ntime %d\n", origin, size, hashTexts([]evidence.Hash{merkle(b.leaves(epoch)[:size])})[0], at)
	line := func(name string, id, signature []byte) string {
		return "— " + name + " " + base64.StdEncoding.EncodeToString(append(bytes.Clone(id), signature...)) + "\n"
	}
	_, id := b.logKey.verifier(origin, 1)
	_, witnessID := b.witness.verifier("witness.example", 4)
	seconds := []byte{0, 0, 0, 0, byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at)}
	cosigned := b.witness.sign(fmt.Sprintf("cosignature/v1\ntime %d\n", at) + text)
	return text + "\n" + line(origin, id, b.logKey.sign(text)) + line("witness.example", witnessID, append(seconds, cosigned...))
}

// tlogPolicy requires the cosignature of the witness.
func (b *book) tlogPolicy() string {
	zero, _ := b.logKey.verifier(bookIssuer+"/uim-ledger/0", 1)
	one, _ := b.logKey.verifier(bookIssuer+"/uim-ledger/1", 1)
	witness, _ := b.witness.verifier("witness.example", 4)
	return "# The logs of both epochs, and one witness.\nlog " + zero + "\nlog " + one + "\nwitness w1 " + witness +
		"\ngroup all-of-them all w1\nquorum all-of-them\n"
}

// logProof returns the proof that an entry is in its log.
func (b *book) logProof(e *bookEntry) string {
	leaves := b.leaves(e.Epoch)
	index := 0
	for leaves[index] != e.leaf {
		index++
	}
	path := strings.Join(append(hashTexts(auditPath(index, leaves)), ""), "\n")
	return fmt.Sprintf("c2sp.org/tlog-proof@v1\nindex %d\n%s\n%s", index, path, b.checkpoint(e.Epoch, len(leaves)))
}

// export returns the agreement as uimgate agreements export prints it.
func (b *book) export(t *testing.T) bookLine {
	t.Helper()
	payload, err := json.Marshal(map[string]any{
		"iss": bookAgent, "aud": bookIssuer, "htu": "https://shop.example/api/pat", "iat": bookStart.Unix(), "jti": "nonce-0123456789-agreement",
		"policy": map[string]any{"uid": "https://shop.example/policy/1", "digest": policyDigest(b.policy)},
	})
	if err != nil {
		t.Fatal(err)
	}
	head := b64.EncodeToString([]byte(`{"alg":"EdDSA","typ":"uim-agreement+jwt"}`)) + "." + b64.EncodeToString(payload)
	a := pat.Agreement{
		ID: "agreement-1", Service: bookIssuer, Issuer: bookIssuer, AgentID: bookAgent, PublicKey: b.agentKey.public.SPKI(),
		KeyID: b.agentKey.public.Thumbprint(), PolicyUID: "https://shop.example/policy/1", PolicyDigest: policyDigest(b.policy),
		Assurance: pat.Fresh, Form: "jws-agreement", Signature: []byte(head + "." + b64.EncodeToString(b.agentKey.sign(head))),
		Nonce: "nonce-0123456789-agreement", State: pat.AgreementActive, CreatedAt: bookStart,
	}
	document := pat.PolicyDocument{
		Service: bookIssuer, UID: a.PolicyUID, Digest: a.PolicyDigest, Bytes: []byte(b.policy), FirstOffered: bookStart,
	}
	text, err := pat.Export(a, document, nil)
	if err != nil {
		t.Fatal(err)
	}
	var line bookLine
	if err := json.Unmarshal(text, &line); err != nil {
		t.Fatal(err)
	}
	line["type"] = "agreement"
	return line
}

func (b *book) jwks() map[string]any {
	var list []any
	for _, k := range []bookKey{b.receiptKey, b.logKey} {
		list = append(list, map[string]any{
			"crv": "Ed25519", "kty": "OKP", "x": b64.EncodeToString(k.raw()), "kid": k.public.Thumbprint(), "use": "sig", "uim_purpose": k.name,
		})
	}
	return map[string]any{"keys": list}
}

// bundle makes the lines of the bundle.
func (b *book) bundle(t *testing.T) {
	t.Helper()
	b.chain(t)
	add := func(kind string, line bookLine) {
		line["type"] = kind
		b.lines = append(b.lines, line)
	}
	add("uim-evidence", bookLine{
		"version": "1", "issuer": bookIssuer, "agent": bookAgent, "from": "2026-11-01T00:00:00Z", "to": "2026-12-01T00:00:00Z", "proofs": true,
	})
	add("keys", bookLine{"jwks": b.jwks()})
	add("policy", bookLine{
		"uid": "https://shop.example/policy/1", "digest": policyDigest(b.policy), "document": base64.StdEncoding.EncodeToString([]byte(b.policy)),
	})
	add("agreement", b.export(t))
	for _, e := range b.entries {
		if e.Kind == evidence.KindCharge && e.From == "" {
			id := strings.TrimPrefix(e.ID, "exec-")
			add("decision", bookLine{"execution": e.ID, "asked": string(question(id)), "sha256": evidence.Digest(question(id))})
			add("proof", bookLine{"execution": e.ID, "jws": b.proof(id, callDigest(id))})
		}
		add("entry", bookLine{"jws": e.receipt})
		add("tlog-proof", bookLine{"entry": e.leaf.String(), "text": b.logProof(e)})
	}
	leaves := b.leaves(0)
	add("checkpoint", bookLine{"text": b.checkpoint(0, 5)})
	add("checkpoint", bookLine{"text": b.checkpoint(0, len(leaves))})
	add("consistency", bookLine{"old": 5, "new": len(leaves), "hashes": consistencyPath(5, leaves, true)})
	add("statement", bookLine{"jws": b.receiptKey.compact("uim-statement+jwt", b.marshal(t, b.statement()))})
	add("invoice", bookLine{"jws": b.receiptKey.compact("uim-invoice+jwt", b.marshal(t, b.invoice()))})
}

func (b *book) marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// coverage has the members of statements and invoices that name the part of the chain.
func (b *book) coverage(members map[string]any) map[string]any {
	last := b.entries[len(b.entries)-1]
	members["agent_id"], members["from"], members["to"] = bookAgent, "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"
	members["from_k"], members["to_k"], members["opening_head"] = 0, last.K, nil
	members["closing_head"] = map[string]any{"k": last.K, "hash": last.leaf.String()}
	members["checkpoint"] = b.checkpoint(1, 2)
	return members
}

func (b *book) statement() map[string]any {
	position := func(toppedUp, captured, balance string) map[string]any {
		return map[string]any{"topped_up": toppedUp, "held": "0.00", "unresolved": "0.00", "captured": captured, "balance": balance}
	}
	charges := func(calls int, amount string) map[string]any { return map[string]any{"calls": calls, "amount": amount} }
	return b.coverage(map[string]any{
		"iss": bookIssuer, "currency": "EUR", "opening": position("0.00", "0.00", "0.00"), "closing": position("6.00", "0.10", "5.90"),
		"topped_up": "7.00", "reversed": "1.00", "lines": []any{map[string]any{
			"intent": bookIntent, "rule": bookRule, "held": charges(3, "0.15"), "captured": charges(2, "0.10"), "released": charges(1, "0.05"),
			"unresolved": charges(1, "0.05"),
		}},
	})
}

func (b *book) invoice() map[string]any {
	head := b64.EncodeToString([]byte(`{"alg":"EdDSA","typ":"uim-agreement+jwt"}`))
	signature := ""
	for _, line := range b.lines {
		if line["type"] == "agreement" {
			agreement, _ := line["agreement"].(map[string]any)
			raw, _ := b64.DecodeString(fmt.Sprint(agreement["signature"]))
			signature = string(raw)
		}
	}
	if !strings.HasPrefix(signature, head) {
		panic("the agreement is missing")
	}
	return b.coverage(map[string]any{
		"number": "2026-11-0123456789ab", "service": bookIssuer, "issuer": bookIssuer, "provisional": true,
		"rows": []any{map[string]any{
			"intent": bookIntent, "rule": bookRule, "calls": 2, "unit_price": "0.05", "amount": "0.10", "currency": "EUR",
		}},
		"totals": []any{map[string]any{"currency": "EUR", "calls": 2, "amount": "0.10", "held": "0.00", "unresolved": "0.00"}},
		"evidence": []any{map[string]any{
			"agreement_id": "agreement-1", "signature_digest": evidence.Digest([]byte(signature)), "policy_digest": policyDigest(b.policy), "calls": 2,
		}},
	})
}

// text returns the bundle as JSON lines.
func (b *book) text(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for _, line := range b.lines {
		if err := e.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}
