package agent_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/agent"
)

// The client revalidates agents.json by its ETag, and parses it again only if it has changed.
func TestUnchangedAgentsFileIsCached(t *testing.T) {
	t.Parallel()
	var whole, unchanged atomic.Int64
	etag := atomic.Value{}
	etag.Store(`"1"`)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tag, _ := etag.Load().(string)
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		whole.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{
			"service-info": {"name": "shop.example", "description": "` + tag[1:2] + `", "service_url": "https://shop.example"},
			"intents": [{"intent_uid": "shop.example:search:v1", "intent_name": "Search", "description": "Search.", "input_parameters": []}]
		}`))
	}))
	defer s.Close()
	c, err := agent.New(agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	discover := func(description string) {
		t.Helper()
		service, err := c.Discover(t.Context(), s.URL)
		if err != nil {
			t.Fatal(err)
		}
		catalog, err := service.Catalog(t.Context())
		if err != nil || catalog.Service.Description != description || len(catalog.Intents()) != 1 {
			t.Errorf("got %v, %v", catalog, err)
		}
	}
	discover("1")
	discover("1")
	if whole.Load() != 1 || unchanged.Load() != 1 {
		t.Errorf("sent %d times, not modified %d times, want once each", whole.Load(), unchanged.Load())
	}
	etag.Store(`"2"`)
	discover("2")
	if whole.Load() != 2 {
		t.Errorf("sent in full %d times, want 2", whole.Load())
	}
}
