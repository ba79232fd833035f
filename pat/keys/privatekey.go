package keys

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"
)

// PrivateKey returns the key to sign with. If this or another process has retired the key, PrivateKey first replaces it, because its
// signatures would soon not verify.
func (k *Keyring) PrivateKey(ctx context.Context) (*PrivateKey, error) {
	s := k.signing.Load()
	if registered, ok := k.family.set.Load().keys[s.ID]; ok && registered.NotAfter.IsZero() {
		return s, nil
	}
	if _, err := k.rotateFrom(ctx, s); err != nil {
		return nil, err
	}
	return k.signing.Load(), nil
}

func signingKeyOf(private any) (PrivateKey, error) {
	signer, ok := private.(crypto.Signer)
	if !ok {
		return PrivateKey{}, ErrUnsupported
	}
	key, err := New(signer.Public())
	if err != nil {
		return PrivateKey{}, err
	}
	return PrivateKey{SigningKey{ID: key.Thumbprint(), Algorithm: key.Algorithm(), JWK: key.JWK()}, signer}, nil
}

func (s PrivateKey) pkcs8() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(s.Private)
	if err != nil {
		return nil, fmt.Errorf("encoding a signing key: %w", err)
	}
	return der, nil
}
