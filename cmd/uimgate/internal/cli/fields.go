package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fields returns the columns that names lists, separated by white space. A column prints the member of this name in the JSON of a record,
// unless given has a column of this name. PrintTable omits a column whose name is followed by *. Fields panics if T has no such member.
func Fields[T any](names string, given ...Column[T]) []Column[T] {
	members := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		members[name] = f
	}
	var list []Column[T]
	for name := range strings.FieldsSeq(names) {
		name, wide := strings.CutSuffix(name, "*")
		c := Column[T]{Name: name}
		if i := slices.IndexFunc(given, func(g Column[T]) bool { return g.Name == name }); i >= 0 {
			c = given[i]
		}
		if c.Exact == nil {
			member, ok := members[name]
			if !ok {
				panic(fmt.Sprintf("%v has no member %s", reflect.TypeFor[T](), name))
			}
			value := func(r T) reflect.Value { return reflect.ValueOf(r).FieldByIndex(member.Index) }
			c.Exact = func(r T) string { return exact(value(r)) }
			if c.Human == nil {
				c.Human = func(r T) string { return human(value(r)) }
			}
		}
		c.wide = wide
		list = append(list, c)
	}
	return list
}

// ForPeople returns a column for Fields that prints human for people, and the member of this name for programs.
func ForPeople[T any](name string, human func(T) string) Column[T] {
	return Column[T]{Name: name, Human: human}
}

// exact formats a value for programs: a time as RFC 3339 in UTC, a list with spaces between its entries, and an unknown number as ?.
func exact(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Time:
		return ExactTime(value)
	case json.RawMessage:
		return string(value)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case *int64:
		if value == nil {
			return "?"
		}
		return strconv.FormatInt(*value, 10)
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Slice:
		list := make([]string, v.Len())
		for i := range list {
			list[i] = exact(v.Index(i))
		}
		return strings.Join(list, " ")
	default:
		return fmt.Sprint(v.Interface())
	}
}

// human formats a value for people: a time in the local time zone, and a boolean as yes or no.
func human(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Time:
		return HumanTime(value)
	case bool:
		if value {
			return "yes"
		}
		return "no"
	default:
		return exact(v)
	}
}
