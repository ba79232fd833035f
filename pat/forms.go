package pat

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/internal/ordered"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	// MaxPolicy is the maximum size of a policy document in bytes.
	MaxPolicy = 1 << 20
	// MaxPast is the maximum number of earlier policies that are kept, so that a signature over one of them can be reported as such.
	MaxPast = 8
	// maxRecognized is the maximum number of policies that an agreement is compared with, including the successors of the one in force.
	maxRecognized = 3 * MaxPast
)

// The byte forms in which agents sign a policy.
const (
	formServed  = "served"  // the exact bytes
	formRFC8785 = "rfc8785" // the canonical form
	formCompact = "compact" // JSON.stringify(JSON.parse(text)) of ECMAScript
	formPython  = "python"  // json.dumps(json.loads(text)) of Python
)

// An Offer is a policy as a service offers it, with the byte forms that agents may sign. It is immutable.
type Offer struct {
	UID    string
	Digest string // see PolicyDigest
	Bytes  []byte // exactly as served; callers must not modify them
	forms  []form
}

type form struct {
	name string
	text []byte
	sum  [sha256.Size]byte
}

// NewOffer makes an Offer from a policy document, and computes its digest and its byte forms. The error describes why the document cannot
// be signed: it is not a strict JSON object, is larger than MaxPolicy, or contains a number that RFC 8785 would change (a
// *strictjson.InexactError).
func NewOffer(raw []byte, uid string) (Offer, error) {
	digest, canonical, err := digestOf(raw)
	if err != nil {
		return Offer{}, err
	}
	tree, err := ordered.Parse(raw)
	if err != nil {
		return Offer{}, fmt.Errorf("policy: %w", err)
	}
	compact, err := tree.ECMAScript(nil)
	if err != nil {
		return Offer{}, fmt.Errorf("policy: %w", err)
	}
	python, err := tree.Python(nil)
	if err != nil {
		return Offer{}, fmt.Errorf("policy: %w", err)
	}
	o := Offer{UID: uid, Digest: digest, Bytes: bytes.Clone(raw)}
	o.add(formServed, o.Bytes)
	o.add(formRFC8785, canonical)
	o.add(formCompact, compact)
	o.add(formPython, python)
	return o, nil
}

// add appends a form unless the same bytes are already present.
func (o *Offer) add(name string, text []byte) {
	f := form{name, text, sha256.Sum256(text)}
	for _, other := range o.forms {
		if other.sum == f.sum {
			return
		}
	}
	o.forms = append(o.forms, f)
}

// SHA256 returns the digest of the policy as served, in lowercase hexadecimal digits.
func (o *Offer) SHA256() string {
	for _, f := range o.forms {
		if f.name == formServed {
			return hex.EncodeToString(f.sum[:])
		}
	}
	return ""
}

// HasSHA256 reports whether a digest, in lowercase hexadecimal digits, is that of the policy in one of its byte forms.
func (o *Offer) HasSHA256(digest string) bool {
	return slices.ContainsFunc(o.forms, func(f form) bool { return hex.EncodeToString(f.sum[:]) == digest })
}

// mayBe reports whether text is short enough to be the policy: at most twice as long as the longest byte form, which leaves room for
// different spacing.
func (o *Offer) mayBe(text []byte) bool {
	longest := 0
	for _, f := range o.forms {
		longest = max(longest, len(f.text))
	}
	return o.forms == nil || len(text) <= 2*longest // the Offer of stored evidence has no forms
}

// PolicyDigest returns the digest that identifies a policy everywhere: "sha-256:" and the unpadded base64url of SHA-256 over its RFC 8785
// form. The error describes why the document has no digest: see NewOffer.
func PolicyDigest(raw []byte) (string, error) {
	digest, _, err := digestOf(raw)
	return digest, err
}

func digestOf(raw []byte) (digest string, canonical []byte, err error) {
	if len(raw) > MaxPolicy {
		return "", nil, fmt.Errorf("policy: the document has more than %d bytes", MaxPolicy)
	}
	tree, err := strictjson.DecodeObject(raw)
	if err != nil {
		return "", nil, fmt.Errorf("policy: %w", err)
	}
	if canonical, err = strictjson.Canonical(tree); err != nil {
		return "", nil, fmt.Errorf("policy: %w", err)
	}
	return DigestOf(canonical), canonical, nil
}

// DigestOf returns "sha-256:" and the unpadded base64url of SHA-256 over data.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha-256:" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// signedBy returns the byte form of the policy over which a detached signature verifies, and the scheme of the signature.
func (o Offer) signedBy(d keys.DetachedSignature) (f form, scheme string, ok bool) {
	for _, f := range o.forms {
		if scheme, ok := d.Verify(f.text, f.sum, ""); ok {
			return f, scheme, true
		}
	}
	return form{}, "", false
}
