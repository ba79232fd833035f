package almanac_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// Agents choose the length of their endpoints, so the cache of responses of an Almanac is limited in bytes.
func TestCacheSizeIsLimited(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		of := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		one := `{"url": "http://a.example/` + strings.Repeat("x", 2000) + `", "weight": 1}`
		fmt.Fprintf(w, `{"address": %q, "expiry": "2030-01-01T00:00:00+00:00", "endpoints": [%s]}`, of, strings.Repeat(one+",", 9)+one)
	}))
	t.Cleanup(server.Close)
	client := almanac.NewClient()
	t.Cleanup(client.Close)
	const agents = 600 // of 20 KB each
	for range 2 {
		for i := range agents {
			key, err := identity.FromSeed("agent "+strconv.Itoa(i), 0)
			if err != nil {
				t.Fatal(err)
			}
			if list, err := client.Endpoints(t.Context(), server.URL, key.Address()); err != nil || len(list) != 10 {
				t.Fatal(len(list), err)
			}
		}
	}
	if n := requests.Load(); n < agents+agents/2 {
		t.Errorf("%d of %d responses were cached", 2*agents-n, agents)
	}
}
