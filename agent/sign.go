package agent

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// A Form is a way of signing a policy.
type Form string

// The forms of agreement. All except FormFresh and FormEnvelope are static: anyone who sees such an agreement can replay it. Static
// forms are used only if Options.AllowStatic permits them and the service does not accept FormFresh.
const (
	FormFresh           Form = "fresh"            // a JWS over the digest of the policy, made out to the service
	FormEnvelope        Form = "uagents-envelope" // UIMAgree in a signed envelope, for clients with Options.UAgent
	FormPolicyJWS       Form = "jws-policy"       // a compact JWS whose payload is the policy as served
	FormDetached        Form = "detached"         // a signature in hex over the policy as served
	FormDetachedPython  Form = "detached-python"  // a signature in hex over the output of Python's json.dumps
	FormDetachedCompact Form = "detached-compact" // a signature in hex over the output of JSON.stringify
)

// Fresh reports whether services accept an agreement of this form only once, so that a copy is useless.
func (f Form) Fresh() bool { return f == FormFresh || f == FormEnvelope }

// staticForms lists the static forms in the order in which they are tried.
var staticForms = []Form{FormPolicyJWS, FormDetached, FormDetachedPython, FormDetachedCompact}

var errFormUnsupported = errors.New("this type of key does not support this form of signature")

// A signedPolicy holds a signed policy in one of the forms, and the public key.
type signedPolicy struct {
	policy, publicKey string
}

// signFresh signs an agreement for the URL to which it is sent.
func (c *Client) signFresh(s Session, p Policy, to string) (signedPolicy, error) {
	jws, err := pat.SignAgreement(c.o.Key, pat.AgreementClaims{
		AgentID: s.AgentID, Audience: s.Issuer, URL: to, IssuedAt: c.o.Now(), PolicyUID: p.UID, PolicyDigest: p.Digest,
		Scope: s.Requested, Declared: s.Declared,
	})
	if err != nil {
		return signedPolicy{}, fmt.Errorf("signing the agreement: %w", err)
	}
	return signedPolicy{jws, string(c.publicPEM())}, nil
}

// signStatic signs the policy alone, in one of the forms that the UIM guides and the reference agent use.
func (c *Client) signStatic(form Form, p Policy) (signedPolicy, error) {
	message := p.Raw
	var err error
	switch form {
	case FormPolicyJWS:
		jws, err := c.policyJWS(p.Raw)
		return signedPolicy{jws, base64.URLEncoding.EncodeToString(c.publicPEM())}, err
	case FormDetached:
	case FormDetachedPython:
		message, err = pythonDumps(p.Raw)
	case FormDetachedCompact:
		message, err = jsontext.AppendFormat(nil, p.Raw, jsontext.PreserveRawStrings(false))
	default:
		err = errFormUnsupported
	}
	if err != nil {
		return signedPolicy{}, fmt.Errorf("signing the policy as %s: %w", form, err)
	}
	signature, err := c.detached(message)
	if err != nil {
		return signedPolicy{}, fmt.Errorf("signing the policy as %s: %w", form, err)
	}
	return signedPolicy{hex.EncodeToString(signature), string(c.publicPEM())}, nil
}

// detached signs with RSA (PKCS#1 v1.5, SHA-256) or Ed25519. The guides define no form for ECDSA.
func (c *Client) detached(message []byte) ([]byte, error) {
	switch c.o.Key.Public().(type) {
	case ed25519.PublicKey:
		return c.o.Key.Sign(rand.Reader, message, crypto.Hash(0))
	case *rsa.PublicKey:
		sum := sha256.Sum256(message)
		return c.o.Key.Sign(rand.Reader, sum[:], crypto.SHA256)
	default:
		return nil, errFormUnsupported
	}
}

// policyJWS returns a compact JWS with the policy as payload, byte for byte.
func (c *Client) policyJWS(policy []byte) (string, error) {
	method := jwt.GetSigningMethod(c.key.Algorithm())
	header := fmt.Appendf(nil, `{"alg":%q,"typ":"JWT"}`, c.key.Algorithm())
	input := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(policy)
	signature, err := method.Sign(input, c.o.Key)
	if err != nil {
		return "", fmt.Errorf("signing the policy as %s: %w", FormPolicyJWS, errFormUnsupported)
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func (c *Client) publicPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: c.key.SPKI()})
}

// pythonDumps returns the output of Python's json.dumps(json.loads(text)), except that it keeps numbers as written.
func pythonDumps(text []byte) ([]byte, error) {
	spaced, err := jsontext.AppendFormat(nil, text,
		jsontext.PreserveRawStrings(false), jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	if err != nil {
		return nil, err
	}
	return strictjson.AppendASCII(make([]byte, 0, len(spaced)), spaced), nil
}
