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
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/pat"
)

// A Form is how a policy is signed.
type Form string

// The forms. All but FormFresh are static: they can be replayed by whoever sees them, and are only used
// where Options.AllowStatic permits and the service knows no better.
const (
	FormFresh     Form = "fresh"            // a uim-agreement+jwt: bound to service, time and nonce
	FormPolicyJWS Form = "jws-policy"       // a compact JWS whose payload is the policy as served
	FormServed    Form = "detached"         // hex of a signature over the bytes served
	FormPython    Form = "detached-python"  // the same over what Python's json.dumps gives
	FormCompact   Form = "detached-compact" // the same over what JSON.stringify gives
)

// staticForms in the order they are tried.
var staticForms = []Form{FormPolicyJWS, FormServed, FormPython, FormCompact}

var errForm = errors.New("this kind of key cannot sign in this form")

// A signed policy is what is sent to get a PAT.
type signed struct {
	policy, publicKey string
}

func (c *Client) signFresh(s Session, p Policy, scope []string) (signed, error) {
	jws, err := pat.SignAgreement(c.o.Key, pat.AgreementClaims{
		AgentID: pat.AgentID(s.AgentID), Audience: s.Issuer, IssuedAt: c.o.Now(), PolicyUID: p.UID, PolicyDigest: p.Digest, Scope: scope, Declared: s.Declared,
	})
	if err != nil {
		return signed{}, fmt.Errorf("signing the agreement: %w", err)
	}
	return signed{jws, string(c.publicPEM())}, nil
}

// signStatic signs the bare policy, in the ways the UIM guides and the reference agent do.
func (c *Client) signStatic(form Form, p Policy) (signed, error) {
	message := p.Raw
	var err error
	switch form {
	case FormPolicyJWS:
		jws, err := c.policyJWS(p.Raw)
		return signed{jws, base64.URLEncoding.EncodeToString(c.publicPEM())}, err
	case FormServed:
	case FormPython:
		message, err = pythonDumps(p.Raw)
	case FormCompact:
		message, err = jsontext.AppendFormat(nil, p.Raw, jsontext.PreserveRawStrings(false))
	default:
		err = errForm
	}
	if err != nil {
		return signed{}, fmt.Errorf("signing the policy as %s: %w", form, err)
	}
	signature, err := c.detached(message)
	if err != nil {
		return signed{}, fmt.Errorf("signing the policy as %s: %w", form, err)
	}
	return signed{hex.EncodeToString(signature), string(c.publicPEM())}, nil
}

// detached signs with RSA (PKCS#1 v1.5, SHA-256) or Ed25519; ECDSA is not among what the guides know.
func (c *Client) detached(message []byte) ([]byte, error) {
	switch c.o.Key.Public().(type) {
	case ed25519.PublicKey:
		return c.o.Key.Sign(rand.Reader, message, crypto.Hash(0))
	case *rsa.PublicKey:
		sum := sha256.Sum256(message)
		return c.o.Key.Sign(rand.Reader, sum[:], crypto.SHA256)
	default:
		return nil, errForm
	}
}

// policyJWS is a compact JWS with the policy as payload, byte for byte.
func (c *Client) policyJWS(policy []byte) (string, error) {
	method := jwt.GetSigningMethod(c.key.Algorithm())
	header := fmt.Appendf(nil, `{"alg":%q,"typ":"JWT"}`, c.key.Algorithm())
	input := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(policy)
	signature, err := method.Sign(input, c.o.Key)
	if err != nil {
		return "", fmt.Errorf("signing the policy as %s: %w", FormPolicyJWS, errForm)
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func (c *Client) publicPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: c.key.SPKI()})
}

// pythonDumps gives what json.dumps(json.loads(text)) gives, numbers left as they are written.
func pythonDumps(text []byte) ([]byte, error) {
	spaced, err := jsontext.AppendFormat(nil, text, jsontext.PreserveRawStrings(false), jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(spaced))
	for len(spaced) > 0 { // beyond ASCII there are only characters of strings
		r, size := utf8.DecodeRune(spaced)
		spaced = spaced[size:]
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out, nil
}
