package api

import (
	"iter"
	"reflect"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/wire"
)

// Query calls the methods of p for the parameters of a request, in the order of its fields. The request is a pointer to a struct. An
// embedded PageRequest has the parameters of pages, and these tags declare the others:
//
//	query:"state"        a parameter of the query, which is a string, an int64 or a time.Time
//	query:"service"      the id of an existing service
//	query:"service,any"  the id of a service, which need not exist
//	enum:"active,ended"  the values that a string may have if it is not empty
//	path:"id"            the id of the record in the path
func Query(request any, p Parameters) {
	v := reflect.ValueOf(request).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, option, _ := strings.Cut(f.Tag.Get("query"), ",")
		field := v.FieldByIndex(f.Index).Addr()
		switch enum := f.Tag.Get("enum"); {
		case f.Type == reflect.TypeFor[PageRequest]():
			p.Page(as[PageRequest](field))
		case f.Tag.Get("path") != "":
			p.Record(as[string](field))
		case name == "":
		case f.Type == reflect.TypeFor[int64]():
			p.Number(name, as[int64](field))
		case f.Type == reflect.TypeFor[time.Time]():
			p.Moment(name, as[time.Time](field))
		case name == "service" && option == "":
			p.Service(as[string](field))
		case enum != "":
			p.OneOf(name, as[string](field), strings.Split(enum, ",")...)
		default:
			p.Text(name, as[string](field))
		}
	}
}

// as converts a pointer to a field.
func as[T any](field reflect.Value) *T {
	p, _ := reflect.TypeAssert[*T](field.Convert(reflect.TypeFor[*T]()))
	return p
}

// members iterates over the fields of a request that are members of its JSON body.
func members(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !yield(name, f) {
				return
			}
		}
	}
}

// HasMembers reports whether a request, a pointer to a struct, has members in a JSON body.
func HasMembers(request any) bool {
	for range members(reflect.TypeOf(request).Elem()) {
		return true
	}
	return false
}

// ReadMembers fills request, a pointer to a struct, with the members of a JSON body. The json tag of a field has the name of the member,
// which is a string, a boolean or a list of strings. A string is required unless its tag has an option. The error is a *reason.Refusal.
func ReadMembers(m *wire.Members, request any) error {
	v := reflect.ValueOf(request).Elem()
	for name, f := range members(v.Type()) {
		switch field := v.FieldByIndex(f.Index); field.Kind() {
		case reflect.Bool:
			field.SetBool(m.Flag(name))
		case reflect.Slice:
			field.Set(reflect.ValueOf(m.Texts(name)))
		default:
			field.SetString(m.Text(name, !strings.Contains(f.Tag.Get("json"), ",")))
		}
	}
	return m.Done()
}
