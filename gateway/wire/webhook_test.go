package wire_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/wire"
)

func TestSignature(t *testing.T) {
	t.Parallel()
	// printf '1800000000.{}' | openssl dgst -sha256 -hmac 0123456789abcdef
	const want = "t=1800000000,v1=1313ae9c874eb1a0868ad0b65f841c4243c23fdcfad69a3ada227726fad9960e"
	if got := wire.Sign("0123456789abcdef", time.Unix(1_800_000_000, 0), []byte("{}")); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
