package door_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
)

// A greeter is a door that responds to /hello with the id of the service.
type greeter struct{}

func (greeter) Name() string                                  { return "greeter" }
func (greeter) Provision(context.Context, door.Process) error { return nil }

func (greeter) Route(_ *service.Definition, path string) string {
	if path == "/hello" {
		return "/hello"
	}
	return ""
}

func (greeter) Serve(w http.ResponseWriter, _ *http.Request, v *door.Request) {
	fmt.Fprintf(w, "hello from %s", v.Service.ID)
}

// A module implements the interfaces that it needs: this one is a Door, which serves paths of the public listener.
func Example() {
	var m door.Module = greeter{}
	shop := &service.Service{Definition: &service.Definition{ID: "shop"}}
	for _, d := range door.Of[door.Door]([]door.Module{m}) {
		fmt.Println(d.Route(shop.Definition, "/hello"))
		w := httptest.NewRecorder()
		d.Serve(w, httptest.NewRequest(http.MethodGet, "/hello", nil), &door.Request{Service: shop})
		fmt.Println(w.Body)
	}
	// Output:
	// /hello
	// hello from shop
}
