package delivery_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/delivery"
)

func courier(t *testing.T) *delivery.Courier {
	t.Helper()
	c := delivery.New(delivery.Options{Pause: time.Millisecond})
	t.Cleanup(c.Close)
	return c
}

// server starts a server on this machine, and returns its URL.
func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// to returns a route with endpoints that the operator has named.
func to(urls ...string) delivery.Route {
	r := delivery.Route{Private: true}
	for _, u := range urls {
		r.Endpoints = append(r.Endpoints, delivery.Endpoint{URL: u, Weight: 1})
	}
	return r
}

func TestEndpointResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statuses []int // of the responses in order; the last one repeats
		cause    delivery.Cause
		tries    int64
	}{
		"accepted":        {[]int{200}, "", 1},
		"accepted later":  {[]int{500, 503, 429, 408, 200}, "", 5},
		"another success": {[]int{202}, delivery.Status, 10},
		"never accepted":  {[]int{500}, delivery.Status, 10},
		"refused":         {[]int{400}, delivery.Status, 1},
		"not found":       {[]int{404}, delivery.Status, 1},
		"redirected":      {[]int{307}, delivery.Status, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries, elsewhere atomic.Int64
			other := server(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
			u := server(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || string(body) != `{"an":"envelope"}` || r.Method != http.MethodPost ||
					r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Uagents-Connection") != "" {
					t.Errorf("got %s %v %s, %v", r.Method, r.Header, body, err)
				}
				w.Header().Set("Location", other)
				w.WriteHeader(c.statuses[min(int(tries.Add(1)), len(c.statuses))-1])
			})
			err := courier(t).Deliver(t.Context(), to(u+"/a/secret/path"), []byte(`{"an":"envelope"}`), nil)
			failed, _ := errors.AsType[*delivery.Error](err)
			if (err == nil) != (c.cause == "") || err != nil && (failed.Cause != c.cause || strings.Contains(err.Error(), "secret")) {
				t.Errorf("%v, want %s", err, c.cause)
			}
			if tries.Load() != c.tries || elsewhere.Load() != 0 {
				t.Errorf("%d tries, %d elsewhere", tries.Load(), elsewhere.Load())
			}
		})
	}
}

func TestForbiddenEndpoints(t *testing.T) {
	t.Parallel()
	var came atomic.Int64
	own := server(t, func(http.ResponseWriter, *http.Request) { came.Add(1) })
	for name, c := range map[string]struct {
		url     string
		private bool
	}{
		"this machine":                  {own, false},
		"this machine by its name":      {strings.Replace(own, "127.0.0.1", "localhost", 1), false},
		"the metadata of a cloud":       {"http://169.254.169.254/latest/meta-data/", false},
		"the metadata of another cloud": {"http://168.63.129.16/machine", false},
		"a private network":             {"http://10.0.0.1/submit", false},
		"a private IPv6 network":        {"http://[fd00:ec2::254]/submit", false},
		"this machine as IPv4 in IPv6":  {"http://[::ffff:127.0.0.1]/submit", false},
		"no address":                    {"http://0.0.0.0/submit", false},
		"a file":                        {"file:///etc/passwd", true},
		"a user":                        {"http://user:password@127.0.0.1/", true},
		"no host":                       {"http:///submit", true},
		"no URL":                        {"http://[", true},
		"a URL that is too long":        {own + "/" + strings.Repeat("x", delivery.MaxURL), true},
	} {
		err := courier(t).Deliver(t.Context(), delivery.Route{Endpoints: []delivery.Endpoint{{URL: c.url}}, Private: c.private}, nil, nil)
		failed, _ := errors.AsType[*delivery.Error](err)
		if failed == nil || failed.Cause != delivery.Refused || strings.Contains(err.Error(), "password") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if came.Load() != 0 {
		t.Errorf("%d requests arrived, want 0", came.Load())
	}
}

// A delivery to an endpoint with an endless response fails, and the next endpoint is tried.
func TestEndlessResponses(t *testing.T) {
	t.Parallel()
	var good atomic.Int64
	taking := server(t, func(http.ResponseWriter, *http.Request) { good.Add(1) })
	endless := server(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 4<<10)); err != nil {
				return
			}
		}
	})
	closing := make(chan struct{})
	close(closing)
	c := courier(t)
	if failed, _ := errors.AsType[*delivery.Error](c.Deliver(t.Context(), to(endless), nil, closing)); failed == nil ||
		failed.Cause != delivery.Unreachable {
		t.Errorf("got %v", failed)
	}
	if err := c.Deliver(t.Context(), to(endless, taking), nil, nil); err != nil || good.Load() != 1 {
		t.Errorf("got %v, %d; want nil, 1", err, good.Load())
	}
}

// The gateway gives up an endpoint that responds with 200 and an unfinished body, and an endpoint that does not respond.
func TestUnfinishedResponses(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter){
		"slowly": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
		},
		"never": func(http.ResponseWriter) {},
	} {
		var tries atomic.Int64
		hanging := server(t, func(w http.ResponseWriter, r *http.Request) {
			tries.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			answer(w)
			<-r.Context().Done()
		})
		c := delivery.New(delivery.Options{Pause: time.Millisecond, Exchange: 250 * time.Millisecond})
		failed, _ := errors.AsType[*delivery.Error](c.Deliver(t.Context(), to(hanging), []byte("{}"), nil))
		if failed == nil || failed.Cause != delivery.Unreachable || tries.Load() != delivery.MaxTries {
			t.Errorf("%s: %v after %d tries", name, failed, tries.Load())
		}
		c.Close()
	}
}

// Hosts that hang hold at most half of the places, and do not delay deliveries to others.
func TestHangingHostsDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hanging := server(t, func(http.ResponseWriter, *http.Request) { <-release })
	taking := server(t, func(http.ResponseWriter, *http.Request) {})
	c := courier(t)
	var waiting sync.WaitGroup
	closing := make(chan struct{})
	for range 300 {
		waiting.Go(func() { _ = c.Deliver(t.Context(), to(hanging), nil, closing) })
	}
	for range 50 {
		if err := c.Deliver(t.Context(), to(taking), nil, nil); err != nil {
			t.Error(err)
		}
	}
	close(closing)
	close(release)
	waiting.Wait()
}

func TestEndpointsAreTriedByWeight(t *testing.T) {
	t.Parallel()
	var first [2]atomic.Int64
	var seen atomic.Bool
	endpoints := make([]delivery.Endpoint, 2)
	for i := range endpoints {
		endpoints[i] = delivery.Endpoint{Weight: []int64{0, 9}[i], URL: server(t, func(w http.ResponseWriter, _ *http.Request) {
			if !seen.Swap(true) {
				first[i].Add(1)
				w.WriteHeader(http.StatusBadGateway)
			}
		})}
	}
	c := courier(t)
	for range 400 {
		seen.Store(false)
		if err := c.Deliver(t.Context(), delivery.Route{Endpoints: endpoints, Private: true}, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if light := first[0].Load(); light == 0 || light > 120 { // 40 of 400 are expected
		t.Errorf("the light one was first %d times", light)
	}
}

func TestMaxTries(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	var urls []string
	for i := range 30 {
		urls = append(urls, server(t, func(w http.ResponseWriter, _ *http.Request) {
			tries.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		})+"/"+strconv.Itoa(i))
	}
	c := courier(t)
	if err := c.Deliver(t.Context(), to(urls...), nil, nil); err == nil || tries.Load() != delivery.MaxTries {
		t.Errorf("%v after %d tries; want an error and %v", err, tries.Load(), delivery.MaxTries)
	}
	failed, _ := errors.AsType[*delivery.Error](c.Deliver(t.Context(), to(), nil, nil))
	if failed == nil || failed.Cause != delivery.NoEndpoint {
		t.Errorf("got %v", failed)
	}
}
