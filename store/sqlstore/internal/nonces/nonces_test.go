package nonces_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/nonces"
)

func TestDigestDependsOnPartsOnly(t *testing.T) {
	t.Parallel()
	seen := map[nonces.Digest][3]string{}
	for _, parts := range [][3]string{
		{"", "", ""},
		{"s", "k", "n"},
		{"sk", "", "n"},
		{"", "sk", "n"},
		{"s", "kn", ""},
		{"s", "", "kn"},
		{"", "", "skn"},
		{"s\x00", "k", "n"},
		{"s", "k", string(make([]byte, 1000))},
	} {
		d := nonces.Of(parts[0], parts[1], parts[2])
		if other, found := seen[d]; found {
			t.Errorf("%q and %q have the same digest", parts, other)
		}
		seen[d] = parts
	}
	// The form in databases: printf "\0\0\0\0\0\0\0\1s\0\0\0\0\0\0\0\1kn" | sha256sum
	d := nonces.Of("s", "k", "n")
	if got := hex.EncodeToString(d[:]); got != "cb2a53b1b9d0b243c19d4fd9f09dcb12" {
		t.Errorf("the stored form has changed: %s, want %q", got, "cb2a53b1b9d0b243c19d4fd9f09dcb12")
	}
}

func numbered(n int) nonces.Digest { return nonces.Of("s", "k", strconv.Itoa(n)) }

func TestSetKeepsNoncesUntilExpiry(t *testing.T) {
	t.Parallel()
	const minute = int64(time.Minute)
	var s nonces.Set
	for i := range 10_000 {
		if s.Has(numbered(i)) {
			t.Fatalf("%d is in the set before it was added", i)
		}
		s.Add(numbered(i), int64(i%10)*minute+7)
		s.Add(numbered(i), int64(i%10)*minute+7) // no effect
	}
	for now, left := range []int{10_000, 9000, 8000, 7000} {
		s.Drop(int64(now-1)*minute + 7)
		if s.Len() != left {
			t.Fatalf("%d left; want %d", s.Len(), left)
		}
		for i := range 10_000 {
			if got := s.Has(numbered(i)); got != (i%10 >= now) {
				t.Fatalf("after %d minutes, a nonce that ends after %d: %v, want %v", now, i%10, got, i%10 >= now)
			}
		}
	}
	s.Drop(9*minute + 6) // a table is dropped when its last nonce ends
	if s.Len() != 1000 {
		t.Errorf("%d left, want 1000", s.Len())
	}
	if s.Drop(math.MaxInt64); s.Len() != 0 || s.Bytes() != 0 || s.Has(numbered(9)) {
		t.Errorf("%d left, in %d bytes", s.Len(), s.Bytes())
	}
}

// Nonces that end at very different times use a bounded number of tables, and none of them ends early.
func TestTimesFarApartShareTables(t *testing.T) {
	t.Parallel()
	var s nonces.Set
	untils := []int64{math.MinInt64, -1, 0}
	for i := range 1000 {
		untils = append(untils, int64(i)*int64(time.Hour))
	}
	untils = append(untils, math.MaxInt64)
	for i, until := range untils {
		s.Add(numbered(i), until)
	}
	for i, until := range untils {
		s.Drop(max(until, math.MinInt64+1) - 1)
		if !s.Has(numbered(i)) && until > math.MinInt64 {
			t.Fatalf("the nonce that ends at %d has ended early", until)
		}
	}
	if s.Bytes() > 64<<10 {
		t.Errorf("got %d bytes for %d; want at most %v", s.Bytes(), s.Len(), 64<<10)
	}
}

// Digests with the same first 8 bytes count as the same nonce. A digest of zeros, which mark a free position, is kept too.
func TestEqualPrefixesCountAsUsed(t *testing.T) {
	t.Parallel()
	var s nonces.Set
	s.Add(nonces.Digest{}, 1)
	if !s.Has(nonces.Digest{}) || !s.Has(nonces.Digest{15: 9}) || s.Has(nonces.Digest{0: 1}) {
		t.Error("a digest of zeros is not kept")
	}
}

// Two million nonces of ten minutes use less than 40 MB.
func TestASetIsSmall(t *testing.T) {
	t.Parallel()
	var s nonces.Set
	var d nonces.Digest
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 2_000_000 {
		binary.BigEndian.PutUint64(d[:], random.Uint64())
		s.Add(d, int64(i)*int64(10*time.Minute)/2_000_000)
	}
	if s.Len() != 2_000_000 || s.Bytes() > 40<<20 {
		t.Errorf("%d nonces in %d bytes", s.Len(), s.Bytes())
	}
}

func FuzzRow(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, nonces.Size))
	f.Add(make([]byte, 2*nonces.Size+1))
	f.Fuzz(func(t *testing.T, row []byte) {
		var back []byte
		err := nonces.Each(row, func(d nonces.Digest) { back = append(back, d[:]...) })
		switch {
		case err == nil && string(back) != string(row):
			t.Errorf("%x became %x", row, back)
		case err != nil && (!errors.Is(err, nonces.ErrRow) || len(back) > 0 || len(row) > 0 && len(row)%nonces.Size == 0):
			t.Errorf("%x: %v", row, err)
		}
	})
}

func BenchmarkSet(b *testing.B) {
	for _, held := range []int{0, 200_000, 2_000_000} {
		b.Run("held="+strconv.Itoa(held), func(b *testing.B) {
			var s nonces.Set
			var d nonces.Digest
			random := rand.New(rand.NewPCG(1, 2))
			next := func(until int64) {
				binary.BigEndian.PutUint64(d[:], random.Uint64())
				if !s.Has(d) {
					s.Add(d, until)
				}
			}
			for i := range held {
				next(int64(i) * int64(10*time.Minute) / int64(held))
			}
			b.ResetTimer()
			for range b.N {
				next(int64(10 * time.Minute))
			}
			b.ReportMetric(float64(s.Bytes())/float64(max(1, s.Len())), "B/nonce")
		})
	}
}
