package rules

import (
	"math/big"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A measure is a unit, as a multiple of the base unit of its dimension.
type measure struct {
	of     string
	factor *big.Rat
}

// measures are the known units of ODRL's left operands, by name in lowercase.
var measures = func() map[string]measure {
	m := map[string]measure{}
	add := func(of string, units map[string]string) {
		for names, factor := range units {
			x, ok := new(big.Rat).SetString(factor)
			if !ok {
				panic("not a number: " + factor)
			}
			for name := range strings.FieldsSeq(names) {
				m[name] = measure{of, x}
			}
		}
	}
	add("byte", map[string]string{
		"b byte bytes": "1", "kb kilobyte kilobytes": "1000", "mb megabyte megabytes": "1000000", "gb gigabyte gigabytes": "1000000000",
		"tb terabyte terabytes":  "1000000000000",
		"kib kibibyte kibibytes": "1024", "mib mebibyte mebibytes": "1048576", "gib gibibyte gibibytes": "1073741824",
		"tib tebibyte tebibytes": "1099511627776",
	})
	add("metre", map[string]string{
		"mm millimetre millimeter": "1/1000", "cm centimetre centimeter": "1/100", "m metre meter": "1", "km kilometre kilometer": "1000",
		"in inch inches": "254/10000",
	})
	add("second", map[string]string{
		"ms millisecond milliseconds": "1/1000", "s sec second seconds": "1", "min minute minutes": "60", "h hr hour hours": "3600",
		"d day days": "86400", "wk week weeks": "604800",
	})
	add("dpi", map[string]string{"dpi ppi": "1", "dpcm ppcm": "254/100"})
	add("percent", map[string]string{"percent percentage %": "1", "fraction ratio": "100"})
	return m
}()

// measureOf returns the base unit of a unit and the factor to it. An unknown unit is its own base unit, and ok is false.
func measureOf(unit string) (of string, factor *big.Rat, ok bool) {
	if m, known := measures[strings.ToLower(model.LastName(unit))]; known {
		return m.of, m.factor, true
	}
	return unit, big.NewRat(1, 1), false
}

// lengthOf converts a number with a unit of time into a duration. It returns false if it cannot do so exactly.
func lengthOf(number, unit string) (any, bool) {
	x, ok := model.ParseDecimal(number)
	if !ok || unit == "" {
		return nil, false
	}
	if months := map[string]string{
		"month": "M", "year": "Y", "mo": "M",
		"yr": "Y",
	}[strings.TrimSuffix(strings.ToLower(unit), "s")]; months != "" {
		if !x.IsInt() || x.Sign() < 0 {
			return nil, false
		}
		return model.AsAny(model.ParseDuration("P" + x.Num().String() + months))
	}
	of, factor, ok := measureOf(unit)
	if !ok || of != "second" {
		return nil, false
	}
	x = new(big.Rat).Mul(x, factor)
	text := strings.TrimSuffix(strings.TrimRight(new(big.Rat).Abs(x).FloatString(9), "0"), ".")
	if back, good := new(big.Rat).SetString(text); !good || back.Cmp(new(big.Rat).Abs(x)) != 0 {
		return nil, false
	}
	text = "PT" + text + "S"
	if x.Sign() < 0 {
		text = "-" + text
	}
	return model.AsAny(model.ParseDuration(text))
}
