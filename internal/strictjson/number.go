package strictjson

import "math/bits"

// noDigits returns a mask with the highest bit set in each byte of w that is not a digit. XOR with '0' turns a digit into its value, at
// most 9; adding 0x76 sets the highest bit of every larger value.
func noDigits(w uint64) uint64 {
	w ^= ones * '0'
	return (w&^highs + ones*0x76 | w) & highs
}

// digits returns where the digits that begin at i end.
func digits(data []byte, i int) int {
	for i+8 <= len(data) {
		if others := noDigits(wordAt(data, i)); others != 0 {
			return i + bits.TrailingZeros64(others)>>3
		}
		i += 8
	}
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	return i
}

// number returns the position after the number that begins at i, or failed if there is no valid number or its length or exponent is out of
// bounds. See RFC 8259, section 6.
func number(data []byte, i int) int {
	start := i
	if data[i] == '-' {
		i++
	}
	if end := shortNumber(data, i); end != failed {
		return end
	}
	end := digits(data, i)
	if end == i || end > i+1 && data[i] == '0' {
		return failed
	}
	if i = end; i < len(data) && data[i] == '.' {
		if end = digits(data, i+1); end == i+1 {
			return failed
		}
		i = end
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if end = digits(data, i); end == i {
			return failed
		}
		exponent := 0
		for _, c := range data[i:end] {
			if exponent = exponent*10 + int(c-'0'); exponent > maxExponent {
				return failed
			}
		}
		i = end
	}
	if i-start > maxNumber {
		return failed
	}
	return i
}

// shortNumber is a fast path of number for a number without sign and exponent that ends within eight bytes, as almost all numbers do. It
// returns failed for all others.
func shortNumber(data []byte, i int) int {
	if i+8 > len(data) {
		return failed
	}
	w := wordAt(data, i)
	others := noDigits(w)
	bit := bits.TrailingZeros64(others) &^ 7 & 63 // where the byte after the digits begins
	if others == 0 || bit == 0 || byte(w) == '0' && bit > 8 {
		return failed
	}
	next := byte(w >> bit)
	if next == '.' {
		point := bit
		others &= others - 1
		if bit = bits.TrailingZeros64(others) &^ 7 & 63; others == 0 || bit == point+8 {
			return failed
		}
		next = byte(w >> bit)
	}
	if next|0x20 == 'e' {
		return failed
	}
	return i + bit>>3
}
