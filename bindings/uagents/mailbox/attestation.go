package mailbox

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

const (
	scheme = "Agent attr:"
	// The content of an attestation: the key of the agent, the times between which it is valid, in seconds since 1970, and random bytes.
	sizeKey, sizeTime, sizeNonce = 33, 8, 32
	sizeAttestation              = sizeKey + 2*sizeTime + sizeNonce

	// maxValidity limits how long an attestation is valid. clockSkew is how far the clock of an agent may be ahead.
	maxValidity = 24 * time.Hour
	clockSkew   = time.Minute
)

// ErrAttestation means that the input is not an attestation that is valid now.
var ErrAttestation = errors.New("not an attestation that is valid now")

// Attested returns the agent that made the attestation in an Authorization header: "Agent attr:", the content in base64, a colon and the
// signature. An attestation names no server, so a server that receives one can use it at another until it expires. The error is
// ErrAttestation.
func Attested(header string, now time.Time) (identity.Address, error) {
	rest, ok := strings.CutPrefix(header, scheme)
	text, signed, found := strings.Cut(rest, ":")
	if !ok || !found || len(text) > base64.StdEncoding.EncodedLen(sizeAttestation) {
		return "", ErrAttestation
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(content) != sizeAttestation {
		return "", ErrAttestation
	}
	signature, err := identity.ParseSignature(signed)
	if err != nil {
		return "", ErrAttestation
	}
	agent, err := identity.NewAgent(content[:sizeKey])
	if err != nil || !agent.Verify(sha256.Sum256(content), signature) {
		return "", ErrAttestation
	}
	from, until := binary.BigEndian.Uint64(content[sizeKey:]), binary.BigEndian.Uint64(content[sizeKey+sizeTime:])
	at := uint64(max(now.Unix(), 0))
	if from > at+uint64(clockSkew/time.Second) || until <= at || until < from || until-from > uint64(maxValidity/time.Second) {
		return "", ErrAttestation
	}
	return agent, nil
}
