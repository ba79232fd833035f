package gateway

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
)

// enter passes a request to the first door that serves its path, and reports whether there is such a door. It ignores a trailing slash,
// which clients add when they join URLs.
func (s *Server) enter(c echo.Context, x *exchange) (entered bool) {
	r := withoutSlash(c.Request())
	for _, d := range s.Doors {
		route := d.Route(x.service.Definition, r.URL.Path)
		if route == "" {
			continue
		}
		c.SetPath(route)
		q := &door.Request{
			Service: x.service, Serving: func() *service.Service { return s.serving(r) }, RequestID: x.requestID,
			Caller: s.caller(r, x.client), Address: x.address, Pipeline: s.pipeline, Later: s.later(route, x),
			Span: x.span, Continue: s.Traces.Begin, Document: s.documentFor(r),
		}
		defer func() { x.Outcome = q.Outcome }()
		d.Serve(c.Response(), r, q)
		return true
	}
	return false
}

// documentFor returns a function that serves a GET of target as if the client of r had requested it. Each such request is counted and
// logged separately.
func (s *Server) documentFor(r *http.Request) func(context.Context, string) door.Document {
	return func(ctx context.Context, target string) door.Document {
		w := door.NewDocumentWriter()
		get, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return w.Document
		}
		get.Header = r.Header.Clone()
		for _, name := range []string{"Accept-Encoding", "Content-Type", "Content-Length", "If-None-Match", "Origin"} {
			get.Header.Del(name)
		}
		get.Header.Set("Accept", "application/json")
		get.Host, get.RemoteAddr, get.TLS, get.RequestURI = r.Host, r.RemoteAddr, r.TLS, target
		s.handler.ServeHTTP(w, get)
		return w.Document
	}
}

// withoutSlash returns the request without the trailing slash of its path. It does not modify r.
func withoutSlash(r *http.Request) *http.Request {
	path, cut := strings.CutSuffix(r.URL.Path, "/")
	if !cut || path == "" {
		return r
	}
	own, url := *r, *r.URL
	url.Path, url.RawPath = path, strings.TrimSuffix(url.RawPath, "/")
	own.URL = &url
	return &own
}

// later returns a function that logs and counts the outcome of a postponed reply.
func (s *Server) later(route string, x *exchange) func(door.Delivery) {
	began := s.Now()
	return func(v door.Delivery) {
		s.Metrics.Delivered(v.Door, v.Became)
		s.count(&v.Outcome)
		status := http.StatusOK
		if v.Refusal != nil {
			status = v.Refusal.Status()
		}
		s.Log.Info("postponed reply ended", append([]zap.Field{
			zap.String("request_id", string(x.requestID)), zap.String("route", route), zap.String("address", x.address),
			zap.String("service", x.service.ID), zap.Duration("took", s.Now().Sub(began)), zap.String("became", v.Became),
		}, outcomeFields(&v.Outcome, x.service, status)...)...)
	}
}
