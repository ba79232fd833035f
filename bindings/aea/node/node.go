// Package node makes the gateway a node of the agent communication network. A node has a secp256k1 key, a certificate for its listeners,
// and a proof that the certificate belongs to the node. Agents download the certificate, trust no other certificate, and check the proof.
package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"

	"github.com/uimgate/uimgate/internal/privatefile"
	"github.com/uimgate/uimgate/internal/wire/aea/acn"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// A Node is a node of the agent communication network. It is safe for concurrent use.
type Node struct {
	public      identity.PublicKey
	certificate tls.Certificate
	proof       []byte
}

// life is how long a certificate is valid. Agents do not check for revocation.
const life = 10 * 365 * 24 * time.Hour

// Open returns a node whose certificate and private key are stored in a file that only its owner can read. With the stored certificate,
// agents of a mailbox can reconnect after a restart. Open creates a missing file and replaces an expired certificate. Errors are those of
// package privatefile, identity.ErrKey, and ErrCertificate.
func Open(key identity.Key, path string, now time.Time) (*Node, error) {
	pemData, err := privatefile.Read(path, maxFile)
	if err == nil {
		n, err := of(key, pemData)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if now.Before(n.certificate.Leaf.NotAfter) {
			return n, nil
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if pemData, err = newCertificate(now); err != nil {
		return nil, err
	}
	if err := privatefile.Write(path, pemData); err != nil {
		return nil, err
	}
	return of(key, pemData)
}

// ErrCertificate means that a file does not contain a certificate and its private key, on P-256.
var ErrCertificate = errors.New("the file does not contain a PEM certificate of a node with its private key on P-256")

const maxFile = 16 << 10

// of returns the node with a key and a certificate in PEM.
func of(key identity.Key, pemData []byte) (*Node, error) {
	certificate, err := tls.X509KeyPair(pemData, pemData)
	if err != nil {
		return nil, ErrCertificate
	}
	public, ok := certificate.Leaf.PublicKey.(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P256() {
		return nil, ErrCertificate
	}
	proof, err := key.SignCertificate(public)
	if err != nil {
		return nil, err
	}
	return &Node{public: key.Public(identity.Fetchai), certificate: certificate, proof: proof}, nil
}

// newCertificate returns a new certificate with its private key, in PEM. The certificate is self-signed, as agents expect.
func newCertificate(now time.Time) ([]byte, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "node"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})...), nil
}

// PublicKey returns the node's key in the format of an agent's configuration: 66 hexadecimal digits.
func (n *Node) PublicKey() string { return n.public.String() }

// Proof returns the node's signature over the public key of its certificate, in DER.
func (n *Node) Proof() []byte { return n.proof }

// TLS returns the TLS configuration for listeners of the node.
func (n *Node) TLS() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{n.certificate}, MinVersion: tls.VersionTLS12}
}

// Register returns the node's response to an agent's registration: acn.Success if the agent proves that the node may represent the agent.
func (n *Node) Register(r acn.Record) acn.Code { return identity.Represents(r, n.public) }
