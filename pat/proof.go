package pat

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	// ProofWindow is the maximum difference, in either direction, between the time of a proof of key and now.
	ProofWindow = 5 * time.Minute
	// MaxProof is the maximum size of a proof of key in bytes.
	MaxProof = 8 << 10
)

// A ProofBinding has the values to which a proof of key must be bound.
type ProofBinding struct {
	Audience string  // the service's issuer
	TokenID  TokenID // jti of the PAT that is sent with the proof
	Digest   string  // ExecuteDigest or RenewDigest
}

// A Proof is a verified proof of key. The store checks whether its nonce was used before.
type Proof struct {
	Nonce string    // jti
	Until time.Time // the nonce must be kept at least until then
	Key   keys.Key  // the key that signed
}

// VerifyProof verifies that the agreed key signed a compact JWS of typ uim-proof+jwt, that the JWS is bound to want, and that its time is
// within ProofWindow of now. It needs no store. The error is a *ProofError, of kind ErrBadSignature if its member is kid or signature, and
// ErrBadProof otherwise.
func VerifyProof(proof string, key keys.Key, want ProofBinding, now time.Time) (Proof, error) {
	j, err := keys.ParseJWS(proof, MaxProof)
	switch {
	case err != nil || j.Typ != TypeProof:
		return Proof{}, misfit("typ", "want a compact JWS of typ %s, of at most %d bytes", TypeProof, MaxProof)
	case key.IsZero() || j.KeyID != string(key.Thumbprint()):
		return Proof{}, &ProofError{"kid", "want the thumbprint (RFC 7638) of the agreed key, in the header", ErrBadSignature}
	case !j.SignedBy(key):
		return Proof{}, &ProofError{"signature", "it does not verify with the agreed key, or alg does not match that key", ErrBadSignature}
	}
	var issuedAt, aud any
	var nonce, token, digest string
	if !strictjson.Members(j.Payload, func(name, value []byte) {
		switch string(name) {
		case "iat":
			issuedAt, _ = strictjson.Decode(value)
		case "aud":
			aud, _ = strictjson.Decode(value)
		case "jti":
			nonce, _ = strictjson.Text(value)
		case "pat":
			token, _ = strictjson.Text(value)
		case "digest":
			digest, _ = strictjson.Text(value)
		}
	}) {
		return Proof{}, misfit("payload", "want one JSON object")
	}
	issued, err := numericDate(issuedAt)
	if err != nil {
		return Proof{}, misfit("iat", "want seconds since 1970")
	}
	audience, _ := soleAudience(aud)
	switch {
	case !validNonce(nonce):
		return Proof{}, misfit("jti", "want %d to %d visible ASCII characters", minNonce, maxNonce)
	case want.Audience == "" || audience != want.Audience:
		return Proof{}, misfit("aud", "want this service's issuer, %s", want.Audience)
	case want.TokenID == "" || token != string(want.TokenID):
		return Proof{}, misfit("pat", "want the jti of the PAT it is sent with")
	case want.Digest == "" || digest != want.Digest:
		return Proof{}, misfit("digest", "want the SHA-256 of the canonical JSON (RFC 8785), in base64url without prefix and padding, of "+
			`{"intent_uid", "parameters"} as sent, or of {"renew"} for a renewal`)
	case now.Sub(issued).Abs() > ProofWindow:
		return Proof{}, misfit("iat", "want a time within %s of now", ProofWindow)
	}
	return Proof{Nonce: nonce, Until: issued.Add(2 * ProofWindow), Key: key}, nil
}

func misfit(member, format string, args ...any) error {
	return &ProofError{Member: member, Reason: fmt.Sprintf(format, args...)}
}

// ExecuteDigest returns the digest of a call: base64url of SHA-256 over RFC 8785 of {"intent_uid", "parameters"}, with the parameters as
// sent (a tree of package strictjson; nil counts as {}). The error is a *strictjson.InexactError whose pointer refers to that object.
func ExecuteDigest(intentUID string, parameters map[string]any) (string, error) {
	if parameters == nil {
		parameters = map[string]any{}
	}
	return digestTree(map[string]any{"intent_uid": intentUID, "parameters": parameters})
}

// RenewDigest returns the digest of a renewal of the PAT with the given jti.
func RenewDigest(jti TokenID) (string, error) {
	return digestTree(map[string]any{"renew": string(jti)})
}

func digestTree(tree any) (string, error) {
	canonical, err := strictjson.Canonical(tree)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// SignProof makes a proof of key with a new random jti.
func SignProof(signer crypto.Signer, b ProofBinding, now time.Time) (string, error) {
	key, err := keys.New(signer.Public())
	if err != nil {
		return "", err
	}
	return keys.SignJWS(signer, map[string]any{"typ": TypeProof, "kid": key.Thumbprint()}, map[string]any{
		"iat": now.Unix(), "jti": rand.Text(), "aud": b.Audience, "pat": b.TokenID, "digest": b.Digest,
	})
}

// SignAgreement makes a fresh agreement. It replaces an empty Nonce with a random one, and returns an error if the Declaration is not
// valid.
func SignAgreement(signer crypto.Signer, c AgreementClaims) (string, error) {
	if err := c.Declared.Check(); err != nil {
		return "", fmt.Errorf("the declaration %w", err)
	}
	if c.Nonce == "" {
		c.Nonce = rand.Text()
	}
	payload := map[string]any{
		"iss": c.AgentID, "aud": c.Audience, "htu": c.URL, "iat": c.IssuedAt.Unix(), "jti": c.Nonce,
		"policy": map[string]any{"uid": c.PolicyUID, "digest": c.PolicyDigest},
	}
	if len(c.Scope) > 0 {
		payload["scope"] = c.Scope
	}
	if len(c.Declared) > 0 {
		payload["declared"] = c.Declared
	}
	return keys.SignJWS(signer, map[string]any{"typ": TypeAgreement}, payload)
}
