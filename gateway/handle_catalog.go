package gateway

import (
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
)

// agentsFile handles GET /agents.json. See UIM core, section 5.2.
func (s *Server) agentsFile(c echo.Context) error {
	of := exchangeOf(c).service
	published := s.publication(of)
	plans, err := published.plans()
	var p document
	if err == nil {
		members := s.logMembers(of.Definition)
		if plans.body != nil {
			members = append(members, intents.Extra{Name: "uim-plans", JSON: plans.body})
		}
		p, err = published.agentsFile(s.Keys.PublicKey(s.Now()), members)
	}
	if err != nil {
		return reason.Internal.Refusal("agents.json could not be encoded.").Because(err)
	}
	return serve(c, p)
}

// policy handles GET /api/policy. It responds with the exact bytes of the policy in force or, with the query parameter digest, of that
// policy if it is offered. If the client prefers plain text, it responds with the sentences of the policy. See UIM core, section 4.2.
func (s *Server) policy(c echo.Context) error {
	of := exchangeOf(c).service
	if digest := c.QueryParam("digest"); digest != "" {
		if of = of.Version(digest); of == nil {
			return reason.NoSuchPath.Refusal("The service does not offer a policy with this digest.").
				With("suggestion", "GET /api/policy returns the policy in force; policy_successor in agents.json names the next one.")
		}
	}
	door.WriteSunset(c.Response().Header(), of.Sunset(""))
	c.Response().Header().Add("Vary", "Accept")
	p := s.publication(of)
	if !wantsText(c.Request().Header.Values("Accept")) {
		return serve(c, p.policy)
	}
	d, err := p.words()
	if err != nil {
		return reason.Internal.Refusal("The sentences of the policy could not be written.").Because(err)
	}
	return serve(c, d)
}

// keySet handles GET /.well-known/jwks.json. See RFC 7517.
func (s *Server) keySet(c echo.Context) error {
	body, err := s.keySetOf(c.Request().Context(), exchangeOf(c).service.ID)
	if err != nil {
		return reason.Internal.Refusal("The key set could not be encoded.").Because(err)
	}
	return serve(c, newDocument(body, "application/jwk-set+json"))
}

// intent handles GET /api/intents/{intent_uid}.
func (s *Server) intent(c echo.Context) error {
	uid, err := url.PathUnescape(c.Param("uid"))
	if err != nil {
		return reason.IntentNotFound.Refusal("The intent uid in the path has an invalid percent-encoding.")
	}
	found, err := exchangeOf(c).service.Intent(uid)
	if err != nil {
		return err
	}
	return s.serveOnce(c, found.JSON(), "application/json")
}

// search handles GET /api/intents/search. See UIM core, section 5.4.
func (s *Server) search(c echo.Context) error {
	found, err := find(exchangeOf(c).service, c.QueryParams())
	if err != nil {
		return err
	}
	body, err := found.MarshalJSON()
	if err != nil {
		return reason.Internal.Refusal("The response could not be encoded.").Because(err)
	}
	return s.serveOnce(c, body, "application/json")
}

// find searches the catalogue of a service. The error is a *reason.Refusal.
func find(s *service.Service, parameters url.Values) (intents.Page, error) {
	query, err := intents.ParseQuery(parameters)
	if err != nil {
		return intents.Page{}, reason.InvalidParameter.Refusal(err.Error()) // err names the parameter, never its value
	}
	found := s.Catalog.Search(query)
	found.Details = s.At("/api/intents/") + "{intent_uid}"
	return found, nil
}
