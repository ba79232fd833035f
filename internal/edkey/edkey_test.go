package edkey_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/uimgate/uimgate/internal/edkey"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	good := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	if err := edkey.Check(good); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]error{
		"": edkey.ErrSize, "00": edkey.ErrSize,
		"0100000000000000000000000000000000000000000000000000000000000000": edkey.ErrWeak, // the identity
		"0100000000000000000000000000000000000000000000000000000000000080": edkey.ErrWeak, // in another encoding
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": edkey.ErrWeak, // in a third
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": edkey.ErrWeak, // order 2
		"0000000000000000000000000000000000000000000000000000000000000000": edkey.ErrWeak, // order 4
		"0000000000000000000000000000000000000000000000000000000000000080": edkey.ErrWeak,
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05": edkey.ErrWeak, // order 8
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85": edkey.ErrWeak,
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a": edkey.ErrWeak,
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa": edkey.ErrWeak,
		"0200000000000000000000000000000000000000000000000000000000000000": edkey.ErrPoint,
		"f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": edkey.ErrCanonical, // y = p + 3, a point of large order
	} {
		key, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := edkey.Check(key); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}
