package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
)

// enter has a door answer where the path is one of its paths.
func (s *Server) enter(c echo.Context, x *exchange) (entered bool) {
	r := c.Request()
	for _, d := range s.doors {
		route := d.Route(x.service.Definition, r.URL.Path)
		if route == "" {
			continue
		}
		c.SetPath(route)
		v := &door.Visit{
			Service: x.service, Serving: func() *service.Service { return s.serving(r) }, RequestID: x.requestID,
			Caller: s.caller(r, x.client), Address: x.address, Later: s.later(route, x),
		}
		defer func() { x.Outcome = v.Outcome }()
		d.Serve(c.Response(), r, v)
		return true
	}
	return false
}

// later writes the line of an answer that was sent after its request, which has ended by then, and counts it.
func (s *Server) later(route string, x *exchange) func(door.Delivery) {
	began := s.now()
	return func(v door.Delivery) {
		s.metrics.Delivered(v.Door, v.Became)
		s.count(&v.Outcome)
		status := http.StatusOK
		if v.Refusal != nil {
			status = v.Refusal.Status()
		}
		s.log.Info("answered later", append([]zap.Field{
			zap.String("request_id", string(x.requestID)), zap.String("route", route), zap.String("address", x.address),
			zap.String("service", x.service.ID), zap.Duration("took", s.now().Sub(began)), zap.String("became", v.Became),
		}, outcomeFields(&v.Outcome, x.service, status)...)...)
	}
}
